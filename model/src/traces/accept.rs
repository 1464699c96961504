//! Whether a recorded run is a run of a model.
//!
//! A record has an event for what was observed: the action, if it is known, and the variables whose values are known
//! after it. What is unknown may be anything, so there can be several states of the model that the run may be in. All
//! of them are carried along from event to event; if none allows the next event, the record is no run of the model.
//! Between two observed steps the model may take internal ones, which the record does not show.
//!
//! This is trace validation as in arXiv 2404.16075 and in CCF (NSDI'25). Those hand the record to TLC as a constraint, and
//! go depth first, because they only want one run that fits. Here it is breadth first: what is wanted at a failure is all
//! that the model would have allowed, and that needs all states. It costs memory for every state that fits.
//!
//! An event without an action is any step, or none: somebody looked.

use std::collections::{BTreeSet, HashSet};

use thiserror::Error;

use super::{Action, State, Trace, label, literal::Cursor, ndjson::Event};
use crate::System;

/// How the record is held against the model.
pub struct Rules<'a, S: System> {
    /// A state as its variables.
    pub observe: &'a dyn Fn(&S::State) -> State,
    /// Whether steps of this label are not in the record. They may be taken by themselves between events.
    pub is_internal: &'a dyn Fn(&str) -> bool,
    /// At most so many internal steps between two events.
    pub internal_max: usize,
    /// At most so many possible states before one event.
    pub states_max: usize,
}

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// It is a run of the model: this one, for example. Its internal steps are in it.
    Accepted(Trace),
    /// It is none.
    Rejected(Rejection),
    /// So many states are possible that it was given up at this line of the record.
    Unknown {
        /// The line of the event, from 1.
        line: usize,
    },
}

/// The first event that the model does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Its line in the record, from 1.
    pub line: usize,
    /// How many states of the model the run may have been in before it, internal steps included.
    pub possible: usize,
    /// What the model would have allowed instead: the label, and the variables of the event as they would be. At a first
    /// event without an action these are the states in which a run can begin, without a label.
    pub allowed: Vec<(String, State)>,
}

/// A record that can't be held against the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AcceptError {
    /// There is nothing to look at.
    #[error("the record has no event")]
    Empty,
    /// The model knows no such variable, so nothing can be said of its value.
    #[error("line {line}: the model has no variable `{variable}`, expected one of {known}")]
    NoSuchVariable {
        /// The line of the event, from 1.
        line: usize,
        /// Its name.
        variable: String,
        /// Those of the model.
        known: String,
    },
}

/// A state that the run may be in, and how it came there.
struct Possible<S> {
    state: S,
    /// The label of the step that led here, and the position of the state before.
    by: Option<(String, usize)>,
}

/// Holds `record` against `system`.
///
/// # Errors
///
/// The record has no event, or a variable that the model does not have.
pub fn accept<S: System>(
    system: &S,
    record: &[Event],
    rules: &Rules<'_, S>,
) -> Result<Acceptance, AcceptError> {
    let first = record.first().ok_or(AcceptError::Empty)?;
    check_variables(system, record, rules)?;
    let mut run = Run { system, rules, all: Vec::new() };
    for state in system.initial() {
        run.all.push(Possible { state, by: None });
    }
    let mut now: Vec<usize> = (0..run.all.len()).collect();
    // A record begins with what a run begins with, or with its first step.
    let mut steps = record;
    if first.action.is_none() {
        steps = &record[1..];
        let before = run.internal(now);
        now = run.that_fit(&before, first);
        if now.is_empty() {
            let at_start = before.iter().map(|at| (String::new(), run.seen(*at, first)));
            return Ok(run.rejected(first, before.len(), at_start.collect()));
        }
    }
    for event in steps {
        let before = run.internal(now);
        if before.len() > rules.states_max {
            return Ok(Acceptance::Unknown { line: event.line });
        }
        now = run.after(&before, event);
        if now.is_empty() {
            return Ok(run.rejected(event, before.len(), run.allowed(&before, event)));
        }
    }
    Ok(Acceptance::Accepted(run.trace(now[0])))
}

fn check_variables<S: System>(
    system: &S,
    record: &[Event],
    rules: &Rules<'_, S>,
) -> Result<(), AcceptError> {
    let Some(initial) = system.initial().first().map(rules.observe) else { return Ok(()) };
    for event in record {
        if let Some(variable) = event.state.keys().find(|name| !initial.contains_key(*name)) {
            let known = initial.keys().cloned().collect::<Vec<_>>().join(", ");
            let (line, variable) = (event.line, variable.clone());
            return Err(AcceptError::NoSuchVariable { line, variable, known });
        }
    }
    Ok(())
}

