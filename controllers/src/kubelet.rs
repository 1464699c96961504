//! The kubelets of all nodes, as far as the cluster sees them.
//!
//! What a pod does follows kwok's default stages (`pod-fast`): a pod that is bound runs and is ready at once;
//! one that a Job controls then ends well; one that is being deleted is gone at once, without using up its grace
//! period. Probes, restarts, images that can't be pulled and stages of the user's own are not there yet.

use trace::{ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Body, Object},
    request::Request,
    scheduler::nodes,
    view::View,
};

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Pod(pod) = &object.body else { return Ok(None) };
    // A node that nobody has made has no kubelet.
    let node = ObjectKey::new(nodes(), "", &pod.node);
    if pod.node.is_empty() || view.get(&node).is_none() {
        return Ok(None);
    }
    let uid = object.meta.uid.clone();
    if object.meta.is_deleted() {
        // With finalizers it stays, and this says that nothing of it runs any more.
        if object.meta.grace_seconds != Some(0) {
            calls.need(|| Request::Delete {
                key: key.clone(),
                uid,
                revision: None,
                propagation: None,
                grace_seconds: Some(0),
            })?;
        }
        return Ok(None);
    }
    let by_job = object.meta.controller().is_some_and(|owner| *owner.kind == *"Job");
    let phase = match &*pod.phase {
        "Pending" => "Running",
        "Running" if by_job => "Succeeded",
        _ => return Ok(None),
    };
    calls.need(|| Request::PodPhase { key: key.clone(), uid, phase, since: now })?;
    Ok(None)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let bound = |object: &Object| matches!(&object.body, Body::Pod(pod) if !pod.node.is_empty());
    if change.after.is_some_and(bound) {
        return vec![Affected::now(change.key)];
    }
    // A node that joins: what was bound to it before.
    match (change.before, change.after) {
        (None, Some(_)) if change.key.resource == nodes() => {
            view.on_node(&change.key.name).map(|(key, _)| Affected::now(key)).collect()
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests;
