//! Tests of DOT, beside those with what TLC wrote.

use proptest::prelude::*;

use crate::traces::{Graph, Read, Trace, arbitrary, dot, read};

fn read_text(text: &str) -> Result<Graph, String> {
    read(text, "t.dot").map(Read::into_graph).map_err(|error| error.to_string())
}

#[test]
fn the_language_is_read() {
    let text = "digraph \"a graph\" {\n// a comment\nnode [shape=box]; rankdir=LR /* and\nanother */\nsubgraph cluster_graph {\ns0 [label=\"/\\\\ x = 1\\n/\\\\ y = \\\"a\\\\\\\\b\\\"\" style=filled]\ns1 [label=\"/\\\\ x = 2\\l/\\\\ y = <<>>\"; tooltip=\"t\"]\ns2 [label=\"x=3\\ny={}\",style=filled,fillcolor=lightyellow]\ns0 -> s1 -> s2 [label=\"Go(1)\"];\ns2 -> s2 [style=\"dashed\",color=\"lightgray\"];\n}\n{rank = same; s0; s1;}\nsubgraph cluster_legend {graph[style=bold];label = \"Next State Actions\" style=\"solid\"\nGo [label=\"Go\",fillcolor=2]\n}}";
    let graph = read_text(text).unwrap();
    assert_eq!((graph.initial, graph.states.len()), (vec![0], 3));
    assert_eq!(graph.states[0]["y"].to_string(), "\"a\\\\b\"");
    assert_eq!(graph.states[2]["x"].to_string(), "3");
    let edges: Vec<(usize, usize, Option<String>)> = graph
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to, edge.action.as_ref().map(ToString::to_string)))
        .collect();
    let go = || Some("Go(1)".to_owned());
    assert_eq!(edges, [(0, 1, go()), (1, 2, go()), (2, 2, None)]);
}

#[test]
fn wrong_texts_are_located_errors() {
    let check = |text: &str, expect: &str| {
        assert_eq!(read_text(text), Err(format!("t.dot:{expect}")));
    };
    check("digraph {\n0 [label=\"/\\\\ x = 1\"", "2:21: expected a name, found the end");
    check("digraph {\n0 [label=\"x", "2:10: this string has no end");
    check("digraph {\n0 -> 1", "2:7: expected a name, found the end");
    check("digraph {\n0 -- 1\n}", "2:3: expected a name, found `-- 1`");
    check("digraph {\n0 -> 1\n}", "2:1: this node has no label that says its state");
    check("digraph {\n0 [label=\"x = {1\"]\n}", "2:1: expected `,` or `}`, found the end");
    check("digraph {\n0 [label=\"?\"]\n}", "2:1: expected `/\\ variable = value`, found `?`");
    check(
        "digraph {\n0 [label=\"x=1\"]\n1 [label=\"y=1\"]\n}",
        "3:1: state 1 has other variables than the first: x, y",
    );
    check(
        "digraph {\n0 [label=\"x=1\"]\n0 -> 0 [label=\"A(\"]\n}",
        "3:1: expected a value, found the end",
    );
    check("digraph {}", " there is no state");
}

/// `trace` as DOT carries it: parameters have no names.
fn without_names(mut trace: Trace) -> Trace {
    let actions = trace.actions.iter_mut().flatten();
    actions.flat_map(|action| &mut action.params).for_each(|param| param.name = None);
    trace
}

proptest! {
    #[test]
    fn traces_are_read_again(trace in arbitrary::trace()) {
        let read = read(&dot::write_trace(&trace), "t");
        prop_assert_eq!(read.map(Read::into_trace), Ok(Some(without_names(trace))));
    }

    #[test]
    fn graphs_are_read_again(graph in arbitrary::graph()) {
        let mut expect = graph.clone();
        for edge in &mut expect.edges {
            let params = edge.action.iter_mut().flat_map(|action| &mut action.params);
            params.for_each(|param| param.name = None);
        }
        prop_assert_eq!(read(&dot::write(&graph), "t"), Ok(Read::Graph(expect)));
    }
}
