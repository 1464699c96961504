//! How soon nodes of a zone get the taint that evicts their pods (`handleDisruption`, `setLimiterInZone`, Kubernetes
//! 1.36): one every ten seconds; where more than half of a zone is not ready, one every hundred seconds if it is large, and
//! none if it is not.
//!
//! Upstream keeps a rate limiter for each zone. Here the last one is read off the taints, which say when they were added.
//! Who could notice: where the node that was tainted last is gone or well again, the next need not wait for it.

use std::time::Duration;

use trace::Time;

use super::{NOT_READY, UNREACHABLE};
use crate::{
    object::{Body, Labels, Object},
    scheduler::{Node, Taint, nodes},
    view::View,
};

/// A tenth a second (`NodeEvictionRate`).
const USUAL: Duration = Duration::from_secs(10);
/// `SecondaryNodeEvictionRate`.
const SECONDARY: Duration = Duration::from_secs(100);
/// A zone of more nodes is large (`LargeClusterSizeThreshold`).
const LARGE: usize = 50;
/// `UnhealthyZoneThreshold`, in percent; and more than this many nodes.
const UNHEALTHY_PERCENT: usize = 55;
const UNHEALTHY_NODES: usize = 2;
/// Nodes that don't count (`labelNodeDisruptionExclusion`).
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

/// Whether a node may be tainted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    In(Duration),
    /// Not before more nodes are ready.
    Never,
}

/// Region and zone (`GetZoneKey`).
fn zone(labels: &Labels) -> [&str; 2] {
    let of = |older: &str, newer: &str| {
        labels.get(older).or_else(|| labels.get(newer)).map_or("", |name| &**name)
    };
    [
        of("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        of("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ]
}

/// Whether the taint evicts, and is of the node lifecycle controller.
pub(super) fn evicts(taint: &Taint) -> bool {
    *taint.effect == *"NoExecute" && [NOT_READY, UNREACHABLE].contains(&&*taint.key)
}

/// When this node's turn is among those of its zone.
pub(super) fn turn(view: &View, object: &Object, now: Time) -> Turn {
    let here = zone(&object.meta.labels);
    let resource = nodes();
    let all: Vec<(&Object, &Node)> = view
        .list(&resource, "")
        .filter_map(|(_, object)| match &object.body {
            Body::Node(node) if zone(&object.meta.labels) == here => Some((object, &**node)),
            _ => None,
        })
        .collect();
    let counted = all.iter().filter(|(object, _)| !object.meta.labels.contains_key(EXCLUDED));
    let ready = counted.clone().filter(|(_, node)| node.ready).count();
    let down = counted.count() - ready;
    let unhealthy =
        ready > 0 && down > UNHEALTHY_NODES && down * 100 >= UNHEALTHY_PERCENT * (ready + down);
    let pace = match unhealthy {
        false => USUAL,
        true if ready + down > LARGE => SECONDARY,
        true => {
            branch!(NodesMostlyDown);
            return Turn::Never;
        }
    };
    let taints = all.iter().flat_map(|(_, node)| &node.taints).filter(|taint| evicts(taint));
    let last = taints.filter_map(|taint| taint.added).max();
    let left = last.map_or(Duration::ZERO, |last| pace.saturating_sub(now.since(last)));
    if left.is_zero() { Turn::Now } else { Turn::In(left) }
}
