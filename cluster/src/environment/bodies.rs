//! Objects and patches that controllers send.

use base64::{Engine, engine::general_purpose::STANDARD};
use controllers::{
    Owner,
    deployment::{DeploymentCondition, DeploymentStatus},
    kubelet,
    object::Labels,
    replica_set::ReplicaSetStatus,
    request::{NewReplicaSet, PodState},
    selector::{Expression, Selector},
    template::Template,
};
use serde_json::{Map, Value, json};
use trace::{ObjectKey, Time};

use crate::{auth::token, world::meta};

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

/// What a kubelet says of a pod whose containers all do the same.
pub(super) fn pod_state(
    pod: &Value,
    uid: &str,
    state: PodState,
    (host, address): (&str, &str),
    since: Time,
) -> Value {
    let now = since.rfc3339();
    let phase = match state {
        PodState::Running { .. } | PodState::Ended { again: true, .. } => "Running",
        PodState::Ended { code: 0, .. } => "Succeeded",
        PodState::Ended { .. } | PodState::TooLong { .. } => "Failed",
    };
    let told = |container: &Value| container_state(pod, container, state, &now);
    let list = |field: &str| pod["spec"][field].as_array().into_iter().flatten();
    let containers: Vec<Value> = list("containers").map(told).collect();
    let mut status = json!({
        "phase": phase, "conditions": pod_conditions(pod, state, phase, &now), "hostIP": host,
        "hostIPs": [{"ip": host}], "podIP": address, "podIPs": [{"ip": address}],
        "containerStatuses": containers,
    });
    if let PodState::TooLong { .. } = state {
        status["reason"] = json!("DeadlineExceeded");
        status["message"] = json!("Pod was active on the node longer than the specified deadline");
    }
    // Those that go on beside the others do what the others do.
    let is_sidecar = |container: &&Value| container["restartPolicy"] == "Always";
    let first = pod["status"]["initContainerStatuses"].is_null();
    if pod["spec"]["initContainers"].is_array()
        && (first || list("initContainers").any(|container| is_sidecar(&container)))
    {
        let over = PodState::Ended { code: 0, restarts: 0, again: false };
        let told = |container: &Value| {
            if is_sidecar(&container) {
                return told(container);
            }
            let mut told = container_state(pod, container, over, &now);
            told["ready"] = json!(true);
            told
        };
        status["initContainerStatuses"] = list("initContainers").map(told).collect();
    }
    if pod["status"]["startTime"].is_null() {
        status["startTime"] = json!(now);
    }
    json!({"metadata": {"uid": uid}, "status": status})
}

fn pod_conditions(pod: &Value, state: PodState, phase: &str, now: &str) -> [Value; 4] {
    let ready = matches!(state, PodState::Running { ready: true, .. });
    let before = pod["status"]["conditions"].as_array();
    let known = |kind: &Value, status: &str| {
        let mut conditions = before.into_iter().flatten();
        conditions.find(|one| one["type"] == *kind && one["status"] == status)
    };
    let gates = pod["spec"]["readinessGates"].as_array();
    let mut gates = gates.into_iter().flatten();
    let open = gates.all(|gate| known(&gate["conditionType"], "True").is_some());
    let ended = phase != "Running";
    let condition = |(kind, holds): (&str, bool)| {
        let status = if holds { "True" } else { "False" };
        let same = known(&json!(kind), status);
        let at = same.map_or_else(|| json!(now), |found| found["lastTransitionTime"].clone());
        let mut condition = json!({
            "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": at,
        });
        match (ended, holds) {
            (true, _) if phase == "Succeeded" => condition["reason"] = json!("PodCompleted"),
            (true, false) => condition["reason"] = json!("PodFailed"),
            (false, false) if ready => condition["reason"] = json!("ReadinessGatesNotReady"),
            (false, false) => condition["reason"] = json!("ContainersNotReady"),
            _ => {}
        }
        condition
    };
    [
        ("PodReadyToStartContainers", !ended),
        ("Initialized", true),
        ("Ready", ready && open),
        ("ContainersReady", ready),
    ]
    .map(condition)
}

/// A container of it. Since when it runs stays as it was told, and how it ended before.
fn container_state(pod: &Value, container: &Value, state: PodState, now: &str) -> Value {
    let lists = ["containerStatuses", "initContainerStatuses"];
    let mut known = lists.iter().filter_map(|list| pod["status"][*list].as_array()).flatten();
    let known = known.find(|known| known["name"] == container["name"]);
    let started = known.and_then(|known| known.pointer("/state/running/startedAt"));
    let over = |code: i64| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        let at = started.cloned().unwrap_or_else(|| json!(now));
        json!({"terminated": {
            "exitCode": code, "reason": reason, "startedAt": at, "finishedAt": now,
        }})
    };
    let mut last = known.map_or_else(|| json!({}), |known| known["lastState"].clone());
    let (ready, is_started, restarts, what) = match state {
        PodState::Running { started: is_started, ready, restarts } => {
            let same = known.is_some_and(|known| known["restartCount"] == restarts);
            let at = started.filter(|_| same).cloned().unwrap_or_else(|| json!(now));
            (ready, is_started, restarts, json!({"running": {"startedAt": at}}))
        }
        PodState::Ended { code, restarts, again: true } => {
            last = over(code);
            let wait = kubelet::restarts_after(restarts).as_secs();
            let wait = match (wait / 60, wait % 60) {
                (0, seconds) => format!("{seconds}s"),
                (minutes, seconds) => format!("{minutes}m{seconds}s"),
            };
            let message = format!(
                "back-off {wait} restarting failed container={} pod={}_{}({})",
                container["name"].as_str().unwrap_or(""),
                meta(pod, "name"),
                meta(pod, "namespace"),
                meta(pod, "uid"),
            );
            let waits = json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}});
            (false, false, restarts, waits)
        }
        PodState::Ended { code, restarts, .. } => (false, false, restarts, over(code)),
        PodState::TooLong { restarts } => (false, false, restarts, over(kubelet::TERMINATED)),
    };
    json!({
        "name": container["name"], "image": container["image"], "imageID": container["image"],
        "restartCount": restarts, "ready": ready, "started": is_started, "state": what,
        "lastState": last,
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
