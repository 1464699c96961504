//! Exploring a system and judging its properties.
//!
//! The same search gives the same report on one thread and on many (but for where a deadline falls). Nothing here reads
//! a clock, draws at random without a seed, or does IO by itself.

use std::{fmt, num::NonZeroUsize};

use crate::{Fairness, Property, Report, System};

mod ample;
pub mod audit;
mod breadth;
mod depth;
mod expansion;
mod fingerprint;
mod graph;
mod judge;
mod lasso;
mod liveness;
mod numbering;
pub(crate) mod parallel;
mod paused;
mod rebuild;
mod table;
mod tree;
mod walk;

pub use paused::Paused;

/// What a search may take. Reaching a budget makes verdicts unknown, never held.
#[derive(Clone, Copy)]
pub struct Budgets<'a> {
    /// Different states. A search may pass it by what one block of states leads to.
    pub states: u64,
    /// States on a path: those at this depth are judged and not followed.
    pub depth: u64,
    /// Bytes of fingerprints, tree, graph and queue, by the search's own account.
    pub memory_bytes: usize,
    /// Whether the time is up; asked again and again, on all threads.
    pub deadline: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl Default for Budgets<'_> {
    fn default() -> Self {
        Budgets { states: u64::MAX, depth: u64::MAX, memory_bytes: usize::MAX, deadline: None }
    }
}

impl fmt::Debug for Budgets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Budgets { states, depth, memory_bytes, .. } = self;
        f.debug_struct("Budgets")
            .field("states", states)
            .field("depth", depth)
            .field("memory_bytes", memory_bytes)
            .finish_non_exhaustive()
    }
}

/// A question to a system.
#[derive(Debug)]
pub struct Search<'a, S: System> {
    /// The system.
    pub system: &'a S,
    /// What is asked of it.
    pub properties: &'a [Property<'a, S>],
    /// What runs may not put off for ever; for liveness properties.
    pub fairness: &'a [Fairness<'a, S>],
    /// How many threads a breadth first search uses.
    pub threads: NonZeroUsize,
    /// What it may take.
    pub budgets: Budgets<'a>,
    /// One state stands for all its renamings. All properties must be symmetric.
    pub symmetry: bool,
    /// Of steps that can be swapped, not all orders are taken. Properties must say what they read, or little is saved.
    pub partial_order: bool,
    /// Go on after a violation, to a run for each property.
    pub all_violations: bool,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SearchError {
    /// Symmetry would change the verdict.
    #[error("use symmetry: the property `{0}` is not said to be symmetric")]
    NotSymmetric(String),
    /// What [`System::canonical`] does is no symmetry.
    #[error(
        "rebuild a run: no step leads to the renamed state that was found; `canonical` renames what decides"
    )]
    NoAutomorphism,
    /// There are more classes or properties than a word has bits.
    #[error("judge liveness: {classes} fairness classes (of 64), {properties} properties (of 32)")]
    TooMany {
        /// Fairness classes, at most 64.
        classes: usize,
        /// Liveness properties, at most 32.
        properties: usize,
    },
    /// The paused search asked for something else.
    #[error(
        "go on with a search begun for {begun} properties, not {asked}, or with other reductions"
    )]
    OtherSearch {
        /// How many properties are asked about now.
        asked: usize,
        /// How many were asked about when it was begun.
        begun: usize,
    },
}

pub(crate) type ReportOf<S> = Report<<S as System>::State, <S as System>::Action>;

impl<'a, S: System> Search<'a, S> {
    /// A search without limits, fairness and reductions, on all cores.
    pub fn new(system: &'a S, properties: &'a [Property<'a, S>]) -> Self {
        Search {
            system,
            properties,
            fairness: &[],
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            budgets: Budgets::default(),
            symmetry: false,
            partial_order: false,
            all_violations: false,
        }
    }

    /// Sees states in the order of their distance from the initial ones: runs to violations are shortest.
    ///
    /// # Errors
    /// If the search is not possible as it is asked for.
    pub fn breadth_first(&self) -> Result<ReportOf<S>, SearchError> {
        self.check()?;
        breadth::Breadth::begin(self).explore()
    }

    /// Goes on with a breadth first search of the same system for the same properties.
    ///
    /// # Errors
    /// If the search is not possible as it is asked for.
    pub fn resume(&self, paused: Paused<S::State>) -> Result<ReportOf<S>, SearchError> {
        self.check()?;
        breadth::Breadth::resume(self, paused)?.explore()
    }

    /// Follows each path to its end first, on one thread: quick to deep states, and no queue in memory.
    ///
    /// A depth budget makes it blind to states that it came to late on a path and did not follow.
    ///
    /// # Errors
    /// If the search is not possible as it is asked for.
    pub fn depth_first(&self) -> Result<ReportOf<S>, SearchError> {
        self.check()?;
        depth::explore(self)
    }

    /// Takes `runs` runs from initial states, each to its end or to the depth budget, by steps drawn from `seed`.
    ///
    /// # Errors
    /// If the search is not possible as it is asked for.
    pub fn random_walk(&self, seed: u64, runs: u64) -> Result<ReportOf<S>, SearchError> {
        self.check()?;
        Ok(walk::explore(self, seed, runs))
    }

    /// Whether finding something for property `index` ends the search.
    fn ends_with(&self, index: usize) -> bool {
        !self.all_violations && !self.properties[index].is_sometimes()
    }

    /// Whether all that is seen must be kept as a graph.
    fn judges_liveness(&self) -> bool {
        self.properties.iter().any(Property::is_liveness)
    }

    /// Whether symmetry is used: fairness and liveness speak of actions by name.
    fn uses_symmetry(&self) -> bool {
        self.symmetry && !self.judges_liveness()
    }

    /// Whether a breadth first search leaves out orders of steps: steps and fairness are not kept by that.
    fn uses_partial_order(&self) -> bool {
        self.partial_order
            && !self.judges_liveness()
            && !self.properties.iter().any(Property::is_of_steps)
    }

    fn check(&self) -> Result<(), SearchError> {
        let liveness = self.properties.iter().filter(|property| property.is_liveness()).count();
        if self.fairness.len() > 64 || liveness > 32 {
            let classes = self.fairness.len();
            return Err(SearchError::TooMany { classes, properties: liveness });
        }
        let other = self.properties.iter().find(|property| !property.symmetric);
        match other {
            Some(property) if self.symmetry => {
                Err(SearchError::NotSymmetric(property.name.clone()))
            }
            _ => Ok(()),
        }
    }
}
