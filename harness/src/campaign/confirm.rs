//! From suspects to findings: grouped with their equals, confirmed from the beginning, minimised.
//!
//! A finding counts only when its plan, carried out from the beginning on a running controller, shows it
//! every time, and the same run without the perturbation is clean.
//!
//! Five of five. What only forks show is reported as suspected, and makes the exit code 2.

use std::collections::BTreeMap;

use oracles::{Verdict, VerdictValue};
use plans::{Perturbation, Plan, Restart, plan::Weight};

use crate::{
    campaign::{
        explore::Suspect,
        interrupt, judge, pool,
        progress::{Event, Progress},
        reference::References,
        settle::Waits,
        setup::Setup,
    },
    trial::{self, Start, TrialRun, TrialSpec},
};

/// How often a finding is repeated.
pub const CONFIRMATIONS: u32 = 5;

/// A confirmed finding.
pub struct Finding {
    /// Its fingerprint's id.
    pub id: String,
    /// The violated verdict that names it.
    pub verdict: Verdict,
    /// Everything that was violated in the shown trial.
    pub verdicts: Vec<Verdict>,
    /// The minimal plan.
    pub plan: Plan,
    /// A confirming trial, from the beginning.
    pub shown: TrialRun,
    /// How often it was reproduced, of how many.
    pub confirmed: (u32, u32),
}

/// A group of suspects that did not hold up.
pub struct Unconfirmed {
    /// What they seemed to show.
    pub title: String,
    /// How often it was reproduced, of how many.
    pub confirmed: (u32, u32),
    /// Whether the run without the perturbation shows it too.
    pub control_failed: bool,
    /// The plan.
    pub plan: Plan,
}

/// What became of the suspects.
#[derive(Default)]
pub struct Findings {
    /// Confirmed ones.
    pub confirmed: Vec<Finding>,
    /// The others: reported, never counted as findings.
    pub unconfirmed: Vec<Unconfirmed>,
}

/// Groups suspects by fingerprint, then confirms and minimises each group's smallest plan.
pub fn findings(
    setup: &Setup,
    references: &References,
    suspects: Vec<Suspect>,
    progress: &Progress,
) -> Findings {
    let mut groups: BTreeMap<String, Vec<Suspect>> = BTreeMap::new();
    for suspect in suspects {
        groups.entry(suspect.verdict.fingerprint.id()).or_default().push(suspect);
    }
    let mut findings = Findings::default();
    if groups.is_empty() {
        return findings;
    }
    let control = Control::run(setup, references);
    progress.tell(Event::Total(groups.len() as u64));
    for (fingerprint, mut group) in groups {
        group.sort_by_key(|suspect| order(&suspect.plan));
        // What happens undisturbed as well is no suspect, and confirming it would take minutes.
        let control_failed = control.shows(&fingerprint);
        if control_failed || interrupt::asked() {
            findings.unconfirmed.push(Unconfirmed {
                title: group[0].verdict.title.clone(),
                confirmed: (0, 0),
                control_failed,
                plan: group[0].plan.clone(),
            });
            continue;
        }
        confirm(setup, references, &group, &control, &mut findings, progress);
    }
    findings.confirmed.sort_by_key(|finding| (order(&finding.plan), finding.id.clone()));
    findings
}

/// Smaller plans first.
fn order(plan: &Plan) -> (Weight, String) {
    (plan.weight(), plan.to_string())
}

/// How many of a group's plans are tried before it counts as unconfirmed.
const CANDIDATES: usize = 5;

fn confirm(
    setup: &Setup,
    references: &References,
    group: &[Suspect],
    control: &Control,
    findings: &mut Findings,
    progress: &Progress,
) {
    let fingerprint = group[0].verdict.fingerprint.id();
    let mut best: Option<Unconfirmed> = None;
    for suspect in group.iter().take(CANDIDATES) {
        if interrupt::asked() {
            break;
        }
        // Minimising repeats a plan many times, so first of all it has to show anything.
        if reproduce(setup, references, &suspect.plan, &fingerprint, 1).1 == 0 {
            let confirmed = (0, 1);
            let (title, plan) = (suspect.verdict.title.clone(), suspect.plan.clone());
            best.get_or_insert(Unconfirmed { title, confirmed, control_failed: false, plan });
            continue;
        }
        let plan = minimise(setup, references, &suspect.plan, &fingerprint);
        let (mut shown, reproduced) =
            reproduce(setup, references, &plan, &fingerprint, CONFIRMATIONS);
        let confirmed = (reproduced, CONFIRMATIONS);
        let control_failed = !control.is_clean();
        let verdict = &suspect.verdict;
        if reproduced == CONFIRMATIONS && !control_failed {
            let run = shown.swap_remove(0);
            let verdicts = judge::verdicts(&run, &references.baseline);
            let verdict = matching(&verdicts, &fingerprint).unwrap_or(verdict).clone();
            progress.tell(Event::Done { unknown: false });
            progress.tell(Event::Finding { title: verdict.title.clone() });
            findings.confirmed.push(Finding {
                id: fingerprint.clone(),
                verdict,
                verdicts,
                plan,
                shown: run,
                confirmed,
            });
            return;
        }
        if best.as_ref().is_none_or(|best| best.confirmed.0 < reproduced) {
            best =
                Some(Unconfirmed { title: verdict.title.clone(), confirmed, control_failed, plan });
        }
    }
    progress.tell(Event::Done { unknown: true });
    findings.unconfirmed.extend(best);
}

