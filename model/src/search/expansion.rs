//! Taking all steps from some of the states of a block.
//!
//! States of one block are expanded by several threads in any order. What comes out does not depend on it: a new state
//! is entered in the table with its parent's position, and the least position wins.

use std::ops::Range;

use crate::{
    Places, System,
    search::{
        Search, ample,
        fingerprint::{Fingerprint, Fingerprinter},
        judge::{Judge, Spot},
        table::Table,
    },
};

/// What the expansion of a block goes by.
pub struct Expansion<'s, 'a, S: System> {
    pub search: &'s Search<'a, S>,
    pub judge: Judge<'s, 'a, S>,
    pub table: &'s Table<u32>,
    /// What properties look at, if orders of steps are left out.
    pub ample_unless: Option<Places>,
    /// The number of the block's first state.
    pub first: u32,
    /// The number of the next new state: a state found in this block is entered as this and its parent's position.
    pub unnumbered: u32,
    /// The number of the first state of the next level.
    pub next_level: u32,
}

/// What a thread works with.
pub struct Scratch<Action> {
    fingerprinter: Fingerprinter,
    actions: Vec<Action>,
}

impl<Action> Default for Scratch<Action> {
    fn default() -> Self {
        Scratch { fingerprinter: Fingerprinter::default(), actions: Vec::new() }
    }
}

/// A state that is new unless an earlier position leads to it as well.
pub struct Fresh<State> {
    pub state: State,
    pub position: u32,
    fingerprint: [u64; 2],
}

impl<State> Fresh<State> {
    pub fn fingerprint(&self) -> Fingerprint {
        u128::from(self.fingerprint[0]) << 64 | u128::from(self.fingerprint[1])
    }
}

/// A node of the graph with its edges, which lead to fingerprints yet.
pub struct Node {
    /// The end of its edges in [`Expanded::edges`].
    pub end: usize,
    /// The fairness classes of its steps.
    pub enabled: u64,
    /// The truths that liveness properties are judged by.
    pub truths: u64,
}

/// What came of a chunk.
pub struct Expanded<State> {
    pub fresh: Vec<Fresh<State>>,
    pub generated: u64,
    /// What was found for each property first.
    pub found: Vec<(usize, Spot)>,
    /// The position at which something was found that ends the search, and whether that is a new state.
    pub ended: Option<(u32, bool)>,
    pub nodes: Vec<Node>,
    /// Where steps lead to, and their fairness classes.
    pub edges: Vec<(Fingerprint, u64)>,
}

impl<S: System> Expansion<'_, '_, S> {
    /// Takes all steps from the states at `positions` of `block`, up to something that ends the search.
    pub fn chunk(
        &self,
        block: &[S::State],
        positions: Range<usize>,
        scratch: &mut Scratch<S::Action>,
    ) -> Expanded<S::State> {
        let mut into = Expanded {
            fresh: Vec::new(),
            generated: 0,
            found: Vec::new(),
            ended: None,
            nodes: Vec::new(),
            edges: Vec::new(),
        };
        let graph = self.search.judges_liveness();
        for position in positions {
            let state = &block[position];
            let from = into.edges.len();
            self.state(state, position as u32, scratch, &mut into);
            if into.ended.is_some() {
                break;
            }
            if graph {
                let enabled = into.edges[from..].iter().fold(0, |all, (_, classes)| all | classes);
                into.nodes.push(Node {
                    end: into.edges.len(),
                    enabled,
                    truths: self.truths(state),
                });
            }
        }
        into
    }

    fn state(
        &self,
        state: &S::State,
        position: u32,
        scratch: &mut Scratch<S::Action>,
        into: &mut Expanded<S::State>,
    ) {
        let system = self.search.system;
        let mut actions = std::mem::take(&mut scratch.actions);
        actions.clear();
        system.actions(state, &mut actions);
        let generated = into.generated;
        let enough = self.ample_unless.as_ref();
        let enough = enough.and_then(|seen| ample::actor(system, state, &actions, seen));
        let is_enough =
            |action: &S::Action| enough.is_none_or(|actor| system.actor(action) == actor);
        let mut all_deeper = true;
        for (index, action) in actions.iter().enumerate().filter(|(_, action)| is_enough(action)) {
            all_deeper &=
                self.step(state, position, (index, action), &mut scratch.fingerprinter, into);
            if into.ended.is_some() {
                break;
            }
        }
        if !all_deeper {
            for (index, action) in actions.iter().enumerate().filter(|(_, a)| !is_enough(a)) {
                if into.ended.is_some() {
                    break;
                }
                self.step(state, position, (index, action), &mut scratch.fingerprinter, into);
            }
        }
        scratch.actions = actions;
        if into.generated == generated && into.ended.is_none() {
            let spot = Spot { state: self.first + position, step: None };
            for property in self.judge.end(state) {
                self.note(property, spot, (position, false), into);
            }
        }
    }

    /// Takes one step. Whether it leads deeper, or is not possible.
    fn step(
        &self,
        state: &S::State,
        position: u32,
        (index, action): (usize, &S::Action),
        fingerprinter: &mut Fingerprinter,
        into: &mut Expanded<S::State>,
    ) -> bool {
        let Some(mut next) = self.search.system.next(state, action) else { return true };
        into.generated += 1;
        let spot = Spot { state: self.first + position, step: Some(index as u32) };
        for property in self.judge.step(state, action, &next) {
            self.note(property, spot, (position, false), into);
        }
        if self.search.uses_symmetry() {
            next = self.search.system.canonical(&next);
        }
        let fingerprint = fingerprinter.of(&next);
        if self.search.judges_liveness() {
            into.edges.push((fingerprint, self.classes(action)));
        }
        let entered = self.unnumbered + position;
        let before = self.table.insert(fingerprint, entered, |known| known.min(entered));
        if before.is_none_or(|known| known > entered) {
            for property in self.judge.state(&next) {
                self.note(property, spot, (position, true), into);
            }
            let fingerprint = [(fingerprint >> 64) as u64, fingerprint as u64];
            into.fresh.push(Fresh { state: next, position, fingerprint });
        }
        before.is_none_or(|known| known >= self.next_level)
    }

    fn note(&self, property: usize, spot: Spot, at: (u32, bool), into: &mut Expanded<S::State>) {
        if into.found.iter().all(|(known, _)| *known != property) {
            into.found.push((property, spot));
        }
        if self.search.ends_with(property) {
            // A state that violates is never put into the queue, also if the step to it violates something as well.
            into.ended = Some((at.0, at.1 || into.ended.is_some_and(|(_, state)| state)));
        }
    }

    fn classes(&self, action: &S::Action) -> u64 {
        let fairness = self.search.fairness.iter().enumerate();
        fairness.fold(0, |all, (bit, class)| all | u64::from(class.holds_of(action)) << bit)
    }

    fn truths(&self, state: &S::State) -> u64 {
        let liveness = self.search.properties.iter().filter(|property| property.is_liveness());
        liveness.enumerate().fold(0, |all, (nth, property)| {
            let (one, other) = property.truths(state);
            all | u64::from(one) << (2 * nth) | u64::from(other) << (2 * nth + 1)
        })
    }
}
