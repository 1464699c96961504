//! From a controller's request to an API call with the right actor, user agent and body, and back.
//!
//! Bodies are what upstream's controllers send. A PUT carries the stored object with the fields that the request
//! names and the revision that the controller saw: where that is not the stored one, the answer is the same 409.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use controllers::{
    Controller, Propagation, Request, Response, autoscaler::Scale, bodies, request::PodState,
};
use serde_json::{Value, json};
use trace::{Actor, GroupResource, ObjectKey, Revision, Verb};

use super::{certificates, kind_of};
use crate::{
    route::Route,
    server::{Live, request},
    status::Refusal,
    verbs::{self, Outcome, Payload},
    webhooks::Calls,
    world::meta,
};

/// The release whose controllers these are, for their user agents.
const RELEASE: &str = "v1.36.3";

pub(super) const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
pub(super) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// One call.
pub(super) struct Call<'a> {
    pub(super) verb: Verb,
    pub(super) key: &'a ObjectKey,
    pub(super) subresource: &'a str,
    pub(super) content_type: &'a str,
    pub(super) body: Value,
}

/// What came of a request.
pub(super) struct Sent {
    pub(super) response: Response,
    /// The object that was written, if one was.
    pub(super) written: Option<Arc<Value>>,
}

impl Sent {
    /// The name of what was written; empty where nothing was.
    pub(super) fn name(&self) -> &str {
        self.written.as_ref().map_or("", |object| meta(object, "name"))
    }
}

impl From<Response> for Sent {
    fn from(response: Response) -> Sent {
        Sent { response, written: None }
    }
}

/// Carries out a controller's request.
pub(super) fn send(
    live: &mut Live,
    controller: Controller,
    request: &Request,
    calls: &mut Calls,
) -> Sent {
    if let Request::List { resource, namespace } = request {
        let found = live.world.environment.iter().flat_map(|environment| {
            let listed = environment.view.list(resource, namespace);
            listed.map(|(_, object)| object.meta.clone())
        });
        return Response::Listed(found.collect()).into();
    }
    if let Request::Remember { key, memory } = request {
        if let Some(environment) = live.world.environment.as_mut().map(Arc::make_mut) {
            environment.view.remember(key, memory.clone());
        }
        return Response::Written(None).into();
    }
    if let Request::Review { spec } = request {
        return review(live, controller, spec, calls).into();
    }
    let key = key_of(request);
    if matches!(request, Request::GetScale { .. }) {
        return get_scale(live, controller, &key, calls).into();
    }
    match call(live, &key, request, calls).and_then(|call| outcome(live, controller, &call, calls))
    {
        Ok(outcome) => {
            let written = match outcome.payload {
                Payload::Object(object) => Some(object),
                _ => None,
            };
            let environment = live.world.environment.as_ref();
            let seen = environment.and_then(|environment| environment.view.get(&key).cloned());
            Sent { response: Response::Written(seen), written }
        }
        Err(refusal) => refused(refusal).into(),
    }
}

fn refused(refusal: Refusal) -> Response {
    Response::Refused {
        code: refusal.code,
        reason: reason(&refusal).into(),
        message: refusal.message.into(),
    }
}

fn reviews() -> GroupResource {
    GroupResource::new("authorization.k8s.io", "subjectaccessreviews")
}

/// Asks whether somebody may do something.
fn review(live: &mut Live, controller: Controller, spec: &Value, calls: &mut Calls) -> Response {
    let key = ObjectKey::new(reviews(), "", "");
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec,
    });
    let call = Call { verb: Verb::Create, key: &key, subresource: "", content_type: JSON, body };
    match outcome(live, controller, &call, calls).map(|outcome| outcome.payload) {
        Ok(Payload::Object(review)) => {
            Response::Reviewed(review.pointer("/status/allowed") == Some(&json!(true)))
        }
        Ok(_) => refused(Refusal::internal("a review is an object")),
        Err(refusal) => refused(refusal),
    }
}

