//! Names of nodes that the scheduler chose.
//!
//! On which of several nodes a pod comes to stand is the scheduler's choice, and another one after a crash is no fault of
//! a controller; nor is it whether two pods stand together. So where a pod was bound by a scheduler, the names of nodes
//! are labels. In comparisons all of them are the same one, except within the Nodes themselves: which pods share a node
//! changes with the order in which they were made (KubeRay's workers, JobSet's jobs). In identities each is a label of its
//! own, because a controller may count its pods on a node.
//!
//! A name that somebody asked for is a value, wherever it stands: one in a pod specification's `nodeName`, in a
//! `nodeSelector`, in the expressions of an affinity (of a volume that was provisioned it is the scheduler's choice
//! again), or in another object's name. Elsewhere, as in the `spec` of a custom resource, it can't be told from a copy of
//! the scheduler's choice, and is a label.

use std::collections::BTreeSet;

use super::Sources;
use crate::key::ObjectKey;

/// The names, in order, and what they are called for short.
///
/// Where the Nodes are among the objects, these are the names of nodes among which there was a choice, for short the
/// whole words that all of them begin with. Where none is, those on which pods stand; with nothing for short, because it would tell which.
pub(super) fn chosen<'s>(objects: &[(&'s ObjectKey, &'s Sources)]) -> (BTreeSet<&'s str>, &'s str) {
    let bound: BTreeSet<&str> =
        objects.iter().filter_map(|(_, sources)| sources.bound_to.as_deref()).collect();
    if bound.is_empty() {
        return Default::default();
    }
    let (nodes, others): (Vec<_>, Vec<_>) = objects.iter().partition(|(key, _)| is_node(key));
    let is_seen = !nodes.is_empty();
    let mut names = match is_seen {
        true => nodes.iter().map(|(key, _)| &*key.name).collect(),
        false => bound,
    };
    for (key, sources) in others.into_iter().filter(|(key, _)| !key.resource.is_bookkeeping()) {
        for name in &sources.asked_nodes {
            names.remove(&**name);
        }
        names.retain(|name| !key.name.contains(name));
    }
    match is_seen {
        true if names.len() < 2 => Default::default(),
        true => {
            let common = common_beginning(&names);
            (names, common)
        }
        false => (names, ""),
    }
}

/// Whether the object with this key is a Node.
pub(crate) fn is_node(key: &ObjectKey) -> bool {
    &*key.resource.resource == "nodes" && key.resource.group.is_empty()
}

fn common_beginning<'n>(names: &BTreeSet<&'n str>) -> &'n str {
    // Those of all names lie between those of the first and the last in order.
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return "" };
    let same = first.chars().zip(last.chars()).take_while(|(left, right)| left == right);
    let length = same.map(|(left, _)| left.len_utf8()).sum();
    first[..length].trim_end_matches(char::is_alphanumeric)
}
