//! One sample object for a CustomResourceDefinition, from its schema: what is required, and what has a default.
//!
//! Only values are used of which the schema says that they are right: defaults, enums, numbers with bounds, texts of a
//! known format. What is required beyond that is the author's to say: a made-up text passes the schema, and the operator
//! refuses it.

use serde_json::{Map, Value, json};

use super::change::Change;

/// An object of a custom type.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The object.
    pub object: Value,
    /// A change of it that is safe, if there is one.
    pub change: Option<Change>,
}

/// A type of which there is no sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Missing {
    /// What an object of it begins with: type, name and namespace.
    pub object: Value,
    /// Why there is none.
    pub why: String,
}

impl Sample {
    /// `Bar mine`.
    pub fn name(&self) -> String {
        called(&self.object)
    }
}

/// An object as a person calls it: its kind and its name.
pub fn called(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// That an API server refuses it, and why.
pub fn refusal(object: &Value, why: &str) -> String {
    format!("the API server refuses {}: {why}", called(object))
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

/// The author's own object of the type that a CRD defines, in a namespace if it needs one; none without a spec where the
/// type has one: samples as they are generated have none yet.
pub fn as_written(object: &Value, crd: &Value) -> Option<Sample> {
    let has_spec = stored(crd)?["schema"]["openAPIV3Schema"]["properties"].get("spec").is_some();
    if has_spec && !object["spec"].is_object() {
        return None;
    }
    let mut object = object.clone();
    if crd["spec"]["scope"] == "Namespaced" && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = json!("default");
    }
    Some(Sample { object, change: None })
}

fn stored(crd: &Value) -> Option<&Value> {
    crd["spec"]["versions"].as_array()?.iter().find(|version| version["storage"] == true)
}

/// What each sample of a CRD begins with; `None` for any other object, or one without a usable version.
pub fn beginning(crd: &Value) -> Option<Value> {
    if crd["kind"] != "CustomResourceDefinition" {
        return None;
    }
    let kind = crd["spec"]["names"]["kind"].as_str()?;
    let (group, version) = (crd["spec"]["group"].as_str()?, stored(crd)?["name"].as_str()?);
    let mut metadata = json!({"name": format!("{}-sample", kind.to_lowercase())});
    if crd["spec"]["scope"] == "Namespaced" {
        metadata["namespace"] = json!("default");
    }
    Some(json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": metadata}))
}

/// The sample of a CRD by its schema, from its [`beginning`].
///
/// # Errors
/// The required fields of which the schema does not say what is right.
pub fn by_schema(crd: &Value, beginning: &Value) -> Result<Sample, Vec<String>> {
    let mut object = beginning.clone();
    let mut unknown = Vec::new();
    let schema = stored(crd).map_or(&Value::Null, |version| &version["schema"]["openAPIV3Schema"]);
    for (name, field) in wanted(schema) {
        if !["apiVersion", "kind", "metadata", "status", "spec"].contains(&name) {
            object[name] = value(field, name, &mut unknown);
        }
    }
    // A spec belongs to a sample even where the schema does not insist on it; a status never does. It may be empty: that
    // is a user who leaves all to the operator.
    if let Some(spec) = schema["properties"].get("spec") {
        object["spec"] = match spec["type"] == "object" {
            true => object_of(spec, "spec", &mut unknown),
            false => value(spec, "spec", &mut unknown),
        };
    }
    match unknown.is_empty() {
        true => Ok(Sample { object, change: None }),
        false => Err(unknown),
    }
}

/// The properties that a sample has: required ones, and those with a default.
fn wanted(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(name, field)| (name.as_str(), field)).filter(move |(name, field)| {
        required.iter().any(|required| required == name) || field.get("default").is_some()
    })
}

/// A value that is right by its schema; else a note of the field in `unknown`.
fn value(schema: &Value, path: &str, unknown: &mut Vec<String>) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let known = match schema["type"].as_str() {
        Some("object") if has_wanted(schema) => return object_of(schema, path, unknown),
        Some("array") => schema["minItems"].as_u64().filter(|count| *count > 0).map(|count| {
            let item = |index| value(&schema["items"], &format!("{path}[{index}]"), unknown);
            (0..count.min(16)).map(item).collect()
        }),
        Some("string") => text(schema).map(|text| json!(text)),
        Some("integer") => number(schema, path).map(|number| json!(number.ceil() as i64)),
        Some("number") => number(schema, path).map(|number| json!(number)),
        Some("boolean") => Some(json!(false)),
        _ => None,
    };
    known.unwrap_or_else(|| {
        unknown.push(path.to_owned());
        Value::Null
    })
}

