//! Enveloped protobuf objects (`k8s\0` + `runtime.Unknown`) to values and back.

mod list;
mod read;
mod write;

pub(crate) use list::ListMessage;
pub(crate) use write::time_problem;

/// Whether Go reads a text as a duration: `1h0m0s`, `1.5s`, `100ms`.
pub(crate) fn is_duration(text: &str) -> bool {
    write::duration::parse(text).is_some()
}

use serde_json::{Map, Value};

use super::{
    types::{self, MessageId},
    wire::{Fields, Malformed, Payload, put_bytes},
};

/// The first bytes of every protobuf object.
pub(super) const MAGIC: &[u8] = b"k8s\0";

/// An object that has no protobuf form, or bytes that are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// Not `k8s\0`, or damaged.
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    Malformed,
    /// Not a kind of the descriptors: custom resources have no protobuf form.
    #[error("no kind {kind:?} is registered for version {api_version:?} in protobuf")]
    UnknownKind {
        /// As given.
        api_version: String,
        /// As given.
        kind: String,
    },
    /// A time that can't be read, in Go's words.
    #[error("{0}")]
    Time(String),
    /// A field of the value has a type that the message doesn't have there.
    #[error("{path}: {given} where {wanted} belongs")]
    WrongType {
        /// Field path in JSON names.
        path: String,
        /// What stands there, shortened.
        given: String,
        /// What would fit.
        wanted: &'static str,
    },
}

impl From<Malformed> for ProtobufError {
    fn from(_: Malformed) -> ProtobufError {
        ProtobufError::Malformed
    }
}

/// Decodes an enveloped object.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = bytes.strip_prefix(MAGIC).ok_or(ProtobufError::Malformed)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut content_type = "";
    for field in Fields(envelope) {
        match field? {
            (1, Payload::Bytes(type_meta)) => {
                for field in Fields(type_meta) {
                    match field? {
                        (1, Payload::Bytes(text)) => api_version = read::text(text)?,
                        (2, Payload::Bytes(text)) => kind = read::text(text)?,
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(bytes)) => raw = bytes,
            (4, Payload::Bytes(text)) => {
                content_type = std::str::from_utf8(text).map_err(|_| ProtobufError::Malformed)?;
            }
            _ => {}
        }
    }
    if content_type == "application/json" {
        return serde_json::from_slice(raw).map_err(|_| ProtobufError::Malformed);
    }
    let id = message(&api_version, &kind)?;
    let mut value = read::message(id, raw)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".to_owned(), Value::from(api_version));
        fields.insert("kind".to_owned(), Value::from(kind));
    }
    Ok(value)
}

/// Encodes an object by its `apiVersion` and `kind`.
pub(super) fn encode(value: &Value) -> Result<Vec<u8>, ProtobufError> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let id = message(api_version, kind)?;
    let mut raw = Vec::new();
    write::message(&mut raw, id, value)?;
    Ok(enveloped(api_version, kind, &raw))
}

/// `k8s\0` and a `runtime.Unknown` around a message.
fn enveloped(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut type_meta = Vec::new();
    put_bytes(&mut type_meta, 1, api_version.as_bytes());
    put_bytes(&mut type_meta, 2, kind.as_bytes());
    let mut out = Vec::with_capacity(raw.len() + type_meta.len() + 24);
    out.extend_from_slice(MAGIC);
    put_bytes(&mut out, 1, &type_meta);
    put_bytes(&mut out, 2, raw);
    put_bytes(&mut out, 3, b"");
    put_bytes(&mut out, 4, b"");
    out
}

fn message(api_version: &str, kind: &str) -> Result<MessageId, ProtobufError> {
    types::message_of(api_version, kind).ok_or_else(|| ProtobufError::UnknownKind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    })
}

