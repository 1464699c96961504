//! The search for violations, breadth first, counted as TLC counts.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tla_checker::{
    ast::{self, Env, Value},
    eval::{
        Definitions, EngineOverride, EvalContext, EvalError, eval_with_context, init_states,
        make_primed_names, next_states,
    },
};

use super::{
    error::TlaError,
    explore::{Broken, Counts, Explored, Limits, Verdict},
    specification::Specification,
    value,
};
use crate::traces::{Action, Edge, Graph, Trace};

/// Why a search ends before it has looked at all states.
pub(super) enum Stop {
    /// This is broken by this run.
    Broken(Box<(Broken, Trace)>),
    /// The last state of this run can't be evaluated.
    Failed(Box<(TlaError, Trace)>),
    /// A limit is reached: which.
    Limit(String),
    /// There is nothing to search.
    Error(TlaError),
}

/// How a state was first found.
struct Found {
    from: Option<usize>,
    action: Option<Action>,
    depth: usize,
}

/// A search under way. What the crate keeps for a thread is set up by [`Specification::prepare`].
pub(super) struct Search<'a> {
    of: &'a Specification,
    primed: Vec<Arc<str>>,
    constants: Env,
    definitions: Definitions,
    numbers: HashMap<ast::State, usize>,
    states: Vec<ast::State>,
    found: Vec<Found>,
    edges: Vec<Edge>,
    generated: usize,
    /// What the states take.
    bytes: usize,
    queue: VecDeque<usize>,
    /// Whether a state has no successor, so that a run may end there.
    can_end: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(of: &'a Specification, constants: Env, definitions: Definitions) -> Self {
        Self {
            of,
            primed: make_primed_names(&of.spec.vars),
            constants,
            definitions,
            numbers: HashMap::new(),
            states: Vec::new(),
            found: Vec::new(),
            edges: Vec::new(),
            generated: 0,
            bytes: 0,
            queue: VecDeque::new(),
            can_end: false,
        }
    }

    pub(super) fn can_end(&self) -> bool {
        self.can_end
    }

    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Looks at all states, unless something is broken.
    pub(super) fn run(&mut self, limits: &Limits) -> Result<(), Stop> {
        // The crate's walk over the formula, not its older engine.
        let _engine = EngineOverride::new(false, false);
        let spec = &self.of.spec;
        let init = spec.init.as_ref().ok_or_else(|| Stop::Error(self.of.missing("Init")))?;
        let initial = init_states(init, &spec.vars, &self.constants, &self.definitions)
            .map_err(|error| Stop::Error(self.of.evaluation(&error)))?;
        for state in initial {
            self.generated += 1;
            let step = ast::Transition { state, action: None };
            self.take(None, step)?;
        }
        while let Some(at) = self.queue.pop_front() {
            let steps = self.steps(at)?;
            self.can_end |= steps.is_empty();
            if steps.is_empty() && !self.of.config.allow_deadlock {
                return Err(self.broken(Broken::Deadlock, at));
            }
            for step in steps {
                self.generated += 1;
                self.take(Some(at), step)?;
            }
            self.check(limits)?;
        }
        Ok(())
    }

    fn check(&self, limits: &Limits) -> Result<(), Stop> {
        let Limits { states_max, bytes_max } = limits;
        if self.states.len() > *states_max {
            return Err(Stop::Limit(format!("there are more than {states_max} states")));
        }
        if self.bytes + self.edges.len() * size_of::<Edge>() > *bytes_max {
            let kib = bytes_max >> 10;
            return Err(Stop::Limit(format!("the states take more than {kib} KiB of memory")));
        }
        Ok(())
    }

    fn steps(&self, at: usize) -> Result<Vec<ast::Transition>, Stop> {
        let spec = &self.of.spec;
        let next = spec.next.as_ref().ok_or_else(|| Stop::Error(self.of.missing("Next")))?;
        let mut env = self.constants.clone();
        let steps = next_states(
            next,
            &self.states[at],
            &spec.vars,
            &self.primed,
            &mut env,
            &self.definitions,
        );
        steps.map_err(|error| self.failed_in(&error, self.trace(at)))
    }

    /// Notes a step from a state to another, and looks at that one if it is new.
    fn take(&mut self, from: Option<usize>, step: ast::Transition) -> Result<(), Stop> {
        let action = value::action(step.action.as_ref());
        if let Some(to) = self.numbers.get(&step.state) {
            self.edges.extend(from.map(|from| Edge { from, to: *to, action }));
            return Ok(());
        }
        let inside = self.is_inside(&step.state);
        if !inside.map_err(|error| self.failed(&error, from, &step))? {
            // TLC checks invariants of such a state, and goes no further.
            let broken = self.broken_invariant(&step.state);
            return match broken.map_err(|error| self.failed(&error, from, &step))? {
                Some(broken) => Err(self.broken_outside(broken, from, &step)),
                None => Ok(()),
            };
        }
        let to = self.states.len();
        self.numbers.insert(step.state.clone(), to);
        self.bytes += value::bytes(&step.state) + size_of::<Found>() + size_of::<ast::State>();
        self.states.push(step.state);
        let depth = from.map_or(1, |from| self.found[from].depth + 1);
        self.edges.extend(from.map(|from| Edge { from, to, action: action.clone() }));
        self.found.push(Found { from, action, depth });
        match self.broken_invariant(&self.states[to]) {
            Ok(None) => self.queue.push_back(to),
            Ok(Some(broken)) => return Err(self.broken(broken, to)),
            Err(error) => return Err(self.failed_in(&error, self.trace(to))),
        }
        Ok(())
    }

    fn failed(&self, error: &EvalError, from: Option<usize>, step: &ast::Transition) -> Stop {
        self.failed_in(error, self.trace_and(from, step))
    }

    /// Evaluating failed in the last state of a run. An `Assert` is what the module asks; the crate has its failure among
    /// all others (`eval/core.rs`).
    fn failed_in(&self, error: &EvalError, trace: Trace) -> Stop {
        let located = self.of.evaluation(error);
        match error {
            EvalError::DomainError { message, .. } if message.starts_with("Assertion failed: ") => {
                Stop::Broken(Box::new((Broken::Assertion(located), trace)))
            }
            _ => Stop::Failed(Box::new((located, trace))),
        }
    }

    /// By the run to a state that was found.
    fn broken(&self, broken: Broken, at: usize) -> Stop {
        Stop::Broken(Box::new((broken, self.trace(at))))
    }

    /// By the run to a state that was found, and one step more.
    fn broken_outside(&self, broken: Broken, from: Option<usize>, step: &ast::Transition) -> Stop {
        Stop::Broken(Box::new((broken, self.trace_and(from, step))))
    }

    /// Whether `state` is inside of the constraints.
    fn is_inside(&self, state: &ast::State) -> Result<bool, EvalError> {
        for constraint in &self.of.config.state_constraints {
            if !self.holds(constraint, state)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first invariant that `state` breaks.
    fn broken_invariant(&self, state: &ast::State) -> Result<Option<Broken>, EvalError> {
        let spec = &self.of.spec;
        for (invariant, name) in spec.invariants.iter().zip(&spec.invariant_names) {
            if !self.holds(invariant, state)? {
                let name = name.as_deref().unwrap_or_default().to_owned();
                return Ok(Some(Broken::Invariant(name)));
            }
        }
        Ok(None)
    }

    fn holds(&self, predicate: &ast::Expr, state: &ast::State) -> Result<bool, EvalError> {
        match self.value_of(predicate, state)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(EvalError::type_mismatch_ctx("Bool", other, "a predicate of the cfg")),
        }
    }

    fn value_of(&self, of: &ast::Expr, state: &ast::State) -> Result<Value, EvalError> {
        let vars = &self.of.spec.vars;
        let mut env = self.constants.clone();
        for (name, value) in vars.iter().zip(&state.values) {
            env.insert(Arc::clone(name), value.clone());
        }
        let context = EvalContext { state_vars: vars.clone() };
        eval_with_context(of, &mut env, &self.definitions, &context)
    }

    /// The run to the state `at`.
    fn trace(&self, at: usize) -> Trace {
        let mut way: Vec<usize> =
            std::iter::successors(Some(at), |at| self.found[*at].from).collect();
        way.reverse();
        let states = way.iter().map(|at| value::state(&self.of.spec.vars, &self.states[*at]));
        let actions = way.iter().skip(1).map(|at| self.found[*at].action.clone());
        Trace::new(states.collect(), actions.collect(), None).expect("states have all variables")
    }

    /// The run to the state `from`, and one step more.
    fn trace_and(&self, from: Option<usize>, step: &ast::Transition) -> Trace {
        let mut states = Vec::new();
        let mut actions = Vec::new();
        if let Some(from) = from {
            let before = self.trace(from);
            states = before.states;
            actions = before.actions;
            actions.push(value::action(step.action.as_ref()));
        }
        states.push(value::state(&self.of.spec.vars, &step.state));
        Trace::new(states, actions, None).expect("states have all variables")
    }

    pub(super) fn explored(self, verdict: Verdict) -> Explored {
        let counts = Counts {
            generated: self.generated,
            distinct: self.states.len(),
            left: self.queue.len(),
            depth: self.found.iter().map(|found| found.depth).max().unwrap_or(0),
        };
        let is_initial = |at: &usize| self.found[*at].from.is_none();
        let initial = (0..self.found.len()).filter(is_initial).collect();
        let vars = &self.of.spec.vars;
        let states: Vec<_> = self.states.iter().map(|state| value::state(vars, state)).collect();
        let graph = (!states.is_empty()).then(|| {
            Graph::new(states, initial, self.edges).expect("edges are between states found")
        });
        Explored { verdict, counts, graph }
    }
}
