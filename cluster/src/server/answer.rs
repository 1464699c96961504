//! From a request to its answer: what the path names, who carries it out, and the bytes of what came out.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};
use trace::DeliveryKind;

use super::{Body, Shared, request::Request};
use crate::{
    names::Names,
    route::{self, Target},
    status::Refusal,
    verbs::{self, List, Outcome, Payload},
    watch::{Frame, stream::Stream},
    world::kinds::Kind,
};

/// Answers a request: takes the lock, carries it out, encodes what came out.
pub(crate) fn respond(shared: &Arc<Shared>, request: &Request) -> Response<Body> {
    let audit = {
        let number = shared.lock().next_answer();
        match request.header("audit-id") {
            "" => Names::opaque(b"audit", number),
            given => given.to_owned(),
        }
    };
    let mut response = match route::parse(&request.path) {
        Target::Resource(target) => resource(shared, request, &target),
        Target::Other(path) => crate::discovery::respond(&shared.lock().world, request, &path),
    };
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
    if let Ok(audit) = HeaderValue::from_str(&audit) {
        headers.insert("audit-id", audit);
    }
    response
}

fn resource(shared: &Arc<Shared>, request: &Request, target: &route::Route) -> Response<Body> {
    let mut live = shared.lock();
    let Some(kind) = live.world.kind(&target.group, &target.version, &target.resource) else {
        return not_found();
    };
    let Some(verb) = route::verb(&request.method, target, request.flag("watch")) else {
        return refuse(&Refusal::method_not_allowed());
    };
    let outcome = verbs::carry_out(&mut live, request, target, kind.clone(), verb);
    shared.publish(&live);
    drop(live);
    match outcome {
        Ok(outcome) => encode(shared, &kind, outcome),
        Err(refusal) => refuse(&refusal),
    }
}

fn encode(shared: &Arc<Shared>, kind: &Kind, outcome: Outcome) -> Response<Body> {
    let body = match outcome.payload {
        Payload::Object(object) => full(to_bytes(&object)),
        Payload::List(list) => full(to_bytes(&ListView { kind, list: &list })),
        Payload::Watch(number) => {
            let kind = kind.clone();
            let encode = Box::new(move |frame| event(&kind, frame));
            Body::new(Stream::new(shared.clone(), number, encode))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(outcome.code).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for warning in outcome.warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            headers.append(header::WARNING, value);
        }
    }
    response
}

/// A refusal as an answer.
pub(crate) fn refuse(refusal: &Refusal) -> Response<Body> {
    let mut response = Response::new(full(to_bytes(&refusal.to_value())));
    *response.status_mut() = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = refusal.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The answer to a path of a group or version that is not served: not a Status, as upstream's.
pub(crate) fn not_found() -> Response<Body> {
    let mut response = Response::new(full(Bytes::from_static(b"404 page not found\n")));
    *response.status_mut() = StatusCode::NOT_FOUND;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// A body of known bytes.
pub(crate) fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

fn to_bytes(value: &impl Serialize) -> Bytes {
    // Values are JSON already: nothing in them can fail to serialize.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    Bytes::from(bytes)
}

/// A list as it goes over the wire.
struct ListView<'a> {
    kind: &'a Kind,
    list: &'a List,
}

impl Serialize for ListView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("kind", &self.kind.list_kind())?;
        map.serialize_entry("apiVersion", &self.kind.api_version())?;
        map.serialize_entry("metadata", &self.list.metadata)?;
        if self.kind.is_custom() {
            map.serialize_entry("items", &self.list.items)?;
        } else {
            let items: Vec<Typeless<'_>> =
                self.list.items.iter().map(|item| Typeless(item)).collect();
            map.serialize_entry("items", &items)?;
        }
        map.end()
    }
}

/// An item of a list of a built-in type: those carry no `kind` and `apiVersion` of their own.
struct Typeless<'a>(&'a Value);

impl Serialize for Typeless<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(fields) = self.0.as_object() else { return self.0.serialize(serializer) };
        let kept = fields.iter().filter(|(key, _)| !matches!(key.as_str(), "kind" | "apiVersion"));
        serializer.collect_map(kept)
    }
}

/// The bytes of one watch event in JSON.
fn event(kind: &Kind, frame: Frame) -> Bytes {
    let (name, object) = match frame {
        Frame::Event(delivery, object) => {
            let name = match delivery {
                DeliveryKind::Added => "ADDED",
                DeliveryKind::Modified => "MODIFIED",
                DeliveryKind::Deleted => "DELETED",
                DeliveryKind::Bookmark => "BOOKMARK",
                DeliveryKind::Error => "ERROR",
            };
            match kind.present(&object) {
                Ok(object) => (name, object),
                Err(refusal) => ("ERROR", Arc::new(refusal.to_value())),
            }
        }
        Frame::Bookmark { revision, initial_events_end } => {
            ("BOOKMARK", Arc::new(bookmark(kind, revision, initial_events_end)))
        }
        Frame::Error(refusal) => ("ERROR", Arc::new(refusal.to_value())),
    };
    #[derive(Serialize)]
    struct Event<'a> {
        r#type: &'a str,
        object: &'a Value,
    }
    to_bytes(&Event { r#type: name, object: &object })
}

/// An object of the right kind that holds nothing but a revision.
fn bookmark(kind: &Kind, revision: trace::Revision, initial_events_end: bool) -> Value {
    let mut metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
    if initial_events_end {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    json!({"kind": kind.row().kind, "apiVersion": kind.api_version(), "metadata": metadata})
}
