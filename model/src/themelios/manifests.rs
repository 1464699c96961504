//! The objects that models begin with, with the defaults that the API server gives them.

use serde_json::{Value, json};

pub(super) fn node_name(number: usize) -> String {
    format!("node-{number}")
}

pub(super) fn node(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": node_name(number)},
        "status": {
            "allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// One container without requests.
fn template(restart_policy: &str) -> Value {
    json!({"metadata": {"labels": {"name": "test"}}, "spec": pod_spec(restart_policy)})
}

fn pod_spec(restart_policy: &str) -> Value {
    json!({
        "restartPolicy": restart_policy, "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler", "containers": [{"name": "fake", "image": "v1"}],
    })
}

fn workload(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": if kind == "Job" { "batch/v1" } else { "apps/v1" }, "kind": kind,
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// A Deployment with an annotation that its ReplicaSets get, and one that they don't.
pub(super) fn deployment(replicas: u32) -> Value {
    let quarter = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
    let mut deployment = workload(
        "Deployment",
        "deployment",
        json!({
            "replicas": replicas, "selector": {"matchLabels": {"name": "test"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": quarter},
            "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "template": template("Always"),
        }),
    );
    deployment["metadata"]["annotations"] =
        json!({"test": "value", super::properties::LAST_APPLIED: "value"});
    deployment
}

pub(super) fn replica_set(name: &str, replicas: u32) -> Value {
    let selector = json!({"matchLabels": {"name": "test"}});
    let spec = json!({"replicas": replicas, "selector": selector, "template": template("Always")});
    let mut set = workload("ReplicaSet", name, spec);
    set["metadata"]["labels"] = json!({"name": "test"});
    set["metadata"]["annotations"] = json!({"test": "value"});
    set
}

pub(super) fn stateful_set(replicas: u32) -> Value {
    workload(
        "StatefulSet",
        "web",
        json!({
            "replicas": replicas, "selector": {"matchLabels": {"name": "test"}},
            "serviceName": "web", "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "template": template("Always"),
        }),
    )
}

/// A pod that nobody owns.
pub(super) fn spare_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "zspare-pod", "namespace": "default"},
        "spec": pod_spec("Always"), "status": {"phase": "Pending"},
    })
}

/// A Job that has as many pods at a time as it needs to succeed.
pub(super) fn job(parallelism: u32) -> Value {
    let mut template = template("Never");
    let uid = json!({"batch.kubernetes.io/controller-uid": "job"});
    template["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] = json!("job");
    let mut job = workload(
        "Job",
        "job",
        json!({
            "parallelism": parallelism, "completions": parallelism, "backoffLimit": 6,
            "completionMode": "NonIndexed", "suspend": false, "podReplacementPolicy": "TerminatingOrFailed",
            "selector": {"matchLabels": uid}, "template": template,
        }),
    );
    job["metadata"]["uid"] = json!("job");
    job
}
