//! Tests of graphs and of the ways through them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::traces::{Value, arbitrary};

/// A graph with one variable, whose value is the state's position.
fn graph(states: i128, initial: &[usize], edges: &[(usize, usize)]) -> Graph {
    let states = (0..states).map(|at| State::from([("x".to_owned(), Value::Int(at))])).collect();
    let edges = edges.iter().map(|(from, to)| Edge { from: *from, to: *to, action: None });
    Graph::new(states, initial.to_vec(), edges.collect()).unwrap()
}

#[test]
fn parts_must_fit() {
    let state = State::from([("x".to_owned(), Value::Int(0))]);
    let edge = Edge { from: 0, to: 3, action: None };
    let error = Graph::new(vec![state], vec![0], vec![edge]).unwrap_err();
    assert_eq!(error, ShapeError::NoSuchState { state: 3, states: 1 });
}

#[test]
fn paths_are_all_there_are() {
    let diamond = graph(4, &[0], &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 3)]);
    let check = |edges_max: usize, expect: &[&[usize]]| {
        let paths: Vec<Vec<usize>> = diamond.paths(edges_max).map(|path| path.edges).collect();
        assert_eq!(paths, expect);
    };
    check(0, &[&[]]);
    check(2, &[&[], &[0], &[0, 2], &[1], &[1, 3]]);
    assert_eq!(diamond.paths(9).map(|path| path.edges.len()).max(), Some(9));
    assert_eq!(graph(2, &[0, 1], &[]).paths(3).count(), 2);
}

#[test]
fn complete_paths_end_and_are_few() {
    let diamond = graph(4, &[0], &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 3)]);
    let edges = |most| {
        let paths = diamond.complete_paths(most);
        paths.map(|paths| paths.into_iter().map(|path| path.edges).collect::<Vec<_>>())
    };
    assert_eq!(edges(2), Some(vec![vec![0, 2], vec![1, 3]]));
    assert_eq!(edges(1), None);
    assert_eq!(graph(3, &[0], &[(0, 1), (1, 0), (1, 2)]).complete_paths(9), None);
    let ended = Path { start: 0, edges: vec![] };
    assert_eq!(graph(1, &[0], &[(0, 0)]).complete_paths(9), Some(vec![ended]));
}

#[test]
fn the_shortest_path_is_found() {
    let both = graph(5, &[0, 3], &[(0, 1), (1, 2), (3, 4), (4, 2), (3, 2)]);
    let to = |wanted: i128| both.shortest(|state| state["x"] == Value::Int(wanted));
    assert_eq!(to(2), Some(Path { start: 3, edges: vec![4] }));
    assert_eq!(to(0), Some(Path { start: 0, edges: vec![] }));
    assert_eq!(to(9), None);
    assert_eq!(graph(2, &[0], &[(1, 0)]).shortest(|state| state["x"] == Value::Int(1)), None);
}

#[test]
fn every_edge_is_covered() {
    let check = |graph: &Graph, expect: &[&[usize]]| {
        let paths: Vec<Vec<usize>> =
            graph.edge_cover().into_iter().map(|path| path.edges).collect();
        assert_eq!(paths, expect);
    };
    check(&graph(1, &[0], &[]), &[]);
    check(&graph(1, &[0], &[(0, 0), (0, 0)]), &[&[0, 1]]);
    check(&graph(4, &[0], &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 3)]), &[&[0, 2, 4], &[1, 3]]);
    check(&graph(3, &[0], &[(0, 1), (1, 0), (1, 2)]), &[&[0, 1, 0, 2]]);
    check(&graph(3, &[0], &[(0, 0), (2, 0)]), &[&[0]]);
}

proptest! {
    #[test]
    fn a_cover_takes_all_that_can_be_reached(graph in arbitrary::graph()) {
        let mut reached: BTreeSet<usize> = graph.initial.iter().copied().collect();
        while let Some(edge) = graph.edges.iter().find(|edge| {
            reached.contains(&edge.from) && !reached.contains(&edge.to)
        }) {
            reached.insert(edge.to);
        }
        let paths = graph.edge_cover();
        for path in &paths {
            prop_assert!(graph.initial.contains(&path.start));
            let mut at = path.start;
            for edge in &path.edges {
                prop_assert_eq!(graph.edges[*edge].from, at);
                at = graph.edges[*edge].to;
            }
        }
        let taken: BTreeSet<usize> = paths.into_iter().flat_map(|path| path.edges).collect();
        let wanted: BTreeSet<usize> = (0..graph.edges.len())
            .filter(|edge| reached.contains(&graph.edges[*edge].from))
            .collect();
        prop_assert_eq!(taken, wanted);
    }

    #[test]
    fn a_trace_is_a_graph_and_back(trace in arbitrary::trace()) {
        prop_assert_eq!(Graph::of_trace(&trace).only_trace(), Some(trace));
    }
}

#[test]
fn a_graph_that_branches_is_no_trace() {
    assert_eq!(graph(2, &[0], &[(0, 0), (0, 1)]).only_trace(), None);
    assert_eq!(graph(2, &[0, 1], &[]).only_trace(), None);
    assert_eq!(graph(2, &[0], &[]).only_trace(), None);
    assert!(graph(2, &[0], &[(0, 1), (1, 0)]).only_trace().is_some());
}
