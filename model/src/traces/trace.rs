//! One run of a model, in the form that all formats are read into.

use std::collections::BTreeMap;

use thiserror::Error;

use super::Value;

/// The value of each variable.
pub type State = BTreeMap<String, Value>;

/// A run of a model.
///
/// Action `i` leads from state `i` to state `i + 1`. A trace with a loop has one action more: its last leads from the
/// last state back to state `loop_`, for ever. A run that stands still at its end is a loop at the last state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The variables, by name. Every state has just these.
    pub vars: Vec<String>,
    /// The states, of which there is at least one.
    pub states: Vec<State>,
    /// What was done; none where the format does not say and it can't be told from `pc`.
    pub actions: Vec<Option<Action>>,
    /// The state that follows the last one.
    pub loop_: Option<usize>,
}

/// A step of a model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Action {
    /// Its name in the model.
    pub name: String,
    /// With what it was taken, in the order of the format.
    pub params: Vec<Param>,
}

/// A parameter of a step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Param {
    /// Its name; none in formats that only have its place.
    pub name: Option<String>,
    /// Its value.
    pub value: Value,
}

/// Why states and actions are no trace, or states and edges no graph.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// No state at all.
    #[error("there is no state")]
    NoState,
    /// A state with other variables than the first.
    #[error("state {state} has other variables than the first: {difference}")]
    OtherVariables {
        /// Which, from 0.
        state: usize,
        /// The variables that only one of both has.
        difference: String,
    },
    /// A loop to a state that is not there.
    #[error("the loop goes to state {loop_}, and there are {states} states, counted from 0")]
    Loop {
        /// Where it goes.
        loop_: usize,
        /// How many there are.
        states: usize,
    },
    /// More or fewer actions than steps.
    #[error("{actions} actions, expected {expected}, one for each step")]
    Actions {
        /// How many.
        actions: usize,
        /// One for each two neighbours, and one for the loop.
        expected: usize,
    },
    /// An initial state or an edge names a state that is not there.
    #[error("state {state} is named, and there are {states} states, counted from 0")]
    NoSuchState {
        /// Which.
        state: usize,
        /// How many there are.
        states: usize,
    },
}

impl Trace {
    /// A trace of these parts.
    ///
    /// # Errors
    ///
    /// The parts do not fit: see [`ShapeError`].
    pub fn new(
        states: Vec<State>,
        actions: Vec<Option<Action>>,
        loop_: Option<usize>,
    ) -> Result<Self, ShapeError> {
        let vars = common_vars(&states)?;
        if let Some(loop_) = loop_.filter(|loop_| *loop_ >= states.len()) {
            return Err(ShapeError::Loop { loop_, states: states.len() });
        }
        let expected = states.len() - 1 + usize::from(loop_.is_some());
        if actions.len() != expected {
            return Err(ShapeError::Actions { actions: actions.len(), expected });
        }
        Ok(Self { vars, states, actions, loop_ })
    }

    /// The steps: the state before, what was done, the state after; the one that closes the loop is the last.
    pub fn steps(&self) -> impl Iterator<Item = (&State, Option<&Action>, &State)> {
        let after = self.states.iter().skip(1).chain(self.loop_.map(|at| &self.states[at]));
        self.states
            .iter()
            .zip(&self.actions)
            .zip(after)
            .map(|((before, action), after)| (before, action.as_ref(), after))
    }
}

/// The variables that all of `states` have.
pub(super) fn common_vars(states: &[State]) -> Result<Vec<String>, ShapeError> {
    let first = states.first().ok_or(ShapeError::NoState)?;
    for (at, state) in states.iter().enumerate() {
        let only = |one: &State, other: &State| -> Vec<String> {
            one.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
        };
        let difference = [only(first, state), only(state, first)].concat();
        if !difference.is_empty() {
            let difference = difference.join(", ");
            return Err(ShapeError::OtherVariables { state: at, difference });
        }
    }
    Ok(first.keys().cloned().collect())
}

impl Action {
    /// The action `name`, without parameters.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), params: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(vars: &[&str]) -> State {
        vars.iter().map(|name| ((*name).to_owned(), Value::Int(0))).collect()
    }

    #[test]
    fn parts_must_fit() {
        let check = |states: &[&[&str]], actions: usize, loop_: Option<usize>, expect: &str| {
            let states = states.iter().map(|vars| state(vars)).collect();
            let error = Trace::new(states, vec![None; actions], loop_).unwrap_err();
            assert_eq!(error.to_string(), expect);
        };
        check(&[], 0, None, "there is no state");
        check(
            &[&["x"], &["x"], &["y", "z"]],
            2,
            None,
            "state 2 has other variables than the first: x, y, z",
        );
        check(
            &[&["x"], &["x"]],
            2,
            Some(2),
            "the loop goes to state 2, and there are 2 states, counted from 0",
        );
        check(&[&["x"], &["x"]], 1, Some(0), "1 actions, expected 2, one for each step");
    }

    #[test]
    fn the_step_that_closes_a_loop_is_the_last() {
        let states: Vec<State> =
            (0..3).map(|at| State::from([("x".to_owned(), Value::Int(at))])).collect();
        let actions = vec![None, None, Some(Action::named("Back"))];
        let trace = Trace::new(states.clone(), actions, Some(1)).unwrap();
        let (before, action, after) = trace.steps().last().unwrap();
        assert_eq!(
            (before, action.unwrap().name.as_str(), after),
            (&states[2], "Back", &states[1])
        );
        assert_eq!(trace.steps().count(), 3);
    }
}
