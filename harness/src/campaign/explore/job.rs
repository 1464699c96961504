//! One trial of an exploration: what is asked, how it is carried out and taken apart on a worker thread, and what comes
//! back to be counted.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use oracles::{Oracle, Severity, Verdict, VerdictValue};
use plans::{Family, Perturbation, Plan, PlanId};
use serde::Serialize;
use trace::GroupResource;

use super::{Suspect, settled_restarts::End, told};
use crate::{
    campaign::{
        confirm,
        families::{
            stale_state,
            unobserved_state::{self, Intervals},
        },
        fork_graph::Piece,
        frontier::Writes,
        judge,
        lens::Lens,
        missing_permissions,
        node::{Node, Waiting},
        reached::{self, Harvest, Then},
        reference::References,
        settle::Settle,
        settled_restart,
        setup::{ClockMode, Setup},
    },
    trial::{
        self, Fork, RunEnd, Start, TrialRun, TrialSpec, cpu_time, history_file, phases::Phases,
    },
};

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
    /// The same of what was wrong for a while, and is right in the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transient: Vec<String>,
    /// The trial's folder, relative to that of the run, where its files are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Why it proved nothing, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// It can't be carried out in such a run, for that reason: no part of the trials that are counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_possible: bool,
    /// The plan in words.
    pub text: String,
    /// The plan.
    pub plan: Plan,
}

impl Carried {
    fn new(run: &TrialRun, verdicts: &[Verdict], verdict: VerdictValue) -> Carried {
        let plan = run.spec.plan.clone();
        let ids = |of: Severity| -> Vec<String> {
            let violated = verdicts.iter().filter(|one| one.value == VerdictValue::Violated);
            let of = violated.filter(|one| one.oracle.severity() == of);
            of.map(|one| one.fingerprint.id()).collect()
        };
        let unknown = verdict == VerdictValue::Unknown;
        Carried {
            id: plan.id(),
            repeat: run.spec.repeat,
            forked: matches!(run.spec.start, Start::Fork(..)),
            verdict,
            fingerprints: ids(Severity::Lasting),
            transient: ids(Severity::Transient),
            folder: None,
            why: unknown.then(|| judge::why_unknown(run, verdicts)),
            not_possible: matches!(run.end, RunEnd::NotPossible(_)),
            text: plan.to_string(),
            plan,
        }
    }
}

/// What a trial took, for figures.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Real time of the trial itself, without what is made of it afterwards.
    pub real: Duration,
    /// On what that was spent.
    pub phases: Phases,
    /// Real time of what is made of the trial: judged, and taken apart.
    pub judge: Duration,
    /// Processor time of the subject's processes.
    pub subject_cpu: Duration,
    /// Processor time of the worker thread: carried out, judged and taken apart. The threads that keep processes and the
    /// one that counts results are not in it.
    pub own_cpu: Duration,
    /// When the worker thread was done with it.
    pub ended: Instant,
}

/// One trial to carry out, and what it needs to know of the campaign as it was then.
pub(super) struct Job {
    /// Which world it explores; none: it is aside from all that explore worlds.
    pub world: Option<usize>,
    /// Where it starts; none: at the beginning.
    pub node: Option<Waiting>,
    /// None: only what follows the world is asked for.
    pub asked: Option<Asked>,
    pub lens: Arc<Lens>,
    /// What follows the node while the controller stays down is still to be worked out.
    pub follow: bool,
    pub shows: Shows,
}

/// Which trial is asked for.
pub(super) enum Asked {
    /// One of the node.
    OfNode {
        repeat: u64,
        /// It waits long at its end, if any does.
        patient: bool,
        /// What the controller never sees after its start.
        missed: Option<Box<Perturbation>>,
    },
    /// This one.
    OfPlan(Box<TrialSpec>),
}

/// What of a trial is looked at besides, if it is held.
#[derive(Clone, Copy, Default)]
pub(super) struct Shows {
    /// What the subject may never see after this start.
    pub intervals: bool,
    /// Its end, where a restart may be tried.
    pub end: bool,
}

impl Job {
    /// A trial that explores no world.
    pub fn aside(node: Option<Waiting>, asked: Asked, lens: Arc<Lens>) -> Job {
        let (follow, shows) = Default::default();
        Job { world: None, node, asked: Some(asked), lens, follow, shows }
    }
}

