//! Nodes that are not heard of any more (`tryUpdateNodeHealth`, Kubernetes 1.36).
//!
//! A kubelet that lives renews its lease every ten seconds. Here a living kubelet writes nothing and counts as heard of:
//! otherwise every world would have a stop of the clock each ten seconds, for ever, which tells nobody anything. What a
//! lease would tell by not being renewed is told instead by the node, when its kubelet is stopped
//! ([`crate::kubelet::STOPPED`]): since then nobody has heard of it. When that was is kept as upstream keeps when it last
//! saw a lease renewed, in memory ([`Memory::SilentSince`]); controllers that start anew count anew. Once the node is
//! unknown, it is forgotten, as soon as all of its pods are marked (`nodesToRetry`).
//!
//! Upstream looks every five seconds, so it notices up to that much later. When all nodes were silent and one comes back,
//! upstream counts the others anew.

use std::time::Duration;

use serde_json::{Value, json};
use trace::{ObjectKey, Time};

use super::pods;
use crate::{
    calls::{Calls, Stop},
    kubelet::is_stopped,
    object::Object,
    request::{Memory, Request},
    scheduler::Node,
    view::View,
};

/// `NodeMonitorGracePeriod`.
const GRACE: Duration = Duration::from_secs(50);
/// `NodeStartupGracePeriod`: of a node that has never said whether it is ready.
const STARTUP_GRACE: Duration = Duration::from_secs(60);
/// What only the kubelet knows.
const OF_KUBELET: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// What came of looking.
pub(super) enum Look {
    /// Nothing yet; if a time is given, it is looked at again then.
    Heard(Option<Duration>),
    /// It is told to be unknown now.
    Told,
}

pub(super) fn look(
    view: &View,
    key: &ObjectKey,
    (object, node): (&Object, &Node),
    now: Time,
    calls: &mut Calls<'_>,
) -> Result<Look, Stop> {
    let known = view.silent_since(key);
    let ready = node.conditions.iter().find(|(kind, _)| **kind == *"Ready");
    let is_told = ready.is_some_and(|(_, status)| **status == *"Unknown");
    if is_told && known.is_some_and(|since| now.since(since) >= GRACE) {
        // When it was told, not all of its pods could be marked.
        pods::of_unknown(view, &key.name, now, calls)?;
    }
    let since = (is_stopped(&object.meta) && !is_told).then(|| known.unwrap_or(now));
    if since != known {
        remember(key, since, calls)?;
    }
    let Some(since) = since else { return Ok(Look::Heard(None)) };
    let grace = if ready.is_some() { GRACE } else { STARTUP_GRACE };
    let left = grace.saturating_sub(now.since(since));
    if !left.is_zero() {
        return Ok(Look::Heard(Some(left)));
    }
    branch!(NodeSilent);
    calls.need(|| {
        let conditions: Vec<Value> =
            OF_KUBELET.iter().map(|kind| unknown(kind, object, node, now)).collect();
        let (key, uid) = (key.clone(), object.meta.uid.clone());
        Request::PatchStatus { key, uid, status: Box::new(json!({"conditions": conditions})) }
    })?;
    if ready.is_some_and(|(_, status)| **status == *"True") {
        pods::of_unknown(view, &key.name, now, calls)?;
    }
    remember(key, None, calls)?;
    Ok(Look::Told)
}

fn remember(key: &ObjectKey, since: Option<Time>, calls: &mut Calls<'_>) -> Result<(), Stop> {
    let memory = Memory::SilentSince(since);
    calls.send(|| Request::Remember { key: key.clone(), memory })?;
    Ok(())
}

fn unknown(kind: &str, object: &Object, node: &Node, now: Time) -> Value {
    let mut condition = json!({"type": kind});
    let fields = match node.conditions.iter().find(|(of, _)| **of == *kind) {
        // It stays as it is.
        Some((_, status)) if **status == *"Unknown" => return condition,
        Some(_) => json!({
            "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
        }),
        None => json!({
            "reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status.",
            "lastHeartbeatTime": object.meta.created.rfc3339(),
        }),
    };
    for (field, value) in fields.as_object().into_iter().flatten() {
        condition[field] = value.clone();
    }
    condition["status"] = json!("Unknown");
    condition["lastTransitionTime"] = json!(now.rfc3339());
    condition
}
