//! A specification as a system, whose steps are evaluated when they are asked for.
//!
//! So a record can be held against a module with more states than can be looked at. Invariants, properties and
//! constraints don't matter here: what is asked is whether the module takes the steps.

use std::sync::{Arc, Mutex, PoisonError};

use tla_checker::{
    ast::{self, Env, Transition},
    eval::{Definitions, EngineOverride, init_states, make_primed_names, next_states},
};

use super::{error::TlaError, specification::Specification, value};
use crate::{System, traces::State};

/// The steps of a specification. It evaluates on the thread that made it: the crate keeps instances by thread.
pub struct Steps<'a> {
    of: &'a Specification,
    initial: Vec<ast::State>,
    next: &'a ast::Expr,
    primed: Vec<Arc<str>>,
    constants: Env,
    definitions: Definitions,
    failed: Mutex<Option<TlaError>>,
}

impl Specification {
    /// The steps, for [`crate::traces::accept`].
    ///
    /// # Errors
    ///
    /// The specification can't be evaluated, or has no `Init` or `Next`.
    pub fn steps(&self) -> Result<Steps<'_>, TlaError> {
        let (constants, definitions) = self.prepare()?;
        let _engine = EngineOverride::new(false, false);
        let init = self.spec.init.as_ref().ok_or_else(|| self.missing("Init"))?;
        let next = self.spec.next.as_ref().ok_or_else(|| self.missing("Next"))?;
        let initial = init_states(init, &self.spec.vars, &constants, &definitions)
            .map_err(|error| self.evaluation(&error))?;
        let primed = make_primed_names(&self.spec.vars);
        Ok(Steps {
            of: self,
            initial,
            next,
            primed,
            constants,
            definitions,
            failed: Mutex::new(None),
        })
    }
}

impl Steps<'_> {
    /// A state as its variables.
    pub fn vars(&self, state: &ast::State) -> State {
        value::state(&self.of.spec.vars, state)
    }

    /// What went wrong first in evaluating steps. The state in which it did had none.
    pub fn failed(&self) -> Option<TlaError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl System for Steps<'_> {
    type State = ast::State;
    type Action = Transition;

    fn initial(&self) -> Vec<ast::State> {
        self.initial.clone()
    }

    fn actions(&self, state: &ast::State, into: &mut Vec<Transition>) {
        let _engine = EngineOverride::new(false, false);
        let vars = &self.of.spec.vars;
        let mut env = self.constants.clone();
        match next_states(self.next, state, vars, &self.primed, &mut env, &self.definitions) {
            Ok(steps) => into.extend(steps),
            Err(error) => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert_with(|| self.of.evaluation(&error));
            }
        }
    }

    fn next(&self, _state: &ast::State, action: &Transition) -> Option<ast::State> {
        Some(action.state.clone())
    }

    fn label(&self, action: &Transition) -> String {
        action.action.as_deref().unwrap_or_default().to_owned()
    }
}
