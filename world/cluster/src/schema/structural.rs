//! Whether the schema of a CustomResourceDefinition is structural: upstream refuses (v1) those that aren't
//! (`ValidateStructural` of `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go`).

mod convert;
mod metadata;
mod nested;

use serde_json::Value;

pub(crate) use self::convert::unconvertible;
use super::{
    FieldError,
    keywords::{forbidden, invalid, keyword, list, required, schemas},
};

/// What keeps an `openAPIV3Schema` from being structural; `at` is the path of the schema in the CRD
/// (`spec.versions[0].schema.openAPIV3Schema`). Of one that upstream can't [convert](unconvertible) nothing is asked.
pub(crate) fn structural_errors(schema: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, at, Level::Root, &mut errors);
    nested::complete(schema, schema, at, at, &mut errors);
    errors.sort_by_cached_key(FieldError::to_string);
    errors
}

/// Whether nothing keeps a schema from being structural.
pub(crate) fn is_structural(schema: &Value) -> bool {
    unconvertible(schema).is_none() && structural_errors(schema, "").is_empty()
}

fn text<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or("")
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Field,
    Item,
}

/// `validateStructuralInvariants`
fn walk(schema: &Value, at: &str, level: Level, errors: &mut Vec<FieldError>) {
    let field = |name: &str| format!("{at}.{name}");
    if text(schema, "type") == "array" && keyword(schema, "items").is_none() {
        errors.push(required(&field("items"), "must be specified"));
    }
    if let Some(items) = keyword(schema, "items") {
        walk(items, &field("items"), Level::Item, errors);
    }
    for (name, property) in schemas(schema, "properties").into_iter().flatten() {
        walk(property, &field(&format!("properties[{name}]")), Level::Field, errors);
    }
    if let Some(values) = keyword(schema, "additionalProperties") {
        let at = field("additionalProperties");
        if level == Level::Root {
            errors.push(forbidden(&at, "must not be used at the root"));
        }
        if values.is_object() {
            walk(values, &at, Level::Field, errors);
        }
    }
    if flag(schema, INT_OR_STRING) {
        for other in [PRESERVE, EMBEDDED].into_iter().filter(|other| flag(schema, other)) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(invalid(&field(other), &Value::Bool(true), detail));
        }
    }
    nested::values(schema, nested::Known::of(schema), at, errors);
    kind(schema, at, level, errors);
    if level == Level::Root || flag(schema, EMBEDDED) {
        metadata::type_errors(schema, at, errors);
    }
    if level == Level::Root {
        metadata::root_errors(schema, at, errors);
    }
    let anything = flag(schema, PRESERVE) || schemas(schema, "properties").is_some();
    if flag(schema, EMBEDDED) && !anything {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(required(&field("properties"), detail));
    }
}

const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// That a schema says of which type values are, and which it has to be.
fn kind(schema: &Value, at: &str, level: Level, errors: &mut Vec<FieldError>) {
    let (at_type, given) = (format!("{at}.type"), text(schema, "type"));
    let value = Value::from(given);
    if flag(schema, EMBEDDED) && given != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match given {
            "" => required(&at_type, detail),
            _ => invalid(&at_type, &value, detail),
        });
    } else if given.is_empty() && !flag(schema, INT_OR_STRING) && !flag(schema, PRESERVE) {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(required(&at_type, detail));
    }
    if flag(schema, EMBEDDED) && keyword(schema, "additionalProperties").is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(forbidden(&format!("{at}.additionalProperties"), detail));
    }
    if level == Level::Root && !matches!(given, "" | "object") {
        errors.push(invalid(&at_type, &value, "must be object at the root"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, expect: &[&str]) {
        let errors = structural_errors(&schema, "s");
        let found: Vec<String> = errors.iter().map(FieldError::to_string).collect();
        assert_eq!(found, expect, "{schema}");
    }

    #[test]
    fn only_structural_schemas_pass() {
        check(
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}},
                "b": {"x-kubernetes-int-or-string": true},
                "c": {"x-kubernetes-preserve-unknown-fields": true}}}),
            &[],
        );
        check(
            json!({"properties": {"a": {}, "l": {"type": "array", "items": {}}, "m": {"type": "array"}}}),
            &[
                "s.properties[a].type: Required value: must not be empty for specified object fields",
                "s.properties[l].items.type: Required value: must not be empty for specified array items",
                "s.properties[m].items: Required value: must be specified",
                "s.type: Required value: must not be empty at the root",
            ],
        );
        check(
            json!({"type": "string", "additionalProperties": true}),
            &[
                "s.additionalProperties: Forbidden: must not be used at the root",
                "s.type: Invalid value: \"string\": must be object at the root",
            ],
        );
    }

    #[test]
    fn a_resource_within_is_an_object_of_something() {
        let of = |field: Value| json!({"type": "object", "properties": {"a": field}});
        check(
            of(json!({"x-kubernetes-embedded-resource": true})),
            &[
                "s.properties[a].properties: Required value: must not be empty if \
                    x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
                "s.properties[a].type: Required value: must be object if x-kubernetes-embedded-resource is true",
            ],
        );
        check(
            of(
                json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-int-or-string": true,
                "additionalProperties": {"type": "string"}, "properties": {"kind": {"type": "integer"}}}),
            ),
            &[
                "s.properties[a].additionalProperties: Forbidden: must not be used if \
                    x-kubernetes-embedded-resource is set",
                "s.properties[a].properties[kind].type: Invalid value: \"integer\": must be string",
                "s.properties[a].x-kubernetes-embedded-resource: Invalid value: true: must be false if \
                    x-kubernetes-int-or-string is true",
            ],
        );
    }
}
