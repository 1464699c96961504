//! PodTopologyLabels: a pod has its node's labels of zone and region, from when it is bound, or from the beginning
//! where it is created on a node (`plugin/pkg/admission/podtopologylabels`; on by default since 1.35).
//!
//! The node's labels count more than what the pod or the binding says. They are looked at once: what becomes of the
//! node's labels afterwards, and what somebody makes of the pod's, is nobody's concern.

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use crate::verbs::Work;

/// The labels that are copied.
const COPIED: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// A pod that is created: on a node, or to be bound later.
pub(super) fn label_pod(work: &Work<'_>, pod: &mut Value) {
    let node = pod["spec"]["nodeName"].as_str().unwrap_or("").to_owned();
    label(work, &node, pod);
}

/// A Binding, whose labels become the pod's. Only where it says that its target is a node.
pub(super) fn label_binding(work: &Work<'_>, binding: &mut Value) {
    if binding["target"]["kind"] == "Node" {
        let node = binding["target"]["name"].as_str().unwrap_or("").to_owned();
        label(work, &node, binding);
    }
}

/// Gives an object the labels of a node, if there is one of this name and it has any.
fn label(work: &Work<'_>, node: &str, object: &mut Value) {
    let key = ObjectKey::new(GroupResource::new("", "nodes"), "", node);
    let Some(node) = work.live.world.store.get(&key) else { return };
    for name in COPIED {
        let Some(value) = node["metadata"]["labels"].get(name) else { continue };
        let labels = &mut object["metadata"]["labels"];
        if !labels.is_object() {
            *labels = json!({});
        }
        labels[name] = value.clone();
    }
}