/// Reads the `scale` of an object.
fn get_scale(
    live: &mut Live,
    controller: Controller,
    key: &ObjectKey,
    calls: &mut Calls,
) -> Response {
    let call =
        Call { verb: Verb::Get, key, subresource: "scale", content_type: JSON, body: Value::Null };
    let payload = match outcome(live, controller, &call, calls) {
        Ok(outcome) => outcome.payload,
        Err(refusal) => return refused(refusal),
    };
    let Payload::Object(scale) = payload else {
        return refused(Refusal::internal("a scale is an object"));
    };
    let number = |pointer: &str| scale.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    Response::Scale(Scale {
        wanted: number("/spec/replicas"),
        there: number("/status/replicas"),
        selector: scale["status"]["selector"].as_str().unwrap_or("").into(),
        revision: Revision::parse(meta(&scale, "resourceVersion")).unwrap_or_default(),
    })
}

/// A namespace that is being terminated is a cause, not a reason (`apierrors.HasStatusCause`).
fn reason(refusal: &Refusal) -> &str {
    let causes = refusal.details.get("causes").and_then(Value::as_array).into_iter().flatten();
    let mut reasons = causes.filter_map(|cause| cause["reason"].as_str());
    reasons.find(|reason| *reason == "NamespaceTerminating").unwrap_or(&refusal.reason)
}

/// The object that a request is about; for collections one without a name.
fn key_of(request: &Request) -> ObjectKey {
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

fn call<'a>(
    live: &mut Live,
    key: &'a ObjectKey,
    request: &'a Request,
    calls: &mut Calls,
) -> Result<Call<'a>, Refusal> {
    let verb =
        |verb, subresource, content_type, body| Call { verb, key, subresource, content_type, body };
    let strategic = match live.world.customs.contains_key(&key.resource) {
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
                verb(Verb::Patch, "", MERGE_PATCH, owners_patch(&stored(live, key)?, uid, &kept))
            }
        },
        Request::UnblockOwners { uid, .. } => {
            let unblocked = |reference: &Value| {
                let mut reference = reference.clone();
                reference["blockOwnerDeletion"] = json!(false);
                Some(reference)
            };
            let patch = owners_patch(&stored(live, key)?, uid, &unblocked);
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
            let mut object = seen(live, key, *revision)?;
            object["status"] = json!({"phase": phase});
            if !conditions.is_empty() {
                object["status"]["conditions"] =
                    conditions.iter().map(bodies::namespace_condition).collect();
            }
            verb(Verb::Update, "status", JSON, object)
        }
        Request::NamespaceFinalize { revision, finalizers, .. } => {
            let mut object = seen(live, key, *revision)?;
            object["spec"]["finalizers"] = json!(finalizers);
            verb(Verb::Update, "finalize", JSON, object)
        }
        Request::Create { object, .. } => verb(Verb::Create, "", JSON, (**object).clone()),
        Request::Apply { object, .. } => verb(Verb::Patch, "", APPLY_PATCH, (**object).clone()),
        Request::Update { revision, subresource, fields, .. } => {
            let mut object = seen(live, key, *revision)?;
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
            let pod = stored(live, key)?;
            let host = host_address(live, &pod);
            let address = match pod.pointer("/status/podIP").and_then(Value::as_str) {
                Some(known) => known.to_owned(),
                // Without its volumes it has no network yet.
                None if matches!(state, PodState::Waits { lacks, .. } if lacks.is_empty()) => {
                    String::new()
                }
                None if pod["spec"]["hostNetwork"] == true => host.clone(),
                None => calls.draw(|| live.world.names.pod_ip().to_string()),
            };
            let patch = bodies::pod_state(&pod, uid, state, (&host, &address), *since);
            verb(Verb::Patch, "status", STRATEGIC_PATCH, patch)
        }
        Request::CreateReplicaSet(new) => verb(Verb::Create, "", JSON, bodies::replica_set(new)),
        Request::UpdateReplicaSet {
            revision, replicas, min_ready_seconds, annotations, ..
        } => {
            let mut object = seen(live, key, *revision)?;
            object["spec"]["replicas"] = json!(replicas);
            object["spec"]["minReadySeconds"] = json!(min_ready_seconds);
            object["metadata"]["annotations"] = bodies::labels(annotations);
            verb(Verb::Update, "", JSON, object)
        }
        Request::ReplicaSetStatus { revision, status, .. } => {
            let mut object = seen(live, key, *revision)?;
            object["status"] = bodies::replica_set_status(status);
            verb(Verb::Update, "status", JSON, object)
        }
        Request::DeploymentStatus { revision, annotations, status, .. } => {
            let mut object = seen(live, key, *revision)?;
            object["metadata"]["annotations"] = bodies::labels(annotations);
            object["status"] = bodies::deployment_status(status);
            verb(Verb::Update, "status", JSON, object)
        }
        Request::FillToken { revision, account, uid, authority, .. } => {
            let secret =
                token_secret(seen(live, key, *revision)?, (account, uid), authority.as_deref());
            verb(Verb::Update, "", JSON, secret)
        }
        Request::IssueCertificate { revision, certificate, .. } => {
            let mut object = seen(live, key, *revision)?;
            let issued = certificates::issue(certificate, meta(&object, "uid"));
            object["status"]["certificate"] = json!(STANDARD.encode(issued));
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
        | Request::Review { .. } => {
            return Err(Refusal::internal("it is answered otherwise"));
        }
    })
}

