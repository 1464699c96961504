//! Answers that are made of a list: one object of it, or the initial events of a watch, in the form that the client accepts.

use bytes::Bytes;
use cluster::{
    encoding::{self, Format, MediaType, Offer, Target},
    status::Refusal,
};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use proxy::Body;
use serde_json::{Value, json};
use trace::Revision;

/// A list, as objects that stand alone.
pub(super) struct Shown {
    api_version: String,
    kind: String,
    objects: Vec<Value>,
}

impl Shown {
    /// From the list's JSON; none if that is something else.
    pub fn read(bytes: &[u8]) -> Option<Shown> {
        let mut list: Value = serde_json::from_slice(bytes).ok()?;
        let api_version = list["apiVersion"].as_str()?.to_owned();
        let kind = list["kind"].as_str()?.strip_suffix("List")?.to_owned();
        let mut objects = match list["items"].take() {
            Value::Array(items) => items,
            _ => vec![],
        };
        // Items of built-in types don't say what they are.
        for object in &mut objects {
            let fields = object.as_object_mut()?;
            fields.entry("apiVersion").or_insert_with(|| json!(api_version));
            fields.entry("kind").or_insert_with(|| json!(kind));
        }
        Some(Shown { api_version, kind, objects })
    }

    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Its first object as the answer to a get; none if it can't have a form that is accepted.
    pub fn object(&self, accept: &str) -> Option<Response<Body>> {
        let offer = Offer::object(self.has_protobuf());
        let form = encoding::negotiate(Some(accept), &offer).ok()?;
        let view = view(self.objects.first()?, form)?;
        let bytes = encoding::encode(&view, form.format).ok()?;
        Some(response(200, &form.content_type(), bytes))
    }

    /// Its objects as the beginning of a watch of this content type, with a bookmark at the end if there is to be one.
    /// None if they can't have a form that is accepted.
    pub fn initial_events(
        &self,
        marker: Option<Revision>,
        accept: &str,
        content_type: &str,
    ) -> Option<Bytes> {
        let offer = Offer::watch(self.has_protobuf());
        let form = encoding::negotiate(Some(accept), &offer).ok()?;
        let format = match content_type.split(';').next()? {
            "application/vnd.kubernetes.protobuf" => Format::Protobuf,
            "application/json" => Format::Json,
            _ => return None,
        };
        let mut bytes = Vec::new();
        for object in &self.objects {
            let frame = encoding::watch_frame("ADDED", &view(object, form)?, format);
            bytes.extend_from_slice(&frame.ok()?);
        }
        if let Some(revision) = marker {
            let end = view(&self.marker(revision), form)?;
            let frame = encoding::watch_frame("BOOKMARK", &end, format);
            bytes.extend_from_slice(&frame.ok()?);
        }
        Some(bytes.into())
    }

    /// The end of the initial events (KEP-3157).
    fn marker(&self, revision: Revision) -> Value {
        json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": {
            "resourceVersion": revision.to_string(),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }})
    }

    fn has_protobuf(&self) -> bool {
        encoding::has_protobuf(&self.api_version, &self.kind)
    }
}

/// The object, or its metadata. Tables have columns that no list of objects says.
fn view(object: &Value, form: MediaType) -> Option<Value> {
    match form.target {
        None => Some(object.clone()),
        Some(target) if target.kind == Target::METADATA.kind => {
            Some(target.versioned(encoding::metadata_view(object)))
        }
        Some(_) => None,
    }
}

/// A refusal as an answer.
pub(super) fn refusal(refusal: &Refusal, accept: &str) -> Response<Body> {
    let form = encoding::negotiate(Some(accept), &Offer::plain()).unwrap_or(MediaType::JSON);
    let status = refusal.to_value();
    let (form, bytes) = match encoding::encode(&status, form.format) {
        Ok(bytes) => (form, bytes),
        Err(_) => (MediaType::JSON, status.to_string().into()),
    };
    let mut answer = response(refusal.code, &form.content_type(), bytes);
    if let Some(seconds) = refusal.retry_after {
        answer.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    answer
}

/// A refusal as the only event of a watch. Every client takes it as JSON.
pub(super) fn error_event(refusal: &Refusal) -> Response<Body> {
    let event = json!({"type": "ERROR", "object": refusal.to_value()});
    response(200, "application/json", format!("{event}\n").into())
}

fn response(code: u16, content_type: &str, bytes: Bytes) -> Response<Body> {
    let body = Full::new(bytes).map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
    if let Ok(value) = HeaderValue::from_str(content_type) {
        answer.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    let not_kept = HeaderValue::from_static("no-cache, private");
    answer.headers_mut().insert(header::CACHE_CONTROL, not_kept);
    answer
}
