//! All nodes with what runs on them, as one scheduling cycle sees them (`backend/cache/snapshot.go`).

use crate::{
    object::{Body, Labels, Meta, Object, Text},
    pod::Pod,
    resources::{Resources, Usual},
    scheduler::{Node, nodes},
    view::View,
};
use trace::{GroupResource, ObjectKey};

/// A pod.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'v> {
    pub(super) key: &'v ObjectKey,
    pub(super) meta: &'v Meta,
    pub(super) pod: &'v Pod,
}

impl<'v> Placed<'v> {
    pub(super) fn of(key: &'v ObjectKey, object: &'v Object) -> Option<Placed<'v>> {
        match &object.body {
            Body::Pod(pod) => Some(Placed { key, meta: &object.meta, pod }),
            _ => None,
        }
    }

    pub(super) fn priority(&self) -> i64 {
        self.pod.placing.priority
    }
}

/// A node, and the pods on it that have not ended.
#[derive(Debug, Clone)]
pub(super) struct NodeInfo<'v> {
    pub(super) name: Text,
    pub(super) labels: &'v Labels,
    pub(super) node: &'v Node,
    pub(super) pods: Vec<Placed<'v>>,
    /// What these ask for.
    pub(super) requested: Resources,
    /// The same as scores count it.
    pub(super) usual: Usual,
}

impl<'v> NodeInfo<'v> {
    pub(super) fn add(&mut self, placed: Placed<'v>) {
        let requests = &placed.pod.requests;
        self.requested.add(&requests.all);
        self.usual.cpu_milli += requests.counted.cpu_milli;
        self.usual.memory_bytes += requests.counted.memory_bytes;
        self.pods.push(placed);
    }

    pub(super) fn remove(&mut self, placed: &Placed<'v>) {
        let Some(at) = self.pods.iter().position(|other| other.key == placed.key) else { return };
        let requests = &self.pods.swap_remove(at).pod.requests;
        self.requested.remove(&requests.all);
        self.usual.cpu_milli -= requests.counted.cpu_milli;
        self.usual.memory_bytes -= requests.counted.memory_bytes;
    }
}

/// All nodes, by name.
pub(super) fn take(view: &View) -> Vec<NodeInfo<'_>> {
    let all = view.list(&nodes(), "").filter_map(|(key, object)| match &object.body {
        Body::Node(node) => Some((key, &object.meta.labels, node)),
        _ => None,
    });
    let info = all.map(|(key, labels, node)| {
        let mut info = NodeInfo {
            name: key.name.clone(),
            labels,
            node,
            pods: vec![],
            requested: Resources::default(),
            usual: Usual::default(),
        };
        let pods = view.on_node(&key.name).filter_map(|(key, object)| Placed::of(key, object));
        pods.filter(|placed| !placed.pod.has_ended()).for_each(|placed| info.add(placed));
        info
    });
    info.collect()
}

/// A namespace's labels; none where it does not exist.
pub(super) fn namespace_labels(view: &View, name: &Text) -> Labels {
    let key = ObjectKey::new(GroupResource::new("", "namespaces"), "", name);
    view.get(&key).map(|namespace| namespace.meta.labels.clone()).unwrap_or_default()
}
