//! Objects and patches that controllers send, as JSON: what upstream's send, for whoever carries out a [`crate::Request`].

use serde_json::{Map, Value, json};
use trace::ObjectKey;

use crate::{
    Owner,
    deployment::{DeploymentCondition, DeploymentStatus},
    namespace::Condition,
    object::Labels,
    replica_set::ReplicaSetStatus,
    request::NewReplicaSet,
    selector::{Expression, Selector},
    template::Template,
    write::counts,
};

mod pods;

pub use pods::pod_state;

/// Labels, annotations.
pub fn labels(labels: &Labels) -> Value {
    labels.iter().map(|(key, value)| (key.to_string(), json!(value))).collect::<Map<_, _>>().into()
}

/// An entry of `metadata.ownerReferences`.
pub fn owner(owner: &Owner) -> Value {
    json!({
        "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid,
        "controller": owner.controller, "blockOwnerDeletion": owner.blocks,
    })
}

/// `controller.GetPodFromTemplate`.
pub fn pod(generate_name: &str, of: &Owner, template: &Template) -> Value {
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

/// A Binding of a pod to a node.
pub fn binding(key: &ObjectKey, uid: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid},
        "target": {"kind": "Node", "name": node},
    })
}

/// What a descheduler sends for one of its plugins (`pkg/descheduler/evictions`, `evictPod`).
pub fn eviction(
    key: &ObjectKey,
    (profile, plugin): (&str, &str),
    grace_seconds: Option<i64>,
) -> Value {
    let mut options = json!({});
    if let Some(seconds) = grace_seconds {
        options["gracePeriodSeconds"] = json!(seconds);
    }
    json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {
            "name": key.name, "namespace": key.namespace,
            "annotations": {
                "reason": format!("triggered by {profile}/{plugin}: "),
                "requested-by": "sigs.k8s.io/descheduler",
            },
        },
        "deleteOptions": options,
    })
}

/// An entry of `status.conditions` of a Namespace.
pub fn namespace_condition(condition: &Condition) -> Value {
    json!({
        "type": condition.kind,
        "status": if condition.status { "True" } else { "False" },
        "lastTransitionTime": condition.since.rfc3339(),
        "reason": condition.reason,
        "message": condition.message,
    })
}

/// Sets what stands at a JSON pointer without escapes; null removes it.
pub fn set(object: &mut Value, pointer: &str, value: &Value) {
    let Some((parents, field)) = pointer.rsplit_once('/') else { return };
    let mut at = object;
    for step in parents.split('/').filter(|step| !step.is_empty()) {
        at = &mut at[step];
    }
    match at.as_object_mut() {
        Some(fields) if value.is_null() => {
            fields.remove(field);
        }
        _ => at[field] = value.clone(),
    }
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

/// A ReplicaSet of a Deployment, with its hash in selector, labels and template.
pub fn replica_set(new: &NewReplicaSet) -> Value {
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

/// `status` of a ReplicaSet.
pub fn replica_set_status(status: &ReplicaSetStatus) -> Value {
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

/// `status` of a Deployment.
pub fn deployment_status(status: &DeploymentStatus) -> Value {
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