/// All states that were possible at some event. Positions in `all` stand for them.
struct Run<'a, S: System> {
    system: &'a S,
    rules: &'a Rules<'a, S>,
    all: Vec<Possible<S::State>>,
}

impl<S: System> Run<'_, S> {
    /// `from`, and all that internal steps lead to from there.
    fn internal(&mut self, from: Vec<usize>) -> Vec<usize> {
        let mut known: HashSet<S::State> =
            from.iter().map(|at| self.all[*at].state.clone()).collect();
        let mut reached = from.clone();
        let mut edge = from;
        for _ in 0..self.rules.internal_max {
            let mut next = Vec::new();
            for at in edge {
                for (label, state) in self.steps(at) {
                    if (self.rules.is_internal)(&label) && known.insert(state.clone()) {
                        next.push(self.all.len());
                        self.all.push(Possible { state, by: Some((label, at)) });
                    }
                }
            }
            reached.extend(&next);
            edge = next;
        }
        reached
    }

    /// The states after `event`, if the run was in one of `before`.
    fn after(&mut self, before: &[usize], event: &Event) -> Vec<usize> {
        // Whoever looks without an action may see that nothing happened.
        let mut now = match event.action {
            None => self.that_fit(before, event),
            Some(_) => Vec::new(),
        };
        let mut known: HashSet<S::State> =
            now.iter().map(|at| self.all[*at].state.clone()).collect();
        for at in before {
            for (label, state) in self.steps(*at) {
                let is_meant = event.action.as_ref().is_none_or(|action| is_of(&label, action));
                let fits = is_meant && fits(&(self.rules.observe)(&state), event);
                if fits && known.insert(state.clone()) {
                    now.push(self.all.len());
                    self.all.push(Possible { state, by: Some((label, *at)) });
                }
            }
        }
        now
    }

    /// Those of `states` that have the values of `event`.
    fn that_fit(&self, states: &[usize], event: &Event) -> Vec<usize> {
        let fits = |at: &&usize| fits(&(self.rules.observe)(&self.all[**at].state), event);
        states.iter().filter(fits).copied().collect()
    }

    fn steps(&self, at: usize) -> Vec<(String, S::State)> {
        let state = &self.all[at].state;
        let mut actions = Vec::new();
        self.system.actions(state, &mut actions);
        let step = |action| Some((self.system.label(action), self.system.next(state, action)?));
        actions.iter().filter_map(step).collect()
    }

    /// What a state looks like to `event`.
    fn seen(&self, at: usize, event: &Event) -> State {
        only((self.rules.observe)(&self.all[at].state), event)
    }

    fn allowed(&self, before: &[usize], event: &Event) -> BTreeSet<(String, State)> {
        let steps = before.iter().flat_map(|at| self.steps(*at));
        steps.map(|(label, state)| (label, only((self.rules.observe)(&state), event))).collect()
    }

    fn rejected(
        &self,
        event: &Event,
        possible: usize,
        allowed: BTreeSet<(String, State)>,
    ) -> Acceptance {
        let allowed = allowed.into_iter().collect();
        Acceptance::Rejected(Rejection { line: event.line, possible, allowed })
    }

    /// The run to the state `at`.
    fn trace(&self, at: usize) -> Trace {
        let back = |at: &usize| self.all[*at].by.as_ref().map(|(_, before)| *before);
        let mut way: Vec<usize> = std::iter::successors(Some(at), back).collect();
        way.reverse();
        let states = way.iter().map(|at| (self.rules.observe)(&self.all[*at].state)).collect();
        let labels = way.iter().filter_map(|at| self.all[*at].by.as_ref());
        let actions = labels.map(|(label, _)| action(label)).collect();
        Trace::new(states, actions, None).expect("all states of a model have the same variables")
    }
}

/// Whether `state` has the values that `event` knows.
fn fits(state: &State, event: &Event) -> bool {
    event.state.iter().all(|(name, value)| state.get(name) == Some(value))
}

/// The variables of `state` that `event` has.
fn only(mut state: State, event: &Event) -> State {
    state.retain(|name, _| event.state.contains_key(name));
    state
}

/// Whether a step of this label is what was observed. An action without parameters is one with any.
fn is_of(label: &str, action: &Action) -> bool {
    let name = label.split('(').next().unwrap_or(label);
    label == action.to_string() || (action.params.is_empty() && name == action.name)
}

/// A label as an action: with parameters if it is written with them, else all of it as the name.
fn action(label: &str) -> Option<Action> {
    let mut cursor = Cursor::new(label, 1, 1);
    match label::read(&mut cursor) {
        Ok(action) if cursor.rest().is_empty() => action,
        _ => label::named(label, Vec::new()),
    }
}

#[cfg(test)]
mod tests;
