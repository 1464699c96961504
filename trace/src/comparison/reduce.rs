//! Leaves out of one object what no comparison looks at. Strings keep their tokens here.

use serde_json::{Map, Value};

use crate::{key::ObjectKey, time::Time};

/// Marks a payload until payloads are numbered; no text of an object can begin so.
const PAYLOAD: &str = "\u{0}payload ";

/// The object without uid, revision, generation counters, managed fields and times; conditions in the order
/// of their types.
pub(super) fn reduce(key: &ObjectKey, object: &Value) -> Value {
    let secret = &*key.resource.resource == "secrets" && key.resource.group.is_empty();
    let Some(root) = object.as_object() else { return value(object) };
    let mut out = Map::new();
    for (name, inner) in root {
        let reduced = match (name.as_str(), inner) {
            ("metadata", Value::Object(metadata)) => reduce_metadata(metadata),
            ("data" | "stringData", Value::Object(data)) if secret => payloads(data),
            _ => value(inner),
        };
        out.insert(name.clone(), reduced);
    }
    Value::Object(out)
}

fn reduce_metadata(metadata: &Map<String, Value>) -> Value {
    let left_out = ["uid", "resourceVersion", "generation", "managedFields", "selfLink"];
    metadata
        .iter()
        .filter(|(name, _)| !left_out.contains(&name.as_str()))
        .map(|(name, inner)| (name.clone(), value(inner)))
        .collect::<Map<_, _>>()
        .into()
}

fn value(inner: &Value) -> Value {
    match inner {
        Value::String(text) if Time::parse_rfc3339(text).is_some() => Value::from("<time>"),
        Value::Array(items) => items.iter().map(value).collect(),
        Value::Object(map) => {
            let mut out = Map::new();
            for (name, inner) in map {
                let counter =
                    inner.is_number() && name.to_ascii_lowercase().ends_with("observedgeneration");
                if counter || (name == "resourceVersion" && inner.is_string()) {
                    continue;
                }
                let mut reduced = value(inner);
                if name == "conditions" {
                    sort_conditions(&mut reduced);
                }
                out.insert(name.clone(), reduced);
            }
            Value::Object(out)
        }
        scalar => scalar.clone(),
    }
}

/// Conditions are a map keyed by type (API conventions); writers append in any order.
fn sort_conditions(conditions: &mut Value) {
    let Some(items) = conditions.as_array_mut() else { return };
    let type_of = |item: &Value| item.get("type").and_then(Value::as_str).map(str::to_owned);
    if items.iter().all(|item| type_of(item).is_some()) {
        items.sort_by_key(type_of);
    }
}

fn payloads(data: &Map<String, Value>) -> Value {
    let mark = |inner: &Value| match inner {
        Value::String(text) => {
            let hash = blake3::hash(text.as_bytes());
            Value::String(format!("{PAYLOAD}{hash}"))
        }
        other => other.clone(),
    };
    data.iter().map(|(name, inner)| (name.clone(), mark(inner))).collect::<Map<_, _>>().into()
}

/// Visits all payload marks, in order.
pub(super) fn each_payload(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) if text.starts_with(PAYLOAD) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_payload(item, visit)),
        Value::Object(map) => map.values_mut().for_each(|inner| each_payload(inner, visit)),
        _ => {}
    }
}

/// Shows a payload mark as what it is, for objects that have no world around them.
pub(super) fn plain_payloads(value: &mut Value) {
    each_payload(value, &mut |text| *text = "‹payload›".to_owned());
}
