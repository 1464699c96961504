//! Properties over whole runs: fairness, `<>`, `~>`, `[][A]_v`.
//!
//! The crate's own check does them, with its tableau of the negated property (the method of TLC), on a search of its
//! own. It is asked only when [`Specification::explore`] found nothing wrong, so it looks at the same states.

use std::sync::Arc;

use tla_checker::{
    ast::{self, Transition},
    checker::{CheckResult, CheckerConfig, check},
    eval::{make_primed_names, next_states},
    liveness::LivenessViolation,
};

use super::{
    error::TlaError,
    explore::{Broken, Limits, Verdict},
    specification::Specification,
    value,
};
use crate::traces::{Action, Trace};

impl Specification {
    /// Checks the properties of the configuration, given that all states are fewer than the limit and keep all
    /// invariants.
    pub(super) fn check_properties(&self, limits: &Limits) -> Result<Verdict, TlaError> {
        if self.config.properties.is_empty() {
            return Ok(Verdict::Held);
        }
        let config = self.config_of_check(limits);
        match check(&self.spec, self.constants(), &config) {
            CheckResult::Ok(_) => Ok(Verdict::Held),
            CheckResult::LivenessViolation(violation, _) => {
                let trace = self.lasso(&violation)?;
                Ok(Verdict::Violated(Broken::Property(violation.property), trace))
            }
            CheckResult::PropertyViolation(violation, _) => {
                let trace = self.run(&violation.trace, &violation.actions);
                Ok(Verdict::Violated(Broken::Property(violation.property.to_string()), trace))
            }
            CheckResult::LivenessError(failed, _) => Err(self.evaluation(&failed.error)),
            CheckResult::InitError(error)
            | CheckResult::NextError(error, ..)
            | CheckResult::InvariantError(error, ..) => Err(self.evaluation(&error)),
            CheckResult::PrepareError(error) => Err(self.unprepared(error)),
            CheckResult::MaxStatesExceeded(_)
            | CheckResult::MaxDepthExceeded(_)
            | CheckResult::MaxTimeExceeded(_)
            | CheckResult::InvariantViolation(..)
            | CheckResult::RefinementViolation(..)
            | CheckResult::Deadlock(..)
            | CheckResult::NoInitialStates => {
                Ok(Verdict::Unknown("the properties were checked on other states".to_owned()))
            }
        }
    }

    fn config_of_check(&self, limits: &Limits) -> CheckerConfig {
        let of = &self.config;
        CheckerConfig {
            max_states: limits.states_max,
            max_depth: usize::MAX,
            quiet: true,
            allow_deadlock: of.allow_deadlock,
            check_liveness: of.check_liveness,
            symbolic_integers: of.symbolic_integers,
            state_constraints: of.state_constraints.clone(),
            properties: of.properties.clone(),
            spec_path: of.spec_path.clone(),
            liveness_engine: of.liveness_engine,
            ..CheckerConfig::default()
        }
    }

    /// A run that the crate gives with the actions that led to its states; the first has none.
    fn run(&self, states: &[ast::State], actions: &[Option<Arc<str>>]) -> Trace {
        let states = states.iter().map(|state| value::state(&self.spec.vars, state)).collect();
        let actions = actions.iter().skip(1).map(|name| value::action(name.as_ref())).collect();
        Trace::new(states, actions, None).expect("an action leads to each state but the first")
    }

    /// A run with a loop. The crate does not say which actions it has; they are looked for.
    fn lasso(&self, violation: &LivenessViolation) -> Result<Trace, TlaError> {
        // The prefix ends with the first state of the cycle.
        let way: Vec<&ast::State> =
            violation.prefix.iter().chain(violation.cycle.iter().skip(1)).collect();
        let loop_ = violation.prefix.len() - 1;
        let after = way.iter().skip(1).chain([&way[loop_]]);
        let actions = way.iter().zip(after).map(|(before, after)| self.action(before, after));
        let actions = actions.collect::<Result<_, _>>()?;
        let states = way.iter().map(|state| value::state(&self.spec.vars, state)).collect();
        Ok(Trace::new(states, actions, Some(loop_)).expect("one action more than steps"))
    }

    /// What leads from one state to another; none if nothing does, and the run stands still.
    fn action(&self, before: &ast::State, after: &ast::State) -> Result<Option<Action>, TlaError> {
        let (mut env, definitions) = self.prepare()?;
        let vars = &self.spec.vars;
        let Some(next) = &self.spec.next else { return Ok(None) };
        let steps =
            next_states(next, before, vars, &make_primed_names(vars), &mut env, &definitions)
                .map_err(|error| self.evaluation(&error))?;
        let leads = |step: &Transition| step.state == *after;
        Ok(steps.into_iter().find(leads).and_then(|step| value::action(step.action.as_ref())))
    }
}
