//! Which of several feasible nodes is the best: the scores of the default profile, with its weights
//! (`apis/config/v1/default_plugins.go`).

use std::collections::BTreeMap;

use super::{
    affinity,
    filter::Cycle,
    node::{Taint, tolerates},
    snapshot::{NodeInfo, Placed},
    spread,
};
use crate::object::Text;

/// `minThreshold` and `maxContainerThreshold` of ImageLocality, in bytes.
const IMAGES: (i64, i64) = (23 * 1024 * 1024, 1000 * 1024 * 1024);

/// Scores of the feasible nodes, in their order.
pub(super) fn score(
    cycle: &Cycle<'_>,
    all: &[NodeInfo<'_>],
    feasible: &[&NodeInfo<'_>],
) -> Vec<i64> {
    let of = &cycle.of;
    let each = |score: &dyn Fn(&NodeInfo<'_>) -> i64| -> Vec<i64> {
        feasible.iter().map(|info| score(info)).collect()
    };
    let nodes_with = with_images(of, all);
    let parts = [
        (3, normal(each(&|info| untolerated(of, info)), true)),
        (2, normal(each(&|info| preferred(of, info)), false)),
        (1, each(&|info| least_allocated(of, info))),
        (2, spread::score(cycle.view, of, all, feasible)),
        (2, affinity::score(cycle.view, of, all, feasible)),
        (1, each(&|info| balanced(of, info))),
        (1, each(&|info| images(of, info, &nodes_with, all.len()))),
    ];
    let total = |at: usize| parts.iter().map(|(weight, scores)| weight * scores[at]).sum();
    (0..feasible.len()).map(total).collect()
}

/// `DefaultNormalizeScore`: from 0 to 100; where less is better, reversed.
fn normal(scores: Vec<i64>, reverse: bool) -> Vec<i64> {
    let most = scores.iter().copied().max().unwrap_or(0);
    let one = |score: i64| {
        let share = if most == 0 { 0 } else { 100 * score / most };
        if reverse { 100 - share } else { share }
    };
    scores.into_iter().map(one).collect()
}

/// TaintToleration: soft taints that the pod does not tolerate.
fn untolerated(of: &Placed<'_>, info: &NodeInfo<'_>) -> i64 {
    let soft = |taint: &&Taint| *taint.effect == *"PreferNoSchedule";
    let bad = info.node.taints.iter().filter(soft).filter(|taint| !tolerates(of.pod, taint));
    bad.count() as i64
}

/// NodeAffinity: weights of the preferred terms that allow the node.
fn preferred(of: &Placed<'_>, info: &NodeInfo<'_>) -> i64 {
    let terms = of.pod.placing.prefers_nodes.iter();
    terms.filter(|(_, term)| term.allows(&info.name, info.labels)).map(|(weight, _)| weight).sum()
}

/// NodeResourcesFit, LeastAllocated: the share of CPU and memory that stays free.
fn least_allocated(of: &Placed<'_>, info: &NodeInfo<'_>) -> i64 {
    let (asked, has) = (&of.pod.requests.asked, &info.node.allocatable);
    let pairs = [
        (info.load.usual.cpu_milli + asked.cpu_milli, has.cpu_milli),
        (info.load.usual.memory_bytes + asked.memory_bytes, has.memory_bytes),
    ];
    let free = pairs.iter().filter(|(_, has)| *has != 0).map(|(used, has)| match used > has {
        true => 0,
        false => share(has - used, *has),
    });
    let free: Vec<i64> = free.collect();
    if free.is_empty() { 0 } else { free.iter().sum::<i64>() / free.len() as i64 }
}

/// A hundred times a part of a whole; bytes of large nodes don't overflow.
fn share(part: i64, whole: i64) -> i64 {
    (i128::from(part) * 100 / i128::from(whole)) as i64
}

/// NodeResourcesBalancedAllocation: whether the node's CPU and memory are used more evenly with the pod than without.
/// It says nothing of pods that ask for neither.
fn balanced(of: &Placed<'_>, info: &NodeInfo<'_>) -> i64 {
    let (asked, used, has) = (&of.pod.requests.all, &info.load.requested, &info.node.allocatable);
    if asked.cpu_milli == 0 && asked.memory_bytes == 0 {
        return 0;
    }
    let pairs =
        |cpu: i64, memory: i64| evenness(&[(cpu, has.cpu_milli), (memory, has.memory_bytes)]);
    let with = pairs(used.cpu_milli + asked.cpu_milli, used.memory_bytes + asked.memory_bytes);
    let without = pairs(used.cpu_milli, used.memory_bytes);
    50 + (50 + with - without) / 2
}

/// `balancedResourceScore`: 100 where all shares are equal.
fn evenness(pairs: &[(i64, i64)]) -> i64 {
    let there = pairs.iter().filter(|(_, has)| *has != 0);
    let shares: Vec<f64> = there.map(|(used, has)| (*used as f64 / *has as f64).min(1.0)).collect();
    let deviation = match &shares[..] {
        [a, b] => ((a - b) / 2.0).abs(),
        _ => 0.0,
    };
    ((1.0 - deviation) * 100.0) as i64
}

/// On how many nodes the pod's images are.
fn with_images(of: &Placed<'_>, all: &[NodeInfo<'_>]) -> BTreeMap<Text, i64> {
    let mut counts: BTreeMap<Text, i64> =
        of.pod.placing.images.iter().map(|image| (image.clone(), 0)).collect();
    for info in all {
        for name in info.node.images.iter().flat_map(|(names, _)| names) {
            if let Some(count) = counts.get_mut(name) {
                *count += 1;
            }
        }
    }
    counts
}

/// ImageLocality: bytes of the pod's images that the node has, those that few nodes have counting less.
fn images(
    of: &Placed<'_>,
    info: &NodeInfo<'_>,
    nodes_with: &BTreeMap<Text, i64>,
    all: usize,
) -> i64 {
    let (least, most_each) = IMAGES;
    let most = most_each * of.pod.placing.containers;
    let size = |image: &Text| {
        let mut held = info.node.images.iter().rev();
        let (_, bytes) = held.find(|(names, _)| names.contains(image))?;
        let spread = nodes_with.get(image).copied().unwrap_or(0) as f64 / all as f64;
        Some((*bytes as f64 * spread) as i64)
    };
    let sum: i64 = of.pod.placing.images.iter().filter_map(size).sum();
    100 * (sum.clamp(least, most.max(least)) - least) / (most - least).max(1)
}
