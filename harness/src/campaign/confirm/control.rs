//! The runs without any perturbation beside those that confirm.

use std::cell::OnceCell;

use oracles::{Fingerprint, Oracle, Verdict, VerdictValue};
use plans::{Crash, Plan};

use super::{from_beginning, matching};
use crate::{
    campaign::{judge, pool, reference::References, setup::Setup},
    trial::{self, TrialRun, TrialSpec},
};

/// They wait as long as those that confirm: names in both orders. What happens undisturbed as well is no finding.
pub(super) struct Control<'c> {
    setup: &'c Setup,
    references: &'c References,
    undisturbed: OnceCell<Vec<Judged>>,
    /// Restarted when all had settled: by what they write, where that is suspected of others.
    restarted: OnceCell<Vec<Judged>>,
}

type Judged = (VerdictValue, Vec<Verdict>);

impl<'c> Control<'c> {
    pub fn new(setup: &'c Setup, references: &'c References) -> Control<'c> {
        Control { setup, references, undisturbed: OnceCell::new(), restarted: OnceCell::new() }
    }

    /// Whether none of them holds, so that nothing can be told from them.
    pub fn is_unsure(&self) -> bool {
        self.undisturbed().iter().all(|(summary, _)| *summary != VerdictValue::Held)
    }

    /// Whether they show what is suspected of this plan.
    pub fn shows(&self, suspected: &Fingerprint, plan: &Plan) -> bool {
        let any = |judged: &[Judged], counts: &dyn Fn(&Verdict) -> bool| {
            let shown = |verdicts| matching(verdicts, suspected).is_some_and(counts);
            judged.iter().any(|(_, verdicts)| shown(verdicts))
        };
        if any(self.undisturbed(), &|_| true) {
            return true;
        }
        // By any other oracle such a restart is a finding of its own.
        let of_writes = |verdict: &Verdict| verdict.oracle == Oracle::RestartWrites;
        plan.restarts_when_settled() && any(self.restarted(), &of_writes)
    }

    fn undisturbed(&self) -> &[Judged] {
        self.undisturbed.get_or_init(|| self.run(&Plan::undisturbed()))
    }

    fn restarted(&self) -> &[Judged] {
        let plan = Plan::undisturbed().and(Crash::when_settled());
        self.restarted.get_or_init(|| self.run(&plan))
    }

    fn run(&self, plan: &Plan) -> Vec<Judged> {
        let Control { setup, references, .. } = self;
        let waits = references.settle.confirming();
        let specs = [0, 1].map(|repeat| from_beginning(plan, repeat, waits));
        let judged = |spec: &TrialSpec| {
            let run: TrialRun = trial::run(setup, spec.clone());
            setup.forget(&run);
            // What a model objects to is a finding also where nothing was disturbed.
            let verdicts = oracles::judge(&judge::trial_view(&run), &references.baseline);
            (judge::summary(&run, &verdicts), verdicts)
        };
        pool::map(setup.workers, &specs, judged)
    }
}
