//! What a controller's request is at the API: verb, subresource, media type and body, as upstream's controllers send them.
//!
//! A PUT carries the stored object with the fields that the request names and the revision that the controller saw: where
//! that is not the stored one, the answer is the same 409.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Revision, Verb};

use crate::{
    bodies,
    request::{PodState, Propagation, Request},
    scheduler::nodes,
};

/// Media type of objects and options.
pub const JSON: &str = "application/json";
/// RFC 7386.
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// Kubernetes' own, for built-in types.
pub const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
/// Server-side apply.
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// One call of the API.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// What is done.
    pub verb: Verb,
    /// With which object; one without a name for collections.
    pub key: &'a ObjectKey,
    /// Empty for the object itself.
    pub subresource: &'a str,
    /// Media type of the body.
    pub content_type: &'a str,
    /// What is sent.
    pub body: Value,
}

/// What calls are made from, besides requests.
pub trait Around {
    /// The stored object, as far as it is known.
    fn object(&self, key: &ObjectKey) -> Option<Arc<Value>>;
    /// Whether a type is custom: such take no strategic patches.
    fn is_custom(&self, resource: &GroupResource) -> bool;
    /// An address for a pod that has none.
    fn pod_address(&mut self) -> String;
}

/// Why a request is no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCall {
    /// The object from which it is made is not there: as good as a 404.
    Absent,
    /// It is a read, nothing for the API, or made with keys that only the cluster has.
    Otherwise,
}

/// The type by which it is asked whether somebody may do something.
pub fn reviews() -> GroupResource {
    GroupResource::new("authorization.k8s.io", "subjectaccessreviews")
}

/// The object that a request is about; for collections one without a name.
pub fn key_of(request: &Request) -> ObjectKey {
    match request {
        Request::Delete { key, .. }
        | Request::RemoveOwners { key, .. }
        | Request::UnblockOwners { key, .. }
        | Request::SetFinalizers { key, .. }
        | Request::Adopt { key, .. }
        | Request::Bind { key, .. }
        | Request::Evict { key, .. }
        | Request::PatchStatus { key, .. }
        | Request::PodCondition { key, .. }
        | Request::PodPhase { key, .. }
        | Request::RemoveFinalizer { key, .. }
        | Request::Create { key, .. }
        | Request::Apply { key, .. }
        | Request::Update { key, .. }
        | Request::GetScale { key }
        | Request::SetScale { key, .. }
        | Request::FillToken { key, .. }
        | Request::IssueCertificate { key, .. }
        | Request::Remember { key, .. }
        | Request::UpdateReplicaSet { key, .. }
        | Request::ReplicaSetStatus { key, .. }
        | Request::DeploymentStatus { key, .. }
        | Request::NamespaceStatus { key, .. }
        | Request::NamespaceFinalize { key, .. } => key.clone(),
        Request::CreateReplicaSet(new) => new.key.clone(),
        Request::CreatePod { namespace, .. } => {
            ObjectKey::new(GroupResource::new("", "pods"), namespace, "")
        }
        Request::Review { .. } => ObjectKey::new(reviews(), "", ""),
        Request::DeleteCollection { resource, namespace, .. }
        | Request::List { resource, namespace } => ObjectKey::new(resource.clone(), namespace, ""),
    }
}

