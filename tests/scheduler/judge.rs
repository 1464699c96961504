//! A real cluster with a real scheduler, and what ours would do in its place.

use controllers::{Object, View, scheduler};
use serde_json::{Value, json};
use trace::{ObjectKey, Time};

use crate::arm::{Arm, Real};

/// What a scheduler looks at: paths, and how objects are stored.
const SEEN: [(&str, &str); 11] = [
    ("/api/v1/nodes", "nodes"),
    ("/api/v1/pods", "pods"),
    ("/api/v1/namespaces", "namespaces"),
    ("/api/v1/services", "services"),
    ("/api/v1/persistentvolumes", "persistentvolumes"),
    ("/api/v1/persistentvolumeclaims", "persistentvolumeclaims"),
    ("/apis/storage.k8s.io/v1/storageclasses", "storageclasses.storage.k8s.io"),
    ("/apis/policy/v1/poddisruptionbudgets", "poddisruptionbudgets.policy"),
    ("/apis/apps/v1/replicasets", "replicasets.apps"),
    ("/apis/apps/v1/statefulsets", "statefulsets.apps"),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", "priorityclasses.scheduling.k8s.io"),
];

/// PriorityClasses: name, value, policy.
const CLASSES: [(&str, i64, &str); 3] = [
    ("low", 100, "PreemptLowerPriority"),
    ("high", 1000, "PreemptLowerPriority"),
    ("polite", 1000, "Never"),
];

/// Makes what all scenarios use.
pub fn prepare(arm: &dyn Arm) {
    for (name, value, policy) in CLASSES {
        let class = json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": policy});
        arm.must("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", Some(class));
    }
}

/// Makes a node: its labels, taints, and what else it has; `pods` and the like are its resources.
pub fn make_node(arm: &dyn Arm, name: &str, node: &Value) {
    let mut labels = json!({"kubernetes.io/hostname": name});
    for (key, value) in node["labels"].as_object().into_iter().flatten() {
        labels[key] = value.clone();
    }
    let mut size = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
    for (key, value) in node["size"].as_object().into_iter().flatten() {
        size[key] = value.clone();
    }
    let status = json!({"capacity": size, "allocatable": size, "images": node["images"]});
    let unschedulable = node["unschedulable"] == true;
    let object = json!({
        "metadata": {"name": name, "labels": labels}, "status": status,
        "spec": {"unschedulable": unschedulable},
    });
    arm.must("POST", "/api/v1/nodes", Some(object));
    // The API server says of new nodes that they are not ready.
    let taints = if node["taints"].is_array() { node["taints"].clone() } else { json!([]) };
    let patch = json!({"spec": {"taints": taints}});
    arm.must("PATCH", &format!("/api/v1/nodes/{name}"), Some(patch));
}

/// Where a pod is.
pub fn pod_path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods/{name}")
}

/// Takes a pod away at once.
pub fn remove_pod(arm: &dyn Arm, path: &str) {
    let now = json!({"gracePeriodSeconds": 0});
    let (code, answer) = arm.send("DELETE", path, Some(now));
    assert!(code == 200 || code == 404, "{path}: {code} {answer}");
}

/// Takes everything away that a scenario made.
pub fn clear(arm: &dyn Arm, namespace: &str) {
    let now = json!({"gracePeriodSeconds": 0});
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    let claims = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims");
    for path in [
        &*pods,
        "/api/v1/nodes",
        &claims,
        "/api/v1/persistentvolumes",
        "/apis/storage.k8s.io/v1/storageclasses",
    ] {
        arm.must("DELETE", path, Some(now.clone()));
    }
    for pod in arm.send("GET", &pods, None).1["items"].as_array().into_iter().flatten() {
        remove_pod(arm, &pod_path(namespace, pod["metadata"]["name"].as_str().expect("a name")));
    }
    // Nothing protects them here: they are not in use any more.
    for path in ["/api/v1/persistentvolumes", &*claims] {
        for object in arm.send("GET", path, None).1["items"].as_array().into_iter().flatten() {
            let path = format!("{path}/{}", object["metadata"]["name"].as_str().expect("a name"));
            arm.send("PATCH", &path, Some(json!({"metadata": {"finalizers": null}})));
        }
    }
}

/// Waits until the real scheduler has seen all nodes: a pod is bound that only the last change of one allows.
pub fn nodes_are_seen(real: &Real, namespace: &str, node: &str) {
    let seen = json!({"metadata": {"labels": {"seen": namespace}}});
    real.must("PATCH", &format!("/api/v1/nodes/{node}"), Some(seen));
    let probe = json!({
        "metadata": {"name": "probe"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "nodeSelector": {"seen": namespace},
            "tolerations": [{"operator": "Exists"}],
        },
    });
    real.must("POST", &format!("/api/v1/namespaces/{namespace}/pods"), Some(probe));
    let path = pod_path(namespace, "probe");
    let bound = |arm: &dyn Arm| {
        json!(arm.send("GET", &path, None).1["spec"]["nodeName"].as_str().is_some())
    };
    real.comes_to(&[json!(true)], &bound).expect("a node that tolerates everything takes a pod");
    remove_pod(real, &path);
}

/// What our scheduler sees in a cluster.
pub fn view(arm: &dyn Arm) -> View {
    let mut view = View::default();
    for (path, resource) in SEEN {
        let list = arm.send("GET", path, None).1;
        for object in list["items"].as_array().into_iter().flatten() {
            let key = key(resource, object);
            view.set(&key, Some(Object::read(&key, object)));
        }
    }
    view
}

/// The key of an object.
pub fn key(resource: &str, object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or("");
    ObjectKey::new(resource.parse().expect("a type"), text("namespace"), text("name"))
}

/// What ours does with a pod.
pub fn decide(view: &View, pod: &ObjectKey) -> scheduler::Decision {
    scheduler::decide(view, pod, Time(1_800_000_000_000_000_000)).expect("a pod for the scheduler")
}

/// The condition that says whether a pod has a node.
pub fn scheduled(pod: &Value) -> Value {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|one| one["type"] == "PodScheduled").cloned().unwrap_or(Value::Null)
}
