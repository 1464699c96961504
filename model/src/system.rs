//! A transition system: states, and the steps between them.

use std::hash::Hash;

use crate::Footprint;

/// A transition system whose states can be counted.
///
/// The same state has the same steps, each of which leads to the same next state: what is left to chance is a choice
/// between two steps.
pub trait System: Sync {
    /// All that decides what can happen next. Its `Hash` feeds everything that tells two states apart: states are
    /// kept as fingerprints of what is fed, so two states that feed the same count as one.
    type State: Clone + Eq + Hash + Send + Sync;
    /// One step, with all the choices that are made in it.
    type Action: Clone + Eq + Send + Sync;

    /// The states in which a run can begin, in a fixed order.
    fn initial(&self) -> Vec<Self::State>;

    /// Appends the steps that may be possible in `state`, in a fixed order.
    fn actions(&self, state: &Self::State, into: &mut Vec<Self::Action>);

    /// The state that `action` leads to; none if it is not possible in `state` after all.
    fn next(&self, state: &Self::State, action: &Self::Action) -> Option<Self::State>;

    /// The name of `action` in traces.
    fn label(&self, action: &Self::Action) -> String;

    /// The state that stands for all those that differ from `state` only by names without meaning.
    ///
    /// Such a renaming must be an automorphism: it maps the steps of a state to the steps of the renamed state. All
    /// renamings of a state must have the same canonical state. Names that decide (ties broken by an index, ordinals)
    /// must be left alone.
    fn canonical(&self, state: &Self::State) -> Self::State {
        state.clone()
    }

    /// How many actors take steps in `state`; they are numbered from 0.
    fn actors(&self, _state: &Self::State) -> usize {
        1
    }

    /// The number of the actor that takes the step `action`.
    fn actor(&self, _action: &Self::Action) -> usize {
        0
    }

    /// What the next step of `actor` may read and write: every step that it could take next, possible in `state` or
    /// made possible later by others while it stands still itself.
    fn footprint(&self, _state: &Self::State, _actor: usize) -> Footprint {
        Footprint::everything()
    }

    /// What `actor` may read and write in all its steps from `state` on, whatever the others do.
    fn future(&self, _state: &Self::State, _actor: usize) -> Footprint {
        Footprint::everything()
    }

    /// What `state` keeps on the heap for itself alone, in bytes, for the memory budget.
    fn heap_bytes(&self, _state: &Self::State) -> usize {
        0
    }
}
