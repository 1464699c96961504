//! What a request changes of an object that is there.

use controllers::{Propagation, Request, bodies};
use serde_json::{Map, Value, json};
use trace::{ObjectKey, Revision, Time};

use super::Answer;

type Change<'r> = Box<dyn FnOnce(&mut Value) -> Result<(), Answer> + 'r>;

/// A change of one object.
pub(super) struct Edit<'r> {
    /// Precondition.
    pub uid: Option<&'r str>,
    /// Precondition.
    pub revision: Option<Revision>,
    pub change: Change<'r>,
}

fn by_uid<'r>(uid: &'r str, change: impl FnOnce(&mut Value) + 'r) -> Option<Edit<'r>> {
    let change: Change<'r> = Box::new(|value| {
        change(value);
        Ok(())
    });
    Some(Edit { uid: Some(uid), revision: None, change })
}

fn by_revision<'r>(revision: Revision, change: impl FnOnce(&mut Value) + 'r) -> Option<Edit<'r>> {
    let change: Change<'r> = Box::new(|value| {
        change(value);
        Ok(())
    });
    Some(Edit { uid: None, revision: Some(revision), change })
}

/// The object that a request changes; none if it changes none that is there.
pub(super) fn key_of(request: &Request) -> Option<&ObjectKey> {
    match request {
        Request::Delete { key, .. }
        | Request::RemoveOwners { key, .. }
        | Request::UnblockOwners { key, .. }
        | Request::SetFinalizers { key, .. }
        | Request::RemoveFinalizer { key, .. }
        | Request::Adopt { key, .. }
        | Request::Update { key, .. }
        | Request::SetScale { key, .. }
        | Request::UpdateReplicaSet { key, .. }
        | Request::ReplicaSetStatus { key, .. }
        | Request::DeploymentStatus { key, .. }
        | Request::NamespaceStatus { key, .. }
        | Request::NamespaceFinalize { key, .. }
        | Request::Bind { key, .. }
        | Request::PatchStatus { key, .. }
        | Request::PodCondition { key, .. }
        | Request::PodPhase { key, .. } => Some(key),
        _ => None,
    }
}

/// Begins the deletion of an object.
pub(super) fn delete(
    value: &mut Value,
    propagation: Option<Propagation>,
    grace_seconds: Option<i64>,
    now: Time,
) {
    let finalizer = match propagation {
        Some(Propagation::Orphan) => Some("orphan"),
        Some(Propagation::Foreground) => Some("foregroundDeletion"),
        Some(Propagation::Background) | None => None,
    };
    if let Some(finalizer) = finalizer {
        add_to_list(&mut value["metadata"], "finalizers", &json!(finalizer));
    }
    let seconds = seconds_to_end(value, grace_seconds);
    let left = value["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    if value["metadata"]["deletionTimestamp"].is_null() || left > seconds {
        let at = now.plus(std::time::Duration::from_secs(seconds.unsigned_abs()));
        value["metadata"]["deletionTimestamp"] = json!(at.rfc3339());
        value["metadata"]["deletionGracePeriodSeconds"] = json!(seconds);
    }
}

/// How long a pod may take to end (`podStrategy.CheckGracefulDelete`); other objects take no time.
fn seconds_to_end(value: &Value, asked: Option<i64>) -> i64 {
    let ended = matches!(value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let bound = value["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    if value["kind"] != "Pod" || ended || !bound {
        return 0;
    }
    let own = value["spec"]["terminationGracePeriodSeconds"].as_i64();
    asked.or(own).unwrap_or(30).max(0)
}

/// What `request` changes; none if it changes no object that is there, or if nobody in a model sends it.
pub(super) fn edit(request: &Request, now: Time) -> Option<Edit<'_>> {
    match request {
        Request::Delete { uid, revision, propagation, grace_seconds, .. } => {
            let change: Change<'_> = Box::new(move |value| {
                delete(value, *propagation, *grace_seconds, now);
                Ok(())
            });
            Some(Edit { uid: Some(uid), revision: *revision, change })
        }
        Request::RemoveOwners { uid, owners, .. } => by_uid(uid, move |value| {
            let gone = |owner: &Value| owners.iter().any(|uid| owner["uid"] == **uid);
            retain(&mut value["metadata"], "ownerReferences", |owner| !gone(owner));
        }),
        Request::UnblockOwners { uid, .. } => by_uid(uid, move |value| {
            let owners = value["metadata"]["ownerReferences"].as_array_mut();
            for owner in owners.into_iter().flatten() {
                owner["blockOwnerDeletion"] = json!(false);
            }
        }),
        Request::SetFinalizers { revision, finalizers, .. } => {
            by_revision(*revision, move |value| {
                let list = if finalizers.is_empty() { Value::Null } else { json!(finalizers) };
                bodies::set(value, "/metadata/finalizers", &list);
            })
        }
        Request::RemoveFinalizer { uid, name, .. } => by_uid(uid, move |value| {
            retain(&mut value["metadata"], "finalizers", |one| *one != **name);
        }),
        Request::Adopt { uid, owner, finalizer, .. } => by_uid(uid, move |value| {
            let metadata = &mut value["metadata"];
            add_to_list(metadata, "ownerReferences", &bodies::owner(owner));
            if let Some(finalizer) = finalizer {
                add_to_list(metadata, "finalizers", &json!(finalizer));
            }
        }),
        Request::Update { revision, fields, .. } => by_revision(*revision, move |value| {
            for (pointer, field) in fields {
                bodies::set(value, pointer, field);
            }
        }),
        Request::SetScale { revision, replicas, .. } => by_revision(*revision, move |value| {
            value["spec"]["replicas"] = json!(replicas);
        }),
        Request::UpdateReplicaSet {
            revision, replicas, min_ready_seconds, annotations, ..
        } => by_revision(*revision, move |value| {
            value["spec"]["replicas"] = json!(replicas);
            value["spec"]["minReadySeconds"] = json!(min_ready_seconds);
            value["metadata"]["annotations"] = bodies::labels(annotations);
        }),
        Request::ReplicaSetStatus { revision, status, .. } => {
            by_revision(*revision, move |value| {
                value["status"] = bodies::replica_set_status(status);
            })
        }
        Request::DeploymentStatus { revision, annotations, status, .. } => {
            by_revision(*revision, move |value| {
                value["metadata"]["annotations"] = bodies::labels(annotations);
                value["status"] = bodies::deployment_status(status);
            })
        }
        Request::NamespaceStatus { revision, phase, conditions, .. } => {
            by_revision(*revision, move |value| {
                value["status"] = json!({"phase": phase});
                if !conditions.is_empty() {
                    value["status"]["conditions"] =
                        conditions.iter().map(bodies::namespace_condition).collect();
                }
            })
        }
        Request::NamespaceFinalize { revision, finalizers, .. } => {
            by_revision(*revision, move |value| value["spec"]["finalizers"] = json!(finalizers))
        }
        _ => of_pod(request, now),
    }
}

