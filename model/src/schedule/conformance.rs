//! Whether a run of a real controller is the run of the model.
//!
//! Held against each other are actions, and after each request of the controller the bound variables. The terms are those
//! of Mocket (EuroSys'23, §5): an *inconsistent state*, a *missing action*, an *unexpected action*. What the controller
//! does once the trace has ended is not looked at: if the last action is no request, its state is held against that before
//! the controller's next write, or against the one at rest.

mod observed;
mod world;

use std::{fmt, sync::Arc};

use serde_json::Value as Json;
use trace::{History, ObjectKey, Revision};

use super::{Expected, Schedule, Step, agrees};
use crate::binding::Bound;
use observed::{Seen, observed};
use world::World;

/// Works out an expression of a binding over these objects. Errors: why it can't, for people.
pub type Project<'p> = &'p dyn Fn(&str, &[Arc<Json>]) -> Result<Json, String>;

/// A recorded run.
pub struct Followed<'r> {
    /// Every object at its start.
    pub before: &'r [(ObjectKey, Arc<Json>)],
    /// All that happened.
    pub history: &'r History,
    /// How expressions are worked out.
    pub project: Project<'r>,
}

/// The first place at which model and controller part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// At which step of the trace, from 1; 0 in its first state, if it has no step.
    pub step: usize,
    /// Its action.
    pub action: String,
    /// In which way.
    pub how: How,
}

/// How model and controller differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// A variable has another value in the cluster.
    Inconsistent {
        /// Which.
        variable: String,
        /// Its value in the model.
        model: String,
        /// Its value in the cluster, as JSON.
        cluster: String,
        /// Already before the action.
        before: bool,
    },
    /// The run was over, and the action had not come.
    Missing {
        /// What it is in the cluster.
        bound: String,
    },
    /// The controller did something else.
    Unexpected {
        /// Its request.
        request: String,
        /// The action of the model that this is, if one is bound to it.
        is: Option<String>,
    },
}

impl Schedule {
    /// Where the run and the trace part; none if the run goes along it to its end.
    ///
    /// # Errors
    /// An expression of the binding can't be worked out; or nothing of the trace can be seen.
    pub fn follow(&self, run: &Followed<'_>) -> Result<Option<Disagreement>, String> {
        if !self.can_be_held() {
            return Err(
                "nothing of the model's run can be seen: bind an action or a variable".to_owned()
            );
        }
        let mut world = World::new(run.before, run.history);
        let mut at = 0;
        for seen in observed(run.history) {
            at = self.next_visible(at);
            let Some(step) = self.steps.get(at) else {
                match seen.ends(&self.binding) {
                    Some(then) => return self.at_the_end(then, &mut world, run.project),
                    None => continue,
                }
            };
            let bound = self.bound(&step.action);
            match (bound, &seen) {
                (Bound::Request(wanted), Seen::Request { call, .. }) if wanted.matches(call) => {
                    if let Some(how) = self.compare(at, &seen, &mut world, run.project)? {
                        return Ok(Some(disagreement(at, step, how)));
                    }
                    at += 1;
                }
                // Of a crash after a request that is no action of its own.
                (Bound::CrashAfter(wanted), Seen::Request { call, .. }) if wanted.matches(call) => {
                }
                (_, Seen::Request { call, .. }) if !self.binding.is_free(call) => {
                    let is = self.binding.action_of(call).map(str::to_owned);
                    let how = How::Unexpected { request: observed::told(call), is };
                    return Ok(Some(disagreement(at, step, how)));
                }
                (Bound::Sees(wanted), Seen::Change { change, key })
                    if wanted.matches(*change, key) =>
                {
                    at += 1;
                }
                (Bound::User(wanted), Seen::User(step)) if wanted == step => at += 1,
                (Bound::CrashBefore(_) | Bound::CrashAfter(_), Seen::Crash) => at += 1,
                // What the model says nothing of, or not now.
                _ => {}
            }
        }
        let missing = self.next_visible(at);
        let Some(step) = self.steps.get(missing) else {
            return self.at_the_end(Revision(u64::MAX), &mut world, run.project);
        };
        let how = How::Missing { bound: told(self.bound(&step.action)) };
        Ok(Some(disagreement(missing, step, how)))
    }

