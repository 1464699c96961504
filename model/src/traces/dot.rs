//! State graphs in DOT, as TLC's `-dump dot,actionlabels` writes them (`tlc2/util/DotStateWriter.java`).
//!
//! A node's label has a line `/\ name = value` for each variable; an initial state is `style = filled` without a colour
//! of its own (yellow are states outside of the model's constraints). Edges are labelled with actions. Nodes are named
//! by fingerprints, signed 64-bit numbers, which are not kept: states have the order in which nodes are first named.
//! Also read are labels without `/\`, as other checkers write them.
//!
//! A trace is written as the graph that it is, its states in their order, the edge of a loop last; so it is a trace
//! again by [`Graph::only_trace`]. What DOT can't carry: names of parameters.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    Action, Edge, Graph, State, Trace,
    assignments::{self, Line},
    error::{Place, Problem},
    label,
    literal::Cursor,
};

mod syntax;

/// The subgraph in which TLC says which colour is which action.
const LEGEND: &str = "cluster_legend";

/// Whether `text` begins as a graph does.
pub(super) fn is_this(text: &str) -> bool {
    let text = text.trim_start();
    ["strict digraph", "digraph"].iter().any(|start| text.starts_with(start))
}

/// The nodes of a document, by their names.
#[derive(Default)]
struct Nodes {
    numbers: BTreeMap<String, usize>,
    states: Vec<Option<State>>,
    places: Vec<Place>,
    initial: Vec<usize>,
}

impl Nodes {
    fn number(&mut self, name: &str, place: &Place) -> usize {
        *self.numbers.entry(name.to_owned()).or_insert_with(|| {
            self.states.push(None);
            self.places.push(place.clone());
            self.states.len() - 1
        })
    }
}

/// Reads a graph.
pub(super) fn read(text: &str) -> Result<Graph, Problem> {
    let mut nodes = Nodes::default();
    let mut edges = Vec::new();
    for statement in syntax::read(text)? {
        if statement.subgraph.as_deref() == Some(LEGEND) {
            continue;
        }
        let numbers: Vec<usize> =
            statement.nodes.iter().map(|name| nodes.number(name, &statement.place)).collect();
        let label = statement.attributes.get("label");
        if let ([node], Some(label)) = (&numbers[..], label) {
            nodes.states[*node] = Some(state(label, &statement.place)?);
            let filled = statement.attributes.get("style").is_some_and(|style| style == "filled");
            if filled && !statement.attributes.contains_key("fillcolor") {
                nodes.initial.push(*node);
            }
        }
        for pair in numbers.windows(2) {
            let action = label.map(|label| action(label, &statement.place)).transpose()?.flatten();
            edges.push(Edge { from: pair[0], to: pair[1], action });
        }
    }
    let places = nodes.places;
    let states = nodes.states.into_iter().zip(&places).map(|(state, place)| {
        let missing = || "this node has no label that says its state".to_owned();
        state.ok_or_else(|| Problem { place: place.clone(), what: missing() })
    });
    let states = states.collect::<Result<Vec<_>, _>>()?;
    Graph::new(states, nodes.initial, edges).map_err(|error| match error {
        super::ShapeError::OtherVariables { state, .. } => {
            Problem { place: places[state].clone(), what: error.to_string() }
        }
        other => Problem::whole(other.to_string()),
    })
}

/// Reads a label of a node. Errors are located at the statement that it is in.
fn state(label: &str, place: &Place) -> Result<State, Problem> {
    let joined = |line: &str| !line.trim_start().starts_with("/\\");
    let plain = label.lines().all(joined);
    let line = |text| Line { text, number: 1, column: 1 };
    let read = if plain {
        let states = label.lines().map(|text| assignments::read(&[line(text)]));
        states
            .collect::<Result<Vec<State>, _>>()
            .map(|states| states.into_iter().flatten().collect())
    } else {
        assignments::read(&label.lines().map(line).collect::<Vec<_>>())
    };
    read.map_err(|problem| Problem { place: place.clone(), what: problem.what })
}

fn action(label: &str, place: &Place) -> Result<Option<Action>, Problem> {
    let mut cursor = Cursor::new(label, 1, 1);
    cursor.skip_space();
    if cursor.rest().is_empty() {
        return Ok(None);
    }
    label::read(&mut cursor).map_err(|problem| Problem { place: place.clone(), what: problem.what })
}

/// `graph` in DOT. Nodes are named by the positions of their states.
pub fn write(graph: &Graph) -> String {
    // Not `strict`: that would make one of two edges side by side.
    let mut out = "digraph DiskGraph {\nnode [shape=box,style=rounded]\nnodesep=0.35;\n".to_owned();
    for (at, state) in graph.states.iter().enumerate() {
        let lines: Vec<String> =
            state.iter().map(|(name, value)| format!("/\\ {name} = {value}")).collect();
        let style = if graph.initial.contains(&at) { ",style = filled" } else { "" };
        let _ = writeln!(out, "{at} [label={}{style}];", syntax::quote(&lines.join("\n")));
    }
    for edge in &graph.edges {
        let label = edge.action.as_ref().map(ToString::to_string).unwrap_or_default();
        let label = syntax::quote(&label);
        let _ = writeln!(out, "{} -> {} [label={label}];", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

/// `trace` in DOT: the graph of its states and steps.
pub fn write_trace(trace: &Trace) -> String {
    write(&Graph::of_trace(trace))
}

#[cfg(test)]
mod tests;
