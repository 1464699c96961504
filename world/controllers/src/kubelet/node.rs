//! What a kubelet says of its node: nothing, as long as all is well or it is stopped; that the node is well, where it runs
//! again after others took it for gone.

use serde_json::{Value, json};
use trace::{ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Meta, Object},
    request::Request,
    scheduler::Node,
    view::View,
};

/// The annotation of a node that says what its kubelet does.
pub const KUBELET: &str = "trommel.dev/kubelet";
/// Nothing: it starts and ends no pod, says nothing of any, and is not heard of.
pub const STOPPED: &str = "stopped";
/// What a kubelet says of a node that is well: type, status, reason, message.
pub const WELL: [(&str, &str, &str, &str); 4] = [
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
];

/// Whether a node's kubelet is stopped.
pub(crate) fn is_stopped(node: &Meta) -> bool {
    node.annotations.get(KUBELET).is_some_and(|state| **state == *STOPPED)
}

/// A node that was not heard of says that it is well, once its kubelet runs again.
pub(super) fn speak(
    key: &ObjectKey,
    object: &Object,
    node: &Node,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    if is_stopped(&object.meta) || !node.unheard {
        return Ok(None);
    }
    let condition = |(kind, status, reason, message): &(&str, &str, &str, &str)| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now.rfc3339(), "lastTransitionTime": now.rfc3339(),
        })
    };
    calls.need(|| {
        let conditions: Vec<Value> = WELL.iter().map(condition).collect();
        let (key, uid) = (key.clone(), object.meta.uid.clone());
        Request::PatchStatus { key, uid, status: Box::new(json!({"conditions": conditions})) }
    })?;
    Ok(None)
}

/// What a kubelet looks at that begins to run, or runs again: all that is bound to its node, and the node, which others
/// may believe to be gone. Where somebody else says that it is, that stays: it is how a node is taken away by hand.
pub(super) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let node = change.before.map(|_| Affected::now(change.key));
    let bound = view.on_node(&change.key.name).map(|(key, _)| Affected::now(key));
    node.into_iter().chain(bound).collect()
}
