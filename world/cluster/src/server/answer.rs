//! From a request to its answer: what the path names, who carries it out, and the bytes of what came out.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use trace::{DeliveryKind, Time, Verb};

use super::{Author, Body, BoxError, Conversation, Shared, request::Request, warnings};
use crate::{
    auth,
    encoding::{
        Format, ListMessage, MediaType, Offer, ProtobufError, Target as Meta, encode, has_protobuf,
        metadata_list_view, metadata_view, negotiate, watch_frame,
    },
    facts::{self, api_version},
    names::Names,
    node::{self, Reply, follow::Following},
    route::{self, Target},
    status::Refusal,
    table::{self, IncludeObject},
    verbs::{self, List, Outcome, Payload},
    watch::{Frame, stream::Stream},
    webhooks::Calls,
    world::kinds::Kind,
};

const METADATA: &str = Meta::METADATA.kind;
const METADATA_LIST: &str = Meta::METADATA_LIST.kind;

/// Subresources whose answers have no media types to choose from (`ConnectResource` produces `*/*`).
const CONNECTS: [&str; 4] = ["exec", "attach", "portforward", "proxy"];

/// Answers a request: who is it, may they; takes the lock, carries it out, encodes what came out.
pub(crate) async fn respond(shared: &Arc<Shared>, mut request: Request) -> Response<Body> {
    let target = route::parse(&request.path);
    let (number, admitted) = {
        let mut live = shared.lock();
        (live.next_answer(), auth::admit(&live.world, &request, &target))
    };
    let audit = match request.header("audit-id") {
        "" => Names::opaque(b"audit", number),
        given => given.to_owned(),
    };
    let mut response = match admitted {
        Ok(user) => {
            request.user = user;
            match &target {
                Target::Resource(target) => resource(shared, &request, target).await,
                Target::Other(path) => crate::discovery::respond(&shared.world(), &request, path),
            }
        }
        Err(refusal) => refuse(&request, &refusal),
    };
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
    if let Ok(audit) = HeaderValue::from_str(&audit) {
        headers.insert("audit-id", audit);
    }
    response
}

/// As often as webhooks have to be called for it first, it is begun anew.
async fn resource(
    shared: &Arc<Shared>,
    request: &Request,
    target: &route::Route,
) -> Response<Body> {
    let mut calls = Calls::default();
    loop {
        let response = attempt(shared, request, target, &mut calls);
        let wanted = calls.take_wanted();
        if wanted.is_empty() {
            return response;
        }
        let made = shared.make(wanted, &request.author).await;
        calls.record(made);
    }
}

fn attempt(
    shared: &Arc<Shared>,
    request: &Request,
    target: &route::Route,
    calls: &mut Calls,
) -> Response<Body> {
    let mut live = shared.lock();
    calls.begin(live.world.now);
    let Some(kind) = live.world.kind(&target.group, &target.version, &target.resource) else {
        // Groups that are built in have a router of their own, which answers with a Status.
        return match facts::has_group(&target.group, live.world.release) {
            true => refuse(request, &Refusal::no_such_path()),
            false => not_found(),
        };
    };
    let Some(verb) = route::verb(&request.method, target, request.flag("watch")) else {
        return refuse(request, &Refusal::method_not_allowed());
    };
    // Before anything is done: a write whose answer the client can't read must not happen.
    let agreed = match agree(request, &kind, target, verb) {
        Ok(agreed) => agreed,
        Err(text) => return refuse(request, &Refusal::new(406, "NotAcceptable", text)),
    };
    let Some(include) = IncludeObject::parse(request.query("includeObject")) else {
        return refuse(request, &Refusal::bad_request("unrecognized includeObject value"));
    };
    let outcome = verbs::carry_out(&mut live, request, target, kind.clone(), verb, calls);
    shared.publish(&live);
    drop(live);
    let author = &request.author;
    let view = View { kind, agreed, include };
    let answer = outcome.and_then(|outcome| view.answer(shared, author, outcome));
    answer.unwrap_or_else(|refusal| refuse(request, &refusal))
}

