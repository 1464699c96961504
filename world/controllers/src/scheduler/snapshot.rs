//! All nodes with what runs on them, as one scheduling cycle sees them (`backend/cache/snapshot.go`).

use std::{cell::OnceCell, sync::Arc};

use crate::{
    object::{Body, Labels, Meta, Object, Text},
    pod::Pod,
    scheduler::{Node, nodes},
    view::{Alike, Load, View},
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
    /// What these pods ask for.
    pub(super) load: Arc<Load>,
    view: &'v View,
    /// They, once somebody looks at each: most of what is asked of a node is answered by what they are together.
    pods: OnceCell<Vec<Placed<'v>>>,
}

impl<'v> NodeInfo<'v> {
    /// The pods on it that have not ended.
    pub(super) fn pods(&self) -> &[Placed<'v>] {
        self.pods.get_or_init(|| living(self.view.on_node(&self.name)).collect())
    }

    /// Those of the pods that it began with that say which others they want to be near to, or away from.
    pub(super) fn with_terms(&self) -> impl Iterator<Item = Placed<'v>> + use<'v> {
        living(self.view.with_terms(&self.name))
    }

    /// How many of the pods that it began with are alike in what can be counted.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&'v Alike, usize)> + use<'v> {
        self.view.counted_on(&self.name).filter(|(alike, _)| !alike.ended)
    }

    pub(super) fn add(&mut self, placed: Placed<'v>) {
        self.pods();
        self.pods.get_mut().expect("they were just looked at").push(placed);
        Arc::make_mut(&mut self.load).add(placed.pod);
    }

    pub(super) fn remove(&mut self, placed: &Placed<'v>) {
        let Some(at) = self.pods().iter().position(|other| other.key == placed.key) else { return };
        let gone = self.pods.get_mut().expect("they were just looked at").swap_remove(at);
        Arc::make_mut(&mut self.load).remove(gone.pod);
    }
}

fn living<'v>(
    pods: impl Iterator<Item = (&'v ObjectKey, &'v Object)>,
) -> impl Iterator<Item = Placed<'v>> {
    let pods = pods.filter_map(|(key, object)| Placed::of(key, object));
    pods.filter(|placed| !placed.pod.has_ended())
}

/// All nodes, by name.
pub(super) fn take(view: &View) -> Vec<NodeInfo<'_>> {
    let all = view.list(&nodes(), "").filter_map(|(key, object)| match &object.body {
        Body::Node(node) => Some((key, &object.meta.labels, node)),
        _ => None,
    });
    let info = all.map(|(key, labels, node)| NodeInfo {
        load: view.load(&key.name).cloned().unwrap_or_default(),
        name: key.name,
        labels,
        node,
        view,
        pods: OnceCell::new(),
    });
    info.collect()
}

/// A namespace's labels; none where it does not exist.
pub(super) fn namespace_labels(view: &View, name: &Text) -> Labels {
    let key = ObjectKey::new(GroupResource::new("", "namespaces"), "", name);
    view.get(&key).map(|namespace| namespace.meta.labels.clone()).unwrap_or_default()
}