/// What a request changes of a pod, or of a node's status.
fn of_pod(request: &Request, now: Time) -> Option<Edit<'_>> {
    match request {
        Request::Bind { uid, node, .. } => Some(Edit {
            uid: Some(uid),
            revision: None,
            change: Box::new(move |value| bind(value, node, now)),
        }),
        Request::PatchStatus { uid, status, .. } => by_uid(uid, move |value| {
            merge(&mut value["status"], status);
        }),
        Request::PodCondition { uid, kind, status, reason, message, since, phase, .. } => {
            by_uid(uid, move |value| {
                let mut patch = json!({});
                if !kind.is_empty() {
                    patch["conditions"] = json!([{
                        "type": kind, "status": status, "reason": reason, "message": message,
                        "lastTransitionTime": since.rfc3339(),
                    }]);
                }
                if let Some(phase) = phase {
                    patch["phase"] = json!(phase);
                }
                merge(&mut value["status"], &patch);
            })
        }
        Request::PodPhase { uid, state, since, .. } => by_uid(uid, move |value| {
            let patch = bodies::pod_state(value, uid, state, ("", ""), *since);
            merge(&mut value["status"], &patch["status"]);
        }),
        _ => None,
    }
}

/// `BindingREST.setPodNodeAndMetadata`.
fn bind(pod: &mut Value, node: &str, now: Time) -> Result<(), Answer> {
    let bound = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    if bound || !pod["metadata"]["deletionTimestamp"].is_null() {
        return Err(Answer::Refused(409, "Conflict"));
    }
    pod["spec"]["nodeName"] = json!(node);
    let scheduled = json!({"conditions": [{
        "type": "PodScheduled", "status": "True", "lastTransitionTime": now.rfc3339(),
        "reason": null, "message": null,
    }], "nominatedNodeName": null});
    merge(&mut pod["status"], &scheduled);
    Ok(())
}

/// Keeps of a list that is there what is to stay; an empty one goes.
fn retain(of: &mut Value, field: &str, keeps: impl Fn(&Value) -> bool) {
    let Some(list) = of.get_mut(field).and_then(Value::as_array_mut) else { return };
    list.retain(keeps);
    if list.is_empty()
        && let Some(fields) = of.as_object_mut()
    {
        fields.remove(field);
    }
}

/// Adds to a list what is not in it.
fn add_to_list(of: &mut Value, field: &str, value: &Value) {
    match of.get_mut(field).and_then(Value::as_array_mut) {
        Some(list) if list.contains(value) => {}
        Some(list) => list.push(value.clone()),
        None => of[field] = json!([value]),
    }
}

/// A strategic merge patch of a status: null removes, lists of conditions and of container statuses are merged by `type`
/// and `name`, other lists are replaced.
pub(super) fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    for (field, value) in fields {
        match (value, merge_key(field)) {
            (Value::Null, _) => {
                if let Some(fields) = into.as_object_mut() {
                    fields.remove(field);
                }
            }
            (Value::Array(items), Some(key)) => merge_list(&mut into[field], items, key),
            (Value::Object(_), _) => merge(&mut into[field], value),
            _ => into[field] = value.clone(),
        }
    }
}

fn merge_key(field: &str) -> Option<&'static str> {
    match field {
        "conditions" => Some("type"),
        "containerStatuses" | "initContainerStatuses" => Some("name"),
        _ => None,
    }
}

fn merge_list(into: &mut Value, items: &[Value], key: &str) {
    if !into.is_array() {
        *into = json!([]);
    }
    let Some(list) = into.as_array_mut() else { return };
    for item in items {
        let known = list.iter_mut().find(|one| one[key] == item[key]);
        match known {
            // A container's state is one of several: the parts of another one go.
            Some(one) if key == "name" => *one = without_nulls(item),
            Some(one) => merge(one, item),
            None => list.push(without_nulls(item)),
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    let mut clean = json!({});
    merge(&mut clean, value);
    clean
}
