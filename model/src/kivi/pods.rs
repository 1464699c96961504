//! Pods of deployments, as they are stored.

use controllers::{Body, Object, pod::Pod};

use crate::cluster::{Objects, Store, kinds::KindId, objects::Stored};

/// A pod.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'o> {
    pub stored: &'o Stored,
    pub object: &'o Object,
    pub pod: &'o Pod,
}

impl Found<'_> {
    /// Whether it runs or will, and is not being deleted.
    pub(super) fn is_live(&self) -> bool {
        !self.object.meta.is_deleted() && !self.pod.has_ended()
    }

    pub(super) fn is_running(&self) -> bool {
        *self.pod.phase == *"Running"
    }

    /// Whether the scheduler said that no node will do.
    pub(super) fn is_turned_away(&self) -> bool {
        self.pod.node.is_empty() && self.pod.unschedulable.is_some() && self.is_live()
    }
}

fn found(stored: &Stored) -> Option<Found<'_>> {
    let object = stored.seen()?;
    match &object.body {
        Body::Pod(pod) => Some(Found { stored, object, pod }),
        _ => None,
    }
}

/// All pods.
pub(super) fn all<'s, 'o>(
    objects: &'o Objects,
    store: &'s Store,
) -> impl Iterator<Item = Found<'o>> + use<'s, 'o> {
    store.of_kind(objects, KindId::POD).filter_map(|(_, stored)| found(stored))
}

/// The pods of a deployment that run or will.
pub(super) fn live<'s, 'o>(
    objects: &'o Objects,
    store: &'s Store,
    deployment: &str,
) -> impl Iterator<Item = Found<'o>> + use<'s, 'o> {
    let sets: Vec<&str> = match KindId::named("ReplicaSet") {
        Some(kind) => {
            let sets = store.of_kind(objects, kind).filter(|(_, set)| is_owned(set, deployment));
            sets.map(|(_, set)| &*set.key.name).collect()
        }
        None => Vec::new(),
    };
    all(objects, store).filter(move |found| {
        let owner = found.object.meta.controller();
        found.is_live() && owner.is_some_and(|owner| sets.contains(&&*owner.name))
    })
}

fn is_owned(set: &Stored, deployment: &str) -> bool {
    let owner = set.seen().and_then(|seen| seen.meta.controller());
    owner.is_some_and(|owner| *owner.kind == *"Deployment" && *owner.name == *deployment)
}
