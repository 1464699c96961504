//! Traces and state graphs as text for people.

use std::{collections::BTreeMap, fmt::Write};

use model::traces::{Action, Graph, State, Trace};

/// So many states are named, of as many as there are.
const NAMED_MAX: usize = 10;

/// A step that the format has no name for.
pub(super) const NAMELESS: &str = "(a step without a name)";

/// A trace step by step: the first state whole, of each other what changed.
pub(super) fn trace(trace: &Trace) -> String {
    let mut out = "1: initial state\n".to_owned();
    let all: Vec<&str> = trace.vars.iter().map(String::as_str).collect();
    values(&mut out, &trace.states[0], &all);
    for (at, (before, action, after)) in trace.steps().enumerate().take(trace.states.len() - 1) {
        let _ = writeln!(out, "{}: {}", at + 2, named(action));
        values(&mut out, after, &changed(before, after));
    }
    if let Some(loop_) = trace.loop_ {
        let _ = writeln!(out, "{}", again(trace, loop_));
    }
    out
}

/// How a trace with a loop goes on.
pub(super) fn again(trace: &Trace, loop_: usize) -> String {
    let by = match trace.actions.last() {
        Some(Some(action)) => format!(", by {action}"),
        _ => String::new(),
    };
    let stays = if loop_ + 1 == trace.states.len() { " (it stays there)" } else { "" };
    format!("then again from state {}{by}{stays}", loop_ + 1)
}

/// The name of a step.
pub(super) fn named(action: Option<&Action>) -> String {
    action.map_or_else(|| NAMELESS.to_owned(), ToString::to_string)
}

/// The variables whose values a step changes.
pub(super) fn changed<'a>(before: &State, after: &'a State) -> Vec<&'a str> {
    let differs = |(name, value): &(&String, _)| before.get(*name) != Some(*value);
    after.iter().filter(differs).map(|(name, _)| name.as_str()).collect()
}

fn values(out: &mut String, state: &State, names: &[&str]) {
    if names.is_empty() {
        out.push_str("   (nothing changes)\n");
    }
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for name in names {
        let _ = writeln!(out, "   {name:width$} = {}", state[*name]);
    }
}

/// What a state graph has. States are counted from 0, as in DOT files that are written here. A state without an edge
/// onward is a deadlock, or was not looked at: a graph does not say.
pub(super) fn graph(graph: &Graph) -> String {
    let out = graph.edges_out();
    let ends: Vec<usize> = (0..out.len()).filter(|at| out[*at].is_empty()).collect();
    let mut text = format!(
        "{} states, {} edges, {} initial, {} without an edge onward\n",
        graph.states.len(),
        graph.edges.len(),
        graph.initial.len(),
        ends.len(),
    );
    let mut lines = |what: &str, states: &[usize]| {
        let named: Vec<String> = states.iter().take(NAMED_MAX).map(|at| format!("s{at}")).collect();
        let more = states.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        if !states.is_empty() {
            let _ = writeln!(text, "{what}: {}{more}", named.join(", "));
        }
    };
    lines("initial", &graph.initial);
    lines("deadlocks, or not looked at", &ends);
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    for edge in &graph.edges {
        let name = edge.action.as_ref().map_or(NAMELESS, |action| &action.name);
        *by_name.entry(name.to_owned()).or_default() += 1;
    }
    for (name, count) in by_name {
        let _ = writeln!(text, "{name}: {count} edges");
    }
    text
}

#[cfg(test)]
mod tests {
    use model::traces::Value;

    use super::*;

    fn states(values: &[i128]) -> Vec<State> {
        let state = |x: &i128| {
            let same = ("longer".to_owned(), Value::Bool(true));
            State::from([("x".to_owned(), Value::Int(*x)), same])
        };
        values.iter().map(state).collect()
    }

    fn lasso(loop_: usize) -> Trace {
        let named = |name: &str| Some(Action::named(name));
        Trace::new(states(&[0, 1, 1]), vec![named("Up"), None, named("Down")], Some(loop_)).unwrap()
    }

    #[test]
    fn only_what_changes_is_printed() {
        let steps = "1: initial state\n   longer = TRUE\n   x      = 0\n2: Up\n   x = 1\n\
                     3: (a step without a name)\n   (nothing changes)\n";
        assert_eq!(trace(&lasso(0)), format!("{steps}then again from state 1, by Down\n"));
        let stays = "then again from state 3, by Down (it stays there)\n";
        assert_eq!(trace(&lasso(2)), format!("{steps}{stays}"));
    }

    #[test]
    fn graphs_are_counted() {
        let of = Graph::of_trace(&lasso(0));
        let by_name = "(a step without a name): 1 edges\nDown: 1 edges\nUp: 1 edges\n";
        let expect = format!(
            "3 states, 3 edges, 1 initial, 0 without an edge onward\ninitial: s0\n{by_name}"
        );
        assert_eq!(graph(&of), expect);
        let ends = Graph::new(states(&[0; 12]), vec![], vec![]).unwrap();
        let expect = "12 states, 0 edges, 0 initial, 12 without an edge onward\n\
                      deadlocks, or not looked at: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, and 2 more\n";
        assert_eq!(graph(&ends), expect);
    }
}