/// Whether the schema says what an object of it needs. `{}` where it does not is an empty template.
fn has_wanted(schema: &Value) -> bool {
    wanted(schema).next().is_some()
}

fn object_of(schema: &Value, path: &str, unknown: &mut Vec<String>) -> Value {
    let fields = wanted(schema);
    let object: Map<String, Value> = fields
        .map(|(name, field)| (name.to_owned(), value(field, &format!("{path}.{name}"), unknown)))
        .collect();
    Value::Object(object)
}

/// A text of a format that says what it is.
fn text(schema: &Value) -> Option<&'static str> {
    let text = match schema["format"].as_str()? {
        "date-time" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "duration" => "1m",
        "ipv4" => "192.0.2.1",
        _ => return None,
    };
    schema.get("pattern").is_none().then_some(text)
}

/// 1 where that is allowed, else the nearest bound; of what is counted in replicas, or has bounds.
fn number(schema: &Value, path: &str) -> Option<f64> {
    let bound = |name: &str, exclusive: &str, step: f64| {
        let bound = schema[name].as_f64()?;
        Some(if schema[exclusive] == true { bound + step } else { bound })
    };
    let least = bound("minimum", "exclusiveMinimum", 1.0);
    let most = bound("maximum", "exclusiveMaximum", -1.0);
    if least.or(most).is_none() && !path.ends_with(".replicas") {
        return None;
    }
    let number = 1f64.max(least.unwrap_or(f64::MIN)).min(most.unwrap_or(f64::MAX));
    Some(match schema["multipleOf"].as_f64() {
        Some(step) if step > 0.0 => (number / step).ceil() * step,
        _ => number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_their_schema_says() {
        let check = |schema: Value, expect: Value| {
            let mut unknown = vec![];
            assert_eq!(value(&schema, "spec.replicas", &mut unknown), expect, "{schema}");
            assert_eq!(unknown, [""; 0], "{schema}");
        };
        check(json!({"type": "string", "format": "date-time"}), json!("2026-01-01T00:00:00Z"));
        check(json!({"type": "string", "enum": ["B", "A"]}), json!("B"));
        check(json!({"type": "string", "default": "c"}), json!("c"));
        check(json!({"type": "integer"}), json!(1));
        check(json!({"type": "integer", "minimum": 3}), json!(3));
        check(json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}), json!(4));
        check(json!({"type": "integer", "maximum": 0}), json!(0));
        check(json!({"type": "integer", "multipleOf": 5}), json!(5));
        check(json!({"type": "boolean", "default": true}), json!(true));
        let some = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "boolean"}, "b": {"type": "string"}, "c": {"type": "integer", "default": 2}}});
        check(some.clone(), json!({"a": false, "c": 2}));
        check(
            json!({"type": "array", "minItems": 1, "items": some}),
            json!([{"a": false, "c": 2}]),
        );
    }

    #[test]
    fn what_the_schema_does_not_say_is_not_made_up() {
        let check = |schema: Value, expect: &str| {
            let mut unknown = vec![];
            value(&schema, "spec.f", &mut unknown);
            assert_eq!(unknown, [expect], "{schema}");
        };
        check(json!({"type": "string"}), "spec.f");
        check(json!({"type": "string", "format": "cron"}), "spec.f");
        check(json!({"type": "string", "format": "date", "pattern": "^2"}), "spec.f");
        check(json!({"type": "integer"}), "spec.f");
        check(json!({"type": "array", "items": {"type": "boolean"}}), "spec.f");
        check(json!({"type": "array", "minItems": 1, "items": {"type": "string"}}), "spec.f[0]");
        check(json!({"x-kubernetes-int-or-string": true}), "spec.f");
        let template = json!({"type": "object", "properties": {"spec": {"type": "object"}}});
        check(template, "spec.f");
        let required =
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
        check(required, "spec.f.a");
    }

    #[test]
    fn other_objects_have_no_sample() {
        assert_eq!(beginning(&json!({"kind": "Namespace"})), None);
        assert_eq!(beginning(&json!({"kind": "CustomResourceDefinition"})), None);
    }
}
