//! The sizes of growing clusters, smallest first (Kivi's incremental scaling).
//!
//! Kivi's measurements say that a violation that there is at all shows in small clusters: in its cases with up to three
//! nodes and three pods a node. The confident size is twice that.

use std::collections::BTreeSet;

use super::options::Faster;

/// Nodes of a type, and pods a node, at most: beyond that nothing new is expected.
pub const CONFIDENT: u32 = 6;
/// Up to this many pods `-f 1` leaves none out.
const ALL_UP_TO: u32 = 7;

/// How many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
}

/// How counts of several types go together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scale {
    /// Each for itself.
    #[default]
    Free,
    /// In these proportions: the first type is counted, the others follow, rounded up.
    Proportion(Vec<u32>),
}

/// Which sizes there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Of each type of nodes.
    pub nodes: Vec<Range>,
    /// Of each deployment, or type of deployments.
    pub deployments: Vec<Range>,
    /// Of each deployment, pods for each node, at most (`max_pod_per_node`).
    pub pods_per_node_max: u32,
    /// `nodesScaleType`.
    pub nodes_scale: Scale,
    /// `dScaleType`.
    pub deployments_scale: Scale,
}

/// The size of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    /// Nodes of each type.
    pub nodes: Vec<u32>,
    /// Pods of each deployment; where deployments are of one type, of each of it.
    pub pods: Vec<u32>,
}

impl Size {
    /// All nodes.
    pub fn all_nodes(&self) -> u32 {
        self.nodes.iter().sum()
    }

    /// All pods.
    pub fn all_pods(&self) -> u32 {
        self.pods.iter().sum()
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |of: &[u32]| of.iter().map(u32::to_string).collect::<Vec<_>>().join("+");
        write!(f, "<{}, {}>", list(&self.nodes), list(&self.pods))
    }
}

impl Bounds {
    /// How many sizes there are, or more.
    pub fn count_max(&self) -> u64 {
        let count = |range: &Range, most: u32| {
            u64::from((range.max.min(most) + 1).saturating_sub(range.min))
        };
        let counts = |of: &[Range], scale: &Scale, most: u32| {
            let free = of.len().min(if *scale == Scale::Free { usize::MAX } else { 1 });
            of[..free].iter().fold(1, |all: u64, range| all.saturating_mul(count(range, most)))
        };
        let most = CONFIDENT.saturating_mul(CONFIDENT).saturating_mul(self.nodes.len() as u32);
        let nodes = counts(&self.nodes, &self.nodes_scale, CONFIDENT);
        nodes.saturating_mul(counts(&self.deployments, &self.deployments_scale, most))
    }

    /// All sizes, each once: by nodes and then by pods; of equal ones the first type varies slowest.
    pub fn sizes(&self, faster: Faster) -> Vec<Size> {
        let mut all = Vec::new();
        for nodes in combinations(&self.nodes, &self.nodes_scale, CONFIDENT) {
            let count: u32 = nodes.iter().sum();
            if count == 0 {
                continue;
            }
            let most = count.saturating_mul(CONFIDENT.min(self.pods_per_node_max));
            let pods = combinations(&self.deployments, &self.deployments_scale, most);
            let pods =
                thinned(pods, faster).into_iter().filter(|pods| pods.iter().any(|of| *of > 0));
            all.extend(pods.map(|pods| Size { nodes: nodes.clone(), pods }));
        }
        if faster == Faster::LargestOfAll
            && let Some(most) = all.iter().map(Size::all_nodes).max()
        {
            all.retain(|size| size.all_nodes() == most);
        }
        all.sort_by_key(|size| (size.all_nodes(), size.all_pods()));
        let mut known = BTreeSet::new();
        all.retain(|size| known.insert(size.clone()));
        all
    }
}

