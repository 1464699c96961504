//! What a search says: verdicts with runs, and how much was seen.

use crate::search::Paused;

/// How many states and steps a search has seen, counted as TLC counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Initial states and all successors, with those that were known.
    pub generated: u64,
    /// Different states.
    pub distinct: u64,
    /// States found whose successors were not looked at.
    pub left: u64,
    /// States on the longest of the shortest paths (breadth first) or on the longest path taken (others). An initial
    /// state has depth 1.
    pub depth: u64,
}

/// Why a search did not see everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// As many states as the budget allows.
    States,
    /// Paths as long as the budget allows.
    Depth,
    /// As much memory as the budget allows.
    Memory,
    /// The deadline.
    Deadline,
    /// Each property was decided before.
    Decided,
    /// A property, of this name, was violated.
    Violation(String),
    /// A random walk sees what it comes across.
    Sampled,
    /// Liveness is judged by a breadth first search only.
    NeedsGraph,
}

/// A run: what happens, from an initial state on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<State, Action> {
    /// The states, the initial one first.
    pub states: Vec<State>,
    /// The step after each state but the last.
    pub actions: Vec<Action>,
    /// For a run without end: the index of the state that equals the last one, from which it goes on again. The last
    /// state's own index means that nothing happens any more.
    pub loops_to: Option<usize>,
}

/// The judgement of one property.
#[derive(Debug)]
pub enum Verdict<State, Action> {
    /// True of the whole system; with a run to the state that was wanted to be reachable.
    Held {
        /// A run to the wanted state, for [`crate::Property::sometimes`].
        witness: Option<Run<State, Action>>,
    },
    /// Not true, with a run that shows it. There is none if a wanted state can't be reached.
    Violated {
        /// The run: shortest, for states and steps in a breadth first search.
        run: Option<Run<State, Action>>,
    },
    /// Not violated in what was seen, which was not all.
    Unknown {
        /// What was seen.
        covered: Counts,
        /// Why it was not all.
        why: Limit,
    },
}

impl<State, Action> Verdict<State, Action> {
    /// Whether it holds of the whole system.
    pub fn is_held(&self) -> bool {
        matches!(self, Verdict::Held { .. })
    }

    /// Whether it is violated.
    pub fn is_violated(&self) -> bool {
        matches!(self, Verdict::Violated { .. })
    }

    /// The run that shows it.
    pub fn run(&self) -> Option<&Run<State, Action>> {
        match self {
            Verdict::Held { witness: run } | Verdict::Violated { run } => run.as_ref(),
            Verdict::Unknown { .. } => None,
        }
    }
}

/// The reductions that a search used. One that was asked for and can't keep a verdict is not used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reductions {
    /// One state stood for all its renamings.
    pub symmetry: bool,
    /// Of steps that can be swapped, not all orders were taken.
    pub partial_order: bool,
}

/// What a search says.
#[derive(Debug)]
pub struct Report<State, Action> {
    /// What was seen. After a violation that ended the search, what one thread would have seen by then.
    pub counts: Counts,
    /// Each property's verdict, in their order.
    pub verdicts: Vec<(String, Verdict<State, Action>)>,
    /// Why not all was seen; none if it was.
    pub limit: Option<Limit>,
    /// What was saved.
    pub reductions: Reductions,
    /// A breadth first search that a budget stopped, to go on with.
    pub paused: Option<Paused<State>>,
}

impl<State, Action> Report<State, Action> {
    /// The verdict of the property `name`.
    ///
    /// # Panics
    /// If there is no such property.
    pub fn verdict(&self, name: &str) -> &Verdict<State, Action> {
        let found = self.verdicts.iter().find(|(of, _)| of == name);
        &found.unwrap_or_else(|| panic!("no property is called {name}")).1
    }
}
