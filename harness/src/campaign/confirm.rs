//! From suspects to findings: grouped with their equals, confirmed from the beginning, minimised.
//!
//! A finding counts only when its plan, carried out from the beginning on a running controller, shows it
//! every time, and the same run without the perturbation is clean.
//!
//! Five of five. What only forks show is reported as suspected, and makes the exit code 2.

use std::{collections::BTreeMap, time::Instant};

use oracles::{Fingerprint, Oracle, Verdict, VerdictValue};
use plans::{Citation, Crash, Plan, plan::Weight};

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
    /// When that was done.
    pub confirmed_at: Instant,
}

impl Finding {
    /// Why a real cluster may do each of its perturbations, in order.
    pub fn citations(&self) -> impl Iterator<Item = Citation> {
        self.plan.perturbations.iter().map(|one| one.citation(&self.shown.history))
    }
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
    // Few families first: what they show needs no more.
    let mut groups: BTreeMap<(usize, Fingerprint), Vec<Suspect>> = BTreeMap::new();
    for suspect in suspects {
        let fingerprint = suspect.verdict.fingerprint.clone();
        groups.entry((fingerprint.families().len(), fingerprint)).or_default().push(suspect);
    }
    let mut findings = Findings::default();
    if groups.is_empty() {
        return findings;
    }
    let restarts = groups.values().flatten().any(|suspect| suspect.plan.restarts_when_settled());
    let control = Control::run(setup, references, restarts);
    progress.tell(Event::Total(groups.len() as u64));
    for ((_, fingerprint), mut group) in groups {
        if findings.explain(&fingerprint) {
            progress.tell(Event::Done { verdict: None });
            continue;
        }
        group.sort_by_key(|suspect| order(&suspect.plan));
        // What happens undisturbed as well is no suspect, and confirming it would take minutes.
        let control_failed = control.shows(&fingerprint.symptom());
        if control_failed || interrupt::asked() {
            progress.tell(Event::Done { verdict: Some(VerdictValue::Unknown) });
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

impl Findings {
    /// Whether some of these families were confirmed to show the same by themselves.
    fn explain(&self, fingerprint: &Fingerprint) -> bool {
        let (symptom, families) = (fingerprint.symptom(), fingerprint.families());
        families.len() > 1
            && self.confirmed.iter().any(|known| {
                let known = &known.verdict.fingerprint;
                known.symptom() == symptom && known.families().is_subset(&families)
            })
    }
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
    let fingerprint = group[0].verdict.fingerprint.symptom();
    let mut best: Option<Unconfirmed> = None;
    for suspect in group.iter().take(CANDIDATES) {
        if interrupt::asked() {
            break;
        }
        let proof = Proof { setup, references, symptom: &fingerprint };
        // Minimising repeats a plan many times, so first of all it has to show anything.
        if proof
            .reproduce(&suspect.plan, Repeats { first: suspect.repeat % 2, step: 1 }, 1)
            .is_empty()
        {
            let confirmed = (0, 1);
            let (title, plan) = (suspect.verdict.title.clone(), suspect.plan.clone());
            best.get_or_insert(Unconfirmed { title, confirmed, control_failed: false, plan });
            continue;
        }
        let (plan, mut shown) = proof.confirm(suspect);
        let reproduced = shown.len() as u32;
        let confirmed = (reproduced, CONFIRMATIONS);
        let control_failed = control.is_unsure();
        let verdict = &suspect.verdict;
        if reproduced == CONFIRMATIONS && !control_failed {
            let run = shown.swap_remove(0);
            let verdicts = judge::verdicts(&run, &references.baseline);
            let verdict = matching(&verdicts, &fingerprint).unwrap_or(verdict).clone();
            progress.tell(Event::Done { verdict: None });
            let id = verdict.fingerprint.id();
            // Without what it did not need it may be one that is known.
            if findings.confirmed.iter().any(|known| known.id == id) {
                return;
            }
            progress.tell(Event::Finding { title: verdict.title.clone() });
            let confirmed_at = Instant::now();
            findings.confirmed.push(Finding {
                id,
                verdict,
                verdicts,
                plan,
                shown: run,
                confirmed,
                confirmed_at,
            });
            return;
        }
        if best.as_ref().is_none_or(|best| best.confirmed.0 < reproduced) {
            best =
                Some(Unconfirmed { title: verdict.title.clone(), confirmed, control_failed, plan });
        }
    }
    progress.tell(Event::Done { verdict: Some(VerdictValue::Unknown) });
    findings.unconfirmed.extend(best);
}

/// Which repeats of a plan: even ones give name suffixes in ascending order, odd ones in descending.
#[derive(Clone, Copy)]
struct Repeats {
    first: u64,
    step: u64,
}

/// Shows that plans lead to a fingerprint.
struct Proof<'p> {
    setup: &'p Setup,
    references: &'p References,
    /// What is to be shown, by whichever family.
    symptom: &'p Fingerprint,
}

impl Proof<'_> {
    /// The smallest plan that shows it every time, or the suspect's own, and the runs that showed it. Names in both
    /// orders first; a finding may need one of them.
    fn confirm(&self, suspect: &Suspect) -> (Plan, Vec<TrialRun>) {
        let mut best: Option<(Plan, Vec<TrialRun>)> = None;
        for repeats in
            [Repeats { first: 0, step: 1 }, Repeats { first: suspect.repeat % 2, step: 2 }]
        {
            for plan in self.minimised(&suspect.plan, repeats) {
                if interrupt::asked() {
                    break;
                }
                let shown = self.reproduce(&plan, repeats, CONFIRMATIONS);
                if shown.len() as u32 == CONFIRMATIONS {
                    return (plan, shown);
                }
                if best.as_ref().is_none_or(|(_, most)| most.len() < shown.len()) {
                    best = Some((plan, shown));
                }
            }
        }
        best.unwrap_or_else(|| (suspect.plan.clone(), vec![]))
    }

    /// Drops perturbations and simplifies restarts as long as the finding stays. The smallest plan, and, if it is
    /// another, the one before it: what showed twice may not show five times.
    fn minimised(&self, plan: &Plan, repeats: Repeats) -> Vec<Plan> {
        let mut plans = vec![plan.clone()];
        while !interrupt::asked() {
            let smaller = simpler(&plans[0])
                .into_iter()
                .find(|candidate| self.reproduce(candidate, repeats, 2).len() == 2);
            match smaller {
                Some(smaller) => plans.insert(0, smaller),
                None => break,
            }
        }
        plans.truncate(2);
        plans
    }

    /// Carries a plan out from the beginning. The runs that showed it.
    fn reproduce(&self, plan: &Plan, repeats: Repeats, times: u32) -> Vec<TrialRun> {
        let Proof { setup, references, symptom } = self;
        let waits = references.settle.confirming();
        let numbers = (0..u64::from(times)).map(|at| repeats.first + repeats.step * at);
        let specs: Vec<TrialSpec> =
            numbers.map(|repeat| from_beginning(plan, repeat, waits)).collect();
        let runs = pool::map(setup.workers, &specs, |spec| trial::run(setup, spec.clone()));
        let showing = |run: &TrialRun| {
            matching(&judge::verdicts(run, &references.baseline), symptom).is_some()
        };
        runs.iter().for_each(|run| setup.forget(run));
        runs.into_iter().filter(showing).collect()
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
        for notch in plan.perturbations[index].anomaly().simpler() {
            let mut changed = plan.clone();
            changed.perturbations[index] = notch;
            simpler.push(changed);
        }
    }
    simpler
}

/// A plan carried out on a controller that runs from the beginning.
pub fn from_beginning(plan: &Plan, repeat: u64, waits: Waits) -> TrialSpec {
    TrialSpec {
        plan: plan.clone(),
        start: Start::Beginning,
        armed: plan.perturbations.clone(),
        repeat,
        waits,
        until: None,
        folder: None,
    }
}

fn matching<'v>(verdicts: &'v [Verdict], symptom: &Fingerprint) -> Option<&'v Verdict> {
    let is_it = |verdict: &&Verdict| {
        verdict.value == VerdictValue::Violated && verdict.fingerprint.symptom() == *symptom
    };
    verdicts.iter().find(is_it)
}

