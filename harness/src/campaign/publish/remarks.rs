//! What a report says besides: what was not explored, and what to know of the runs.

use std::{collections::BTreeSet, time::Duration};

use trace::identity;

use crate::{
    campaign::{
        confirm::{Findings, Tried},
        explore::{self, Explored},
        reference::References,
        settled_restart,
        setup::{ClockMode, Setup},
    },
    config::{ClusterSpec, Environment, PaceSpec},
};

/// What limits the claim of every campaign that restarts the controller (docs/glossary.md, *closed*).
const ALWAYS: &str = "concurrent requests in other orders than those that were observed; other orders of the workload's \
                      steps; a restarted controller that finds files or state of its own outside the cluster";

/// On what trials from the beginning spend their time: medians.
fn phases(explored: &Explored) -> Option<String> {
    let median = |of: &dyn Fn(&explore::Cost) -> Duration| {
        let mut all: Vec<Duration> = explored.costs.iter().map(of).collect();
        all.sort();
        Some(all.get(all.len() / 2)?.as_secs_f64())
    };
    let of = |name: &str, of: &dyn Fn(&explore::Cost) -> Duration| {
        Some(format!("{name} {:.1}", median(of)?))
    };
    let parts = [
        of("reset", &|cost| cost.phases.reset)?,
        of("up to the disturbance", &|cost| cost.phases.prefix)?,
        of("disturbed", &|cost| cost.phases.disturbed)?,
        of("settling", &|cost| cost.phases.settle)?,
        of("judging", &|cost| cost.judge)?,
    ];
    let whole = median(&|cost| cost.real + cost.judge)?;
    Some(format!("a trial took {whole:.1} s by the median (in seconds: {})", parts.join(", ")))
}

/// Why no trial of this campaign can show anything, if so.
pub fn proves_nothing(setup: &Setup, references: &References) -> Option<&'static str> {
    if setup.workload.operations.is_empty() {
        return Some("the workload has no steps");
    }
    let mut commits = references.runs.iter().flat_map(|run| run.history.commits());
    let wrote = commits.any(|commit| commit.actor.is_subject() && !commit.is_bookkeeping());
    (!wrote).then_some(
        "undisturbed, the controller wrote nothing but Leases and Events, so the workload may not reach it",
    )
}

/// Everything that was left out, a sentence each.
pub fn not_explored(setup: &Setup, explored: &Explored) -> Vec<String> {
    let mut sentences = Vec::new();
    if setup.campaign.file.spec.subject.replicas > 1 {
        sentences.push(
            "what follows the kill of one replica alone: those that go on remember, so each such kill is tried from the \
             beginning, and nothing after it"
                .to_owned(),
        );
    }
    if setup.campaign.file.spec.families.iter().any(|family| family.restarts()) {
        sentences.push(ALWAYS.to_owned());
    }
    if let Some(why) = &explored.stopped {
        let left = explored.frontier.waiting();
        sentences.push(format!("{why}: {left} worlds were met and not explored"));
    }
    if explored.closed().is_none_or(|level| level < explored.required()) {
        sentences.extend(apart(&explored.frontier.apart(setup)));
    }
    for (why, count) in explored.frontier.left_out.iter().chain(&explored.frontier.limits) {
        sentences.push(format!("{count} × {why}"));
    }
    sentences.extend(settled_restart::not_explored(setup).map(ToOwned::to_owned));
    if let ClusterSpec::Embedded(embedded) = &setup.campaign.file.spec.cluster {
        let missing = match embedded.environment {
            Environment::None => {
                "a built-in controller, the scheduler or a kubelet: none runs here"
            }
            Environment::Minimal => {
                "a workload controller, the scheduler or a kubelet: only garbage collector and namespace \
                 controller run here"
            }
            Environment::Kcm => {
                "a kube-controller-manager that goes on while the controller is down: a world that is taken up \
                 again starts both anew; or attached volumes or probes: nobody looks after those yet"
            }
            Environment::Full => {
                "volumes that are attached: nobody looks after those in the embedded cluster yet"
            }
        };
        sentences.push(format!("what needs {missing}"));
        for (name, _) in embedded.controllers.iter().filter(|(_, pace)| **pace == PaceSpec::Held) {
            sentences.push(format!("what {name} does: the campaign holds it"));
        }
    }
    sentences
}

