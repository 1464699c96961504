//! Trials to closure: every world in which the controller can be down is started again, until no new one
//! appears or the budget is used up.
//!
//! Worlds with the controller down are the states (`frontier.rs`). Starting it, or the user going on without it
//! (`while_down.rs`), are the steps. They are told apart by `trace::identity`. A violated trial is a leaf; the worlds
//! behind it are counted.
//!
//! **Every world twice**: with other name suffixes in ascending and in descending order. Where repeats write
//! differently the world is `nondeterministic` and is repeated until two in a row add nothing.
//!
//! A controller that is killed remembers nothing, so nothing before the fork matters. A local disk and foreign
//! services are left out; the report's claim says so.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use oracles::{Verdict, VerdictValue};
use plans::{Plan, PlanId};
use serde::Serialize;
use trace::{Event as Happened, History};

use crate::{
    campaign::{
        confirm,
        frontier::{Frontier, Node},
        interrupt, judge, missing_permissions, pool,
        progress::{Event, Progress},
        reference::References,
        run_folder::RunFolder,
        settle::Settle,
        setup::{ClockMode, Ground, Setup},
    },
    trial::{self, Start, TrialRun, TrialSpec, cpu_time},
};

/// Each world is started again this often at least, with other name suffixes in another order.
const REPEATS: u64 = 2;
/// A world whose repeats write differently is run until this many in a row add no world …
const CALM_REPEATS: u64 = 2;
/// … but no more often than this.
const REPEATS_AT_MOST: u64 = 10;

/// Violated trials with the same fingerprint that are kept; shallower ones come first.
const SUSPECTS_PER_KIND: usize = 8;

/// How far to go.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// Stop at this time.
    pub until: Option<Instant>,
    /// Stop after this many trials.
    pub trials: Option<u64>,
    /// Expand behind this many violated trials.
    pub through_findings: u64,
    /// Explore every schedule of at most this depth without de-duplication.
    pub brute_force: Option<u32>,
}

/// A violated trial.
pub struct Suspect {
    /// The trial.
    pub run: TrialRun,
    /// What the oracles said.
    pub verdicts: Vec<Verdict>,
}

/// What was explored.
#[derive(Default)]
pub struct Explored {
    /// All worlds.
    pub frontier: Frontier,
    /// Trials run.
    pub run: u64,
    /// By their verdict.
    pub held: u64,
    /// See [`VerdictValue::Violated`].
    pub violated: u64,
    /// See [`VerdictValue::Unknown`].
    pub unknown: u64,
    /// Why trials proved nothing, with how often.
    pub unknown_reasons: BTreeMap<String, u64>,
    /// What the subject was refused for want of permission.
    pub missing_permissions: BTreeSet<String>,
    /// What trials had to tell, each once: see [`trace::Event::Note`].
    pub notes: BTreeSet<String>,
    /// Worlds whose repeats wrote differently.
    pub nondeterministic: u64,
    /// Violated trials, in the order in which they were found: shallowest first.
    pub suspects: Vec<Suspect>,
    /// How many of them show each fingerprint.
    suspected: BTreeMap<String, usize>,
    /// Every end state met, in comparison form, by hash.
    pub end_states: BTreeSet<String>,
    /// Why it ended before the frontier was empty.
    pub stopped: Option<String>,
    /// Real time of each trial, and processor time of its subject, for figures.
    pub trial_seconds: Vec<(f64, f64)>,
    /// Real time of the exploration, for figures.
    pub real: Duration,
    /// Processor time of the exploration: ours, and that of all subjects.
    pub cpu: cpu_time::Used,
    /// One entry a trial, in the order in which they were counted.
    pub trials: Vec<Carried>,
}

/// A trial as `plans.jsonl` has it: what was done, and what it showed.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Carried {
    /// The plan's name, by its content.
    pub id: PlanId,
    /// Which repeat of it.
    pub repeat: u64,
    /// On a fork of the world that it leads to; if not, from the beginning.
    pub forked: bool,
    /// What the oracles came to.
    pub verdict: VerdictValue,
    /// Of each violated verdict: its fingerprint's id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fingerprints: Vec<String>,
    /// Why it proved nothing, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The plan in words.
    pub text: String,
    /// The plan.
    pub plan: Plan,
}