/// How the answer will be written. Errors: what a 406 says.
fn agree(
    request: &Request,
    kind: &Kind,
    target: &route::Route,
    verb: Verb,
) -> Result<MediaType, String> {
    if CONNECTS.contains(&target.subresource.as_str()) {
        return Ok(MediaType::JSON);
    }
    let accept = request.accept();
    match unroutable(&accept, target) {
        // Custom types are behind a router that looks at nothing.
        Some(text) if !kind.is_custom() => Err(text),
        _ => {
            negotiate(Some(&accept), &offer(kind, target, verb)).map_err(|error| error.to_string())
        }
    }
}

/// What the router says, before any type is looked at, to a client that reads none of its media types
/// (go-restful's `matchesAccept`: of wildcards it knows `*/*`).
fn unroutable(accept: &str, target: &route::Route) -> Option<String> {
    let bases = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
    let known = accept.split(',').map(|range| range.split(';').next().unwrap_or("").trim());
    let mut known = known.filter(|name| bases.contains(name) || ["", "*/*"].contains(name));
    let streams = match target.name.is_empty() {
        true => ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
        false => "",
    };
    let list = bases.join(", ");
    known
        .next()
        .is_none()
        .then(|| format!("406: Not Acceptable\n\nAvailable representations: {list}{streams}"))
}

fn offer(kind: &Kind, target: &route::Route, verb: Verb) -> Offer<'static> {
    let body = kind.row().subresource(&target.subresource);
    let protobuf = match body {
        // A Scale has a protobuf form whatever it scales.
        Some(body) => has_protobuf(&api_version(&body.group, &body.version), &body.kind),
        None => !kind.is_custom(),
    };
    match verb {
        Verb::Watch => Offer::watch(protobuf),
        _ => Offer::object(protobuf),
    }
}

/// How one request's answer is shown.
#[derive(Clone)]
struct View {
    kind: Kind,
    agreed: MediaType,
    include: IncludeObject,
}

