//! From suspects to findings: confirmed from the beginning and minimised while the campaign goes on.
//!
//! A finding counts only when its plan, carried out from the beginning on a running controller, shows it
//! every time, and the same run without the perturbation is clean: five of five.
//!
//! **One bug, one finding.** What fails in the same way (the same fingerprint) is one case, by whichever plans and
//! families it shows. The simplest plan that is confirmed names it; the others are counted, by family. Cases with the same
//! cause are one finding as well: what else differs follows from the same write, or is seen by another oracle.
//!
//! **At once.** A thread of its own takes suspects as they appear. The plans of a case come in the order in which trials are
//! counted, so what it comes to does not depend on how fast the thread is. Its trials and those that explore share the campaign's workers
//! ([`Setup::slots`]).
//!
//! What is not confirmed is reported as suspected, and makes the exit code 2.

mod control;
mod proof;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Instant,
};

use oracles::{Fingerprint, Verdict, VerdictValue};
use plans::{Citation, Plan};

use crate::{
    campaign::{
        explore::Suspect,
        fault, interrupt, judge, pool,
        progress::{Event, Progress},
        reference::References,
        settle::Waits,
        setup::Setup,
    },
    trial::{self, Start, TrialRun, TrialSpec},
};
use control::Control;
use proof::{Proof, Repeats};

/// How often a finding is repeated.
pub const CONFIRMATIONS: u32 = 5;

/// How many plans of a case are tried before it counts as unconfirmed.
const CANDIDATES: u32 = 5;

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
    /// When that was done first.
    pub confirmed_at: Instant,
    /// Other cases that the same wrong write led to.
    pub also: Vec<Also>,
}

/// A case that a finding explains.
pub struct Also {
    /// Its fingerprint's id.
    pub id: String,
    /// What it showed.
    pub title: String,
}

impl Also {
    fn of(verdict: &Verdict) -> Also {
        Also { id: verdict.fingerprint.id(), title: verdict.title.clone() }
    }
}

impl Finding {
    /// The ids of all that it explains, its own first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.id).chain(self.also.iter().map(|also| &*also.id))
    }

    /// Why a real cluster may do each of its perturbations, in order.
    pub fn citations(&self) -> impl Iterator<Item = Citation> {
        self.plan.perturbations.iter().map(|one| one.citation(&self.shown.history))
    }
}

/// A case that did not hold up, or was not tried.
pub struct Unconfirmed {
    /// What it seemed to show.
    pub verdict: Verdict,
    /// How far it came.
    pub tried: Tried,
    /// The plan.
    pub plan: Plan,
}

/// How far a case came that is no finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tried {
    /// Not at all: the campaign ended before its turn.
    Not,
    /// Reproduced so often, of so many.
    Reproduced(u32, u32),
    /// The run without the perturbation shows it too, or shows nothing.
    ControlFailed,
}

/// What became of the suspects.
#[derive(Default)]
pub struct Findings {
    /// Confirmed ones, the simplest plan first.
    pub confirmed: Vec<Finding>,
    /// The same of what is right in the end.
    pub transient: Vec<Finding>,
    /// The others: reported, never counted as findings.
    pub unconfirmed: Vec<Unconfirmed>,
}

impl Findings {
    /// All that was confirmed.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        self.confirmed.iter().chain(&self.transient)
    }
}

/// Suspects on their way from the exploration to the thread that confirms.
pub struct Suspicions {
    suspects: mpsc::Sender<Suspect>,
    waiting: Arc<AtomicUsize>,
}

/// The other end of [`Suspicions`].
pub struct Suspects {
    suspects: mpsc::Receiver<Suspect>,
    waiting: Arc<AtomicUsize>,
}

/// A way for suspects.
pub fn way() -> (Suspicions, Suspects) {
    let (sender, suspects) = mpsc::channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (Suspicions { suspects: sender, waiting: waiting.clone() }, Suspects { suspects, waiting })
}

impl Suspicions {
    /// A trial was violated.
    pub fn tell(&self, suspect: Suspect) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        // Whoever confirms takes all until the exploration ends.
        drop(self.suspects.send(suspect));
    }

    /// Whether any is still to be confirmed.
    pub fn any(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }
}