    /// What of the bound variables is different when the trace has ended. Behind a request they were looked at.
    fn at_the_end(
        &self,
        revision: Revision,
        world: &mut World<'_>,
        project: Project<'_>,
    ) -> Result<Option<Disagreement>, String> {
        let last = self.steps.last();
        if last.is_some_and(|step| matches!(self.bound(&step.action), Bound::Request(_))) {
            return Ok(None);
        }
        let expected = last.map_or(&self.first, |step| &step.then);
        let how = self.different(expected, false, &world.at(revision), project)?;
        let action = last.map_or(String::new(), |step| step.action.clone());
        Ok(how.map(|how| Disagreement { step: self.steps.len(), action, how }))
    }

    /// The first step from this one on that can be seen at the API.
    fn next_visible(&self, from: usize) -> usize {
        let rest = self.steps.iter().skip(from);
        from + rest.take_while(|step| *self.bound(&step.action) == Bound::Internal).count()
    }

    /// What of the bound variables is different before or after a request.
    fn compare(
        &self,
        at: usize,
        seen: &Seen<'_>,
        world: &mut World<'_>,
        project: Project<'_>,
    ) -> Result<Option<How>, String> {
        let Seen::Request { before, after, .. } = seen else { return Ok(None) };
        let expected = match at.checked_sub(1) {
            Some(last) => &self.steps[last].then,
            None => &self.first,
        };
        if let Some(how) = self.different(expected, true, &world.at(*before), project)? {
            return Ok(Some(how));
        }
        self.different(&self.steps[at].then, false, &world.at(*after), project)
    }

    fn different(
        &self,
        expected: &Expected,
        before: bool,
        objects: &[Arc<Json>],
        project: Project<'_>,
    ) -> Result<Option<How>, String> {
        for (variable, model) in expected {
            let Some(expression) = self.binding.variables.get(variable) else { continue };
            let cluster = project(expression, objects)
                .map_err(|why| format!("the variable {variable} can't be worked out: {why}"))?;
            if !agrees(&model.0, &cluster) {
                return Ok(Some(How::Inconsistent {
                    variable: variable.clone(),
                    model: model.to_string(),
                    cluster: cluster.to_string(),
                    before,
                }));
            }
        }
        Ok(None)
    }
}

fn disagreement(at: usize, step: &Step, how: How) -> Disagreement {
    Disagreement { step: at + 1, action: step.action.clone(), how }
}

/// What is to be seen of an action.
fn told(bound: &Bound) -> String {
    match bound {
        Bound::Internal => "nothing".to_owned(),
        Bound::Request(request) => request.to_string(),
        Bound::CrashBefore(request) => format!("a kill before {request}"),
        Bound::CrashAfter(request) => format!("a kill after {request}"),
        Bound::Sees(change) => format!("a watch event: {change}"),
        Bound::User(step) => format!("the user's step {step}"),
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { step, action, how } = self;
        match how {
            How::Inconsistent { variable, model, cluster, before } => {
                let when = match (before, step) {
                    (_, 0) => "at the beginning, where the model stays".to_owned(),
                    (true, _) => format!("before step {step} ({action})"),
                    (false, _) => format!("after step {step} ({action})"),
                };
                write!(
                    f,
                    "inconsistent state {when}: {variable} is {model} in the model, and {cluster} in the cluster"
                )
            }
            How::Missing { bound } => {
                write!(f, "missing action: step {step} ({action}, {bound}) never came")
            }
            How::Unexpected { request, is } => {
                write!(f, "unexpected action: {request}")?;
                if let Some(is) = is {
                    write!(f, " ({is})")?;
                }
                write!(f, ", where the model goes on with step {step} ({action})")
            }
        }
    }
}