impl View {
    fn answer(
        self,
        shared: &Arc<Shared>,
        author: &Author,
        outcome: Outcome,
    ) -> Result<Response<Body>, Refusal> {
        let mut content_type = self.agreed.content_type();
        let body = match outcome.payload {
            Payload::Object(object) => full(self.object(&object, shared.now())?),
            Payload::List(list) => full(self.list(&list, shared.now())?),
            Payload::Nothing => return Ok(nothing(outcome.code)),
            Payload::Log(log, followed) => {
                content_type = "text/plain".to_owned();
                match followed {
                    Some(number) => Body::new(Following::new(shared.clone(), number, log)),
                    None => full(Bytes::from(log)),
                }
            }
            Payload::Node(Reply::Plain(plain)) => return Ok(say(plain)),
            Payload::Node(Reply::Switch(switch)) => return Ok(switch_to(switch)),
            Payload::Watch(number) => {
                content_type = self.agreed.watch_content_type();
                let view = self.clone();
                let clock = shared.clone();
                // A watch names the columns of its table once.
                let mut first = true;
                let encode = Box::new(move |frame| {
                    view.event(frame, clock.now(), std::mem::replace(&mut first, false))
                });
                Body::new(Stream::new(shared.clone(), number, author.clone(), encode))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(outcome.code).unwrap_or(StatusCode::OK);
        let headers = response.headers_mut();
        set_content_type(headers, &content_type);
        warnings::add(headers, &outcome.warnings);
        Ok(response)
    }

    fn object(&self, object: &Value, now: Time) -> Result<Bytes, Refusal> {
        let write = |value: &Value| encode(value, self.agreed.format).map_err(Refusal::internal);
        match self.agreed.target {
            // A completed delete answers with a Status whatever was asked for.
            Some(_) if object["kind"] == "Status" => write(object),
            Some(target) => {
                let view = match target.kind {
                    METADATA => metadata_view(object),
                    METADATA_LIST => return Err(self.no_view(target, "not a list", "")),
                    _ => self.table(std::slice::from_ref(object), object, now, true),
                };
                write(&target.versioned(view))
            }
            None if self.agreed.format == Format::Json => Ok(to_bytes(object)),
            None => write(object),
        }
    }

    fn list(&self, list: &List, now: Time) -> Result<Bytes, Refusal> {
        let write = |value: &Value| encode(value, self.agreed.format).map_err(Refusal::internal);
        let Some(target) = self.agreed.target else {
            let (kind, metadata, is_custom) = (&self.kind, &list.metadata, self.kind.is_custom());
            let items = list.items.iter();
            if self.agreed.format == Format::Json {
                let text = |object: &Value| ListItem { object, is_custom }.to_text();
                let items = items.map(|stored| stored.item(text)).collect();
                return Ok(to_bytes(&ListView { kind, metadata, items }));
            }
            if self.agreed.format == Format::Protobuf {
                return protobuf_list(list, kind).map_err(Refusal::internal);
            }
            let items =
                items.map(|stored| ListItem { object: stored.object(), is_custom }).collect();
            let view = ListView { kind, metadata, items };
            return write(&serde_json::to_value(&view).map_err(Refusal::internal)?);
        };
        let items: Vec<&Value> = list.items.iter().map(|stored| &**stored.object()).collect();
        let whole = json!({"metadata": list.metadata, "items": items});
        let view = match target.kind {
            METADATA => return Err(self.no_view(target, "a list", "List")),
            METADATA_LIST => metadata_list_view(&whole),
            _ => {
                let items = whole["items"].as_array().map_or(&[][..], Vec::as_slice);
                self.table(items, &whole, now, true)
            }
        };
        write(&target.versioned(view))
    }

    /// A view of one of what are many, or of many of what is one (`asPartialObjectMetadata`).
    fn no_view(&self, target: Meta, what: &str, suffix: &str) -> Refusal {
        let kind = self.kind.go_type();
        let text = format!(
            "you requested {}, but the requested object is {what} (*{kind}{suffix})",
            target.kind
        );
        Refusal::new(406, "NotAcceptable", text)
    }

    /// Rows for kubectl. `of` gives the table its revision.
    fn table(&self, objects: &[Value], of: &Value, now: Time, with_columns: bool) -> Value {
        // Old versions are printed by what they became.
        let successor = self.kind.successor();
        let row = successor.as_ref().unwrap_or(&self.kind).row();
        let columns = match self.kind.custom() {
            Some(custom) => table::custom(&custom.columns),
            None => table::builtin(&row.group, &row.resource),
        };
        let mut metadata = json!({});
        for field in ["resourceVersion", "continue", "remainingItemCount"] {
            if let Some(value) = of["metadata"].get(field).filter(|value| *value != "") {
                metadata[field] = value.clone();
            }
        }
        let Some(successor) = &successor else {
            return table::table(&columns, objects, metadata, self.include, now, with_columns);
        };
        let shown = |object: &Value| successor.present(&Arc::new(object.clone())).ok();
        let printed: Vec<Arc<Value>> = objects.iter().filter_map(shown).collect();
        let printed = printed.iter().map(|object| &**object);
        let mut table = table::table(&columns, printed, metadata, self.include, now, with_columns);
        if self.include == IncludeObject::Object {
            let rows = table["rows"].as_array_mut().into_iter().flatten();
            rows.zip(objects).for_each(|(row, object)| row["object"] = object.clone());
        }
        table
    }

    /// The bytes of one watch event.
    fn event(&self, frame: Frame, now: Time, first: bool) -> Bytes {
        let (name, object) = match frame {
            Frame::Event(delivery, object) => (event_type(delivery), object),
            Frame::Bookmark { revision, initial_events_end } => {
                ("BOOKMARK", Arc::new(bookmark(&self.kind, revision, initial_events_end)))
            }
            Frame::Error(refusal) => ("ERROR", Arc::new(refusal.to_value())),
        };
        let object = match self.agreed.target {
            None => object,
            Some(_) if name == "ERROR" => object,
            Some(target) => {
                let view = match target.kind {
                    METADATA | METADATA_LIST => metadata_view(&object),
                    _ => self.table(std::slice::from_ref(&*object), &object, now, first),
                };
                Arc::new(target.versioned(view))
            }
        };
        watch_frame(name, &object, self.agreed.format).unwrap_or_else(|error| {
            let status = Refusal::internal(error).to_value();
            watch_frame("ERROR", &status, Format::Json).unwrap_or_default()
        })
    }
}

fn event_type(delivery: DeliveryKind) -> &'static str {
    match delivery {
        DeliveryKind::Added => "ADDED",
        DeliveryKind::Modified => "MODIFIED",
        DeliveryKind::Deleted => "DELETED",
        DeliveryKind::Bookmark => "BOOKMARK",
        DeliveryKind::Error => "ERROR",
    }
}

fn set_content_type(headers: &mut http::HeaderMap, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(header::CONTENT_TYPE, value);
    }
}

