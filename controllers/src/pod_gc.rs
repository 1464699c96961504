//! The pod garbage collector (`pkg/controller/podgc`, Kubernetes 1.36): pods of nodes that are gone, pods that are
//! deleted and were never bound, and pods that are deleted on nodes out of service.
//!
//! Upstream looks every 20 s, and waits 40 s before it believes that a node is gone; here each pod is looked at when
//! something changes, and those 40 s pass as well. Not there: the limit of 12500 pods that have ended.

use std::time::Duration;

use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Body, Object},
    pod::Pod,
    request::Request,
    scheduler::nodes,
    view::View,
};

/// So long a node must be gone (`quarantineTime`).
const QUARANTINE: Duration = Duration::from_secs(40);
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// Why a pod is to go.
enum Due {
    NodeGone,
    Deleted,
}

fn due(view: &View, object: &Object, pod: &Pod) -> Option<Due> {
    if pod.node.is_empty() {
        return object.meta.is_deleted().then_some(Due::Deleted);
    }
    match view.get(&ObjectKey::new(nodes(), "", &pod.node)).map(|node| &node.body) {
        Some(Body::Node(node)) => {
            let out = node.taints.iter().any(|taint| *taint.key == *OUT_OF_SERVICE);
            (object.meta.is_deleted() && out && !node.ready).then_some(Due::Deleted)
        }
        _ => Some(Due::NodeGone),
    }
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Pod(pod) = &object.body else { return Ok(None) };
    let Some(due) = due(view, object, pod) else { return Ok(None) };
    if !pod.has_ended() {
        let (kind, reason, message) = match due {
            Due::NodeGone => {
                branch!(PodGcNodeGone);
                ("DisruptionTarget", "DeletionByPodGC", "PodGC: node no longer exists")
            }
            Due::Deleted => {
                branch!(PodGcDeleted);
                ("", "", "")
            }
        };
        calls.need(|| Request::PodCondition {
            key: key.clone(),
            uid: object.meta.uid.clone(),
            kind,
            status: "True",
            reason,
            message: message.into(),
            since: now,
            phase: Some("Failed"),
        })?;
    }
    calls.need(|| Request::Delete {
        key: key.clone(),
        uid: object.meta.uid.clone(),
        revision: None,
        propagation: None,
        grace_seconds: Some(0),
    })?;
    Ok(None)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let when = |object: &Object| {
        let Body::Pod(pod) = &object.body else { return None };
        Some(match due(view, object, pod)? {
            Due::NodeGone => QUARANTINE,
            Due::Deleted => Duration::ZERO,
        })
    };
    if change.key.resource == GroupResource::new("", "pods") {
        let after = change.after.and_then(when);
        return after
            .map(|after| Affected { key: change.key.clone(), after })
            .into_iter()
            .collect();
    }
    if change.key.resource != nodes() {
        return vec![];
    }
    let pods = view.on_node(&change.key.name);
    pods.filter_map(|(key, pod)| Some(Affected { key: key.clone(), after: when(pod)? })).collect()
}
