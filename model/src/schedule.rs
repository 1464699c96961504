//! A run of a model, as what is to happen to a real controller.
//!
//! A [`Schedule`] is a trace and a binding. [`Schedule::plan`] says which perturbations lead a run of the controller along
//! the trace; everything else of it the controller does by itself. [`Schedule::follow`] says afterwards whether it did.

mod conformance;
mod values;

use std::collections::BTreeMap;

use plans::{
    Crash, Plan,
    moment::{Moment, OnItsWay, RequestMatch},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    binding::{Binding, Bound},
    traces::{State, Trace},
};
pub use conformance::{Disagreement, Followed, How, Project};
pub use values::{Literal, agrees};

/// The bound variables in a state of the model.
pub type Expected = BTreeMap<String, Literal>;

/// A run of a model and what it is in the cluster; complete by value, as replay files keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Schedule {
    /// The model, by its file's name; empty in files of older versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// What actions and variables are.
    pub binding: Binding,
    /// The bound variables in the first state.
    pub first: Expected,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A step of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// Which action it is.
    pub action: String,
    /// The bound variables after it.
    pub then: Expected,
}

/// The step of PlusCal's translation that stands for the end of all processes: internal, if it is not bound.
const TERMINATING: &str = "Terminating";

/// Why a trace is no schedule under a binding.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// The format does not name the actions.
    #[error(
        "step {step} has no action: write the trace with action names, or with a variable `pc`"
    )]
    NoAction {
        /// Which, from 1.
        step: usize,
    },
    /// An action that the binding does not name.
    #[error("step {step} is the action {action:?}, which is not bound{nearest}")]
    UnknownAction {
        /// Which, from 1.
        step: usize,
        /// Its name.
        action: String,
        /// The nearest that is bound, as the end of the sentence.
        nearest: String,
    },
    /// A variable of the binding that the trace does not have.
    #[error("the binding names the variable {variable:?}, which the trace does not have{nearest}")]
    UnknownVariable {
        /// The key of the binding.
        variable: String,
        /// The nearest that there is, as the end of the sentence.
        nearest: String,
    },
}

impl Schedule {
    /// The schedule of a trace of this model. A lasso is gone round once; one that stands still has come to its end.
    ///
    /// # Errors
    /// Names of the trace and of the binding do not fit.
    pub fn of(model: &str, trace: &Trace, binding: &Binding) -> Result<Schedule, ScheduleError> {
        let first = expected(&trace.states[0], binding)?;
        let mut steps = Vec::new();
        for (at, (before, action, after)) in trace.steps().enumerate() {
            let step = at + 1;
            if action.is_none() && before == after {
                continue; // TLA+ allows a model to stand still anywhere (Specifying Systems, 2.2)
            }
            let action = action.ok_or(ScheduleError::NoAction { step })?.name.clone();
            if action != TERMINATING && !binding.actions.contains_key(&action) {
                let nearest = nearest(&action, binding.actions.keys());
                return Err(ScheduleError::UnknownAction { step, action, nearest });
            }
            steps.push(Step { action, then: expected(after, binding)? });
        }
        Ok(Schedule { model: model.to_owned(), binding: binding.clone(), first, steps })
    }

    /// Whether both are runs of one model, of which a controller that keeps to the model may take any.
    pub fn is_of_model_of(&self, other: &Schedule) -> bool {
        self.model == other.model && self.binding == other.binding
    }

    /// Whether a controller could part from it: something of it can be seen.
    fn can_be_held(&self) -> bool {
        let is_seen = |step: &Step| *self.bound(&step.action) != Bound::Internal;
        !self.binding.variables.is_empty() || self.steps.iter().any(is_seen)
    }

    /// What an action is.
    fn bound(&self, action: &str) -> &Bound {
        // PlusCal's own, or one of a replay file that was changed by hand.
        self.binding.actions.get(action).unwrap_or(&Bound::Internal)
    }

    /// The perturbations that lead a run along it: its crashes. Each counts the requests that it could be about, from the
    /// crash before on, whatever action they are.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::undisturbed();
        let mut since: Vec<&RequestMatch> = vec![];
        for step in &self.steps {
            let (request, at) = match self.bound(&step.action) {
                Bound::Request(request) => {
                    since.push(request);
                    continue;
                }
                Bound::CrashBefore(request) => (request, OnItsWay::Sent),
                Bound::CrashAfter(request) => (request, OnItsWay::CarriedOut),
                Bound::Internal | Bound::Sees(_) | Bound::User(_) => continue,
            };
            let before = since.iter().filter(|other| request.covers(other)).count() as u32;
            // A request that was carried out may be an action of its own, the last one.
            let is_action = since.last().is_some_and(|last| request.covers(last));
            let occurrence = match at {
                OnItsWay::CarriedOut if is_action => before,
                OnItsWay::Sent | OnItsWay::CarriedOut => before + 1,
            };
            since.clear();
            let request = request.clone();
            plan = plan.and(Crash::at(Moment::Request { request, at, occurrence }));
        }
        plan
    }

    /// Its actions, as a person reads them: `Start, CreateObject, …`.
    pub fn title(&self) -> String {
        let names: Vec<&str> = self.steps.iter().map(|step| step.action.as_str()).collect();
        names.join(", ")
    }
}

/// The bound variables of a state.
fn expected(state: &State, binding: &Binding) -> Result<Expected, ScheduleError> {
    let mut expected = Expected::new();
    for key in binding.variables.keys() {
        let found = values::at(state, key);
        let found = found.ok_or_else(|| ScheduleError::UnknownVariable {
            variable: key.clone(),
            nearest: nearest(key, state.keys()),
        })?;
        expected.insert(key.clone(), Literal(found.clone()));
    }
    Ok(expected)
}

/// So many names are told of those that there are.
const NAMES_MAX: usize = 20;

/// The end of a sentence about a name that is not there: `: did you mean "a"?`, or which there are, if they are few.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n String> + Clone) -> String {
    let close = known
        .clone()
        .map(|other| (strsim::jaro_winkler(name, other), other))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    match close {
        Some((score, other)) if score > 0.8 => format!(": did you mean {other:?}?"),
        Some(_) if known.clone().count() > NAMES_MAX => String::new(),
        Some(_) => {
            let known: Vec<&str> = known.map(String::as_str).collect();
            format!(" (there are: {})", known.join(", "))
        }
        None => " (there is none)".to_owned(),
    }
}

#[cfg(test)]
mod tests;