/// A refusal as an answer, in a form that the client reads.
pub(crate) fn refuse(request: &Request, refusal: &Refusal) -> Response<Body> {
    let agreed = negotiate(Some(&request.accept()), &Offer::plain()).unwrap_or(MediaType::JSON);
    let status = refusal.to_value();
    let (agreed, bytes) = match encode(&status, agreed.format) {
        Ok(bytes) => (agreed, bytes),
        Err(_) => (MediaType::JSON, to_bytes(&status)),
    };
    let mut response = Response::new(full(bytes));
    *response.status_mut() = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    set_content_type(headers, &agreed.content_type());
    warnings::add(headers, &refusal.warnings);
    if let Some(seconds) = refusal.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// An answer without content, which has no type.
fn nothing(code: u16) -> Response<Body> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::NO_CONTENT);
    response
}

/// What a kubelet says in plain text.
fn say(plain: node::Plain) -> Response<Body> {
    let mut response = Response::new(full(Bytes::from(plain.text)));
    *response.status_mut() = StatusCode::from_u16(plain.code).unwrap_or(StatusCode::OK);
    set_content_type(response.headers_mut(), "text/plain; charset=utf-8");
    append(response.headers_mut(), plain.headers);
    response
}

/// 101, and who speaks then.
fn switch_to(switch: node::Switch) -> Response<Body> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    append(response.headers_mut(), switch.headers);
    let talk = switch.talk;
    let speaks = tower::service_fn(move |stream| {
        let talked = talk(stream);
        async move { Ok::<(), BoxError>(talked.await?) }
    });
    response.extensions_mut().insert(Conversation::new(speaks));
    response
}

fn append(headers: &mut http::HeaderMap, new: node::upgrade::Headers) {
    for (name, value) in new {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.append(name, value);
        }
    }
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

pub(crate) fn to_bytes(value: &impl Serialize) -> Bytes {
    // Values are JSON already: nothing in them can fail to serialize.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    Bytes::from(bytes)
}

/// A list as it goes over the wire.
struct ListView<'a, Item> {
    kind: &'a Kind,
    metadata: &'a Value,
    items: Vec<Item>,
}

impl<Item: Serialize> Serialize for ListView<'_, Item> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("kind", &self.kind.list_kind())?;
        map.serialize_entry("apiVersion", &self.kind.api_version())?;
        map.serialize_entry("metadata", self.metadata)?;
        map.serialize_entry("items", &self.items)?;
        map.end()
    }
}

/// A list in protobuf.
fn protobuf_list(list: &List, kind: &Kind) -> Result<Bytes, ProtobufError> {
    let (api_version, list_kind) = (kind.api_version(), kind.list_kind());
    let message = ListMessage::new(&api_version, &list_kind)?;
    let items = list.items.iter().map(|stored| stored.message(|object| message.item(object)));
    message.encode(&list.metadata, items).map(Bytes::from)
}

/// An item of a list. Those of built-in types carry no `kind` and `apiVersion` of their own.
struct ListItem<'a> {
    object: &'a Value,
    is_custom: bool,
}

impl ListItem<'_> {
    fn to_text(&self) -> Box<RawValue> {
        // Values are JSON already: nothing in them can fail to serialize.
        to_raw_value(self).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

impl Serialize for ListItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.object.as_object().filter(|_| !self.is_custom) {
            None => self.object.serialize(serializer),
            Some(fields) => {
                let named = |key: &str| matches!(key, "kind" | "apiVersion");
                serializer.collect_map(fields.iter().filter(|(key, _)| !named(key)))
            }
        }
    }
}

/// An object of the right kind that holds nothing but a revision.
fn bookmark(kind: &Kind, revision: trace::Revision, initial_events_end: bool) -> Value {
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if initial_events_end {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    json!({"kind": kind.row().kind, "apiVersion": kind.api_version(), "metadata": metadata})
}