/// The same runs without any perturbation, waiting as long as those that confirm: names in both orders.
struct Control {
    runs: Vec<(VerdictValue, Vec<Verdict>)>,
    /// What such runs write that are restarted when all has settled, where that is suspected of others.
    restarted: Vec<Verdict>,
}

impl Control {
    fn run(setup: &Setup, references: &References, restarts: bool) -> Control {
        let judged = |plan: Plan| {
            let waits = references.settle.confirming();
            let specs = [0, 1].map(|repeat| from_beginning(&plan, repeat, waits));
            let runs = pool::map(setup.workers, &specs, |spec| trial::run(setup, spec.clone()));
            let judged = |run: &TrialRun| {
                setup.forget(run);
                let verdicts = judge::verdicts(run, &references.baseline);
                (judge::summary(run, &verdicts), verdicts)
            };
            runs.iter().map(judged).collect::<Vec<_>>()
        };
        let plan = Plan::undisturbed().and(Crash::when_settled());
        let restarted = if restarts { judged(plan) } else { vec![] };
        // By any other oracle such a restart is a finding of its own.
        let restarted = restarted.into_iter().flat_map(|(_, verdicts)| verdicts);
        let of_writes = restarted.filter(|verdict| verdict.oracle == Oracle::RestartWrites);
        Control { runs: judged(Plan::undisturbed()), restarted: of_writes.collect() }
    }

    /// Whether none of them holds, so that nothing can be told from them.
    fn is_unsure(&self) -> bool {
        self.runs.iter().all(|(summary, _)| *summary != VerdictValue::Held)
    }

    fn shows(&self, symptom: &Fingerprint) -> bool {
        let undisturbed =
            self.runs.iter().any(|(_, verdicts)| matching(verdicts, symptom).is_some());
        undisturbed || matching(&self.restarted, symptom).is_some()
    }
}
