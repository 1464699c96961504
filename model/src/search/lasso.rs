//! A run that violates a liveness property: a way to a cycle, and the cycle.
//!
//! The cycle is built of edges inside the component only. It goes through the wrong state and, for each fairness class,
//! through a step of the class or, for a weak one that has none, through a state where it is not possible.

use std::collections::{BTreeMap, VecDeque};

use crate::search::{
    graph::Graph,
    liveness::{Classes, Violation},
    tree::Tree,
};

/// Edges of the graph from an initial state on.
#[derive(Debug, PartialEq, Eq)]
pub struct Lasso {
    /// The initial state.
    pub from: u32,
    /// Each step: the state that it is taken in, and which of its possible steps it is.
    pub steps: Vec<(u32, usize)>,
    /// After how many steps the cycle begins; as many as there are if nothing happens any more.
    pub cycle: usize,
}

/// The lasso of `violation`.
pub fn lasso(graph: &Graph, tree: &Tree, classes: Classes, violation: &Violation) -> Lasso {
    let mut way = Vec::new();
    let target = violation.cause.unwrap_or(violation.through);
    let mut nodes = vec![target];
    while let Some(parent) = tree.parent(nodes[nodes.len() - 1]) {
        nodes.push(parent);
    }
    nodes.reverse();
    for pair in nodes.windows(2) {
        let edge = graph.edges(pair[0]).find(|edge| graph.targets[*edge] == pair[1]);
        way.push((pair[0], edge.expect("a state was reached by a step from its parent")));
    }
    if let Some(cause) = violation.cause {
        // Inside the part that is wrong: all of it that is reached from the cause is.
        let inside = |node: u32| violation.part.binary_search(&node).is_ok();
        way.extend(shortest(graph, cause, &inside, &|node| node == violation.through, &|_| false));
    }
    let cycle = way.len();
    way.extend(around(graph, classes, violation));
    let nth = |(node, edge): (u32, usize)| (node, edge - graph.edges(node).start);
    Lasso { from: nodes[0], steps: way.into_iter().map(nth).collect(), cycle }
}

/// The edges of a fair cycle from the wrong state to itself; none if nothing happens any more.
fn around(graph: &Graph, classes: Classes, violation: &Violation) -> Vec<(u32, usize)> {
    let start = violation.through;
    let inside = |node: u32| violation.component.binary_search(&node).is_ok();
    let inner = |edge: &usize| inside(graph.targets[*edge]);
    let (mut cycle, mut at) = (Vec::new(), start);
    for bit in (0..64).map(|bit| 1u64 << bit).filter(|bit| classes.all() & bit != 0) {
        let is_taken = |node: &u32| {
            graph.edges(*node).filter(inner).any(|edge| graph.classes[edge] & bit != 0)
        };
        let wanted_edge = violation.component.iter().any(is_taken);
        let by_edge = |edge: usize| wanted_edge && graph.classes[edge] & bit != 0;
        let by_node = |node: u32| !wanted_edge && graph.enabled[node as usize] & bit == 0;
        let passed =
            by_node(start) || cycle.iter().any(|(node, edge)| by_node(*node) || by_edge(*edge));
        if !passed {
            cycle.extend(shortest(graph, at, &inside, &by_node, &by_edge));
            at = cycle.last().map_or(start, |(_, edge)| graph.targets[*edge]);
        }
    }
    if at != start {
        cycle.extend(shortest(graph, at, &inside, &|node| node == start, &|_| false));
    } else if cycle.is_empty() {
        // No witness needs a step. A step is still shown where there is one inside.
        if let Some(edge) = graph.edges(start).find(inner) {
            cycle.push((start, edge));
            let target = graph.targets[edge];
            cycle.extend(shortest(graph, target, &inside, &|node| node == start, &|_| false));
        }
    }
    cycle
}

/// The shortest way from `from`, inside a part, to a node or over an edge that is wanted.
fn shortest(
    graph: &Graph,
    from: u32,
    inside: &dyn Fn(u32) -> bool,
    is_node: &dyn Fn(u32) -> bool,
    is_edge: &dyn Fn(usize) -> bool,
) -> Vec<(u32, usize)> {
    if is_node(from) {
        return Vec::new();
    }
    let mut reached_by: BTreeMap<u32, Option<(u32, usize)>> = BTreeMap::from([(from, None)]);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for edge in graph.edges(node).filter(|edge| inside(graph.targets[*edge])) {
            let target = graph.targets[edge];
            if is_edge(edge) || is_node(target) {
                let mut way = vec![(node, edge)];
                while let Some(before) = reached_by[&way[way.len() - 1].0] {
                    way.push(before);
                }
                way.reverse();
                return way;
            }
            reached_by.entry(target).or_insert_with(|| {
                queue.push_back(target);
                Some((node, edge))
            });
        }
    }
    unreachable!("all states of a component are reached from each other")
}