/// What a job came to.
pub(super) struct Done {
    pub world: Option<usize>,
    /// The version of the footprint that worlds were told apart by.
    pub version: u64,
    pub then: Option<Then>,
    /// What both add to the fork graph, where that is asked for.
    pub pieces: Vec<Piece>,
    pub trial: Option<Tried>,
}

/// A trial that was carried out and taken apart.
pub(super) struct Tried {
    /// It was to follow a run of a model.
    pub of_model: bool,
    pub family: Option<Family>,
    pub never_fired: bool,
    /// Why its plan can't be carried out.
    pub not_possible: Option<String>,
    /// A type whose caches are never behind for this subject, and why.
    pub never_behind: Option<(GroupResource, String)>,
    pub carried: Carried,
    pub verdict: VerdictValue,
    pub why_unknown: Option<String>,
    pub harvest: Harvest,
    /// What it adds to the fork graph, where that is asked for.
    pub piece: Option<Piece>,
    /// What it wrote, as far as another trial of its world must have done it.
    pub signature: BTreeSet<String>,
    /// The same with what it came to; none of a trial that waited for longer, or proved nothing.
    pub writes: Option<Writes>,
    pub end_state: Option<String>,
    pub missing_permissions: BTreeSet<String>,
    pub notes: BTreeSet<String>,
    pub cost: Cost,
    /// What the subject may never see where the same is done again.
    pub intervals: Intervals,
    /// Where the controller may be restarted at its end.
    pub end: Option<End>,
    /// Kept of a violated one: the verdict that names it, and that of a property besides.
    pub suspects: Vec<Suspect>,
}

/// Everything that can be done with a trial without knowing what others came to.
pub(super) fn carry_out(setup: &Setup, references: &References, job: Job) -> Done {
    let Job { world, node, asked, lens, follow, shows } = job;
    let used_before = cpu_time::of_this_thread();
    let node = node.map(|node| node.unpack());
    let then = node.as_ref().filter(|_| follow).map(|node| reached::follow(setup, &lens, node));
    let followed = node.clone().filter(|_| follow && setup.keeps_graph);
    let spec = asked.and_then(|asked| asked.spec(setup, &references.settle, node));
    let mut trial = spec.map(|spec| tried(setup, references, &lens, spec, shows));
    if let Some(trial) = &mut trial {
        trial.cost.own_cpu = cpu_time::of_this_thread().saturating_sub(used_before);
        trial.cost.ended = Instant::now();
    }
    let mut pieces = Vec::new();
    if let (true, Some((node, then))) = (setup.keeps_graph, followed.zip(then.as_ref())) {
        pieces.extend(Piece::while_down(setup, &lens, &node, then));
    }
    pieces.extend(trial.as_mut().and_then(|trial| trial.piece.take()));
    Done { world, version: lens.version, then, pieces, trial }
}

