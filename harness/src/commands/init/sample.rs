//! One sample object for a CustomResourceDefinition, from its schema: what is required, and what has a
//! default.
//!
//! Good enough to be accepted by most schemas. What a schema says in other ways (patterns, CEL rules,
//! `oneOf`) is not solved but named as a doubt, for the author to check.

use serde_json::{Map, Value, json};

/// Keywords by which a schema says more of a value than a sample knows.
const CONSTRAINTS: [&str; 6] =
    ["pattern", "oneOf", "anyOf", "allOf", "not", "x-kubernetes-validations"];

/// A sample, and where it may be wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The resource's kind.
    pub kind: String,
    /// The object.
    pub object: Value,
    /// What the author should check: a path and why.
    pub doubts: Vec<String>,
    /// A patch that changes one of its fields, and which field.
    pub change: Option<(Value, String)>,
}

/// Whether an object is of the type that a CRD defines, in a version that is served.
pub fn is_of(object: &Value, crd: &Value) -> bool {
    let spec = &crd["spec"];
    let (group, version) =
        object["apiVersion"].as_str().and_then(|text| text.split_once('/')).unwrap_or_default();
    let served = |one: &Value| one["name"] == version && one["served"] == true;
    spec["group"] == group
        && spec["names"]["kind"] == object["kind"]
        && spec["versions"].as_array().is_some_and(|versions| versions.iter().any(served))
}

/// The author's own object in the place of the one that was `made` by the schema of its type, with a spec if that has one.
/// Samples as they are generated have none yet.
pub fn as_written(object: &Value, made: &Sample) -> Option<Sample> {
    if made.object.get("spec").is_some() && !object["spec"].is_object() {
        return None;
    }
    let mut object = object.clone();
    let namespace = &made.object["metadata"]["namespace"];
    if object["metadata"]["namespace"].is_null() && !namespace.is_null() {
        object["metadata"]["namespace"] = namespace.clone();
    }
    Some(Sample { kind: made.kind.clone(), object, doubts: vec![], change: None })
}

/// The sample of a CRD; `None` for any other object, or one without a usable version.
pub fn of_crd(crd: &Value) -> Option<Sample> {
    if crd["kind"] != "CustomResourceDefinition" {
        return None;
    }
    let spec = &crd["spec"];
    let kind = spec["names"]["kind"].as_str()?.to_owned();
    let versions = spec["versions"].as_array()?;
    let version = versions.iter().find(|version| version["storage"] == true)?;
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut doubts = Vec::new();
    let mut object = Map::new();
    let group = spec["group"].as_str()?;
    object.insert("apiVersion".to_owned(), json!(format!("{group}/{}", version["name"].as_str()?)));
    object.insert("kind".to_owned(), json!(kind));
    let mut metadata = json!({"name": format!("{}-sample", kind.to_lowercase())});
    if spec["scope"] == "Namespaced" {
        metadata["namespace"] = json!("default");
    }
    object.insert("metadata".to_owned(), metadata);
    // A spec belongs to a sample even where the schema does not insist on it; a status never does.
    for (name, field) in wanted(schema, &["spec"]) {
        if !["apiVersion", "kind", "metadata", "status"].contains(&name) {
            object.insert(name.to_owned(), value(field, name, &mut doubts));
        }
    }
    // Something to change.
    if object.get("spec").is_some_and(|spec| spec.as_object().is_some_and(Map::is_empty))
        && let Some((name, field)) = simple(&schema["properties"]["spec"])
    {
        object["spec"][name] = value(field, &format!("spec.{name}"), &mut doubts);
    }
    let doubts = doubts.into_iter().map(|doubt| format!("{kind}: {doubt}")).collect();
    Some(Sample { kind, object: Value::Object(object), doubts, change: None })
}

/// The properties that a sample has: required ones, those with a default, and those named in `also`.
fn wanted<'s>(schema: &'s Value, also: &'s [&str]) -> impl Iterator<Item = (&'s str, &'s Value)> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(name, field)| (name.as_str(), field)).filter(move |(name, field)| {
        let is_required = required.iter().any(|required| required == name);
        is_required || field.get("default").is_some() || also.contains(name)
    })
}

/// The first property that is one word or number, and may be any.
fn simple(schema: &Value) -> Option<(&str, &Value)> {
    let of_type = |field: &Value| {
        matches!(field["type"].as_str(), Some("string" | "integer" | "boolean"))
            && CONSTRAINTS.iter().chain(&["format"]).all(|name| field.get(name).is_none())
    };
    let mut properties = schema["properties"].as_object()?.iter();
    properties.find(|(_, field)| of_type(field)).map(|(name, field)| (name.as_str(), field))
}

