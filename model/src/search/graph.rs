//! All states that were expanded and all steps between them, for liveness.
//!
//! A node is a state's number. Its edges are its possible steps in their order, so an edge is a step and not only a
//! pair of states.

use std::ops::Range;

/// The graph of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// The end of each node's edges.
    pub ends: Vec<u64>,
    /// The fairness classes that are possible in each node.
    pub enabled: Vec<u64>,
    /// Two truths of each node for each liveness property ([`crate::Property`]).
    pub truths: Vec<u64>,
    /// Where each edge leads to. It may be a node that was not expanded.
    pub targets: Vec<u32>,
    /// The fairness classes of each edge.
    pub classes: Vec<u64>,
}

impl Graph {
    /// How many states were expanded: these are the nodes.
    pub fn nodes(&self) -> usize {
        self.ends.len()
    }

    /// The edges of `node`.
    pub fn edges(&self, node: u32) -> Range<usize> {
        let start = (node as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[node as usize] as usize
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> usize {
        8 * (self.ends.capacity() + self.enabled.capacity() + self.truths.capacity())
            + 4 * self.targets.capacity()
            + 8 * self.classes.capacity()
    }
}
