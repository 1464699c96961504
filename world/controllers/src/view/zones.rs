//! Which zones of the cluster have how many processors, as the EndpointSlice controller knows it
//! (`TopologyCache.SetNodes`, `checkNodeTopologyDistribution`, Kubernetes 1.36).
//!
//! Upstream counts when a node comes, goes, becomes ready, ceases to be, or moves to another zone. That a node has got
//! more processors is noticed with the next of these. So the nodes are kept as they were at the last one.

use std::collections::BTreeMap;

use trace::ObjectKey;

use super::View;
use crate::{
    object::{Body, Object, Text},
    scheduler::nodes,
};

/// A node's label.
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
/// Labels of nodes that don't count.
const EXCLUDED: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Processors by zone, in thousandths; two zones at least.
pub type Zones = BTreeMap<Text, i64>;

/// What a change of an object means for the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Nothing.
    Same,
    /// There is something else to count now, and nobody looks.
    Unseen,
    /// It is counted anew.
    Anew,
}

impl Counts {
    pub(super) fn of(key: &ObjectKey, before: Option<&Object>, after: Option<&Object>) -> Counts {
        if !is_node(key) {
            return Counts::Same;
        }
        match (before, after) {
            _ if counts_anew(before, after) => Counts::Anew,
            (Some(before), Some(after)) if counted(before) != counted(after) => Counts::Unseen,
            _ => Counts::Same,
        }
    }
}

fn is_node(key: &ObjectKey) -> bool {
    *key.resource.resource == *"nodes" && key.resource.group.is_empty()
}

/// Whether zones are counted when a node changes so (`addNode`, `updateNode`, `deleteNode`).
pub(crate) fn counts_anew(before: Option<&Object>, after: Option<&Object>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => {
            is_ready(before) != is_ready(after) || zone(before) != zone(after)
        }
        _ => true,
    }
}

fn is_ready(node: &Object) -> bool {
    matches!(&node.body, Body::Node(node) if node.ready)
}

fn zone(node: &Object) -> &str {
    node.meta.labels.get(ZONE).map_or("", |zone| &**zone)
}

/// Zone and processors of a node that counts.
fn counted(node: &Object) -> Option<(&str, i64)> {
    let Body::Node(body) = &node.body else { return None };
    let excluded = EXCLUDED.iter().any(|label| node.meta.labels.contains_key(*label));
    (body.ready && !excluded).then(|| (zone(node), body.allocatable.cpu_milli))
}

/// None where one node that counts does not say enough, or there is one zone only.
fn count<'a>(nodes: impl Iterator<Item = &'a Object>) -> Option<Zones> {
    let mut zones = Zones::new();
    for (zone, cpu_milli) in nodes.filter_map(counted) {
        if zone.is_empty() || cpu_milli == 0 {
            return None;
        }
        *zones.entry(zone.into()).or_default() += cpu_milli;
    }
    (zones.len() > 1).then_some(zones)
}

impl View {
    /// The zones, as they are known; none where too little is known of them.
    pub(crate) fn zones(&self) -> Option<Zones> {
        count(self.counted_nodes.values())
    }

    /// The zones as they are known, if that is not how they are.
    pub fn outdated_zones(&self) -> Option<Option<Zones>> {
        if !self.nodes_differ {
            return None;
        }
        let known = self.zones();
        let nodes = self.tables.get(&nodes()).into_iter().flat_map(|table| table.values());
        (count(nodes) != known).then_some(known)
    }

    pub(super) fn count_zones(&mut self, counts: Counts) {
        match counts {
            Counts::Same => {}
            Counts::Unseen => self.nodes_differ = true,
            Counts::Anew => {
                if let Some(nodes) = self.tables.get(&nodes()) {
                    self.counted_nodes = nodes.clone();
                }
                self.nodes_differ = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::{object, view};

    fn node(name: &str, zone: &str, cpu: &str, more: Value) -> (ObjectKey, Value) {
        let (key, mut node) = object(
            &format!("nodes/{name}"),
            json!({
                "metadata": {"labels": {ZONE: zone}},
                "status": {
                    "allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}],
                },
            }),
        );
        for (field, value) in more.as_object().into_iter().flatten() {
            match field.as_str() {
                "ready" => node["status"]["conditions"][0]["status"] = value.clone(),
                label => node["metadata"]["labels"][label] = value.clone(),
            }
        }
        (key, node)
    }

    /// Cases of `TestSetNodes`.
    #[test]
    fn zones_are_counted() {
        let check = |nodes: &[(&str, &str, Value)], expect: &[(&str, i64)]| {
            let numbered = nodes.iter().enumerate();
            let nodes: Vec<(ObjectKey, Value)> = numbered
                .map(|(n, (zone, cpu, more))| node(&n.to_string(), zone, cpu, more.clone()))
                .collect();
            let expect: Zones =
                expect.iter().map(|(zone, milli)| (Text::from(*zone), *milli)).collect();
            let found = view(&nodes).zones();
            assert_eq!(found, Some(expect).filter(|zones| !zones.is_empty()), "{nodes:?}");
        };
        let well = || json!({});
        let unready = || json!({"ready": "False"});
        let control = || json!({"node-role.kubernetes.io/control-plane": ""});
        check(&[], &[]);
        check(&[("a", "1000m", well()), ("a", "1", well())], &[]);
        check(&[("a", "1", well()), ("b", "1", well())], &[("a", 1000), ("b", 1000)]);
        check(&[("a", "1", unready()), ("b", "1", well())], &[]);
        check(&[("a", "1", well()), ("b", "1", control())], &[]);
        let three = [("a", "1", well()), ("b", "1", well()), ("b", "1", unready())];
        check(&three, &[("a", 1000), ("b", 1000)]);
        let many = [
            ("a", "3", well()),
            ("a", "2000m", well()),
            ("b", "3", well()),
            ("b", "1500m", well()),
            ("c", "500m", well()),
        ];
        check(&many, &[("a", 5000), ("b", 4500), ("c", 500)]);
        // One that says too little spoils all; one that does not count does not.
        check(&[("a", "1", well()), ("b", "1", well()), ("", "1", well())], &[]);
        check(&[("a", "1", well()), ("b", "1", well()), ("b", "0", well())], &[]);
        let silent = [("a", "1", well()), ("b", "1", well()), ("", "1", unready())];
        check(&silent, &[("a", 1000), ("b", 1000)]);
    }

    #[test]
    fn more_processors_are_not_noticed_at_once() {
        let mut seen = view(&[node("a", "a", "1", json!({})), node("b", "b", "1", json!({}))]);
        let mut set = |name: &str, zone: &str, cpu: &str, more: Value| {
            let (key, node) = node(name, zone, cpu, more);
            seen.set(&key, Some(Object::read(&key, &node)));
            let cpu_of_a = |zones: &Zones| zones["a"];
            (seen.zones().as_ref().map(cpu_of_a), seen.outdated_zones().is_some())
        };
        assert_eq!(set("a", "a", "3", json!({})), (Some(1000), true));
        assert_eq!(set("a", "a", "1", json!({})), (Some(1000), false));
        assert_eq!(set("a", "a", "3", json!({})), (Some(1000), true));
        assert_eq!(set("b", "c", "1", json!({})), (Some(3000), false));
        assert_eq!(set("b", "c", "1", json!({"ready": "False"})), (None, false));
    }
}
