//! Objects and patches that controllers send.

use base64::{Engine, engine::general_purpose::STANDARD};
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
use trace::ObjectKey;

use crate::{auth::token, world::meta};

mod pods;

pub(super) use pods::pod_state;

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

/// What a descheduler sends for one of its plugins (`pkg/descheduler/evictions`, `evictPod`).
pub(super) fn eviction(
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

/// A Secret with what it lacks of a token of this account (name and uid).
pub(super) fn token_secret(
    mut secret: Value,
    (account, uid): (&str, &str),
    authority: Option<&str>,
) -> Value {
    let namespace = meta(&secret, "namespace").to_owned();
    let name = meta(&secret, "name").to_owned();
    let lacks =
        |secret: &Value, field: &str| secret["data"][field].as_str().is_none_or(str::is_empty);
    if let Some(authority) = authority {
        secret["data"]["ca.crt"] = json!(authority);
    }
    if lacks(&secret, "namespace") {
        secret["data"]["namespace"] = json!(STANDARD.encode(&namespace));
    }
    if lacks(&secret, "token") {
        let token = token::of_secret(&namespace, &name, (account, uid));
        secret["data"]["token"] = json!(STANDARD.encode(token));
    }
    for (annotation, text) in [("name", account), ("uid", uid)] {
        let annotation = format!("kubernetes.io/service-account.{annotation}");
        secret["metadata"]["annotations"][annotation] = json!(text);
    }
    secret
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