fn tried(
    setup: &Setup,
    references: &References,
    lens: &Lens,
    spec: TrialSpec,
    shows: Shows,
) -> Tried {
    let patient = spec.waits != references.settle.usual();
    let mut run = trial::run(setup, spec);
    let played = Instant::now();
    let view = judge::trial_view(&run);
    let verdicts = judge::verdicts_of(setup, &run, &view, &references.baseline);
    let verdict = judge::summary(&run, &verdicts);
    let violated = verdict == VerdictValue::Violated;
    let held = verdict == VerdictValue::Held;
    let of_model = !setup.model_runs.of(&run.spec.plan).is_empty();
    let explores = setup.campaign.file.spec.families.iter().any(|family| family.restarts());
    let harvest = match run.spec.plan.restarts_when_settled() || (of_model && !explores) {
        true => Harvest { version: lens.version, ..Harvest::default() },
        false => {
            reached::harvest(setup, lens, &run, &view.run, violated && lens.ends_at_violations)
        }
    };
    let leaf = violated && lens.ends_at_violations;
    let piece = setup.keeps_graph.then(|| Piece::of_trial(setup, lens, &run, &harvest, leaf));
    let carried = Carried::new(&run, &verdicts, verdict);
    let unknown = verdict == VerdictValue::Unknown;
    let signature = judge::writes(&view.run, &references.baseline.masks);
    let writes = (!patient && !unknown).then(|| {
        let violated = carried.fingerprints.iter().map(|id| format!("violated {id}"));
        signature.iter().cloned().chain(violated).collect()
    });
    let mut tried = Tried {
        of_model,
        family: run.spec.plan.family(),
        never_fired: matches!(run.end, RunEnd::NeverFired(_)),
        not_possible: match &run.end {
            RunEnd::NotPossible(why) => Some(why.clone()),
            _ => None,
        },
        never_behind: stale_state::never_behind(&run),
        why_unknown: unknown.then(|| judge::why_unknown(&run, &verdicts)),
        harvest,
        piece: piece.flatten(),
        writes,
        end_state: judge::end_state(&view.run, &references.baseline),
        missing_permissions: missing_permissions::missing(&run.history),
        notes: told(&run.history).collect(),
        cost: Cost {
            real: run.real,
            phases: run.phases,
            judge: played.elapsed(),
            subject_cpu: run.subject_cpu,
            own_cpu: Duration::ZERO, // what follows counts as well
            ended: Instant::now(),
        },
        end: (shows.end && held)
            .then(|| settled_restart::restart(setup, lens, &run))
            .flatten()
            .map(|restart| End { restart, wrote: signature.clone() }),
        intervals: match shows.intervals && held {
            true => unobserved_state::intervals(setup, lens, &run),
            false => Default::default(),
        },
        signature,
        carried,
        verdict,
        suspects: vec![],
    };
    let shows_more = |id: &String| setup.keeps_another(id);
    if unknown || (violated && tried.carried.fingerprints.first().is_some_and(shows_more)) {
        history_file::keep(setup, &run);
        tried.carried.folder = folder_of(setup, &run);
    } else {
        setup.forget(&run);
    }
    run.server = None; // its worlds are in the harvest now
    let all = verdicts.into_iter().filter(|verdict| verdict.value == VerdictValue::Violated);
    let (of_properties, others): (Vec<_>, Vec<_>) =
        all.filter(|_| !unknown).partition(|verdict| verdict.oracle == Oracle::Property);
    let worst = others.into_iter().min_by_key(|verdict| verdict.oracle.severity());
    // What the user asks for is told whatever else is wrong; what is right in the end is told where nothing else is.
    let worst = worst.filter(|one| of_properties.is_empty() || one.is_lasting_violation());
    let (plan, repeat) = (run.spec.plan, run.spec.repeat);
    let suspect = |verdict| Suspect { plan: plan.clone(), repeat, verdict };
    Tried { suspects: worst.into_iter().chain(of_properties).map(suspect).collect(), ..tried }
}

/// A trial's folder, relative to that of the campaign's run.
fn folder_of(setup: &Setup, run: &TrialRun) -> Option<String> {
    let below = run.folder.strip_prefix(setup.scratch.parent()?).ok()?;
    Some(below.display().to_string())
}

impl Asked {
    fn spec(self, setup: &Setup, settle: &Settle, node: Option<Node>) -> Option<TrialSpec> {
        match self {
            Asked::OfPlan(spec) => Some(*spec),
            Asked::OfNode { repeat, patient, missed } => {
                let mut spec = fork(setup, settle, &node?, repeat, patient);
                if let Some(missed) = missed {
                    spec.plan = spec.plan.and((*missed).clone());
                    spec.armed.push(*missed);
                }
                Some(spec)
            }
        }
    }
}

/// A trial of this world: on a fork where there is one, else from the beginning. `patient`: it waits long at its end, if
/// any does.
fn fork(setup: &Setup, settle: &Settle, node: &Node, repeat: u64, patient: bool) -> TrialSpec {
    let world = node.world.as_ref().filter(|_| setup.clock != ClockMode::Untouched);
    let Some(world) = world else {
        return confirm::from_beginning(&node.plan, repeat, settle.usual());
    };
    let Node { cursor, begun, passed, .. } = *node;
    let behind = node.behind.as_ref().map(|behind| behind.revision);
    let waits = if patient { settle.explored_to_the_end() } else { settle.usual() };
    let fork = Fork { world: world.clone(), cursor, begun, behind, passed };
    TrialSpec::on(fork, &node.plan, repeat, waits)
}
