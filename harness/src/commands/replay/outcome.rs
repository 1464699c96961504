//! What the runs of a replay come to.

use std::collections::BTreeSet;

use oracles::{Baseline, Oracle, Verdict, VerdictValue};
use plans::{Expectation, Plan, Replay};

use crate::{
    campaign::{judge, setup::Setup},
    exit::Exit,
    trial::TrialRun,
};

/// What runs of a plan should show.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// What was carried out.
    pub plan: &'a Plan,
    /// The finding's.
    pub fingerprint: &'a str,
    /// The finding in one sentence.
    pub title: &'a str,
    /// Whether it should be there.
    pub expect: Expectation,
}

impl Expected<'_> {
    /// What a replay file says.
    pub fn of(replay: &Replay) -> Expected<'_> {
        let Replay { plan, fingerprint, title, expect, .. } = replay;
        Expected { plan, fingerprint, title, expect: *expect }
    }
}

/// Runs, counted.
#[derive(Default)]
pub struct Outcome {
    /// Those that carried the whole plan out, and show the finding.
    reproduced: usize,
    /// Those that prove nothing.
    unknown: usize,
    runs: usize,
    /// What else there is to say, once each.
    pub others: Vec<String>,
}

impl Outcome {
    /// Judges the runs. One in which not all of the plan happened shows nothing about it, whatever it violates.
    pub fn of(
        setup: &Setup,
        expected: &Expected<'_>,
        runs: &[TrialRun],
        baseline: &Baseline,
    ) -> Outcome {
        let mut outcome = Outcome { runs: runs.len(), ..Outcome::default() };
        for run in runs {
            let verdicts = judge::verdicts(setup, run, baseline);
            outcome.count(expected, run, &verdicts);
        }
        outcome
    }

    fn count(&mut self, expected: &Expected<'_>, run: &TrialRun, verdicts: &[Verdict]) {
        let violated = verdicts.iter().filter(|verdict| verdict.value == VerdictValue::Violated);
        let (same, others): (Vec<_>, Vec<_>) =
            violated.partition(|verdict| is_of(expected, verdict));
        let unknown = judge::summary(run, verdicts) == VerdictValue::Unknown;
        // A model objects that something never came.
        let of_model = same.iter().any(|verdict| verdict.oracle == Oracle::Model);
        let undone = run.undone().filter(|_| !of_model);
        let why = match undone {
            Some(why) => Some(format!("not all of the plan happened: {why}")),
            None => unknown.then(|| judge::why_unknown(run, verdicts)),
        };
        let others = others.iter().map(|verdict| verdict.title.clone()).collect();
        self.add(!same.is_empty(), undone.is_none(), why, others);
    }

    /// Adds a run: whether it shows the finding, whether the whole plan happened, why it proves nothing, and what else it
    /// violates.
    fn add(&mut self, shown: bool, whole: bool, unknown: Option<String>, others: Vec<String>) {
        self.reproduced += usize::from(shown && whole);
        self.unknown += usize::from(unknown.is_some());
        unknown.into_iter().for_each(|why| self.tell(why));
        match (shown, whole) {
            (true, true) => {}
            (true, false) => self.tell("what was found is there all the same".to_owned()),
            (false, _) => {
                others.iter().for_each(|title| self.tell(format!("but violated: {title}")))
            }
        }
    }

    fn tell(&mut self, text: String) {
        if !self.others.contains(&text) {
            self.others.push(text);
        }
    }

    /// The code for it.
    pub fn exit(&self) -> Exit {
        match (self.reproduced, self.unknown) {
            (0, 0) if self.others.is_empty() => Exit::Clean,
            (0, 0) => Exit::Finding,
            (0, _) => Exit::Unknown,
            _ => Exit::Finding,
        }
    }

    /// Reproduced so often, of so many.
    pub fn reproduced(&self) -> (u32, u32) {
        (self.reproduced as u32, self.runs as u32)
    }

    /// The same in one sentence.
    pub fn sentence(&self, of: &Expected<'_>) -> String {
        let expected = match (of.expect, self.exit()) {
            (Expectation::Clean, Exit::Finding) => " (the file expects it to be gone)",
            (Expectation::Finding, Exit::Clean) => {
                " (set `expect: clean` in the file, and it guards the fix)"
            }
            _ => "",
        };
        let title = of.title;
        match self.exit() {
            Exit::Finding if self.reproduced > 0 => {
                format!("reproduced {} of {}: {title}{expected}", self.reproduced, self.runs)
            }
            Exit::Finding => format!("gone: {title}; but the plan shows something else"),
            Exit::Clean => {
                format!("gone: {title}, in {} of {} runs{expected}", self.runs, self.runs)
            }
            _ => format!(
                "unknown: in {} of {} runs the plan proved nothing about: {title}",
                self.unknown, self.runs
            ),
        }
    }
}

/// Whether a violation is the file's, which an older version may have written.
fn is_of(expected: &Expected<'_>, verdict: &Verdict) -> bool {
    let families: BTreeSet<&str> =
        expected.plan.perturbations.iter().map(|one| one.family().name()).collect();
    let families = families.into_iter().collect::<Vec<_>>().join("+");
    verdict.fingerprint.id() == expected.fingerprint
        || verdict.older_ids(&families).iter().any(|id| id == expected.fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(runs: &[(bool, bool)], expect: Exit, says: &[&str]) {
        let mut outcome = Outcome { runs: runs.len(), ..Outcome::default() };
        for (shown, whole) in runs {
            let unknown = (!whole).then(|| "never came".to_owned());
            outcome.add(*shown, *whole, unknown, vec![]);
        }
        assert_eq!(outcome.exit(), expect);
        assert_eq!(outcome.others, says);
    }

    #[test]
    fn only_whole_plans_reproduce() {
        let there = "what was found is there all the same";
        check(&[(true, true)], Exit::Finding, &[]);
        check(&[(false, true)], Exit::Clean, &[]);
        check(&[(false, false)], Exit::Unknown, &["never came"]);
        check(&[(true, false)], Exit::Unknown, &["never came", there]);
        check(&[(true, false), (true, true)], Exit::Finding, &["never came", there]);
    }
}
