//! Worlds at the ends of trials on which the controller is still to be restarted.
//!
//! All of them are the references' end state, or the trial would be violated: so they are told apart by more than the
//! end-state oracle compares. At once come those that are new as far as `scale` tells; once no world is due, those at which
//! a trial arrived by other writes. What varies by itself (a password's hash that is kept in two places) shows in neither
//! form of a world, but may fit in one trial and not in another.
//!
//! Nothing is explored behind such a restart: if it writes nothing, nothing new follows.

use std::collections::{BTreeSet, HashSet, VecDeque};

use cluster::World;
use plans::Family;
use trace::{Level, identity::Identity};

use super::{
    Explorer, REPEATS,
    job::{Asked, Job},
};
use crate::campaign::{
    judge,
    node::{Node, Waiting},
    order::Score,
    settled_restart::{self, Restart},
};

/// The end of a trial.
pub(super) struct End {
    /// The restart there.
    pub restart: Restart,
    /// What the trial wrote.
    pub wrote: BTreeSet<String>,
}

/// Ends that were met, and those still to restart on.
#[derive(Default)]
pub(super) struct SettledRestarts {
    classes: HashSet<Identity>,
    ways: HashSet<(Identity, BTreeSet<String>)>,
    /// New as far as `scale` tells.
    new: VecDeque<Waiting>,
    /// Reached by other writes.
    others: VecDeque<Waiting>,
}

impl SettledRestarts {
    /// Takes in an end. Whether it was new.
    fn add(&mut self, node: Node, wrote: BTreeSet<String>, origin: Option<&World>) -> bool {
        let class = node.classes.at(Level::Scale);
        if !self.ways.insert((class, wrote)) {
            return false;
        }
        match self.classes.insert(class) {
            true => self.new.push_back(node.pack(origin)),
            false => self.others.push_back(node.pack(origin)),
        }
        true
    }

    /// Perturbations of the next one. As long as worlds are due (`goes_on`), only new ones count.
    pub fn depth(&self, goes_on: bool) -> Option<usize> {
        let others = self.others.front().filter(|_| !goes_on);
        self.new.front().or(others).map(|node| node.plan.depth())
    }

    /// The next one.
    pub fn next(&mut self) -> Option<Waiting> {
        self.new.pop_front().or_else(|| self.others.pop_front())
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.new.len() + self.others.len()
    }
}

impl Explorer<'_> {
    /// The end of undisturbed runs.
    pub(super) fn take_end_of_references(&mut self) {
        let Some(first) = self.references.runs.first() else { return };
        if !settled_restart::asked(self.setup) {
            return;
        }
        let lens = &self.explored.frontier.lens;
        if let Some(restart) = settled_restart::restart(self.setup, lens, first) {
            let wrote = judge::writes(&judge::run_view(first), &self.references.baseline.masks);
            self.keep_end(End { restart, wrote });
        }
    }

    /// Takes in the end of a trial.
    pub(super) fn keep_end(&mut self, end: End) {
        let frontier = &mut self.explored.frontier;
        let new = match end.restart {
            Restart::OnFork(node) => self.at_ends.add(*node, end.wrote, self.setup.ground.world()),
            // No world tells ends apart there: each plan is carried out once, and once more with the restart.
            Restart::FromBeginning(plan, cursor) => {
                let score = Score::of(&plan, cursor, &frontier.lens.heuristics);
                self.from_beginning.put(plan, 0, score);
                true
            }
        };
        frontier.families.of(Family::IntermediateState).enumerated += u64::from(new);
    }

    /// Restarts the controller on the world at the end of a trial.
    pub(super) fn restart_at_end(&mut self, node: Waiting) -> Job {
        let repeat = self.begun % REPEATS;
        self.begun += 1;
        let asked = Asked::OfNode { repeat, patient: false, missed: None };
        Job::aside(Some(node), asked, self.explored.frontier.lens.clone())
    }
}
