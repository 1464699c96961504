//! What exploring a specification gives: a verdict, counts, the state graph.

use super::{
    error::TlaError,
    search::{Search, Stop},
    specification::Specification,
};
use crate::traces::{Graph, Trace};

/// When a search gives up.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The number of distinct states.
    pub states_max: usize,
    /// What states and steps take, in bytes. It is estimated: parts that values share are counted in each.
    pub bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { states_max: 1_000_000, bytes_max: usize::MAX }
    }
}

/// TLC's four numbers (`tlc2/tool/ModelChecker.java`, its last lines of output).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Initial states and successors, those that were there already as well.
    pub generated: usize,
    /// Different states.
    pub distinct: usize,
    /// States whose successors were not looked at.
    pub left: usize,
    /// The states on the way to the deepest state, that one included.
    pub depth: usize,
}

/// What a configuration asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// An invariant, by its name in the configuration.
    Invariant(String),
    /// A property, by its name in the configuration.
    Property(String),
    /// That every state has a successor.
    NoDeadlock,
}

/// What was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// An invariant, by its name in the configuration.
    Invariant(String),
    /// A property, by its name in the configuration.
    Property(String),
    /// A state without successors.
    Deadlock,
    /// An `Assert` of the module failed in the last state of the trace.
    Assertion(TlaError),
}

impl Broken {
    /// Whether this is what is broken. The `[]P` of a property is looked at as an invariant.
    pub fn is(&self, asked: &Asked) -> bool {
        match (self, asked) {
            (
                Self::Invariant(name) | Self::Property(name),
                Asked::Invariant(of) | Asked::Property(of),
            ) => name == of,
            (Self::Deadlock, Asked::NoDeadlock) => true,
            _ => false,
        }
    }
}

/// Whether a specification keeps what its configuration asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All states were looked at, and nothing is broken.
    Held,
    /// This was broken, by this run.
    Violated(Broken, Trace),
    /// Not all states were looked at, or nothing follows of it that all were: why.
    Unknown(String),
    /// The last state of this run can't be evaluated: something in it has no value. The module is wrong, and nothing is
    /// known of what it asks.
    Failed(TlaError, Trace),
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Explored {
    /// The verdict.
    pub verdict: Verdict,
    /// How much was looked at.
    pub counts: Counts,
    /// The states and steps that were found. None if there is no initial state.
    pub graph: Option<Graph>,
}

impl Specification {
    /// Looks at all states, up to the first violation or a limit.
    ///
    /// # Errors
    ///
    /// The specification can't be evaluated at all, as constants are missing. What goes wrong in a state is a
    /// [`Verdict`].
    pub fn explore(&self, limits: &Limits) -> Result<Explored, TlaError> {
        let (constants, definitions) = self.prepare()?;
        let mut search = Search::new(self, constants, definitions);
        let verdict = match search.run(limits) {
            Ok(()) if search.is_empty() => Verdict::Unknown("there is no initial state".to_owned()),
            Ok(()) => Verdict::Held,
            Err(Stop::Broken(by)) => Verdict::Violated(by.0, by.1),
            Err(Stop::Failed(by)) => Verdict::Failed(by.0, by.1),
            Err(Stop::Limit(why)) => Verdict::Unknown(why),
            Err(Stop::Error(error)) => return Err(error),
        };
        let can_end = search.can_end();
        let mut explored = search.explored(verdict);
        if explored.verdict == Verdict::Held {
            explored.verdict = self.check_properties(limits)?;
        }
        let is_vacuous = || !can_end && !explored.graph.as_ref().is_some_and(Graph::has_cycle);
        if explored.verdict == Verdict::Held && self.needs_infinite_runs() && is_vacuous() {
            let why = "vacuous: no infinite run stays inside CONSTRAINT";
            explored.verdict = Verdict::Unknown(why.to_owned());
        }
        Ok(explored)
    }

    /// Whether properties are asked that only infinite runs can break, which may not stand still anywhere: fairness drives
    /// them on.
    fn needs_infinite_runs(&self) -> bool {
        let is_fair = !self.spec.fairness.is_empty() || !self.spec.quantified_fairness.is_empty();
        is_fair && self.is_constrained() && !self.spec.liveness_properties.is_empty()
    }
}
