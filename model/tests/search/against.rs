//! Our systems as models of stateright.

use std::hash::Hash;

use stateright::{Checker, Model, Property};

/// A system of ours, with an invariant that always holds, so that stateright sees everything.
#[derive(Clone)]
pub struct Adapted<S>(pub S);

impl<S> Model for Adapted<S>
where
    S: model::System,
    S::State: Hash,
{
    type State = S::State;
    type Action = S::Action;

    fn init_states(&self) -> Vec<S::State> {
        self.0.initial()
    }

    fn actions(&self, state: &S::State, actions: &mut Vec<S::Action>) {
        self.0.actions(state, actions);
    }

    fn next_state(&self, state: &S::State, action: S::Action) -> Option<S::State> {
        self.0.next(state, &action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("true", |_, _| true)]
    }
}

/// What stateright counts, depth first or breadth first: generated, distinct.
pub fn counts<S>(system: S, threads: usize, breadth: bool) -> (u64, u64)
where
    S: model::System + Send + 'static,
    S::State: 'static,
    S::Action: std::fmt::Debug,
    S::State: std::fmt::Debug,
{
    let builder = Adapted(system).checker().threads(threads);
    if breadth {
        let checker = builder.spawn_bfs().join();
        (checker.state_count() as u64, checker.unique_state_count() as u64)
    } else {
        let checker = builder.spawn_dfs().join();
        (checker.state_count() as u64, checker.unique_state_count() as u64)
    }
}