/// Confirms suspects as they come, until none comes any more. From `until` on none is tried.
pub fn findings(
    setup: &Setup,
    references: &References,
    suspects: Suspects,
    until: Option<Instant>,
    progress: &Progress,
) -> Findings {
    let control = Control::new(setup, references);
    let (cases, met) = Default::default();
    let mut all = Cases { setup, references, control, until, progress, cases, met };
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            // None comes any more once the exploration has ended.
            let Ok(suspect) = suspects.suspects.recv() else { return all.end() };
            waiting.push_back(suspect);
        }
        waiting.extend(suspects.suspects.try_iter());
        if let Some(suspect) = all.next(&mut waiting) {
            all.take(&suspect);
            suspects.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// All that failed in the same way.
struct Case {
    finding: Option<Finding>,
    /// What is reported as long as there is none.
    best: Unconfirmed,
    candidates: u32,
}

impl Case {
    fn new(suspect: &Suspect) -> Case {
        let best = Unconfirmed {
            verdict: suspect.verdict.clone(),
            tried: Tried::Not,
            plan: suspect.plan.clone(),
        };
        Case { finding: None, best, candidates: 0 }
    }

    /// Whether this plan, which seems to show it, may make it a finding, or explain it more simply.
    fn is_open(&self, plan: &Plan) -> bool {
        let refuted = self.best.tried == Tried::ControlFailed;
        let simpler = |known: &Finding| plan.weight() < known.plan.weight();
        self.finding.as_ref().is_none_or(simpler) && !refuted && self.candidates < CANDIDATES
    }

    /// The plan that came furthest stands for the case.
    fn keep_better(&mut self, tried: Tried, suspect: &Suspect, plan: &Plan) {
        if self.best.tried < tried {
            self.best.tried = tried;
            self.best.verdict = suspect.verdict.clone();
            self.best.plan = plan.clone();
        }
    }
}

struct Cases<'c> {
    setup: &'c Setup,
    references: &'c References,
    control: Control<'c>,
    until: Option<Instant>,
    progress: &'c Progress,
    cases: BTreeMap<Fingerprint, Case>,
    /// In the order in which they were met.
    met: Vec<Fingerprint>,
}