fn value(schema: &Value, path: &str, doubts: &mut Vec<String>) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let int_or_string = schema["x-kubernetes-int-or-string"] == true;
    for name in CONSTRAINTS.into_iter().filter(|name| !(int_or_string && *name == "anyOf")) {
        if let Some(constraint) = schema.get(name) {
            doubts.push(format!("{path} against its {name}: {}", short(constraint)));
        }
    }
    if int_or_string {
        return json!(1);
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, path, doubts),
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(0).min(16);
            let item = |index| value(&schema["items"], &format!("{path}[{index}]"), doubts);
            (0..count).map(item).collect()
        }
        Some("string") => json!(string(schema)),
        Some("integer") => json!(number(schema).ceil() as i64),
        Some("number") => json!(number(schema)),
        Some("boolean") => json!(false),
        _ => json!({}),
    }
}

fn object(schema: &Value, path: &str, doubts: &mut Vec<String>) -> Value {
    let fields = wanted(schema, &[]);
    let mut object: Map<String, Value> = fields
        .map(|(name, field)| (name.to_owned(), value(field, &format!("{path}.{name}"), doubts)))
        .collect();
    let least = schema["minProperties"].as_u64().unwrap_or(0).min(16);
    for index in object.len() as u64..least {
        let key = format!("key-{index}");
        let field = value(&schema["additionalProperties"], &format!("{path}.{key}"), doubts);
        object.insert(key, field);
    }
    Value::Object(object)
}

fn string(schema: &Value) -> String {
    match schema["format"].as_str() {
        Some("date-time") => return "2026-01-01T00:00:00Z".to_owned(),
        Some("date") => return "2026-01-01".to_owned(),
        Some("duration") => return "1m".to_owned(),
        Some("ipv4") => return "192.0.2.1".to_owned(),
        Some("uri") => return "https://example.com".to_owned(),
        Some("byte") => return "ZXhhbXBsZQ==".to_owned(),
        _ => {}
    }
    let mut text = "example".to_owned();
    if let Some(least) = schema["minLength"].as_u64() {
        while (text.len() as u64) < least.min(4096) {
            text.push('x');
        }
    }
    if let Some(most) = schema["maxLength"].as_u64() {
        text.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    text
}

/// 1 where that is allowed, else the nearest bound.
fn number(schema: &Value) -> f64 {
    let bound = |name: &str, exclusive: &str, step: f64| {
        let bound = schema[name].as_f64()?;
        Some(if schema[exclusive] == true { bound + step } else { bound })
    };
    let least = bound("minimum", "exclusiveMinimum", 1.0).unwrap_or(f64::NEG_INFINITY);
    let most = bound("maximum", "exclusiveMaximum", -1.0).unwrap_or(f64::INFINITY);
    let number = 1f64.max(least).min(most);
    match schema["multipleOf"].as_f64() {
        Some(step) if step > 0.0 => (number / step).ceil() * step,
        _ => number,
    }
}

fn short(value: &Value) -> String {
    const LENGTH_MAX: usize = 80;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(LENGTH_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_their_schema() {
        let check = |schema: Value, expect: Value| {
            assert_eq!(value(&schema, "spec", &mut Vec::new()), expect, "{schema}");
        };
        check(json!({"type": "string"}), json!("example"));
        check(json!({"type": "string", "minLength": 9}), json!("examplexx"));
        check(json!({"type": "string", "maxLength": 3}), json!("exa"));
        check(json!({"type": "string", "format": "date-time"}), json!("2026-01-01T00:00:00Z"));
        check(json!({"type": "string", "enum": ["B", "A"]}), json!("B"));
        check(json!({"type": "integer"}), json!(1));
        check(json!({"type": "integer", "minimum": 3}), json!(3));
        check(json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}), json!(4));
        check(json!({"type": "integer", "maximum": 0}), json!(0));
        check(json!({"type": "integer", "multipleOf": 5}), json!(5));
        check(json!({"type": "boolean", "default": true}), json!(true));
        check(json!({"x-kubernetes-int-or-string": true, "anyOf": [{}]}), json!(1));
        check(json!({"type": "array", "items": {"type": "integer"}}), json!([]));
        check(json!({"type": "array", "minItems": 2, "items": {"type": "integer"}}), json!([1, 1]));
        check(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), json!({}));
        let some = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "integer", "default": 2}}});
        check(some, json!({"a": "example", "c": 2}));
        let map = json!({"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}});
        check(map, json!({"key-0": "example"}));
    }

    #[test]
    fn what_is_not_solved_is_named() {
        let mut doubts = Vec::new();
        value(&json!({"type": "string", "pattern": "^x$"}), "spec.host", &mut doubts);
        assert_eq!(doubts, ["spec.host against its pattern: ^x$"]);
    }

    #[test]
    fn other_objects_have_no_sample() {
        assert_eq!(of_crd(&json!({"kind": "Namespace"})), None);
        assert_eq!(of_crd(&json!({"kind": "CustomResourceDefinition"})), None);
    }
}
