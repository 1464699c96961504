//! The leases by which kubelets say that their nodes live (`pkg/kubelet` and `component-helpers/apimachinery/lease`,
//! Kubernetes 1.36): one a node, good for 40 s, renewed every 10 s.
//!
//! Runs where it is asked for only: a timer that comes again for ever is a stop of every jump of the clock, and its phase
//! is a part of every world. Leases themselves are bookkeeping. Conditions of nodes are not written again: a real kubelet
//! does so every five minutes, for readers that know no leases.

use std::time::Duration;

use serde_json::json;
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    kubelet::is_stopped,
    object::Object,
    request::Request,
    scheduler::nodes,
    view::View,
};

const NAMESPACE: &str = "kube-node-lease";
/// `nodeLeaseDurationSeconds`.
const LIFE_SECONDS: u32 = 40;
/// A quarter of it (`nodeLeaseRenewIntervalFraction`).
const RENEWED: Duration = Duration::from_secs(10);

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(node) = view.get(key) else { return Ok(None) };
    if is_stopped(&node.meta) {
        return Ok(None);
    }
    let resource = GroupResource::new("coordination.k8s.io", "leases");
    let lease = ObjectKey::new(resource, NAMESPACE, &key.name);
    let renewed = now.rfc3339_micro();
    match view.get(&lease) {
        Some(found) => calls.need(|| Request::Update {
            key: lease.clone(),
            revision: found.meta.revision,
            subresource: "",
            fields: vec![("/spec/renewTime", json!(renewed))],
        })?,
        None => calls.need(|| {
            let object = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {
                    "name": key.name, "namespace": NAMESPACE,
                    "ownerReferences": [{
                        "apiVersion": "v1", "kind": "Node", "name": key.name, "uid": node.meta.uid,
                    }],
                },
                "spec": {
                    "holderIdentity": key.name, "leaseDurationSeconds": LIFE_SECONDS,
                    "renewTime": renewed,
                },
            });
            Request::Create { key: lease.clone(), object: Box::new(object) }
        })?,
    };
    // Whatever the answer was: the next attempt sees what there is then.
    Ok(Some(RENEWED))
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    let runs = |node: Option<&Object>| node.is_some_and(|node| !is_stopped(&node.meta));
    match change.key.resource == nodes() && runs(change.after) && !runs(change.before) {
        true => vec![Affected::now(change.key)],
        false => vec![],
    }
}