/// Counts of each type, none above `most`.
fn combinations(ranges: &[Range], scale: &Scale, most: u32) -> Vec<Vec<u32>> {
    let within = |range: &Range| range.min..=range.max.min(most);
    match (scale, ranges.split_first()) {
        (_, None) => vec![vec![]],
        (Scale::Free, Some((first, others))) => within(first)
            .flat_map(|count| {
                let rest = combinations(others, scale, most).into_iter();
                rest.map(move |rest| [&[count][..], &rest].concat())
            })
            .collect(),
        (Scale::Proportion(parts), Some((first, _))) => {
            let base = parts.first().copied().unwrap_or(1).max(1);
            let of = |count: u32, at: usize| {
                (count * parts.get(at).copied().unwrap_or(1)).div_ceil(base).min(most)
            };
            let all = |count| (0..ranges.len()).map(|at| of(count, at)).collect();
            within(first).map(all).collect()
        }
    }
}

/// What `-f` leaves of the pods for one number of nodes.
fn thinned(mut all: Vec<Vec<u32>>, faster: Faster) -> Vec<Vec<u32>> {
    let sum = |pods: &Vec<u32>| pods.iter().sum::<u32>();
    match faster {
        Faster::No => {}
        Faster::EverySecond => {
            let is_kept =
                |count: &u32| *count <= ALL_UP_TO || (count - ALL_UP_TO).is_multiple_of(2);
            all.retain(|pods| pods.iter().all(is_kept));
        }
        Faster::Largest | Faster::LargestOfAll => {
            let most = all.iter().map(sum).max().unwrap_or(0);
            all.retain(|pods| sum(pods) == most);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: u32, max: u32) -> Range {
        Range { min, max }
    }

    #[test]
    fn sizes_grow_by_nodes_and_then_by_pods() {
        let bounds = Bounds {
            nodes: vec![range(0, 2), range(1, 1)],
            deployments: vec![range(1, 2)],
            pods_per_node_max: 7,
            nodes_scale: Scale::Free,
            deployments_scale: Scale::Free,
        };
        let told: Vec<String> = bounds.sizes(Faster::No).iter().map(Size::to_string).collect();
        assert_eq!(told, ["<0+1, 1>", "<0+1, 2>", "<1+1, 1>", "<1+1, 2>", "<2+1, 1>", "<2+1, 2>"]);
        let largest = bounds.sizes(Faster::Largest);
        assert!(largest.iter().all(|size| size.pods == [2]), "{largest:?}");
        assert_eq!(bounds.sizes(Faster::LargestOfAll).len(), 1);
    }

    #[test]
    fn proportions_are_kept() {
        let bounds = Bounds {
            nodes: vec![range(1, 3), range(0, 99)],
            deployments: vec![range(1, 99)],
            pods_per_node_max: 1,
            nodes_scale: Scale::Proportion(vec![2, 3]),
            deployments_scale: Scale::Free,
        };
        let mut nodes: Vec<Vec<u32>> =
            bounds.sizes(Faster::No).into_iter().map(|size| size.nodes).collect();
        nodes.dedup();
        assert_eq!(nodes, [[1, 2], [2, 3], [3, 5]]);
    }

    #[test]
    fn there_are_no_more_sizes_than_are_counted() {
        let bounds = |nodes: Vec<Range>, deployments: usize| Bounds {
            nodes,
            deployments: vec![range(1, u32::MAX); deployments],
            pods_per_node_max: 7,
            nodes_scale: Scale::Free,
            deployments_scale: Scale::Free,
        };
        let two = bounds(vec![range(0, 9), range(1, 2)], 1);
        assert!(two.count_max() >= two.sizes(Faster::No).len() as u64);
        assert_eq!(bounds(vec![range(1, 9)], 1).count_max(), 6 * 36);
        assert_eq!(bounds(vec![range(1, 9); 3], 20).count_max(), u64::MAX);
    }

    #[test]
    fn every_second_number_of_pods_above_seven() {
        let bounds = Bounds {
            nodes: vec![range(2, 2)],
            deployments: vec![range(1, 99)],
            pods_per_node_max: 7,
            nodes_scale: Scale::Free,
            deployments_scale: Scale::Free,
        };
        let pods: Vec<u32> = bounds.sizes(Faster::EverySecond).iter().map(Size::all_pods).collect();
        assert_eq!(pods, [1, 2, 3, 4, 5, 6, 7, 9, 11]);
    }
}