/// What a request is at the API. `key` is [`key_of`] it.
///
/// # Errors
/// It is made from a stored object that is not there; it is no call that is made of its words alone.
pub fn call<'a>(
    request: &'a Request,
    key: &'a ObjectKey,
    around: &mut impl Around,
) -> Result<Call<'a>, NoCall> {
    let verb =
        |verb, subresource, content_type, body| Call { verb, key, subresource, content_type, body };
    let strategic = match around.is_custom(&key.resource) {
        true => None,
        false => Some(STRATEGIC_PATCH),
    };
    Ok(match request {
        Request::Delete { uid, revision, propagation, grace_seconds, .. } => {
            let mut options = json!({
                "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
            });
            if let Some(revision) = revision {
                options["preconditions"]["resourceVersion"] = json!(revision.to_string());
            }
            if let Some(propagation) = propagation {
                options["propagationPolicy"] = json!(policy(*propagation));
            }
            if let Some(seconds) = grace_seconds {
                options["gracePeriodSeconds"] = json!(seconds);
            }
            verb(Verb::Delete, "", JSON, options)
        }
        Request::DeleteCollection { propagation, .. } => {
            let options = json!({
                "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy(*propagation),
            });
            verb(Verb::DeleteCollection, "", JSON, options)
        }
        Request::RemoveOwners { uid, owners, .. } => match strategic {
            Some(content_type) => {
                let gone: Vec<Value> =
                    owners.iter().map(|owner| json!({"$patch": "delete", "uid": owner})).collect();
                let patch = json!({"metadata": {"uid": uid, "ownerReferences": gone}});
                verb(Verb::Patch, "", content_type, patch)
            }
            None => {
                let kept = |reference: &Value| {
                    let of = reference["uid"].as_str().unwrap_or("");
                    owners.iter().all(|owner| **owner != *of).then(|| reference.clone())
                };
                verb(Verb::Patch, "", MERGE_PATCH, owners_patch(&stored(around, key)?, uid, &kept))
            }
        },
        Request::UnblockOwners { uid, .. } => {
            let unblocked = |reference: &Value| {
                let mut reference = reference.clone();
                reference["blockOwnerDeletion"] = json!(false);
                Some(reference)
            };
            let patch = owners_patch(&stored(around, key)?, uid, &unblocked);
            verb(Verb::Patch, "", strategic.unwrap_or(MERGE_PATCH), patch)
        }
        Request::SetFinalizers { revision, finalizers, .. } => {
            let finalizers = if finalizers.is_empty() { Value::Null } else { json!(finalizers) };
            let patch = json!({"metadata": {
                "resourceVersion": revision.to_string(), "finalizers": finalizers,
            }});
            verb(Verb::Patch, "", MERGE_PATCH, patch)
        }
        Request::RemoveFinalizer { uid, name, .. } => {
            let patch = json!({"metadata": {
                "uid": uid, "$deleteFromPrimitiveList/finalizers": [name],
            }});
            verb(Verb::Patch, "", STRATEGIC_PATCH, patch)
        }
        Request::NamespaceStatus { revision, phase, conditions, .. } => {
            let mut object = seen(around, key, *revision)?;
            object["status"] = json!({"phase": phase});
            if !conditions.is_empty() {
                object["status"]["conditions"] =
                    conditions.iter().map(bodies::namespace_condition).collect();
            }
            verb(Verb::Update, "status", JSON, object)
        }
        Request::NamespaceFinalize { revision, finalizers, .. } => {
            let mut object = seen(around, key, *revision)?;
            object["spec"]["finalizers"] = json!(finalizers);
            verb(Verb::Update, "finalize", JSON, object)
        }
        Request::Create { object, .. } => verb(Verb::Create, "", JSON, (**object).clone()),
        Request::Apply { object, .. } => verb(Verb::Patch, "", APPLY_PATCH, (**object).clone()),
        Request::Update { revision, subresource, fields, .. } => {
            let mut object = seen(around, key, *revision)?;
            for (pointer, value) in fields {
                bodies::set(&mut object, pointer, value);
            }
            verb(Verb::Update, subresource, JSON, object)
        }
        Request::Adopt { uid, owner, finalizer, .. } => {
            let mut patch =
                json!({"metadata": {"uid": uid, "ownerReferences": [bodies::owner(owner)]}});
            if let Some(finalizer) = finalizer {
                patch["metadata"]["finalizers"] = json!([finalizer]);
            }
            verb(Verb::Patch, "", STRATEGIC_PATCH, patch)
        }
        Request::CreatePod { generate_name, owner, template, .. } => {
            verb(Verb::Create, "", JSON, bodies::pod(generate_name, owner, template))
        }
        Request::Bind { uid, node, .. } => {
            verb(Verb::Create, "binding", JSON, bodies::binding(key, uid, node))
        }
        Request::Evict { profile, plugin, grace_seconds, .. } => {
            let eviction = bodies::eviction(key, (profile, plugin), *grace_seconds);
            verb(Verb::Create, "eviction", JSON, eviction)
        }
        Request::PatchStatus { uid, status, .. } => {
            let patch = json!({"metadata": {"uid": uid}, "status": status});
            verb(Verb::Patch, "status", STRATEGIC_PATCH, patch)
        }
        Request::PodCondition { uid, kind, status, reason, message, since, phase, .. } => {
            let condition = json!({
                "type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": since.rfc3339(),
            });
            let mut patch = json!({"metadata": {"uid": uid}, "status": {}});
            if !kind.is_empty() {
                patch["status"]["conditions"] = json!([condition]);
            }
            if let Some(phase) = phase {
                patch["status"]["phase"] = json!(phase);
            }
            verb(Verb::Patch, "status", STRATEGIC_PATCH, patch)
        }
        Request::PodPhase { uid, state, since, .. } => {
            let pod = stored(around, key)?;
            let host = host_address(around, &pod);
            let address = match pod.pointer("/status/podIP").and_then(Value::as_str) {
                Some(known) => known.to_owned(),
                // Without its volumes it has no network yet.
                None if matches!(state, PodState::Waits { lacks, .. } if lacks.is_empty()) => {
                    String::new()
                }
                None if pod["spec"]["hostNetwork"] == true => host.clone(),
                None => around.pod_address(),
            };
            let patch = bodies::pod_state(&pod, uid, state, (&host, &address), *since);
            verb(Verb::Patch, "status", STRATEGIC_PATCH, patch)
        }
        Request::CreateReplicaSet(new) => verb(Verb::Create, "", JSON, bodies::replica_set(new)),
        Request::UpdateReplicaSet {
            revision, replicas, min_ready_seconds, annotations, ..
        } => {
            let mut object = seen(around, key, *revision)?;
            object["spec"]["replicas"] = json!(replicas);
            object["spec"]["minReadySeconds"] = json!(min_ready_seconds);
            object["metadata"]["annotations"] = bodies::labels(annotations);
            verb(Verb::Update, "", JSON, object)
        }
        Request::ReplicaSetStatus { revision, status, .. } => {
            let mut object = seen(around, key, *revision)?;
            object["status"] = bodies::replica_set_status(status);
            verb(Verb::Update, "status", JSON, object)
        }
        Request::DeploymentStatus { revision, annotations, status, .. } => {
            let mut object = seen(around, key, *revision)?;
            object["metadata"]["annotations"] = bodies::labels(annotations);
            object["status"] = bodies::deployment_status(status);
            verb(Verb::Update, "status", JSON, object)
        }
        Request::SetScale { revision, replicas, .. } => {
            let scale = json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {
                    "name": key.name, "namespace": key.namespace,
                    "resourceVersion": revision.to_string(),
                },
                "spec": {"replicas": replicas},
            });
            verb(Verb::Update, "scale", JSON, scale)
        }
        Request::List { .. }
        | Request::GetScale { .. }
        | Request::Remember { .. }
        | Request::Review { .. }
        | Request::FillToken { .. }
        | Request::IssueCertificate { .. } => return Err(NoCall::Otherwise),
    })
}

