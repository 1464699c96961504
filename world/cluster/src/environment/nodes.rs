//! What is there from the beginning: nodes, registered, ready, roomy; and a StorageClass for claims that name none.

use controllers::kubelet;
use serde_json::json;
use trace::{GroupResource, ObjectKey};

use crate::world::World;

/// What each node has.
const CPU: &str = "32";
const MEMORY: &str = "256Gi";
const PODS: &str = "110";

/// Lets `count` nodes join, `node-0` and so on. Where stages say when a node is ready, they say so later.
pub(crate) fn join(world: &mut World, count: u32, ready: bool) {
    for number in 0..count {
        let name = format!("node-{number}");
        let uid = world.names.uid();
        let now = world.now.rfc3339();
        let condition = |(kind, status, reason, message): &(&str, &str, &str, &str)| {
            json!({
                "type": kind, "status": status, "reason": reason, "message": message,
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            })
        };
        let size = json!({"cpu": CPU, "memory": MEMORY, "pods": PODS});
        let mut node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": uid,
                "creationTimestamp": now,
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "beta.kubernetes.io/os": "linux",
                    "beta.kubernetes.io/arch": "amd64",
                },
                // As the TTL controller writes it in clusters of up to a hundred nodes.
                "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            },
            "spec": {},
            "status": {
                "capacity": size,
                "allocatable": size,
                "addresses": [
                    {"type": "InternalIP", "address": address(number)},
                    {"type": "Hostname", "address": name},
                ],
                "conditions": kubelet::WELL.iter().map(condition).collect::<Vec<_>>(),
            },
        });
        if !ready && let Some(status) = node["status"].as_object_mut() {
            status.remove("conditions");
        }
        world.put(ObjectKey::new(GroupResource::new("", "nodes"), "", &name), node);
    }
}

/// The class of claims that name none, as kind and minikube have it.
pub(crate) fn add_default_class(world: &mut World) {
    let (uid, now) = (world.names.uid(), world.now.rfc3339());
    let class = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "standard",
            "uid": uid,
            "creationTimestamp": now,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "trommel.dev/volumes",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    });
    let resource = GroupResource::new("storage.k8s.io", "storageclasses");
    world.put(ObjectKey::new(resource, "", "standard"), class);
}

fn address(number: u32) -> String {
    let [_, _, high, low] = (number + 1).to_be_bytes();
    format!("10.0.{high}.{low}")
}
