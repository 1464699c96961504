//! Carrying a script out on one arm: what came back, step by step.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::{
    arm::{Arm, Got},
    script::{Script, Step},
};

/// Headers that clients act on.
const HEADERS: [&str; 6] =
    ["content-type", "warning", "retry-after", "cache-control", "content-encoding", "location"];

/// How often a type that is about to be served is asked for. A limit against hanging: it decides nothing.
const AWAITED_AT_MOST: usize = 30_000;

/// What one arm answered.
#[derive(Debug, Default)]
pub struct Transcript {
    /// One entry a compared step: `request`, `code`, `headers`, and `body` or `events`.
    pub entries: Vec<Value>,
    bodies: BTreeMap<String, Value>,
}

impl Transcript {
    /// Keeps an answer for later steps.
    pub fn answered(&mut self, id: &str, body: Value) {
        self.bodies.insert(id.to_owned(), body);
    }

    /// A part of an earlier answer, as text.
    pub fn look_up(&self, id: &str, path: &str) -> String {
        let pointer = format!("/{}", path.replace('.', "/"));
        match self.bodies.get(id).and_then(|body| body.pointer(&pointer)) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "missing".to_owned(),
        }
    }
}

/// Carries a script out in a namespace of its own.
pub async fn run(script: &Script, arm: &Arm, namespace: &str) -> Transcript {
    run_with(script, arm, namespace, Transcript::default()).await
}

/// The same, with things that the script can refer to.
pub async fn run_with(
    script: &Script,
    arm: &Arm,
    namespace: &str,
    mut transcript: Transcript,
) -> Transcript {
    let own = json!({"metadata": {"name": namespace}});
    let own = Step { id: "ns".to_owned(), ..Step::new("POST /api/v1/namespaces", Some(own)) };
    for step in std::iter::once(&own).chain(&script.setup) {
        let got = carry_out(step, arm, namespace, &mut transcript).await;
        assert!(
            got.code < 300 || step.verb() == "REFUSED",
            "{}: setting up {namespace}: {} is answered with {} {}",
            arm.name,
            step.action,
            got.code,
            String::from_utf8_lossy(&got.bytes)
        );
    }
    for step in &script.steps {
        let got = carry_out(step, arm, namespace, &mut transcript).await;
        if !matches!(step.verb(), "AWAIT" | "REFUSED" | "GONE") {
            transcript.entries.push(entry(step, &got));
        }
    }
    transcript
}

async fn carry_out(step: &Step, arm: &Arm, namespace: &str, so_far: &mut Transcript) -> Got {
    let request = step.request(namespace, so_far);
    let send = || arm.call(request.clone());
    let mut got = send().await;
    let is_awaited = |code: u16| match step.verb() {
        "AWAIT" => code == 200,
        "REFUSED" => code >= 400,
        "GONE" => code == 404,
        _ => true,
    };
    for _ in 0..AWAITED_AT_MOST {
        if is_awaited(got.code) {
            break;
        }
        got = send().await;
    }
    if !step.id.is_empty() {
        so_far.answered(&step.id, body(&got.headers, &got.bytes));
    }
    got
}

fn entry(step: &Step, got: &Got) -> Value {
    let mut headers = Map::new();
    for name in HEADERS {
        let values: Vec<&str> =
            got.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        if !values.is_empty() {
            headers.insert(name.to_owned(), json!(values));
        }
    }
    // Their values are each server's own affair.
    for name in ["audit-id", "etag"] {
        if got.headers.contains_key(name) {
            headers.insert(name.to_owned(), json!("there"));
        }
    }
    let mut entry = json!({
        "request": step.action, "code": got.code, "headers": headers,
    });
    if step.verb() == "WATCH" && got.code == 200 {
        let mut events = events(&got.headers, &got.bytes);
        events.retain(|event| !is_periodic_bookmark(event));
        entry["events"] = Value::Array(events);
    } else {
        entry["body"] = body(&got.headers, &got.bytes);
    }
    entry
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// A body as a value, whatever it was encoded in.
fn body(headers: &HeaderMap, bytes: &Bytes) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let zipped = headers.get("content-encoding").is_some_and(|value| value == "gzip");
    let bytes = if zipped { unzip(bytes) } else { bytes.clone() };
    let text = || Value::from(String::from_utf8_lossy(&bytes).into_owned());
    let media_type = content_type(headers);
    if media_type.starts_with("text/") {
        return text();
    }
    if media_type.starts_with("application/yaml") {
        return serde_saphyr::from_slice(&bytes).unwrap_or_else(|_| text());
    }
    if media_type.starts_with("application/vnd.kubernetes.protobuf") {
        return cluster::encoding::decode(Some(media_type), &bytes)
            .unwrap_or_else(|error| json!({"undecodable": error.to_string()}));
    }
    serde_json::from_slice(&bytes).unwrap_or_else(|_| text())
}

fn unzip(bytes: &Bytes) -> Bytes {
    let mut out = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(&bytes[..]);
    std::io::Read::read_to_end(&mut reader, &mut out).expect("gzip is well formed");
    out.into()
}

/// A bookmark that comes when the server finds it time for one: never guaranteed (KEP-956).
fn is_periodic_bookmark(event: &Value) -> bool {
    let end = event.pointer("/object/metadata/annotations/k8s.io~1initial-events-end");
    event["type"] == "BOOKMARK" && end.is_none()
}

/// The events of a watch. Of a protobuf stream only the lengths of its frames are read here.
fn events(headers: &HeaderMap, bytes: &Bytes) -> Vec<Value> {
    let media_type = content_type(headers);
    if media_type.starts_with("application/vnd.kubernetes.protobuf") {
        return protobuf_events(bytes);
    }
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            serde_json::from_slice(line).unwrap_or_else(|_| String::from_utf8_lossy(line).into())
        })
        .collect()
}

/// Frames of a big-endian length and a bare `WatchEvent`: field 1 is the type, field 2 a RawExtension
/// whose field 1 is an object in its envelope.
fn protobuf_events(mut bytes: &[u8]) -> Vec<Value> {
    let mut events = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let (frame, after) = rest.split_at((u32::from_be_bytes(*head) as usize).min(rest.len()));
        bytes = after;
        let magic = frame.windows(4).position(|window| window == b"k8s\0");
        let kind: String = frame
            .iter()
            .skip(2)
            .take_while(|byte| byte.is_ascii_uppercase())
            .map(|b| *b as char)
            .collect();
        let object = magic.and_then(|at| {
            cluster::encoding::decode(
                Some("application/vnd.kubernetes.protobuf"),
                &Bytes::copy_from_slice(&frame[at..]),
            )
            .ok()
        });
        events.push(json!({"type": kind, "object": object}));
    }
    events
}