fn policy(propagation: Propagation) -> &'static str {
    match propagation {
        Propagation::Orphan => "Orphan",
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
    }
}

/// A merge patch of all owner references.
fn owners_patch(object: &Value, uid: &str, of: &dyn Fn(&Value) -> Option<Value>) -> Value {
    let references = object["metadata"]["ownerReferences"].as_array();
    let left: Vec<Value> = references.into_iter().flatten().filter_map(of).collect();
    let left = if left.is_empty() { Value::Null } else { Value::Array(left) };
    json!({"metadata": {
        "uid": uid, "resourceVersion": object["metadata"]["resourceVersion"], "ownerReferences": left,
    }})
}

/// The first address of the node that a pod is bound to.
fn host_address(around: &impl Around, pod: &Value) -> String {
    let node = pod["spec"]["nodeName"].as_str().unwrap_or("");
    let node = around.object(&ObjectKey::new(nodes(), "", node));
    let address =
        node.as_ref().and_then(|node| node.pointer("/status/addresses/0/address")?.as_str());
    address.unwrap_or("").to_owned()
}

fn stored(around: &impl Around, key: &ObjectKey) -> Result<Value, NoCall> {
    around.object(key).map(Arc::unwrap_or_clone).ok_or(NoCall::Absent)
}

/// The stored object as if the controller had seen it at this revision.
fn seen(around: &impl Around, key: &ObjectKey, revision: Revision) -> Result<Value, NoCall> {
    let mut object = stored(around, key)?;
    object["metadata"]["resourceVersion"] = json!(revision.to_string());
    Ok(object)
}
