//! Objects and patches that controllers send.

use controllers::{
    Owner,
    deployment::{DeploymentCondition, DeploymentStatus},
    object::Labels,
    replica_set::ReplicaSetStatus,
    request::NewReplicaSet,
    selector::{Expression, Selector},
    template::Template,
};
use serde_json::{Map, Value, json};
use trace::{ObjectKey, Time};

pub(super) fn labels(labels: &Labels) -> Value {
    labels.iter().map(|(key, value)| (key.to_string(), json!(value))).collect::<Map<_, _>>().into()
}

pub(super) fn owner(owner: &Owner) -> Value {
    json!({
        "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid,
        "controller": owner.controller, "blockOwnerDeletion": owner.blocks,
    })
}

/// `controller.GetPodFromTemplate`.
pub(super) fn pod(generate_name: &str, of: &Owner, template: &Template) -> Value {
    let given = &template.value["metadata"];
    let mut metadata = json!({"generateName": generate_name, "ownerReferences": [owner(of)]});
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = given.get(field) {
            metadata[field] = value.clone();
        }
    }
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.value["spec"],
    })
}

pub(super) fn binding(key: &ObjectKey, uid: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid},
        "target": {"kind": "Node", "name": node},
    })
}

pub(super) fn unschedulable(message: &str, since: Time) -> Value {
    json!({"status": {"conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
        "lastProbeTime": null, "lastTransitionTime": since.rfc3339(),
    }]}})
}

/// What a kubelet says of a pod whose containers all run, or have all ended well.
pub(super) fn running(
    pod: &Value,
    uid: &str,
    phase: &str,
    (host, address): (&str, &str),
    since: Time,
) -> Value {
    let (now, ended) = (since.rfc3339(), phase == "Succeeded");
    let over = || {
        json!({"terminated": {
            "exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now,
        }})
    };
    let containers = |field: &str, over_now: bool| -> Vec<Value> {
        let list = pod["spec"][field].as_array();
        let told = |container: &Value| {
            let state = if over_now { over() } else { json!({"running": {"startedAt": now}}) };
            json!({
                "name": container["name"], "image": container["image"],
                "imageID": container["image"], "restartCount": 0,
                "ready": !ended, "started": !over_now, "state": state,
            })
        };
        list.into_iter().flatten().map(told).collect()
    };
    let ready = if ended { "False" } else { "True" };
    let conditions: Vec<Value> = [
        ("PodReadyToStartContainers", ready),
        ("Initialized", "True"),
        ("Ready", ready),
        ("ContainersReady", ready),
    ]
    .iter()
    .map(|(kind, status)| {
        let mut condition = json!({
            "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": now,
        });
        if ended {
            condition["reason"] = json!("PodCompleted");
        }
        condition
    })
    .collect();
    let mut status = json!({
        "phase": phase, "conditions": conditions, "hostIP": host, "hostIPs": [{"ip": host}], "podIP": address,
        "podIPs": [{"ip": address}], "containerStatuses": containers("containers", ended),
    });
    if pod["spec"]["initContainers"].is_array() {
        status["initContainerStatuses"] = json!(containers("initContainers", true));
    }
    if pod["status"]["startTime"].is_null() {
        status["startTime"] = json!(now);
    }
    json!({"metadata": {"uid": uid}, "status": status})
}

fn selector(selector: &Selector) -> Value {
    let mut value = json!({"matchLabels": labels(&selector.labels)});
    let expression = |e: &Expression| {
        let mut value = json!({"key": e.key, "operator": e.operator});
        if !e.values.is_empty() {
            value["values"] = json!(e.values);
        }
        value
    };
    if !selector.expressions.is_empty() {
        value["matchExpressions"] = selector.expressions.iter().map(expression).collect();
    }
    value
}

pub(super) fn replica_set(new: &NewReplicaSet) -> Value {
    let hashed = |labels: &Value| {
        let mut labels = labels.clone();
        labels["pod-template-hash"] = json!(new.hash);
        labels
    };
    let mut template = (*new.template.value).clone();
    template["metadata"]["labels"] = hashed(&labels(&new.template.labels));
    let mut selector = selector(&new.selector);
    selector["matchLabels"] = hashed(&selector["matchLabels"]);
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": new.key.name,
            "namespace": new.key.namespace,
            "labels": template["metadata"]["labels"],
            "annotations": labels(&new.annotations),
            "ownerReferences": [owner(&new.owner)],
        },
        "spec": {
            "replicas": new.replicas,
            "minReadySeconds": new.min_ready_seconds,
            "selector": selector,
            "template": template,
        },
    })
}

/// Sets numbers that are not zero, as Go's `omitempty`.
fn counts(status: &mut Value, counts: &[(&str, i64)]) {
    for (field, count) in counts.iter().filter(|(_, count)| *count != 0) {
        status[*field] = json!(count);
    }
}

pub(super) fn replica_set_status(status: &ReplicaSetStatus) -> Value {
    let mut value = json!({"replicas": status.replicas});
    counts(
        &mut value,
        &[
            ("fullyLabeledReplicas", status.fully_labeled),
            ("readyReplicas", status.ready),
            ("availableReplicas", status.available),
            ("observedGeneration", status.observed_generation),
        ],
    );
    if let Some(terminating) = status.terminating {
        value["terminatingReplicas"] = json!(terminating);
    }
    if let Some((since, reason, message)) = &status.failure {
        value["conditions"] = json!([{
            "type": "ReplicaFailure", "status": "True", "lastTransitionTime": since.rfc3339(),
            "reason": reason, "message": message,
        }]);
    }
    value
}

pub(super) fn deployment_status(status: &DeploymentStatus) -> Value {
    let mut value = json!({});
    counts(
        &mut value,
        &[
            ("observedGeneration", status.observed_generation),
            ("replicas", status.replicas),
            ("updatedReplicas", status.updated),
            ("readyReplicas", status.ready),
            ("availableReplicas", status.available),
            ("unavailableReplicas", status.unavailable),
        ],
    );
    if let Some(terminating) = status.terminating {
        value["terminatingReplicas"] = json!(terminating);
    }
    if let Some(collisions) = status.collisions {
        value["collisionCount"] = json!(collisions);
    }
    let condition = |condition: &DeploymentCondition| {
        json!({
            "type": condition.kind, "status": condition.status,
            "lastUpdateTime": condition.updated.rfc3339(),
            "lastTransitionTime": condition.since.rfc3339(),
            "reason": condition.reason, "message": condition.message,
        })
    };
    if !status.conditions.is_empty() {
        value["conditions"] = status.conditions.iter().map(condition).collect();
    }
    value
}
