//! What an exploration came to.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use plans::Family;
use trace::Level;

use super::{Carried, Cost, Suspect, Visit};
use crate::{
    campaign::{fork_graph::ForkGraph, frontier::Frontier, tally::Tally},
    trial::cpu_time,
};

/// Violated trials of a family with the same fingerprint that are told to whoever confirms.
const SUSPECTS_PER_KIND: usize = 8;

/// What was explored.
#[derive(Default)]
pub struct Explored {
    /// All worlds.
    pub frontier: Frontier,
    /// What became of the plans of models.
    pub model_runs: Tally,
    /// The worlds and the steps between them, where they are asked for.
    pub graph: ForkGraph,
    /// Trials run.
    pub run: u64,
    /// By their verdict.
    pub held: u64,
    /// See [`VerdictValue::Violated`].
    pub violated: u64,
    /// See [`VerdictValue::Unknown`].
    pub unknown: u64,
    /// Why trials proved nothing, with how often.
    pub unknown_reasons: BTreeMap<String, u64>,
    /// What the subject was refused for want of permission.
    pub missing_permissions: BTreeSet<String>,
    /// What trials had to tell, each once: see [`trace::Event::Note`].
    pub notes: BTreeSet<String>,
    /// Worlds whose repeats wrote differently.
    pub nondeterministic: u64,
    /// Those of them that are calm as far as `scale` tells, and still to be repeated before `exact` is closed.
    pub(super) restless: Vec<(usize, Visit)>,
    /// How many violated trials show each fingerprint, by the family of their plan.
    pub(super) suspected: BTreeMap<(String, Option<Family>), usize>,
    /// Every end state met, in comparison form, by hash.
    pub end_states: BTreeSet<String>,
    /// Trials from the beginning that were still to come when it ended.
    pub left_from_beginning: u64,
    /// Trials that were asked for and not begun before it had to end.
    pub withdrawn: u64,
    /// Why it ended before the frontier was empty.
    pub stopped: Option<String>,
    /// The level at which it may end.
    pub precision: Level,
    /// What each trial took, in the order in which they were counted.
    pub costs: Vec<Cost>,
    /// Real time of the exploration, for figures.
    pub real: Duration,
    /// Trials that ran meanwhile, with those that confirm.
    pub runs: u64,
    /// Processor time of the exploration: ours, and that of all subjects.
    pub cpu: cpu_time::Used,
    /// One entry a trial, in the order in which they were counted.
    pub trials: Vec<Carried>,
}

impl Explored {
    /// What a live reader may want to know.
    pub(super) fn stats(&self) -> serde_json::Value {
        serde_json::json!({
            "plans": {
                "run": self.run,
                "held": self.held,
                "violated": self.violated,
                "unknown": self.unknown,
            },
            "coverage": {
                "worlds": self.frontier.worlds(),
                "frontier": self.frontier.waiting(),
                "nondeterministic": self.nondeterministic,
            },
        })
    }

    /// Whether another suspect like this is of use: a few of each kind are enough to confirm it.
    pub(super) fn wants(&mut self, suspect: &Suspect) -> bool {
        let known = self
            .suspected
            .entry((suspect.verdict.fingerprint.id(), suspect.plan.family()))
            .or_default();
        *known += 1;
        *known <= SUSPECTS_PER_KIND
    }

    /// The level at which it is not complete if a world is left.
    pub fn required(&self) -> Level {
        self.precision.min(Level::Scale)
    }

    /// The finest level at which every crash schedule was covered, except behind findings: none if not even the coarsest
    /// is.
    pub fn closed(&self) -> Option<Level> {
        if self.unknown > 0 || self.withdrawn > 0 || !self.frontier.left_out.is_empty() {
            return None;
        }
        let coarsely = !self.restless.is_empty() || self.frontier.has_samples();
        let due = self.frontier.due().or(coarsely.then_some(Level::Exact));
        Level::ALL.into_iter().rev().find(|level| due.is_none_or(|due| due > *level))
    }
}