/// Drops perturbations and simplifies restarts as long as the finding stays.
fn minimise(setup: &Setup, references: &References, plan: &Plan, fingerprint: &str) -> Plan {
    let mut plan = plan.clone();
    loop {
        if interrupt::asked() {
            return plan;
        }
        let smaller = simpler(&plan).into_iter().find(|candidate| {
            let (_, reproduced) = reproduce(setup, references, candidate, fingerprint, 2);
            reproduced == 2
        });
        match smaller {
            Some(smaller) => plan = smaller,
            None => return plan,
        }
    }
}

/// Plans that are one notch simpler.
fn simpler(plan: &Plan) -> Vec<Plan> {
    let mut simpler = Vec::new();
    for index in 0..plan.perturbations.len() {
        if plan.perturbations.len() > 1 {
            let mut fewer = plan.clone();
            fewer.perturbations.remove(index);
            simpler.push(fewer);
        }
        let Perturbation::Crash(crash) = &plan.perturbations[index];
        let mut change = |crash: plans::Crash| {
            let mut changed = plan.clone();
            changed.perturbations[index] = Perturbation::Crash(crash);
            simpler.push(changed);
        };
        if crash.restart != Restart::Immediately {
            change(plans::Crash { restart: Restart::Immediately, ..crash.clone() });
        }
        if !crash.dropped.is_empty() {
            change(plans::Crash { dropped: vec![], ..crash.clone() });
        }
    }
    simpler
}

/// Carries a plan out from the beginning `times` times. The runs that showed the fingerprint, and their number.
pub fn reproduce(
    setup: &Setup,
    references: &References,
    plan: &Plan,
    fingerprint: &str,
    times: u32,
) -> (Vec<TrialRun>, u32) {
    let waits = references.settle.confirming();
    let specs: Vec<TrialSpec> =
        (0..u64::from(times)).map(|repeat| from_beginning(plan, repeat, waits)).collect();
    let runs = pool::map(setup.workers, &specs, |spec| trial::run(setup, spec.clone()));
    let showing = |run: &TrialRun| {
        matching(&judge::verdicts(run, &references.baseline), fingerprint).is_some()
    };
    runs.iter().for_each(|run| setup.forget(run));
    let shown: Vec<TrialRun> = runs.into_iter().filter(showing).collect();
    let count = shown.len() as u32;
    (shown, count)
}

/// A plan carried out on a controller that runs from the beginning.
pub fn from_beginning(plan: &Plan, repeat: u64, waits: Waits) -> TrialSpec {
    TrialSpec {
        plan: plan.clone(),
        start: Start::Beginning,
        armed: plan.perturbations.clone(),
        repeat,
        waits,
        folder: None,
    }
}

fn matching<'v>(verdicts: &'v [Verdict], fingerprint: &str) -> Option<&'v Verdict> {
    let is_it = |verdict: &&Verdict| {
        verdict.value == VerdictValue::Violated && verdict.fingerprint.id() == fingerprint
    };
    verdicts.iter().find(is_it)
}

/// The same run without any perturbation, waiting as long as those that confirm.
pub struct Control {
    summary: VerdictValue,
    verdicts: Vec<Verdict>,
}

impl Control {
    /// Runs it.
    pub fn run(setup: &Setup, references: &References) -> Control {
        let waits = references.settle.confirming();
        let run = trial::run(setup, from_beginning(&Plan::undisturbed(), 0, waits));
        setup.forget(&run);
        let verdicts = judge::verdicts(&run, &references.baseline);
        Control { summary: judge::summary(&run, &verdicts), verdicts }
    }

    /// Whether it holds.
    pub fn is_clean(&self) -> bool {
        self.summary == VerdictValue::Held
    }

    fn shows(&self, fingerprint: &str) -> bool {
        matching(&self.verdicts, fingerprint).is_some()
    }
}