impl Carried {
    fn new(run: &TrialRun, verdicts: &[Verdict], verdict: VerdictValue) -> Carried {
        let plan = run.spec.plan.clone();
        let violated = verdicts.iter().filter(|one| one.value == VerdictValue::Violated);
        let unknown = verdict == VerdictValue::Unknown;
        Carried {
            id: plan.id(),
            repeat: run.spec.repeat,
            forked: matches!(run.spec.start, Start::Fork(..)),
            verdict,
            fingerprints: violated.map(|one| one.fingerprint.id()).collect(),
            why: unknown.then(|| judge::why_unknown(run, verdicts)),
            text: plan.to_string(),
            plan,
        }
    }
}

impl Explored {
    /// What a live reader may want to know.
    fn stats(&self) -> serde_json::Value {
        serde_json::json!({
            "plans": {
                "run": self.run,
                "held": self.held,
                "violated": self.violated,
                "unknown": self.unknown,
            },
            "coverage": {
                "worlds": self.frontier.worlds(),
                "frontier": self.frontier.waiting(),
                "nondeterministic": self.nondeterministic,
            },
        })
    }

    /// Whether another suspect like this is of use: a few of each kind are enough to confirm it.
    fn wants(&mut self, verdicts: &[Verdict]) -> bool {
        let violated = verdicts.iter().find(|verdict| verdict.value == VerdictValue::Violated);
        let Some(violated) = violated else { return false };
        let known = self.suspected.entry(violated.fingerprint.id()).or_default();
        *known += 1;
        *known <= SUSPECTS_PER_KIND
    }

    /// Every crash schedule was covered, except behind findings.
    pub fn closed(&self) -> bool {
        self.frontier.waiting() == 0
            && self.stopped.is_none()
            && self.unknown == 0
            && self.frontier.left_out.is_empty()
    }
}

/// Explores from the reference runs on.
pub fn to_closure(
    setup: &Setup,
    references: &References,
    bounds: &Bounds,
    progress: &Progress,
    folder: &RunFolder,
) -> Explored {
    let mut explored = Explored::default();
    let (began, used_before) = (Instant::now(), cpu_time::Used::so_far());
    // On a cluster that can't be forked time is real and never repeats: worlds hardly ever merge, and only a
    // bound on the depth ends the exploration.
    let remote = matches!(setup.ground, Ground::Remote(_)).then_some(1);
    explored.frontier.depth = bounds.brute_force.or(setup.campaign.file.spec.depth).or(remote);
    explored.frontier.random_payloads.clone_from(&references.baseline.random_payloads);
    explored.frontier.brute_force = bounds.brute_force.is_some();
    if let Some(first) = references.runs.first() {
        explored.frontier.add_start(setup, first);
    }
    for reference in &references.runs {
        explored.end_states.extend(judge::end_state(reference, &references.baseline));
        explored.frontier.absorb(setup, reference, false);
    }
    while explored.frontier.waiting() > 0 {
        if let Some(why) = bounds.reached(&explored) {
            explored.stopped = Some(why);
            break;
        }
        progress.tell(Event::Total(explored.run + REPEATS * explored.frontier.waiting() as u64));
        let nodes = explored.frontier.take(4 * setup.workers);
        explore(setup, references, nodes, bounds, &mut explored, progress);
        if let Err(error) = folder.write_json("stats.json", &explored.stats()) {
            explored.stopped = Some(format!("{error:#}"));
        }
        if explored.stopped.is_some() {
            break;
        }
    }
    if let Some(why) = &explored.stopped {
        progress.tell(Event::Note(format!("stopped: {why}")));
    }
    (explored.real, explored.cpu) = (began.elapsed(), cpu_time::Used::so_far().since(used_before));
    explored
}

impl Bounds {
    fn reached(&self, explored: &Explored) -> Option<String> {
        if interrupt::asked() {
            return Some("interrupted".to_owned());
        }
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Some("the time budget was used up".to_owned());
        }
        if self.trials.is_some_and(|trials| explored.run >= trials) {
            return Some("the budget of trials was used up".to_owned());
        }
        None
    }
}

