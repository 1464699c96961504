//! Restarts when all has settled at the end: what undisturbed runs write then, and the worlds on which it is tried.
//!
//! What a controller writes by design when it is started (a time in a status) it writes on the world on which an
//! undisturbed run settled too. So the ends of some references are forked, and of the rehearsal, which waited for longer;
//! the controller is started again on each, and what it writes is allowed from then on (`oracles::restart_writes`).

use oracles::RestartWrites;
use plans::{Crash, Family, Plan};
use trace::Cursor;

use crate::{
    campaign::{
        confirm, judge,
        lens::Lens,
        node::Node,
        pool,
        reached::Place,
        settle::Settle,
        setup::{ClockMode, Setup},
    },
    exit::{Exit, Expected},
    trial::{self, Fork, RunEnd, TrialRun, TrialSpec},
};

/// A restart when all has settled at the end of a trial.
pub enum Restart {
    /// On the world there.
    OnFork(Box<Node>),
    /// Where no world can be forked: all of it from the beginning. How far the workload is at its end.
    FromBeginning(Plan, Cursor),
}

/// References that are restarted at their ends.
const REFERENCES: usize = 3;

/// Whether the world at the end of a run can be forked.
fn is_forked(setup: &Setup) -> bool {
    setup.ground.forks() && setup.clock != ClockMode::Untouched
}

/// Whether a campaign tries them: on the worlds at the ends of trials, or from the beginning after all has settled
/// undisturbed.
pub fn asked(setup: &Setup) -> bool {
    are_crashes_asked(setup) && (is_forked(setup) || !setup.ground.forks())
}

fn are_crashes_asked(setup: &Setup) -> bool {
    setup.campaign.file.spec.families.contains(&Family::IntermediateState)
}

/// What the report says where they belong to a campaign and are not possible.
pub fn not_explored(setup: &Setup) -> Option<&'static str> {
    (are_crashes_asked(setup) && !asked(setup)).then_some(
        "restarts when all has settled, which must write nothing: no world can be forked here; a replay file can ask \
         for one",
    )
}

/// What undisturbed runs write when they are restarted at their ends.
///
/// # Errors
/// One of these runs broke on our side: exit 75.
pub fn learn(
    setup: &Setup,
    settle: &Settle,
    runs: &[TrialRun],
    rehearsal: Option<&TrialRun>,
) -> anyhow::Result<RestartWrites> {
    let alike = &runs[..runs.len().min(REFERENCES)];
    let specs: Vec<TrialSpec> = alike
        .iter()
        .chain(rehearsal)
        .zip(0..)
        .map(|(run, repeat)| undisturbed(setup, settle, run, repeat))
        .collect();
    let runs = pool::map(setup.workers, &specs, |spec| trial::run(setup, spec.clone()));
    for run in &runs {
        if let RunEnd::Broken(why) = &run.end {
            let message =
                format!("an undisturbed run, restarted when all had settled, broke: {why}");
            return Err(Expected::error(Exit::Environment, message));
        }
    }
    let ended = runs.iter().all(|run| run.end == RunEnd::Completed);
    let views: Vec<oracles::Run> = runs.iter().map(judge::run_view).collect();
    runs.iter().for_each(|run| setup.forget(run));
    let (alike, longer) = views.split_at(alike.len());
    Ok(RestartWrites { restless: !ended, ..RestartWrites::learn(alike, longer) })
}

fn undisturbed(setup: &Setup, settle: &Settle, run: &TrialRun, repeat: u64) -> TrialSpec {
    let plan = Plan::undisturbed().and(Crash::when_settled());
    let Some((world, cursor)) = end(run).filter(|_| is_forked(setup)) else {
        return confirm::from_beginning(&plan, repeat, settle.usual());
    };
    let passed = setup.properties.passed(run, world.revision());
    let fork = Fork { world, cursor, begun: None, behind: None, passed };
    TrialSpec::on(fork, &plan, repeat, settle.usual())
}

/// The world at the end of a run that settled there, and the workload's end.
fn end(run: &TrialRun) -> Option<(cluster::World, Cursor)> {
    let settled = run.history.settles().last().filter(|settled| settled.end)?;
    let world = run.server.as_ref()?.world();
    (world.revision() == settled.revision).then_some((world, settled.cursor))
}

/// A restart when all has settled at the end of this run.
pub fn restart(setup: &Setup, lens: &Lens, run: &TrialRun) -> Option<Restart> {
    if setup.ground.forks() {
        return Some(Restart::OnFork(Box::new(node(setup, lens, run)?)));
    }
    let settled = run.history.settles().last().filter(|settled| settled.end)?;
    let again = run.spec.plan.restarts_when_settled() || lens.brute_force;
    let plan = || run.spec.plan.and(Crash::when_settled());
    (!again).then(|| Restart::FromBeginning(plan(), settled.cursor))
}

/// A restart on the world at the end of this run; none if it did not settle there, or ended with such a restart.
fn node(setup: &Setup, lens: &Lens, run: &TrialRun) -> Option<Node> {
    let (world, cursor) = end(run)?;
    let plan = run.spec.plan.and(Crash::when_settled());
    let again = run.spec.plan.restarts_when_settled();
    if again || lens.brute_force || lens.too_deep(&plan) || !is_forked(setup) {
        return None;
    }
    let passed = setup.properties.passed(run, world.revision());
    let place = Place { world, cursor, begun: None, plan, behind: None, passed };
    let node = lens.identified(setup, place);
    let classes = lens.classes(setup, &node)?;
    Some(Node { classes, ..node })
}
