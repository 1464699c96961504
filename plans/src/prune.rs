//! What was left out, and by which rule: only plans that provably lead to a world already covered.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// Why a plan was not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The world at this moment equals (identity) one that is already explored or queued.
    SameWorld,
    /// Between these two calls the store did not change: the crash is the one at the revision before.
    NoWriteBetween,
    /// The environment has nothing to do, so *when the environment is quiet* is *at once*.
    EnvironmentIdle,
    /// The user waits here for something that is not so while the subject is down.
    UserWaits,
    /// A built-in controller changed only what the subject never asks about: to the subject, the world before.
    NotRead,
    /// The replica writes nothing undisturbed: it waits to lead, and by its restart nothing changes.
    IdleReplica,
    /// The caches that are behind show the subject nothing but the present state, or another view that stands already.
    SameView,
    /// Sieve's heuristics don't suggest it, and the campaign asks for no more than they do. Unsound: nothing covers it.
    NotSuggested,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::SameWorld => "same-world",
            Rule::NoWriteBetween => "no-write-between",
            Rule::EnvironmentIdle => "environment-idle",
            Rule::UserWaits => "user-waits",
            Rule::NotRead => "not-read",
            Rule::IdleReplica => "idle-replica",
            Rule::SameView => "same-view",
            Rule::NotSuggested => "not-suggested",
        })
    }
}

/// Counts by rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pruned(pub BTreeMap<Rule, u64>);

impl Pruned {
    /// Counts `n` more plans that `rule` removed.
    pub fn count(&mut self, rule: Rule, n: u64) {
        if n > 0 {
            *self.0.entry(rule).or_default() += n;
        }
    }

    /// One that `rule` removed turned out to be one after all.
    pub fn uncount(&mut self, rule: Rule) {
        if let Some(count) = self.0.get_mut(&rule) {
            *count = count.saturating_sub(1);
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}
