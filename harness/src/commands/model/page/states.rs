//! The states of a graph with their neighbours.

use std::collections::BTreeSet;

use model::traces::{Edge, Graph};

use super::super::text;

/// All states of the page.
pub(super) struct States<'a> {
    pub states: Vec<State<'a>>,
    /// Links to where runs begin.
    pub initial: Vec<usize>,
    /// How many the graph has.
    pub total: usize,
    /// The one that is shown before any is addressed.
    pub first: usize,
}

/// One state.
pub(super) struct State<'a> {
    pub number: usize,
    pub is_initial: bool,
    /// The states of the trace that it is, from 1.
    pub in_trace: Vec<usize>,
    pub values: Vec<(&'a str, String)>,
    pub before: Vec<Neighbour<'a>>,
    pub after: Vec<Neighbour<'a>>,
    /// What is said if nothing comes after it.
    pub end: &'static str,
}

/// A state one step away.
pub(super) struct Neighbour<'a> {
    pub action: String,
    pub number: usize,
    /// Whether it is on the page.
    pub is_shown: bool,
    /// The values that the step changes.
    pub changes: Vec<(&'a str, String)>,
}

/// The states that a page holds: all, or, if there are more than `states_max`, those of the trace with their neighbours.
/// Without a trace it begins at the initial states.
pub(super) fn shown(graph: &Graph, trace: &[Option<usize>], states_max: usize) -> BTreeSet<usize> {
    if graph.states.len() <= states_max {
        return (0..graph.states.len()).collect();
    }
    let on_trace: BTreeSet<usize> = trace.iter().flatten().copied().collect();
    let from = if on_trace.is_empty() { graph.initial.iter().copied().collect() } else { on_trace };
    let edges = graph.edges.iter();
    let near = edges.filter(|edge| from.contains(&edge.from) || from.contains(&edge.to));
    let near = near.flat_map(|edge| [edge.from, edge.to]);
    let mut shown = BTreeSet::new();
    for state in from.iter().copied().chain(near) {
        if shown.len() == states_max {
            break;
        }
        shown.insert(state);
    }
    shown
}

impl<'a> States<'a> {
    /// These states of a graph, of which those of a trace have the numbers `trace`. A state that `was_asked` for its steps
    /// and has none is a deadlock.
    pub fn new(
        graph: &'a Graph,
        shown: &BTreeSet<usize>,
        trace: &[Option<usize>],
        was_asked: &dyn Fn(usize) -> bool,
    ) -> Self {
        let mut before = vec![Vec::new(); graph.states.len()];
        let mut after = before.clone();
        for edge in &graph.edges {
            before[edge.to].push(edge);
            after[edge.from].push(edge);
        }
        let state = |number: &usize| {
            let back = |edge: &&Edge| neighbour(edge, edge.from, Vec::new(), shown);
            let on = |edge: &&Edge| neighbour(edge, edge.to, changes(graph, edge), shown);
            let steps = trace.iter().zip(1..).filter(|(state, _)| **state == Some(*number));
            State {
                number: *number,
                is_initial: graph.initial.binary_search(number).is_ok(),
                in_trace: steps.map(|(_, step)| step).collect(),
                values: values(graph, *number, |_| true),
                before: before[*number].iter().map(back).collect(),
                after: after[*number].iter().map(on).collect(),
                end: if was_asked(*number) { "none: a deadlock" } else { "none was found" },
            }
        };
        let first = trace.iter().rev().flatten().chain(&graph.initial).next();
        Self {
            states: shown.iter().map(state).collect(),
            initial: graph.initial.iter().copied().filter(|at| shown.contains(at)).collect(),
            total: graph.states.len(),
            first: first.copied().unwrap_or_default(),
        }
    }
}

fn neighbour<'a>(
    edge: &Edge,
    number: usize,
    changes: Vec<(&'a str, String)>,
    shown: &BTreeSet<usize>,
) -> Neighbour<'a> {
    let action = text::named(edge.action.as_ref());
    Neighbour { action, number, is_shown: shown.contains(&number), changes }
}

fn changes<'a>(graph: &'a Graph, edge: &Edge) -> Vec<(&'a str, String)> {
    let changed = text::changed(&graph.states[edge.from], &graph.states[edge.to]);
    values(graph, edge.to, |name| changed.contains(&name))
}

fn values(graph: &Graph, at: usize, wanted: impl Fn(&str) -> bool) -> Vec<(&str, String)> {
    let state = graph.states[at].iter().filter(|(name, _)| wanted(name));
    state.map(|(name, value)| (name.as_str(), value.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use model::traces::{State, Value};

    use super::*;

    /// A run of five states, each with a number.
    fn line() -> Graph {
        let state = |x: i128| State::from([("x".to_owned(), Value::Int(x))]);
        let edge = |from| Edge { from, to: from + 1, action: None };
        Graph::new((0..5).map(state).collect(), vec![0], (0..4).map(edge).collect()).unwrap()
    }

    #[test]
    fn of_a_big_graph_the_trace_and_its_neighbours_are_shown() {
        let check = |trace: &[Option<usize>], states_max: usize, expect: &[usize]| {
            let shown = shown(&line(), trace, states_max);
            assert_eq!(shown.into_iter().collect::<Vec<_>>(), expect, "{trace:?}");
        };
        check(&[Some(3)], 5, &[0, 1, 2, 3, 4]);
        check(&[Some(3)], 4, &[2, 3, 4]);
        check(&[None], 4, &[0, 1]);
    }

    #[test]
    fn links_lead_to_states_of_the_page_only() {
        let graph = line();
        let trace = [Some(3), None];
        let states = States::new(&graph, &shown(&graph, &trace, 4), &trace, &|at| at == 2);
        let last = &states.states[2];
        assert_eq!((last.number, last.end, last.after.len()), (4, "none was found", 0));
        assert_eq!((states.first, &states.states[1].in_trace), (3, &vec![1]));
        let outside = &states.states[0].before[0];
        assert_eq!((outside.number, outside.is_shown), (1, false));
        assert_eq!(states.states[0].after[0].changes, [("x", "3".to_owned())]);
        assert_eq!(states.states[0].end, "none: a deadlock");
        assert_eq!((states.total, states.initial.len()), (5, 0));
    }
}