/// What to look at if there are more worlds than expected.
fn apart(fields: &[identity::Apart]) -> Option<String> {
    let one = |field: &identity::Apart| {
        // What a class of worlds with old caches has below types of their own.
        let name = field.field.replace("‹cached›", "(old cache)").replace("‹cached", "(old cache)");
        format!("{name} ({} left)", field.left)
    };
    let fields: Vec<String> = fields.iter().map(one).collect();
    (!fields.is_empty()).then(|| {
        format!(
            "worlds that differ only in these fields (in brackets: how many worlds would be left if this field and \
             those before it were ignored): {}",
            fields.join("; ")
        )
    })
}

/// How much of what happened undisturbed was left out as heartbeats, if anything was or the campaign names any.
fn heartbeats(setup: &Setup, references: &References) -> Option<String> {
    let fields: Vec<String> = setup.heartbeats.fields().iter().map(ToString::to_string).collect();
    let commits = references.runs.iter().flat_map(|run| run.history.commits());
    let beats = commits.filter(|commit| commit.heartbeat).count();
    let named = !setup.campaign.file.spec.heartbeats.is_empty();
    (named || beats > 0).then(|| {
        format!(
            "heartbeats were left out, {beats} writes in the {} undisturbed runs: {}",
            references.runs.len(),
            fields.join(", ")
        )
    })
}

/// What to know of the runs, a sentence each.
pub fn notes(
    setup: &Setup,
    references: &References,
    explored: &Explored,
    findings: &Findings,
) -> Vec<String> {
    let mut notes = Vec::new();
    if references.never_stable {
        notes.push(
            "the last two undisturbed runs still differed in new fields: more fields may vary by themselves".to_owned(),
        );
    }
    if !setup.virtual_time() {
        notes.push("time was real: timers beyond the horizon were not waited for".to_owned());
    }
    if !setup.ground.forks() {
        notes.extend(phases(explored));
    }
    if setup.clock == ClockMode::Untouched && setup.ground.forks() {
        notes.push(
            "clocks were untouched: no world was forked, and objects may look older than they are"
                .to_owned(),
        );
    }
    let horizon = references.settle.horizon();
    if let Some(lease) = setup.lease().filter(|lease| *lease >= horizon) {
        notes.push(format!(
            "settle.horizon is {} s and the controller's lease lasts {} s: one that was killed is judged before its successor \
             leads",
            horizon.as_secs(),
            lease.as_secs()
        ));
    }
    notes.extend(later_timers(references));
    notes.extend(references.settle.cut_short().map(|waited| {
        let minutes = waited.as_secs() / 60;
        format!(
            "the rehearsal ended after {minutes} min instead of ten: the controller has thousands of timers a minute; if it \
             does work that comes later than that, settle.horizon must say how late"
        )
    }));
    notes.extend(heartbeats(setup, references));
    notes.extend(told(references, explored));
    if setup.isolation == subject::Isolation::None {
        notes.push("processes ran without namespaces, one trial at a time".to_owned());
    }
    for (why, count) in &explored.unknown_reasons {
        notes.push(format!("{count} × unknown: {why}"));
    }
    let tried = findings.unconfirmed.iter().any(|one| one.tried != Tried::Not);
    if tried && references.settle.confirms_longer() {
        notes.push(
            "runs that confirm wait for ten minutes, those that explore did not (settle.horizon)"
                .to_owned(),
        );
    }
    notes
}

/// What any run had to tell, each once, and the stages that failed in undisturbed ones.
fn told(references: &References, explored: &Explored) -> BTreeSet<String> {
    let undisturbed = references.runs.iter().flat_map(|run| explore::told(&run.history));
    let worlds = references.runs.iter().filter_map(|run| run.server.as_ref());
    let stages = worlds.flat_map(|server| server.world().stage_problems().to_vec());
    undisturbed.chain(explored.notes.iter().cloned()).chain(stages).collect()
}

/// What the controller still waited for when it counted as settled.
fn later_timers(references: &References) -> Option<String> {
    let run = references.runs.first()?;
    let settled = run.history.settles().last()?;
    let timers = match &settled.pending[..] {
        [] => return None,
        all if all.len() <= 3 => all.join("; "),
        all => format!("{}; and {} more", all[0], all.len() - 1),
    };
    let at_the_end = match references.settle.is_learnt() {
        true => ", at the end of every other trial ten minutes",
        false => "",
    };
    Some(format!(
        "settled means {} s without a change{at_the_end}; timers that were still pending in the first undisturbed run: \
         {timers}",
        references.settle.horizon().as_secs()
    ))
}
