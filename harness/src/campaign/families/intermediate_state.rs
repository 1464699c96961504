//! Kills of one replica while the others go on. Those that go on remember what they saw, so such a kill leaves no world
//! that a trial could be started on: each is carried out from the beginning. (Kills of all replicas at once lead to the
//! worlds themselves: `reached.rs`.)

use std::collections::BTreeSet;

use plans::{Crash, CrashPoint, Family, Plan, Restart, Rule};
use trace::Actor;

use crate::{
    campaign::{frontier::Frontier, judge, order::Score, reference::References, setup::Setup},
    trial::TrialRun,
};

/// The plans, by what happened in the first undisturbed run: every crash point, with each replica that writes anything at
/// all in any of them. By killing one that writes nothing, and only waits to lead, nothing changes.
pub fn learn(
    setup: &Setup,
    references: &References,
    frontier: &mut Frontier,
) -> Vec<(Plan, Score)> {
    let replicas = setup.campaign.file.spec.subject.replicas;
    let Some(first) = references.runs.first().filter(|_| replicas > 1) else { return vec![] };
    let acting: BTreeSet<u32> = references.runs.iter().flat_map(acting).collect();
    let idle = u64::from(replicas) - acting.len() as u64;
    let view = judge::run_view(first);
    let names = view.generated_names();
    let generated = |name: &str| judge::generated_from(&names, name);
    let found = plans::crash_points(&first.history, first.started_at, &generated);
    let heuristics = frontier.lens.heuristics.clone();
    let mut plans = Vec::new();
    for point in found.points.iter().filter(|point| point.dropped.is_empty()) {
        for restart in restarts(setup, point) {
            frontier.families.prune(Family::IntermediateState, Rule::IdleReplica, idle);
            plans.extend(acting.iter().map(|replica| {
                let at = point.at.clone();
                let crash = Crash { member: Some(*replica), restart, ..Crash::at(at) };
                let plan = Plan::undisturbed().and(crash);
                let score = Score::of(&plan, point.cursor, &heuristics);
                (plan, score)
            }));
        }
    }
    frontier.families.of(Family::IntermediateState).enumerated += plans.len() as u64;
    plans
}

/// Replicas that wrote more than Leases and Events.
fn acting(run: &TrialRun) -> BTreeSet<u32> {
    let commits = run.history.commits().filter(|commit| !commit.is_bookkeeping());
    let replicas = commits.filter_map(|commit| match commit.actor {
        Actor::Subject(replica) => Some(replica),
        _ => None,
    });
    replicas.collect()
}

/// At once, and after each number of steps that the user does before it waits. One step at least: where the user waits,
/// the others take over before the one that was killed comes back.
fn restarts(setup: &Setup, point: &CrashPoint) -> Vec<Restart> {
    let steps = setup.workload.writes_before_a_wait(point.cursor).max(1);
    let later = (1..=steps).map(Restart::AfterUserStep);
    std::iter::once(Restart::Immediately).chain(later).collect()
}
