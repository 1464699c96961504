//! Whether the schema of a CustomResourceDefinition is structural: upstream refuses (v1) those that aren't.

use serde_json::{Map, Value};

use super::{FieldError, FieldErrorKind};

/// What keeps an `openAPIV3Schema` from being structural; `at` is the path of the schema in the CRD
/// (`spec.versions[0].schema.openAPIV3Schema`). Covers types, `properties` against
/// `additionalProperties`, forbidden keywords, list types and their keys, and patterns.
pub fn structural_errors(schema: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        let shown = schema.get("type").cloned().unwrap_or_else(|| Value::from(""));
        let field = format!("{at}.type");
        let detail = "must be object at the root";
        errors.push(match schema.get("type") {
            None => {
                FieldError::bare(&field, FieldErrorKind::Required, "must not be empty at the root")
            }
            Some(_) => FieldError::with_value(&field, FieldErrorKind::Invalid, &shown, detail),
        });
    }
    walk(schema, at, Place::Root, &mut errors);
    errors
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Field,
    Item,
}

fn walk(schema: &Value, at: &str, place: Place, errors: &mut Vec<FieldError>) {
    let Some(fields) = schema.as_object() else { return };
    let flag = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    let untyped = !fields.contains_key("type")
        && !flag("x-kubernetes-int-or-string")
        && !flag("x-kubernetes-preserve-unknown-fields");
    if untyped && place != Place::Root {
        let place = if place == Place::Item { "array items" } else { "object fields" };
        errors.push(FieldError::bare(
            &format!("{at}.type"),
            FieldErrorKind::Required,
            format!("must not be empty for specified {place}"),
        ));
    }
    let types = ["array", "boolean", "integer", "number", "object", "string"];
    if let Some(given) = fields.get("type").and_then(Value::as_str).filter(|t| !types.contains(t)) {
        let names = types.map(|name| format!("{name:?}")).join(", ");
        errors.push(FieldError::with_value(
            &format!("{at}.type"),
            FieldErrorKind::NotSupported,
            &Value::from(given),
            format!("supported values: {names}"),
        ));
    }
    if fields.get("type").and_then(Value::as_str) == Some("array") && !fields.contains_key("items")
    {
        let kind = FieldErrorKind::Required;
        errors.push(FieldError::bare(&format!("{at}.items"), kind, "must be specified"));
    }
    forbidden(fields, at, errors);
    list_type(fields, at, errors);
    if let Some(pattern) = fields.get("pattern").and_then(Value::as_str)
        && regex::Regex::new(pattern).is_err()
    {
        errors.push(FieldError::with_value(
            &format!("{at}.pattern"),
            FieldErrorKind::Invalid,
            &Value::from(pattern),
            "must be a valid regular expression",
        ));
    }
    for (name, property) in
        fields.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        walk(property, &format!("{at}.properties[{name}]"), Place::Field, errors);
    }
    if let Some(values) = fields.get("additionalProperties") {
        walk(values, &format!("{at}.additionalProperties"), Place::Field, errors);
    }
    if let Some(items) = fields.get("items") {
        walk(items, &format!("{at}.items"), Place::Item, errors);
    }
}

fn forbidden(fields: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let mut forbid = |name: &str, detail: &str| {
        errors.push(FieldError::bare(&format!("{at}.{name}"), FieldErrorKind::Forbidden, detail));
    };
    if fields.contains_key("$ref") {
        forbid("$ref", "$ref is not supported");
    }
    if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
        forbid(
            "uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity \
            becomes quadratic",
        );
    }
    for name in ["definitions", "dependencies", "patternProperties", "id", "additionalItems"] {
        if fields.contains_key(name) {
            forbid(name, &format!("{name} is not supported"));
        }
    }
    let has_properties =
        fields.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    if has_properties
        && fields.get("additionalProperties").is_some_and(|value| *value != Value::Bool(false))
    {
        forbid("additionalProperties", "additionalProperties and properties are mutual exclusive");
    }
}

fn list_type(fields: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let Some(list_type) = fields.get("x-kubernetes-list-type").and_then(Value::as_str) else {
        return;
    };
    let field = |name: &str| format!("{at}.{name}");
    if fields.get("type").and_then(Value::as_str) != Some("array") {
        errors.push(FieldError::with_value(
            &field("type"),
            FieldErrorKind::Invalid,
            fields.get("type").unwrap_or(&Value::from("")),
            "must be array if x-kubernetes-list-type is specified",
        ));
    }
    if !matches!(list_type, "atomic" | "set" | "map") {
        errors.push(FieldError::with_value(
            &field("x-kubernetes-list-type"),
            FieldErrorKind::NotSupported,
            &Value::from(list_type),
            "supported values: \"atomic\", \"map\", \"set\"",
        ));
    }
    let keys = fields.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    if list_type == "map" && keys.is_none_or(Vec::is_empty) {
        errors.push(FieldError::bare(
            &field("x-kubernetes-list-map-keys"),
            FieldErrorKind::Required,
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let required: Vec<&Value> = fields
        .get("items")
        .and_then(|items| items.get("required"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    for key in keys.into_iter().flatten().filter_map(Value::as_str) {
        let property = fields.get("items").and_then(|items| items.get("properties")?.get(key));
        let defaulted = property.is_some_and(|property| property.get("default").is_some());
        if !defaulted && !required.contains(&&Value::from(key)) {
            errors.push(FieldError::bare(
                &format!("{at}.items.properties[{key}].default"),
                FieldErrorKind::Required,
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                 required property",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_structural_schemas_pass() {
        let check = |schema: Value, expect: &[&str]| {
            let errors = structural_errors(&schema, "s");
            assert_eq!(errors.iter().map(FieldError::to_string).collect::<Vec<_>>(), expect);
        };
        check(
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}},
                "b": {"x-kubernetes-int-or-string": true},
                "c": {"x-kubernetes-preserve-unknown-fields": true}}}),
            &[],
        );
        check(
            json!({"properties": {"a": {}}}),
            &[
                "s.type: Required value: must not be empty at the root",
                "s.properties[a].type: Required value: must not be empty for specified object fields",
            ],
        );
        check(
            json!({"type": "object", "properties": {"l": {"type": "array",
                "x-kubernetes-list-type": "map", "items": {"type": "object"}}}}),
            &["s.properties[l].x-kubernetes-list-map-keys: Required value: must not be empty if \
                x-kubernetes-list-type is map"],
        );
    }
}