fn explore(
    setup: &Setup,
    references: &References,
    nodes: Vec<Node>,
    bounds: &Bounds,
    explored: &mut Explored,
    progress: &Progress,
) {
    let repeats = if bounds.brute_force.is_some() { 1 } else { REPEATS };
    let of = |node| {
        (0..repeats)
            .map(move |repeat| fork(setup, &references.settle, node, repeat, repeat + 1 == repeats))
    };
    let jobs: Vec<TrialSpec> = nodes.iter().flat_map(of).collect();
    let work = |spec: &TrialSpec| {
        let run = trial::run(setup, spec.clone());
        let verdicts = judge::verdicts(&run, &references.baseline);
        progress.tell(Event::Done {
            unknown: judge::summary(&run, &verdicts) == VerdictValue::Unknown,
        });
        (run, verdicts)
    };
    let mut results = pool::map(setup.workers, &jobs, work).into_iter();
    for node in nodes {
        let mut signatures = BTreeSet::new();
        for _ in 0..repeats {
            let Some((run, verdicts)) = results.next() else { break };
            signatures.insert(judge::writes_signature(&run));
            integrate(setup, references, bounds, explored, run, verdicts);
        }
        if signatures.len() > 1 {
            explored.nondeterministic += 1;
            repeat_until_calm(setup, references, bounds, explored, &node, &work);
        }
    }
}

/// Runs a world again until some repeats in a row bring nothing new.
fn repeat_until_calm(
    setup: &Setup,
    references: &References,
    bounds: &Bounds,
    explored: &mut Explored,
    node: &Node,
    work: &dyn Fn(&TrialSpec) -> (TrialRun, Vec<Verdict>),
) {
    let mut calm = 0;
    for repeat in REPEATS..REPEATS_AT_MOST {
        let (run, verdicts) =
            work(&fork(setup, &references.settle, node, repeat, !repeat.is_multiple_of(2)));
        let new = integrate(setup, references, bounds, explored, run, verdicts);
        calm = if new == 0 { calm + 1 } else { 0 };
        if calm >= CALM_REPEATS {
            return;
        }
    }
    let why = format!("worlds that still led to new ones after {REPEATS_AT_MOST} repeats");
    *explored.frontier.left_out.entry(why).or_default() += 1;
}

/// A trial of this world: on a fork where there is one, else from the beginning. `last` says that it waits long at its
/// end, if any does.
fn fork(setup: &Setup, settle: &Settle, node: &Node, repeat: u64, last: bool) -> TrialSpec {
    let world = node.world.as_ref().filter(|_| setup.clock != ClockMode::Untouched);
    let Some(world) = world else {
        return confirm::from_beginning(&node.plan, repeat, settle.usual());
    };
    TrialSpec {
        plan: node.plan.clone(),
        start: Start::Fork(Box::new(world.clone()), node.cursor, node.begun),
        armed: vec![],
        repeat,
        waits: if last { settle.explored_to_the_end() } else { settle.usual() },
        folder: None,
    }
}

/// What a run had to tell: what of the controller can't be seen, what fell back to something weaker.
pub fn told(history: &History) -> impl Iterator<Item = String> {
    history.records.iter().filter_map(|record| match &record.event {
        Happened::Note { text } => Some(text.clone()),
        _ => None,
    })
}

/// Counts a trial and takes in the worlds that it reached. Says how many were new.
fn integrate(
    setup: &Setup,
    references: &References,
    bounds: &Bounds,
    explored: &mut Explored,
    mut run: TrialRun,
    verdicts: Vec<Verdict>,
) -> usize {
    explored.run += 1;
    explored.trial_seconds.push((run.real.as_secs_f64(), run.subject_cpu.as_secs_f64()));
    explored.missing_permissions.extend(missing_permissions::missing(&run.history));
    explored.notes.extend(told(&run.history));
    let value = judge::summary(&run, &verdicts);
    explored.trials.push(Carried::new(&run, &verdicts, value));
    match value {
        VerdictValue::Held => explored.held += 1,
        VerdictValue::Violated => explored.violated += 1,
        VerdictValue::Unknown => {
            explored.unknown += 1;
            let why = judge::why_unknown(&run, &verdicts);
            *explored.unknown_reasons.entry(why).or_default() += 1;
        }
    }
    explored.end_states.extend(judge::end_state(&run, &references.baseline));
    let leaf = value == VerdictValue::Violated && explored.violated > bounds.through_findings;
    let new = explored.frontier.absorb(setup, &run, leaf);
    run.server = None; // its worlds are in the frontier now
    if value != VerdictValue::Unknown {
        setup.forget(&run);
    }
    if value == VerdictValue::Violated && explored.wants(&verdicts) {
        explored.suspects.push(Suspect { run, verdicts });
    }
    new
}
