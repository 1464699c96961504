//! What became of the plans of each family. Plans are counted, however often each was tried.

use std::collections::BTreeMap;

use oracles::VerdictValue;
use plans::{Family, PlanId, Pruned, Rule};

/// By family of a plan's last perturbation.
#[derive(Debug, Clone, Default)]
pub struct Tallies(BTreeMap<Family, Tally>);

/// What became of the plans of one family.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Thought of, those pruned included.
    pub enumerated: u64,
    /// Left out, by rule.
    pub pruned: Pruned,
    /// Why a type can't be shown to this subject in that way, whatever the plan.
    pub not_for: Vec<String>,
    /// Those that were tried.
    tried: BTreeMap<Which, Outcome>,
}

/// A plan: the same one can lead to several worlds, and is explored on each.
pub type Which = (Option<usize>, PlanId);

/// What the trials of one plan came to.
#[derive(Debug, Clone, Default)]
struct Outcome {
    trials: u64,
    /// The worst of its trials; none where none could be carried out.
    verdict: Option<VerdictValue>,
    never_fired: bool,
    not_possible: Option<String>,
}

/// A family's plans, summed up: `enumerated = pruned + run + impossible + left`, and `run = held + violated + unknown`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// Plans of which at least one trial was carried out.
    pub run: u64,
    /// By their worst verdict.
    pub held: u64,
    /// See [`VerdictValue::Violated`].
    pub violated: u64,
    /// See [`VerdictValue::Unknown`].
    pub unknown: u64,
    /// Of the unknown ones, those whose crash point was not reached.
    pub never_fired: u64,
    /// Trials of all of them.
    pub trials: u64,
    /// Neither left out nor tried: the budget ended, or another world of its class stands for it.
    pub left: u64,
    /// Why plans can't be carried out with this subject or this workload, with how many.
    pub impossible: BTreeMap<String, u64>,
}

impl Tallies {
    /// Of one family.
    pub fn of(&mut self, family: Family) -> &mut Tally {
        self.0.entry(family).or_default()
    }

    /// The same, to look at: empty where nothing was counted.
    pub fn get(&self, family: Family) -> Tally {
        self.0.get(&family).cloned().unwrap_or_default()
    }

    /// `count` more plans were thought of, and left out by this rule.
    pub fn prune(&mut self, family: Family, rule: Rule, count: u64) {
        let tally = self.of(family);
        tally.enumerated += count;
        tally.pruned.count(rule, count);
    }

    /// A plan that was left out by this rule is none that has to be: it will be counted anew.
    pub fn unprune(&mut self, family: Family, rule: Rule) {
        let tally = self.of(family);
        tally.enumerated -= 1;
        tally.pruned.uncount(rule);
    }
}

impl Tally {
    /// A trial was carried out.
    pub fn count(&mut self, which: Which, verdict: VerdictValue, never_fired: bool) {
        let outcome = self.tried.entry(which).or_default();
        outcome.trials += 1;
        outcome.never_fired |= never_fired;
        let badness = |verdict: VerdictValue| match verdict {
            VerdictValue::Held => 0,
            VerdictValue::Unknown => 1,
            VerdictValue::Violated => 2,
        };
        let worse = outcome.verdict.is_none_or(|before| badness(before) < badness(verdict));
        outcome.verdict = if worse { Some(verdict) } else { outcome.verdict };
    }

    /// A trial showed that its plan can't be carried out.
    pub fn count_impossible(&mut self, which: Which, why: String) {
        self.tried.entry(which).or_default().not_possible.get_or_insert(why);
    }

    /// All of it.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for outcome in self.tried.values() {
            sums.trials += outcome.trials;
            match outcome.verdict {
                Some(VerdictValue::Held) => sums.held += 1,
                Some(VerdictValue::Violated) => sums.violated += 1,
                Some(VerdictValue::Unknown) => {
                    sums.unknown += 1;
                    sums.never_fired += u64::from(outcome.never_fired);
                }
                None => {
                    let why = outcome.not_possible.clone().unwrap_or_default();
                    *sums.impossible.entry(why).or_default() += 1;
                }
            }
        }
        sums.run = sums.held + sums.violated + sums.unknown;
        let gone = self.pruned.total() + self.tried.len() as u64;
        sums.left = self.enumerated.saturating_sub(gone);
        sums
    }
}

#[cfg(test)]
mod tests {
    use plans::{Crash, Moment, Plan};
    use trace::Cursor;

    use super::*;

    #[test]
    fn plans_are_counted_once_by_their_worst_verdict() {
        let plan = |step: u32| {
            let cursor = Cursor { operation: step, document: 0 };
            let at = Moment::Step { cursor, after: String::new() };
            Plan::undisturbed().and(Crash::at(at)).id()
        };
        let (a, b, c) = (plan(1), plan(2), plan(3));
        let mut tally = Tally { enumerated: 6, ..Tally::default() };
        tally.pruned.count(Rule::SameWorld, 1);
        tally.count((None, a.clone()), VerdictValue::Held, false);
        tally.count((None, a.clone()), VerdictValue::Violated, false);
        tally.count((None, a), VerdictValue::Unknown, true);
        tally.count((Some(1), b.clone()), VerdictValue::Held, false);
        tally.count((Some(2), b), VerdictValue::Unknown, true);
        tally.count_impossible((None, c.clone()), "the user waits".to_owned());
        tally.count_impossible((None, c), "the user waits".to_owned());
        let expect = Sums {
            run: 3,
            held: 1,
            violated: 1,
            unknown: 1,
            never_fired: 1,
            trials: 5,
            left: 1,
            impossible: BTreeMap::from([("the user waits".to_owned(), 1)]),
        };
        assert_eq!(tally.sums(), expect);
    }
}
