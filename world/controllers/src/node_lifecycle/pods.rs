//! Pods of nodes that are not ready (`MarkPodsNotReady`, Kubernetes 1.36).
//!
//! They are marked not ready when this controller itself calls their node unknown that was ready until then, and so is
//! a ready pod that comes to a node that is not ready. What becomes of the pods of a node that says of itself that it is
//! not ready is told by its kubelet, which lives.
//!
//! Of a node upstream knows in between what it said at the last look, every five seconds, if its heartbeat was another
//! one then; here what it says counts at once. When the controllers start, upstream looks at all pods, mostly before it
//! knows any node; here none is looked at.

use serde_json::json;
use trace::{ObjectKey, Time};

use crate::{
    calls::{Calls, Stop},
    controller::Change,
    object::{Body, Object, Text},
    pod::Pod,
    request::Request,
    scheduler::nodes,
    view::View,
};

/// Whether the pod says whether it is ready, and does not say that it isn't.
fn may_be_ready(pod: &Pod) -> bool {
    pod.conditions.iter().any(|(kind, status)| **kind == *"Ready" && **status != *"False")
}

fn mark(
    (key, object): (&ObjectKey, &Object),
    now: Time,
    calls: &mut Calls<'_>,
) -> Result<(), Stop> {
    branch!(NodePodsNotReady);
    calls.need(|| {
        // Reason and message stay as they are.
        let condition =
            json!({"type": "Ready", "status": "False", "lastTransitionTime": now.rfc3339()});
        let (key, uid) = (key.clone(), object.meta.uid.clone());
        Request::PatchStatus { key, uid, status: Box::new(json!({"conditions": [condition]})) }
    })?;
    Ok(())
}

/// Of a node that this controller called unknown.
pub(super) fn of_unknown(
    view: &View,
    node: &str,
    now: Time,
    calls: &mut Calls<'_>,
) -> Result<(), Stop> {
    for (key, object) in view.on_node(node) {
        if matches!(&object.body, Body::Pod(pod) if may_be_ready(pod)) {
            mark((key, object), now, calls)?;
        }
    }
    Ok(())
}

/// A pod that has come to its node (`processPod`).
pub(super) fn arrived(
    view: &View,
    (key, object, pod): (&ObjectKey, &Object, &Pod),
    now: Time,
    calls: &mut Calls<'_>,
) -> Result<(), Stop> {
    let Some(Body::Node(node)) =
        view.get(&ObjectKey::new(nodes(), "", &pod.node)).map(|node| &node.body)
    else {
        return Ok(());
    };
    let is_down = |(kind, status): &(Text, Text)| **kind == *"Ready" && **status != *"True";
    if node.conditions.iter().any(is_down) && may_be_ready(pod) {
        mark((key, object), now, calls)?;
    }
    Ok(())
}

/// Whether a pod that may be ready came to a node: one that somebody calls ready before it is bound.
pub(super) fn arrives(change: &Change<'_>) -> bool {
    let pod = |object: Option<&Object>| match object.map(|object| &object.body) {
        Some(Body::Pod(pod)) => Some(pod.clone()),
        _ => None,
    };
    let (Some(before), Some(after)) = (pod(change.before), pod(change.after)) else { return false };
    !after.node.is_empty() && before.node != after.node && may_be_ready(&after)
}
