//! A state graph as a system, so that what was explored elsewhere can be searched here.

use super::Graph;
use crate::System;

/// A graph whose states are positions in [`Graph::states`], and whose steps are positions in [`Graph::edges`].
///
/// A step without a name has the empty label.
pub struct GraphSystem<'a> {
    graph: &'a Graph,
    out: Vec<Vec<usize>>,
}

impl Graph {
    /// This graph as a system.
    pub fn system(&self) -> GraphSystem<'_> {
        GraphSystem { graph: self, out: self.edges_out() }
    }
}

impl System for GraphSystem<'_> {
    type State = usize;
    type Action = usize;

    fn initial(&self) -> Vec<usize> {
        self.graph.initial.clone()
    }

    fn actions(&self, state: &usize, into: &mut Vec<usize>) {
        into.extend(&self.out[*state]);
    }

    fn next(&self, _state: &usize, action: &usize) -> Option<usize> {
        Some(self.graph.edges[*action].to)
    }

    fn label(&self, action: &usize) -> String {
        self.graph.edges[*action].action.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}