impl Cases<'_> {
    /// The next one: what lasts first, then of the case of which the fewest plans were tried, so that noise that is never
    /// confirmed keeps nothing waiting.
    fn next(&self, waiting: &mut VecDeque<Suspect>) -> Option<Suspect> {
        let tried = |suspect: &Suspect| {
            self.cases.get(&suspect.verdict.fingerprint).map_or(0, |case| case.candidates)
        };
        let severity = |suspect: &Suspect| suspect.verdict.oracle.severity();
        let turn = |at: &usize| (severity(&waiting[*at]), tried(&waiting[*at]), *at);
        let first = (0..waiting.len()).min_by_key(turn)?;
        waiting.remove(first)
    }

    fn take(&mut self, suspect: &Suspect) {
        let fingerprint = &suspect.verdict.fingerprint;
        let mut case = self.cases.remove(fingerprint).unwrap_or_else(|| {
            self.met.push(fingerprint.clone());
            Case::new(suspect)
        });
        if case.is_open(&suspect.plan) && !is_over(self.until) {
            case.candidates += 1;
            self.look_into(&mut case, suspect);
        }
        self.cases.insert(fingerprint.clone(), case);
    }

    fn look_into(&self, case: &mut Case, suspect: &Suspect) {
        let fingerprint = &suspect.verdict.fingerprint;
        // What happens undisturbed as well is no finding, and confirming it would take minutes.
        if self.control.shows(fingerprint, &suspect.plan) {
            case.best.tried = Tried::ControlFailed;
            return;
        }
        let Cases { setup, references, until, .. } = *self;
        let proof = Proof { setup, references, fingerprint, until };
        // Minimising repeats a plan many times, so first of all it has to show anything.
        let first = Repeats { first: suspect.repeat % 2, step: 1 };
        let once = proof.reproduce(&suspect.plan, first, 1);
        let (of_once, tried) = (once.count, once.tried);
        if of_once == 0 {
            if tried > 0 {
                case.keep_better(Tried::Reproduced(0, tried), suspect, &suspect.plan);
            }
            return;
        }
        let (plan, shown) = proof.confirm(suspect);
        if !shown.all(CONFIRMATIONS) {
            // Nothing but the first run says anything where time was over before the others.
            let tried = match shown.tried {
                0 => Tried::Reproduced(of_once, tried),
                tried => Tried::Reproduced(shown.count, tried),
            };
            case.keep_better(tried, suspect, &plan);
        } else if self.control.is_unsure() {
            case.best.tried = Tried::ControlFailed;
        } else if let Some(run) = shown.first {
            let finding = self.finding(suspect, plan, run);
            let known = case.finding.take();
            if known.is_none() && finding.verdict.is_lasting_violation() {
                self.progress.tell(Event::Finding { title: finding.verdict.title.clone() });
            }
            let confirmed_at = known.map_or(finding.confirmed_at, |known| known.confirmed_at);
            case.finding = Some(Finding { confirmed_at, ..finding });
        }
    }

    fn finding(&self, suspect: &Suspect, plan: Plan, shown: TrialRun) -> Finding {
        let verdicts = judge::verdicts(self.setup, &shown, &self.references.baseline);
        let verdict = matching(&verdicts, &suspect.verdict.fingerprint).unwrap_or(&suspect.verdict);
        Finding {
            id: verdict.fingerprint.id(),
            verdict: verdict.clone(),
            verdicts,
            plan,
            shown,
            confirmed: (CONFIRMATIONS, CONFIRMATIONS),
            confirmed_at: Instant::now(),
            also: vec![],
        }
    }

    fn end(mut self) -> Findings {
        let (mut confirmed, mut unconfirmed) = (vec![], vec![]);
        for fingerprint in &self.met {
            let Some(case) = self.cases.remove(fingerprint) else { continue };
            match case.finding {
                Some(finding) => confirmed.push(finding),
                None => unconfirmed.push(case.best),
            }
        }
        confirmed.sort_by_key(|finding| {
            let oracle = finding.verdict.oracle;
            let weight = (oracle.severity(), finding.plan.weight(), oracle);
            (weight, finding.plan.to_string(), finding.id.clone())
        });
        let mut findings = Findings::default();
        for finding in confirmed {
            match explaining(&mut findings.confirmed, &finding.verdict.fingerprint) {
                Some(first) => {
                    first.confirmed_at = first.confirmed_at.min(finding.confirmed_at);
                    first.also.push(Also::of(&finding.verdict));
                }
                None => findings.confirmed.push(finding),
            }
        }
        for suspected in unconfirmed {
            match explaining(&mut findings.confirmed, &suspected.verdict.fingerprint) {
                Some(first) => first.also.push(Also::of(&suspected.verdict)),
                None => findings.unconfirmed.push(suspected),
            }
        }
        let lasting = |finding: &Finding| finding.verdict.is_lasting_violation();
        let split = findings.confirmed.iter().position(|finding| !lasting(finding));
        findings.transient =
            findings.confirmed.split_off(split.unwrap_or(findings.confirmed.len()));
        findings
    }
}

/// The finding with this cause.
fn explaining<'f>(findings: &'f mut [Finding], other: &Fingerprint) -> Option<&'f mut Finding> {
    findings.iter_mut().find(|first| first.verdict.fingerprint.has_cause_of(other))
}

/// Whether nothing more is to be begun.
fn is_over(until: Option<Instant>) -> bool {
    interrupt::asked()
        || fault::why().is_some()
        || until.is_some_and(|until| Instant::now() >= until)
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

/// The same so often, each told as done.
pub fn repeated(
    setup: &Setup,
    plan: &Plan,
    repeats: u32,
    waits: Waits,
    progress: &Progress,
) -> Vec<TrialRun> {
    let repeats = 0..u64::from(repeats);
    let specs: Vec<_> = repeats.map(|repeat| from_beginning(plan, repeat, waits)).collect();
    pool::map(setup.workers, &specs, |spec| {
        let run = trial::run(setup, spec.clone());
        progress.tell(Event::Done { verdict: None });
        run
    })
}

fn matching<'v>(verdicts: &'v [Verdict], suspected: &Fingerprint) -> Option<&'v Verdict> {
    let is_it = |verdict: &&Verdict| {
        verdict.value == VerdictValue::Violated && verdict.fingerprint == *suspected
    };
    verdicts.iter().find(is_it)
}
