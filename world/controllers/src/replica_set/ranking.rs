//! Which pods go first when there are too many (`controller.ActivePodsWithRanks`).

use std::{cmp::Ordering, collections::BTreeMap};

use trace::{ObjectKey, Time};

use super::replica_sets;
use crate::{
    object::{Body, Object, Text},
    pod::Pod,
    view::View,
};

type Item<'v> = (ObjectKey, &'v Object, &'v Pod);

/// The annotation by which a user says which pods may go first (KEP-2255).
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The first `count` pods to delete.
pub(super) fn to_delete<'v>(
    view: &View,
    set: &Object,
    active: &[Item<'v>],
    count: usize,
    now: Time,
) -> Vec<Item<'v>> {
    let mut pods = active.to_vec();
    if count < pods.len() {
        branch!(ReplicaSetRanks);
        let crowd = crowd(view, set, active);
        let rank = |pod: &Pod| crowd.get(&pod.node).copied().unwrap_or(0);
        pods.sort_by(|a, b| compare(a, b, rank(a.2), rank(b.2), now));
    }
    pods.truncate(count);
    pods
}

/// How many active pods of ReplicaSets with the same controller each node runs.
fn crowd(view: &View, set: &Object, active: &[Item<'_>]) -> BTreeMap<Text, usize> {
    let mut nodes: BTreeMap<Text, usize> = BTreeMap::new();
    let mut count = |pod: &Pod| *nodes.entry(pod.node.clone()).or_default() += 1;
    let Some(owner) = set.meta.controller() else {
        active.iter().for_each(|(_, _, pod)| count(pod));
        return nodes;
    };
    branch!(ReplicaSetRanksSiblings);
    for (key, sibling) in view.dependents(&owner.uid) {
        if key.resource != replica_sets() {
            continue;
        }
        for (_, object) in view.dependents(&sibling.meta.uid) {
            if let Body::Pod(pod) = &object.body
                && !pod.has_ended()
                && !object.meta.is_deleted()
            {
                count(pod);
            }
        }
    }
    nodes
}

/// Less: `a` goes first.
fn compare(a: &Item<'_>, b: &Item<'_>, rank_a: usize, rank_b: usize, now: Time) -> Ordering {
    let phase = |pod: &Pod| match &*pod.phase {
        "Pending" => 0,
        "Unknown" => 1,
        _ => 2,
    };
    let cost = |object: &Object| -> i32 {
        let text = object.meta.annotations.get(DELETION_COST);
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let uids = || a.1.meta.uid.cmp(&b.1.meta.uid);
    // Pods of a similar age are alike: the order among them is by uid, so by chance (KEP-2185).
    let younger = |x: Time, y: Time| match magnitude(now, x).cmp(&magnitude(now, y)) {
        _ if x == y => Ordering::Equal,
        Ordering::Equal => uids(),
        other => other,
    };
    (!a.2.node.is_empty())
        .cmp(&!b.2.node.is_empty())
        .then(phase(a.2).cmp(&phase(b.2)))
        .then(a.2.ready_since.is_some().cmp(&b.2.ready_since.is_some()))
        .then(cost(a.1).cmp(&cost(b.1)))
        .then(rank_b.cmp(&rank_a))
        .then_with(|| match (a.2.ready_since, b.2.ready_since) {
            (Some(x), Some(y)) => younger(x, y),
            _ => Ordering::Equal,
        })
        .then(b.2.restarts.cmp(&a.2.restarts))
        .then_with(|| younger(a.1.meta.created, b.1.meta.created))
}

/// The logarithm of an age (`logarithmicRankDiff`); -1 for none.
fn magnitude(now: Time, then: Time) -> i32 {
    match now.since(then).as_nanos() as u64 {
        0 => -1,
        age => age.ilog2() as i32,
    }
}
