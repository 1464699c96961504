//! From a controller's request to an API call with the right actor and user agent, and back. What the call says:
//! [`controllers::wire`].

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
pub(super) use controllers::wire::{Call, JSON, STRATEGIC_PATCH};
use controllers::{
    Controller, Request, Response,
    autoscaler::Scale,
    wire::{self, Around, NoCall, key_of, reviews},
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
    Response::Scale(Scale::read(&scale))
}

/// A namespace that is being terminated is a cause, not a reason (`apierrors.HasStatusCause`).
fn reason(refusal: &Refusal) -> &str {
    let causes = refusal.details.get("causes").and_then(Value::as_array).into_iter().flatten();
    let mut reasons = causes.filter_map(|cause| cause["reason"].as_str());
    reasons.find(|reason| *reason == "NamespaceTerminating").unwrap_or(&refusal.reason)
}

/// The call of a request; those that are made with the cluster's own keys are made here.
fn call<'a>(
    live: &mut Live,
    key: &'a ObjectKey,
    request: &'a Request,
    calls: &mut Calls,
) -> Result<Call<'a>, Refusal> {
    let put = |subresource, body| {
        Ok(Call { verb: Verb::Update, key, subresource, content_type: JSON, body })
    };
    match request {
        Request::FillToken { revision, account, uid, authority, .. } => {
            let secret =
                token_secret(seen(live, key, *revision)?, (account, uid), authority.as_deref());
            put("", secret)
        }
        Request::IssueCertificate { revision, certificate, .. } => {
            let mut object = seen(live, key, *revision)?;
            let issued = certificates::issue(certificate, meta(&object, "uid"));
            object["status"]["certificate"] = json!(STANDARD.encode(issued));
            put("status", object)
        }
        _ => wire::call(request, key, &mut Stored { live, calls }).map_err(|why| match why {
            NoCall::Absent => Refusal::not_found(&key.resource, &key.name),
            NoCall::Otherwise => Refusal::internal("it is answered otherwise"),
        }),
    }
}

/// What the world stores, and draws.
struct Stored<'a> {
    live: &'a mut Live,
    calls: &'a mut Calls,
}

impl Around for Stored<'_> {
    fn object(&self, key: &ObjectKey) -> Option<Arc<Value>> {
        self.live.world.store.get(key).cloned()
    }

    fn is_custom(&self, resource: &GroupResource) -> bool {
        self.live.world.customs.contains_key(resource)
    }

    fn pod_address(&mut self) -> String {
        let names = &mut self.live.world.names;
        self.calls.draw(|| names.pod_ip().to_string())
    }
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

/// Errors: 404.
fn stored(live: &Live, key: &ObjectKey) -> Result<Value, Refusal> {
    let found = live.world.store.get(key).map(|object| (**object).clone());
    found.ok_or_else(|| Refusal::not_found(&key.resource, &key.name))
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
        wire::APPLY_PATCH => format!("/?fieldManager={}&force=true", controller.name()),
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