/// What a built-in kind looks like when nothing is set, without `apiVersion` and `kind`: Go's zero struct
/// as JSON (`{"metadata": {}, "spec": {"strategy": {}, …}, "status": {}}`). `None` for other kinds.
pub(crate) fn zero_value(api_version: &str, kind: &str) -> Option<Map<String, Value>> {
    let id = types::message_of(api_version, kind)?;
    match read::message(id, &[]).ok()? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        encoding::types::{Kind, Special, types},
        facts,
    };

    #[test]
    fn hard_types_round_trip() {
        let check = |object: Value| {
            let bytes = encode(&object).unwrap();
            assert_eq!(decode(&bytes).unwrap(), object);
            assert_eq!(encode(&object).unwrap(), bytes);
        };
        check(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s",
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{"manager": "m",
                "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}}}}]},
            "data": {"a": "aGVsbG8=", "b": ""}, "type": "Opaque"}));
        check(
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
            "spec": {"holderIdentity": "h", "leaseDurationSeconds": 15,
                "renewTime": "2026-01-01T00:00:00.123456Z"}}),
        );
        check(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 80, "targetPort": "http"}, {"port": 81, "targetPort": 8081}]},
            "status": {"loadBalancer": {}}}));
        check(
            json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "c"},
            "data": {"spec": {"x": [1, null]}}, "revision": 3}),
        );
        check(json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "metadata": {}, "spec": {"token": "t"},
            "status": {"user": {"extra": {"k": ["a", "b"]}}}}));
        check(json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
            "message": "m", "reason": "Conflict", "code": 409,
            "details": {"name": "n", "causes": [{"reason": "r", "message": "m", "field": "f"}]}}));
        check(json!({"apiVersion": "apps/v1", "kind": "DeleteOptions",
            "preconditions": {"uid": "u"}, "propagationPolicy": "Foreground"}));
        check(json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
            "metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "a"}}]}));
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"a": {"type": "array", "items": {"type": "string", "default": "x"},
                "x-kubernetes-list-type": "set"},
                "b": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0.5}},
                "c": {"type": "object", "additionalProperties": true},
                "d": {"x-kubernetes-int-or-string": true, "enum": [1, "x", null]}}});
        check(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.example.com"},
            "spec": {"group": "example.com", "names": {"plural": "foos", "kind": "Foo"},
                "scope": "Namespaced", "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}]},
            "status": {"conditions": null, "acceptedNames": {"plural": "", "kind": ""},
                "storedVersions": null}}));
    }

    #[test]
    fn wrong_values_and_bytes_are_errors() {
        let check = |object: Value, expect: &str| {
            assert_eq!(encode(&object).unwrap_err().to_string(), expect);
        };
        check(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "x"}}),
            "spec.replicas: \"x\" where an integer belongs",
        );
        check(
            json!({"apiVersion": "example.com/v1", "kind": "Foo"}),
            "no kind \"Foo\" is registered for version \"example.com/v1\" in protobuf",
        );
        let bytes = encode(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}));
        let bytes = bytes.unwrap();
        for cut in 0..bytes.len() {
            let _ = decode(&bytes[..cut]);
        }
        assert!(decode(b"{}").is_err());
    }

    /// A value that fits a field, small and of any shape.
    fn value_of(kind: Kind, depth: u32) -> BoxedStrategy<Value> {
        match kind {
            Kind::Bool => any::<bool>().prop_map(Value::from).boxed(),
            Kind::Integer => (-3i64..300).prop_map(Value::from).boxed(),
            Kind::Double => (-8i32..8).prop_map(|n| Value::from(f64::from(n) + 0.5)).boxed(),
            Kind::String => "[a-z]{0,3}".prop_map(Value::from).boxed(),
            Kind::Bytes => Just(Value::from("aGVsbG8=")).boxed(),
            Kind::Message(id) => message_value(id, depth),
        }
    }

    fn message_value(id: MessageId, depth: u32) -> BoxedStrategy<Value> {
        let message = &types().messages[id];
        match message.special {
            Special::Quantity => "[1-9]{1,2}(Mi|m|k|)".prop_map(Value::from).boxed(),
            Special::IntOrString => {
                prop_oneof![(0..9i64).prop_map(Value::from), Just(Value::from("25%"))].boxed()
            }
            Special::Time => Just(Value::from("2026-01-01T00:00:00Z")).boxed(),
            Special::MicroTime => Just(Value::from("2026-01-01T00:00:00.000001Z")).boxed(),
            Special::Duration => Just(Value::from("1h0m0s")).boxed(),
            Special::RawJson => Just(json!({"a": [1, {"b": "c"}]})).boxed(),
            Special::SchemaOrBool | Special::SchemaOrArray => Just(json!({"type": "x"})).boxed(),
            Special::SchemaOrStrings => Just(json!(["a"])).boxed(),
            Special::Wrapper => Just(json!(["a", "b"])).boxed(),
            Special::None => object_value(id, depth),
        }
    }

    fn object_value(id: MessageId, depth: u32) -> BoxedStrategy<Value> {
        let mut all: BoxedStrategy<Map<String, Value>> = Just(Map::new()).boxed();
        for field in &types().messages[id].fields {
            if matches!(field.kind, Kind::Message(_)) && (depth == 0 || field.inline) {
                continue;
            }
            let one = value_of(field.kind, depth.saturating_sub(1));
            let value = if field.repeated {
                prop::collection::vec(one, 0..3).prop_map(Value::from).boxed()
            } else if field.map {
                prop::collection::btree_map("[a-z]", one, 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect()))
                    .boxed()
            } else {
                one
            };
            all = (all, prop::option::weighted(0.3, value))
                .prop_map(move |(mut fields, value)| {
                    if let Some(value) = value {
                        fields.insert(field.json.to_owned(), value);
                    }
                    fields
                })
                .boxed();
        }
        all.prop_map(Value::Object).boxed()
    }

    fn any_built_in() -> impl Strategy<Value = Value> {
        let rows: Vec<_> = facts::groups()
            .iter()
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.resources)
            .filter(|row| row.is_stored())
            .collect();
        prop::sample::select(rows).prop_flat_map(|row| {
            let id = types::message_of(&row.api_version(), &row.kind).unwrap();
            object_value(id, 3).prop_map(|mut object| {
                object["apiVersion"] = Value::from(row.api_version());
                object["kind"] = Value::from(row.kind.as_str());
                object
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        /// What was written once is read and written again to the same bytes and value.
        #[test]
        fn any_object_settles_after_one_round(object in any_built_in()) {
            let bytes = encode(&object).unwrap();
            let once = decode(&bytes).unwrap();
            let again = encode(&once).unwrap();
            prop_assert_eq!(&decode(&again).unwrap(), &once);
            prop_assert_eq!(again, bytes);
        }

        /// A list of kept items has the bytes of the list as one value.
        #[test]
        fn lists_are_their_items(object in any_built_in(), count in 0usize..4) {
            let text = |field: &str| object[field].as_str().unwrap().to_owned();
            let (api_version, kind) = (text("apiVersion"), format!("{}List", text("kind")));
            if types::message_of(&api_version, &kind).is_some() {
                let metadata = json!({"resourceVersion": "7", "continue": "c"});
                let whole = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata,
                    "items": vec![&object; count]});
                let list = ListMessage::new(&api_version, &kind).unwrap();
                let item = list.item(&object).unwrap();
                let items = std::iter::repeat_n(Ok(&*item), count);
                prop_assert_eq!(list.encode(&metadata, items).unwrap(), encode(&whole).unwrap());
            }
        }

        #[test]
        fn damaged_bytes_never_panic(object in any_built_in(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = encode(&object).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode(&bytes);
        }
    }
}
