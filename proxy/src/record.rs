//! What the record says of a request, an answer and a watch event.

use std::{io::Read, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, header};
use serde::Deserialize;
use serde_json::Value;
use trace::{
    Actor, Answer, Body, Call, CallId, ConnectionId, Delivery, DeliveryKind, Fate, Revision, Verb,
};

use crate::{
    codec::{Codec, is_json},
    request::Target,
};

/// Lists up to this size are kept decoded.
const LIST_BYTES_MAX: usize = 64 << 10;
/// A copy is unpacked up to this size (kubernetes-api.md §1.1: the server sends no larger list that a
/// client could read).
const UNPACKED_BYTES_MAX: u64 = 64 << 20;

/// A request's body, as far as it was read.
pub(crate) enum Received {
    /// All of it.
    Whole(Bytes),
    /// It is too long; so many bytes were announced or read.
    TooLong(u64),
}

/// Who sent a request.
#[derive(Clone)]
pub(crate) struct Sender {
    pub(crate) actor: Actor,
    pub(crate) incarnation: u32,
    /// 0 within this process.
    pub(crate) connection: ConnectionId,
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> String {
    let value = headers.get(name).map(|value| value.as_bytes()).unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

/// The call that a request is.
pub(crate) fn call(
    id: CallId,
    sender: Sender,
    parts: &http::request::Parts,
    target: Target,
    received: &Received,
    codec: &dyn Codec,
) -> Call {
    let content_type = text(&parts.headers, header::CONTENT_TYPE);
    let (body, raw) = match received {
        Received::Whole(bytes) => {
            let body = request_body(codec, &content_type, bytes);
            (body, (target.verb.is_write() && !bytes.is_empty()).then(|| Arc::from(&bytes[..])))
        }
        Received::TooLong(length) => {
            (Body::Opaque { content_type: content_type.clone(), length: *length }, None)
        }
    };
    Call {
        id,
        actor: sender.actor,
        incarnation: sender.incarnation,
        connection: sender.connection,
        verb: target.verb,
        resource: target.resource,
        version: target.version,
        namespace: target.namespace,
        name: target.name,
        subresource: target.subresource,
        method: parts.method.to_string(),
        uri: parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        content_type,
        user_agent: text(&parts.headers, header::USER_AGENT),
        body,
        raw,
    }
}

fn request_body(codec: &dyn Codec, content_type: &str, bytes: &Bytes) -> Body {
    if bytes.is_empty() {
        return Body::None;
    }
    // apiserver takes a body without a type for JSON.
    let read_as = if content_type.is_empty() { "application/json" } else { content_type };
    match codec.decode(read_as, bytes) {
        Some(value) => Body::Json(Arc::new(value)),
        None => opaque(content_type, bytes.len()),
    }
}

fn opaque(content_type: &str, length: usize) -> Body {
    Body::Opaque { content_type: content_type.to_owned(), length: length as u64 }
}

/// The head of an answer of which nothing else is known.
pub(crate) fn head(call: CallId, status: http::StatusCode) -> Answer {
    let status = status.as_u16();
    Answer { call, fate: Fate::Answered, status, revision: None, body: Body::None, injected: false }
}

/// The answer to `call` with all of its body's bytes.
pub(crate) fn answer(
    call: &Call,
    status: http::StatusCode,
    headers: &HeaderMap,
    bytes: Bytes,
    codec: &dyn Codec,
) -> Answer {
    let mut answer = head(call.id, status);
    if bytes.is_empty() {
        return answer;
    }
    let content_type = text(headers, header::CONTENT_TYPE);
    let Some(bytes) = unpack(&text(headers, header::CONTENT_ENCODING), bytes.clone()) else {
        answer.body = opaque(&content_type, bytes.len());
        return answer;
    };
    if call.verb == Verb::List && bytes.len() > LIST_BYTES_MAX {
        answer.revision = list_revision(codec, &content_type, &bytes);
        answer.body = opaque(&content_type, bytes.len());
        return answer;
    }
    // Discovery and OpenAPI are large, and no object.
    let decoded = match call.verb {
        Verb::Other => None,
        _ => codec.decode(&content_type, &bytes),
    };
    answer.revision = decoded.as_ref().and_then(revision);
    answer.body = match decoded {
        Some(value) => Body::Json(Arc::new(value)),
        None => opaque(&content_type, bytes.len()),
    };
    answer
}

/// The bytes without their `Content-Encoding`; `None` for encodings that can't be undone.
fn unpack(encoding: &str, bytes: Bytes) -> Option<Bytes> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Some(bytes),
        "gzip" => {
            let mut unpacked = Vec::new();
            let decoder = flate2::read::MultiGzDecoder::new(&bytes[..]);
            decoder.take(UNPACKED_BYTES_MAX).read_to_end(&mut unpacked).ok()?;
            Some(unpacked.into())
        }
        _ => None,
    }
}

/// `metadata.resourceVersion` as a number.
pub(crate) fn revision(object: &Value) -> Option<Revision> {
    Revision::parse(object.pointer("/metadata/resourceVersion")?.as_str()?)
}

/// The revision of a list without keeping its items.
fn list_revision(codec: &dyn Codec, content_type: &str, bytes: &[u8]) -> Option<Revision> {
    #[derive(Deserialize)]
    struct List {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: String,
    }
    if !is_json(content_type) {
        return codec.decode(content_type, bytes).as_ref().and_then(revision);
    }
    let list: List = serde_json::from_slice(bytes).ok()?;
    Revision::parse(&list.metadata.resource_version)
}

/// A watch event; `None` for what is none.
pub(crate) fn delivery(watch: CallId, index: u64, event: Value) -> Option<Delivery> {
    let Value::Object(mut event) = event else { return None };
    let kind = match event.get("type")?.as_str()? {
        "ADDED" => DeliveryKind::Added,
        "MODIFIED" => DeliveryKind::Modified,
        "DELETED" => DeliveryKind::Deleted,
        "BOOKMARK" => DeliveryKind::Bookmark,
        "ERROR" => DeliveryKind::Error,
        _ => return None,
    };
    let object = event.remove("object").unwrap_or(Value::Null);
    let named = !matches!(kind, DeliveryKind::Bookmark | DeliveryKind::Error);
    let object_name = if named { object_name(&object) } else { String::new() };
    let revision = revision(&object);
    Some(Delivery { watch, index, kind, revision, object_name, object: Some(Arc::new(object)) })
}

/// `namespace/name`, or `name` of what has no namespace.
fn object_name(object: &Value) -> String {
    let metadata = |field| object.pointer(field).and_then(Value::as_str).unwrap_or_default();
    match (metadata("/metadata/namespace"), metadata("/metadata/name")) {
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}
