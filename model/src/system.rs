//! A transition system: states, and the steps between them.

use std::hash::Hash;

/// A transition system whose states can be counted.
///
/// The same state has the same steps, each of which leads to the same next state: what is left to chance is a choice
/// between two steps.
pub trait System: Sync {
    /// All that decides what can happen next.
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
}
