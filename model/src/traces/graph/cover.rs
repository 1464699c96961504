//! Paths that together take every edge of a graph: the tests that a model gives.
//!
//! Mocket (EuroSys'23) makes its tests like this. The fewest or shortest such paths are the rural postman's problem;
//! here, each path is extended by the nearest edge that none has taken yet, and ended when there is none ahead. That
//! costs one breadth-first search an edge, so at most edges × (states + edges) steps.

use super::{Graph, Path};

impl Graph {
    /// Paths from initial states that together take every edge that can be reached, self loops as well. The same graph
    /// always has the same paths. Edges that no initial state leads to are in none.
    pub fn edge_cover(&self) -> Vec<Path> {
        let out = self.edges_out();
        let mut covered = vec![false; self.edges.len()];
        let mut paths = Vec::new();
        let next = |from: &[usize], covered: &[bool]| {
            self.nearest(&out, from, |_| false, |edge| !covered[edge])
        };
        while let Some((start, first)) = next(&self.initial, &covered) {
            let mut path = Path { start, edges: first };
            loop {
                path.edges.iter().for_each(|edge| covered[*edge] = true);
                match next(&[self.end(&path)], &covered) {
                    Some((_, more)) => path.edges.extend(more),
                    None => break,
                }
            }
            paths.push(path);
        }
        paths
    }
}
