//! State graphs: all that a model can do, or what of it was explored.

use std::collections::VecDeque;

use super::{Action, ShapeError, State, Trace, trace::common_vars};

mod cover;
mod system;

pub use system::GraphSystem;

/// States, and the steps between them. Two edges may lead from one state to the same other one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The variables, by name. Every state has just these.
    pub vars: Vec<String>,
    /// The states.
    pub states: Vec<State>,
    /// Where a run can begin, in ascending order: positions in `states`.
    pub initial: Vec<usize>,
    /// The steps.
    pub edges: Vec<Edge>,
}

/// One step of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The state before: a position in [`Graph::states`].
    pub from: usize,
    /// The state after.
    pub to: usize,
    /// What is done; none if the format does not say.
    pub action: Option<Action>,
}

/// A way through a graph: where it begins, and the edges, each of which begins where the one before ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// The first state.
    pub start: usize,
    /// Positions in [`Graph::edges`].
    pub edges: Vec<usize>,
}

impl Graph {
    /// A graph of these parts.
    ///
    /// # Errors
    ///
    /// The parts do not fit: see [`ShapeError`].
    pub fn new(
        states: Vec<State>,
        mut initial: Vec<usize>,
        edges: Vec<Edge>,
    ) -> Result<Self, ShapeError> {
        let vars = common_vars(&states)?;
        let named = edges.iter().flat_map(|edge| [edge.from, edge.to]).chain(initial.clone());
        if let Some(state) = named.max().filter(|state| *state >= states.len()) {
            return Err(ShapeError::NoSuchState { state, states: states.len() });
        }
        initial.sort_unstable();
        initial.dedup();
        Ok(Self { vars, states, initial, edges })
    }

    /// The graph that a trace is: its states in their order, of which the first is the initial one.
    pub fn of_trace(trace: &Trace) -> Self {
        let last = trace.states.len() - 1;
        let to = |at: usize| if at < last { at + 1 } else { trace.loop_.unwrap_or(at) };
        let edge = |(from, action): (usize, &Option<Action>)| Edge {
            from,
            to: to(from),
            action: action.clone(),
        };
        Self {
            vars: trace.vars.clone(),
            states: trace.states.clone(),
            initial: vec![0],
            edges: trace.actions.iter().enumerate().map(edge).collect(),
        }
    }

    /// The one trace that a graph is, if it never branches: one initial state, at most one edge from each state, and no
    /// state that is not on the way.
    pub fn only_trace(&self) -> Option<Trace> {
        let [start] = self.initial[..] else { return None };
        let out = self.edges_out();
        let mut at = start;
        let mut seen = Vec::new();
        let mut edges = Vec::new();
        let loop_ = loop {
            if let Some(position) = seen.iter().position(|state| *state == at) {
                break Some(position);
            }
            seen.push(at);
            match out[at][..] {
                [] => break None,
                [edge] => {
                    edges.push(edge);
                    at = self.edges[edge].to;
                }
                _ => return None,
            }
        };
        if seen.len() < self.states.len() {
            return None;
        }
        let states = seen.into_iter().map(|state| self.states[state].clone()).collect();
        let actions = edges.into_iter().map(|edge| self.edges[edge].action.clone()).collect();
        Some(Trace { vars: self.vars.clone(), states, actions, loop_ })
    }

    /// The run along `path`. It has no loop, also if it comes to a state again.
    pub fn trace(&self, path: &Path) -> Trace {
        let steps = path.edges.iter().map(|edge| &self.edges[*edge]);
        let ends = steps.clone().map(|edge| edge.to);
        let states = [path.start].into_iter().chain(ends);
        Trace {
            vars: self.vars.clone(),
            states: states.map(|at| self.states[at].clone()).collect(),
            actions: steps.map(|edge| edge.action.clone()).collect(),
            loop_: None,
        }
    }

    /// Where `path` ends.
    pub fn end(&self, path: &Path) -> usize {
        path.edges.last().map_or(path.start, |edge| self.edges[*edge].to)
    }

    /// The edges from each state, in the order of [`Graph::edges`].
    pub fn edges_out(&self) -> Vec<Vec<usize>> {
        let mut out = vec![Vec::new(); self.states.len()];
        for (at, edge) in self.edges.iter().enumerate() {
            out[edge.from].push(at);
        }
        out
    }