/// A Secret with what it lacks of a token of this account (name and uid).
fn token_secret(mut secret: Value, (account, uid): (&str, &str), authority: Option<&str>) -> Value {
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
        let token = crate::auth::token::of_secret(&namespace, &name, (account, uid));
        secret["data"]["token"] = json!(STANDARD.encode(token));
    }
    for (annotation, text) in [("name", account), ("uid", uid)] {
        let annotation = format!("kubernetes.io/service-account.{annotation}");
        secret["metadata"]["annotations"][annotation] = json!(text);
    }
    secret
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
        "uid": uid, "resourceVersion": meta(object, "resourceVersion"), "ownerReferences": left,
    }})
}

/// The first address of the node that a pod is bound to.
fn host_address(live: &Live, pod: &Value) -> String {
    let node = pod["spec"]["nodeName"].as_str().unwrap_or("");
    let key = ObjectKey::new(GroupResource::new("", "nodes"), "", node);
    let node = live.world.store.get(&key);
    let address = node.and_then(|node| node.pointer("/status/addresses/0/address")?.as_str());
    address.unwrap_or("").to_owned()
}

/// Errors: 404.
fn stored(live: &Live, key: &ObjectKey) -> Result<Value, Refusal> {
    let found = live.world.store.get(key);
    found
        .map(|object| (**object).clone())
        .ok_or_else(|| Refusal::not_found(&key.resource, &key.name))
}

/// The stored object as if the controller had seen it at this revision. Errors: 404.
fn seen(live: &Live, key: &ObjectKey, revision: Revision) -> Result<Value, Refusal> {
    let mut object = stored(live, key)?;
    object["metadata"]["resourceVersion"] = json!(revision.to_string());
    Ok(object)
}

/// Carries out a call of which only the outcome counts.
pub(super) fn carry_out_for(
    live: &mut Live,
    controller: Controller,
    call: &Call<'_>,
    calls: &mut Calls,
) -> Response {
    match outcome(live, controller, call, calls) {
        Ok(_) => Response::Written(None),
        Err(refusal) => refused(refusal),
    }
}

fn outcome(
    live: &mut Live,
    controller: Controller,
    call: &Call<'_>,
    calls: &mut Calls,
) -> Result<Outcome, Refusal> {
    let GroupResource { group, resource } = &call.key.resource;
    let (kind, version) =
        kind_of(&live.world, &call.key.resource).ok_or_else(Refusal::no_such_path)?;
    // A POST names the collection, whatever name its object has; a binding names its pod.
    let creates = call.verb == Verb::Create && call.subresource.is_empty();
    let route = Route {
        group: group.to_string(),
        version,
        resource: resource.to_string(),
        namespace: call.key.namespace.to_string(),
        name: if creates { String::new() } else { call.key.name.to_string() },
        subresource: call.subresource.to_owned(),
        ..Route::default()
    };
    let agent = format!("{}/{RELEASE}", controller.program());
    // Who applies says so, and takes fields from others.
    let query = match call.content_type {
        APPLY_PATCH => format!("/?fieldManager={}&force=true", controller.name()),
        _ => "/".to_owned(),
    };
    let parts = http::Request::builder()
        .uri(query)
        .header(http::header::CONTENT_TYPE, call.content_type)
        .header(http::header::USER_AGENT, agent)
        .extension(Actor::Environment(controller.name().into()))
        .body(())
        .map_err(Refusal::internal)?
        .into_parts()
        .0;
    let request = request::Request::new(parts, Ok(Bytes::from(call.body.to_string())));
    verbs::carry_out(live, &request, &route, kind, call.verb, calls)
}
