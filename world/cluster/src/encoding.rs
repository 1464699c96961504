//! Bytes to objects and back: JSON, YAML, Kubernetes' protobuf; content negotiation; watch frames.
//!
//! Objects are `serde_json::Value`s everywhere inside. Protobuf is read and written straight between the
//! wire and values, directed by the descriptors in `cluster/data` ([`types`]); map entries are written in
//! key order, so the same object always gives the same bytes. What Go's structs decide about absent, null
//! and zero values is a table of its own (`go-json.txt`): so an object that went through
//! [`canonical`] has exactly the JSON form that a real server shows after storing it.
//!
//! Costs: the tables (1,300 messages) are read on first use of protobuf or [`canonical`], about 2 ms.

mod accept;
mod duplicate;
mod protobuf;
mod types;
mod view;
mod watch;
pub(crate) mod wire;

use bytes::Bytes;
use serde_json::Value;

pub use accept::{Format, MediaType, NotAcceptable, Offer, Target, negotiate};
pub use controllers::quantity::{canonical as canonical_quantity, nanos_of as quantity_nanos};
pub use duplicate::duplicate_fields;
pub use protobuf::ProtobufError;
pub(crate) use protobuf::{ListMessage, is_duration, time_problem, zero_value};
pub use view::{metadata_list_view, metadata_view};
pub use watch::{WatchFrames, watch_frame};

/// A body that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The content type is none of those accepted: 415. A protobuf body for a custom resource too.
    #[error(
        "the body of the request was in an unknown format - accepted media types include: {}",
        ACCEPTED
    )]
    UnsupportedMediaType,
    /// The bytes are not what the content type says: 400.
    #[error("{0}")]
    Malformed(String),
}

impl DecodeError {
    /// The HTTP status code.
    pub fn code(&self) -> u16 {
        match self {
            DecodeError::UnsupportedMediaType => 415,
            DecodeError::Malformed(_) => 400,
        }
    }
}

/// The media types of bodies, as upstream lists them.
pub const ACCEPTED: &str =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Reads a request or response body. No `Content-Type` means JSON (some clients send none); apply
/// patches are YAML; other patch types are JSON.
pub fn decode(content_type: Option<&str>, bytes: &[u8]) -> Result<Value, DecodeError> {
    let bare = content_type.unwrap_or("").split(';').next().unwrap_or("").trim();
    match bare {
        "" | "application/json" => decode_json(bytes),
        "application/vnd.kubernetes.protobuf" => {
            protobuf::decode(bytes).map_err(|error| DecodeError::Malformed(error.to_string()))
        }
        "application/yaml" | "application/apply-patch+yaml" => decode_yaml(bytes),
        json if json.starts_with("application/") && json.ends_with("+json") => decode_json(bytes),
        _ => Err(DecodeError::UnsupportedMediaType),
    }
}

fn decode_json(bytes: &[u8]) -> Result<Value, DecodeError> {
    serde_json::from_slice(bytes).map_err(|error| DecodeError::Malformed(error.to_string()))
}

/// JSON is YAML, and faster to read.
fn decode_yaml(bytes: &[u8]) -> Result<Value, DecodeError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| DecodeError::Malformed(format!("yaml: {error}")))?;
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    serde_saphyr::from_str(text)
        .map_err(|error| DecodeError::Malformed(format!("error converting YAML to JSON: {error}")))
}

/// Writes an object. Protobuf needs a built-in kind (or a metadata view, or a Status).
pub fn encode(value: &Value, format: Format) -> Result<Bytes, ProtobufError> {
    match format {
        Format::Json => Ok(json(value)),
        Format::Yaml => Ok(yaml(value)),
        Format::Protobuf => protobuf::encode(value).map(Bytes::from),
    }
}

/// JSON with the newline that Go's encoder puts at the end.
fn json(value: &Value) -> Bytes {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    Bytes::from(bytes)
}

fn yaml(value: &Value) -> Bytes {
    // A value of strings, numbers, lists and maps always has a YAML form; JSON is one.
    serde_saphyr::to_string(value).map_or_else(|_| json(value), Bytes::from)
}

/// Whether `apiVersion` and `kind` name a message of the descriptors.
pub fn has_protobuf(api_version: &str, kind: &str) -> bool {
    types::message_of(api_version, kind).is_some()
}

/// Whether the descriptors have a message of this full name.
pub(crate) fn has_message(name: &str) -> bool {
    types::has_message(name)
}

/// Rewrites a built-in object as a real server would show it after storing it: through Go's structs.
/// Unknown fields go, quantities get their canonical form, zero values and empty lists of `omitempty`
/// fields go, struct fields without a pointer appear (`status: {}`). Returns false, and changes nothing,
/// for kinds that are not built in.
pub fn canonical(object: &mut Value) -> Result<bool, ProtobufError> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
    if !has_protobuf(text("apiVersion"), text("kind")) {
        return Ok(false);
    }
    *object = protobuf::decode(&protobuf::encode(object)?)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_are_read_by_content_type() {
        let expect = json!({"a": [1, "x"], "b": null});
        let check = |content_type: Option<&str>, body: &str| {
            assert_eq!(decode(content_type, body.as_bytes()).unwrap(), expect);
        };
        check(None, r#"{"a":[1,"x"],"b":null}"#);
        check(Some("application/json; charset=utf-8"), r#"{"a":[1,"x"],"b":null}"#);
        check(Some("application/merge-patch+json"), r#"{"a":[1,"x"],"b":null}"#);
        check(Some("application/apply-patch+yaml"), "a:\n- 1\n- x\nb: null\n");
        check(Some("application/yaml"), "a: [1, x]\nb:\n");
        check(Some("application/yaml"), std::str::from_utf8(&yaml(&expect)).unwrap());
        assert_eq!(decode(Some("application/cbor"), b"").unwrap_err().code(), 415);
        assert_eq!(decode(Some("application/json"), b"{").unwrap_err().code(), 400);
        assert_eq!(
            decode(Some("application/vnd.kubernetes.protobuf"), b"k8s").unwrap_err().code(),
            400
        );
    }

    #[test]
    fn canonical_objects_look_like_a_real_servers() {
        let mut deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "unknown": 1,
            "metadata": {"name": "d", "labels": {}, "creationTimestamp": null},
            "spec": {"replicas": 0, "paused": false, "selector": {"matchLabels": {"a": "b"}},
                "template": {"spec": {"containers": [{"name": "c",
                    "resources": {"limits": {"cpu": "1000m", "memory": 1024}}}]}}}});
        assert!(canonical(&mut deployment).unwrap());
        assert_eq!(
            deployment,
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "strategy": {},
                    "template": {"metadata": {}, "spec": {"containers": [{"name": "c",
                        "resources": {"limits": {"cpu": "1", "memory": "1024"}}}]}}},
                "status": {}})
        );
        let mut custom = json!({"apiVersion": "example.com/v1", "kind": "Foo", "x": {}});
        let before = custom.clone();
        assert!(!canonical(&mut custom).unwrap());
        assert_eq!(custom, before);
    }
}