    /// All paths from initial states with at most `edges_max` edges, the one without edges first, each before those that
    /// go on from it. Their number can grow exponentially with `edges_max`; they are made one by one.
    pub fn paths(&self, edges_max: usize) -> impl Iterator<Item = Path> {
        let out = self.edges_out();
        let starts = self.initial.iter().rev();
        let mut open: Vec<Path> =
            starts.map(|start| Path { start: *start, edges: Vec::new() }).collect();
        std::iter::from_fn(move || {
            let path = open.pop()?;
            if path.edges.len() < edges_max {
                for edge in out[self.end(&path)].iter().rev() {
                    let mut longer = path.clone();
                    longer.edges.push(*edge);
                    open.push(longer);
                }
            }
            Some(path)
        })
    }

    /// All paths from initial states to states at which a run ends, if there are no more than `most`; none if there are,
    /// or if a run can go on for ever. Steps that stay where they are count as none.
    pub fn complete_paths(&self, most: usize) -> Option<Vec<Path>> {
        let mut out = self.edges_out();
        out.iter_mut()
            .for_each(|edges| edges.retain(|edge| self.edges[*edge].to != self.edges[*edge].from));
        let mut complete = Vec::new();
        let starts = self.initial.iter().rev();
        let mut open: Vec<Path> =
            starts.map(|start| Path { start: *start, edges: Vec::new() }).collect();
        while let Some(path) = open.pop() {
            let end = self.end(&path);
            if path.edges.len() >= self.states.len() || complete.len() > most {
                return None;
            }
            if out[end].is_empty() {
                complete.push(path);
                continue;
            }
            for edge in out[end].iter().rev() {
                let mut longer = path.clone();
                longer.edges.push(*edge);
                open.push(longer);
            }
        }
        (complete.len() <= most).then_some(complete)
    }

    /// Whether a run can go on for ever.
    pub fn has_cycle(&self) -> bool {
        // States into which no edge leads any more go, until none is left or only cycles and what is behind them.
        let out = self.edges_out();
        let mut into = vec![0usize; self.states.len()];
        self.edges.iter().for_each(|edge| into[edge.to] += 1);
        let mut open: Vec<usize> = (0..into.len()).filter(|at| into[*at] == 0).collect();
        let mut gone = 0;
        while let Some(at) = open.pop() {
            gone += 1;
            for edge in &out[at] {
                let to = self.edges[*edge].to;
                into[to] -= 1;
                if into[to] == 0 {
                    open.push(to);
                }
            }
        }
        gone < self.states.len()
    }

    /// A shortest path from an initial state to a state that `wanted` holds for; of several, the one whose edges come
    /// first. None if no such state is reached.
    pub fn shortest(&self, wanted: impl Fn(&State) -> bool) -> Option<Path> {
        let out = self.edges_out();
        let (start, edges) =
            self.nearest(&out, &self.initial, |at| wanted(&self.states[at]), |_| false)?;
        Some(Path { start, edges })
    }

    /// Breadth first from `starts`, up to the first state that `wanted` holds for, or the first edge that `taken` holds
    /// for: where it began, and the edges up to there.
    fn nearest(
        &self,
        out: &[Vec<usize>],
        starts: &[usize],
        wanted: impl Fn(usize) -> bool,
        taken: impl Fn(usize) -> bool,
    ) -> Option<(usize, Vec<usize>)> {
        let mut came_by: Vec<Option<usize>> = vec![None; self.states.len()];
        let mut seen = vec![false; self.states.len()];
        let mut queue: VecDeque<usize> = starts.iter().copied().collect();
        starts.iter().for_each(|start| seen[*start] = true);
        let back = |came_by: &[Option<usize>], mut at: usize, mut edges: Vec<usize>| {
            while let Some(edge) = came_by[at] {
                edges.push(edge);
                at = self.edges[edge].from;
            }
            edges.reverse();
            Some((at, edges))
        };
        while let Some(at) = queue.pop_front() {
            if wanted(at) {
                return back(&came_by, at, Vec::new());
            }
            for edge in &out[at] {
                if taken(*edge) {
                    return back(&came_by, at, vec![*edge]);
                }
                let to = self.edges[*edge].to;
                if !seen[to] {
                    seen[to] = true;
                    came_by[to] = Some(*edge);
                    queue.push_back(to);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
