//! What became of the plans of each family.

use std::collections::BTreeMap;

use oracles::VerdictValue;
use plans::{Family, Pruned, Rule};

/// By family of a plan's last perturbation.
#[derive(Debug, Clone, Default)]
pub struct Tallies(pub BTreeMap<Family, Tally>);

/// What became of the plans of one family.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Thought of, those pruned included.
    pub enumerated: u64,
    /// Left out, by rule.
    pub pruned: Pruned,
    /// Trials run.
    pub run: u64,
    /// By their verdict.
    pub held: u64,
    /// See [`VerdictValue::Violated`].
    pub violated: u64,
    /// See [`VerdictValue::Unknown`].
    pub unknown: u64,
    /// Of the unknown ones, those whose moment never came.
    pub never_fired: u64,
    /// Why something can't be done to this subject or with this workload, with how often.
    pub unavailable: BTreeMap<String, u64>,
}

impl Tallies {
    /// Of one family.
    pub fn of(&mut self, family: Family) -> &mut Tally {
        self.0.entry(family).or_default()
    }

    /// `count` more plans were thought of, and left out by this rule.
    pub fn prune(&mut self, family: Family, rule: Rule, count: u64) {
        let tally = self.of(family);
        tally.enumerated += count;
        tally.pruned.count(rule, count);
    }
}

impl Tally {
    /// A trial was carried out.
    pub fn count(&mut self, verdict: VerdictValue, never_fired: bool) {
        self.run += 1;
        self.never_fired += u64::from(never_fired);
        match verdict {
            VerdictValue::Held => self.held += 1,
            VerdictValue::Violated => self.violated += 1,
            VerdictValue::Unknown => self.unknown += 1,
        }
    }
}
