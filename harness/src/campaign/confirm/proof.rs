//! Shows that a plan, carried out from the beginning on a running controller, leads to what was suspected of it.

use std::time::Instant;

use oracles::Fingerprint;
use plans::Plan;

use super::{CONFIRMATIONS, from_beginning, is_over, matching};
use crate::{
    campaign::{explore::Suspect, judge, pool, reference::References, setup::Setup},
    trial::{self, TrialRun, TrialSpec},
};

/// Which repeats of a plan: even ones give name suffixes in ascending order, odd ones in descending.
#[derive(Clone, Copy)]
pub(super) struct Repeats {
    pub first: u64,
    pub step: u64,
}

/// Shows that plans lead to a fingerprint.
pub(super) struct Proof<'p> {
    pub setup: &'p Setup,
    pub references: &'p References,
    /// What is to be shown.
    pub fingerprint: &'p Fingerprint,
    /// Nothing is begun from then on.
    pub until: Option<Instant>,
}

/// Runs of one plan.
#[derive(Default)]
pub(super) struct Shown {
    /// How many showed what was to be shown.
    pub count: u32,
    /// How many there were.
    pub tried: u32,
    /// The first of all, if it showed it. The others are not kept: a run with a controller that never rests takes hundreds
    /// of megabytes.
    pub first: Option<TrialRun>,
}

impl Shown {
    /// Whether all of so many did.
    pub fn all(&self, times: u32) -> bool {
        self.count == times
    }
}

impl Proof<'_> {
    /// The smallest plan that shows it every time, or the suspect's own, and its runs. Names in both orders first; a
    /// finding may need one of them.
    pub fn confirm(&self, suspect: &Suspect) -> (Plan, Shown) {
        let mut best: Option<(Plan, Shown)> = None;
        for repeats in
            [Repeats { first: 0, step: 1 }, Repeats { first: suspect.repeat % 2, step: 2 }]
        {
            for plan in self.minimised(&suspect.plan, repeats) {
                if is_over(self.until) {
                    break;
                }
                let shown = self.reproduce(&plan, repeats, CONFIRMATIONS);
                if shown.all(CONFIRMATIONS) {
                    return (plan, shown);
                }
                if best.as_ref().is_none_or(|(_, most)| most.count < shown.count) {
                    best = Some((plan, shown));
                }
            }
        }
        best.unwrap_or_else(|| (suspect.plan.clone(), Shown::default()))
    }

    /// Drops perturbations and simplifies restarts as long as the finding stays. The smallest plan, and, if it is
    /// another, the one before it: what showed twice may not show five times.
    fn minimised(&self, plan: &Plan, repeats: Repeats) -> Vec<Plan> {
        let mut plans = vec![plan.clone()];
        while !is_over(self.until) {
            let smaller = simpler(&plans[0])
                .into_iter()
                .find(|candidate| self.reproduce(candidate, repeats, 2).all(2));
            match smaller {
                Some(smaller) => plans.insert(0, smaller),
                None => break,
            }
        }
        plans.truncate(2);
        plans
    }

    /// Carries a plan out from the beginning, so often or until time is over.
    pub fn reproduce(&self, plan: &Plan, repeats: Repeats, times: u32) -> Shown {
        let Proof { setup, references, fingerprint, .. } = self;
        let waits = references.settle.confirming();
        let numbers = (0..u64::from(times)).map(|at| repeats.first + repeats.step * at);
        let specs: Vec<TrialSpec> =
            numbers.map(|repeat| from_beginning(plan, repeat, waits)).collect();
        let run = |spec: &TrialSpec| {
            let run = (!is_over(self.until)).then(|| trial::run(setup, spec.clone()))?;
            setup.forget(&run);
            let verdicts = judge::verdicts(setup, &run, &references.baseline);
            let shows = matching(&verdicts, fingerprint).is_some();
            Some((shows, (shows && spec.repeat == repeats.first).then_some(run)))
        };
        let runs: Vec<_> = pool::map(setup.workers, &specs, run).into_iter().flatten().collect();
        let count = runs.iter().filter(|(shows, _)| *shows).count() as u32;
        let tried = runs.len() as u32;
        Shown { count, tried, first: runs.into_iter().find_map(|(_, run)| run) }
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
