//! What is wrong with the schema of a definition's version (`validateCustomResourceDefinitionValidation`).

use serde_json::Value;

use super::{
    defaults::default_errors,
    definition::rule_errors,
    demands::{Demands, nobody},
    go_schema, open_api,
};
use crate::schema::{FieldError, FieldErrorKind, Schema, structural_errors, unconvertible};

/// What may be said at the root of a type whose status is written by itself.
const AT_ROOT: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
    MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example \
    XPreserveUnknownFields XValidations";

/// What of the rest may not, in the order of Go's fields.
const NOT_AT_ROOT: [&str; 22] = [
    "id",
    "$schema",
    "$ref",
    "nullable",
    "default",
    "enum",
    "maxProperties",
    "minProperties",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "additionalProperties",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];

/// Errors of a schema; `at` is its path in the definition, and `status` whether a status is written by itself.
pub(super) fn errors(schema: &Value, at: &str, status: bool, demands: Demands) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if status {
        errors.extend(root_error(schema, at));
    }
    if schema["nullable"] == true {
        let detail = "nullable cannot be true at the root";
        errors.push(FieldError::bare(&format!("{at}.nullable"), FieldErrorKind::Forbidden, detail));
    }
    let unconverted = unconvertible(schema).filter(|_| demands.structure);
    let read = Schema::custom(&nobody(), Some(schema)).ok();
    let mut compiled = false;
    if demands.structure && unconverted.is_none() {
        let mut found = structural_errors(schema, at);
        if found.is_empty() {
            found = read.iter().flat_map(|read| default_errors(read, at, demands.pruned)).collect();
        }
        compiled = found.is_empty();
        errors.extend(found);
    }
    let shape = open_api::errors(schema, at, demands);
    let rules = read.map(|read| rule_errors(&read, at, &shape, compiled));
    errors.extend(shape);
    errors.extend(rules.into_iter().flatten());
    if errors.is_empty() {
        let told = |why| FieldError::with_value(at, FieldErrorKind::Invalid, &Value::from(""), why);
        errors.extend(unconverted.map(told));
    }
    errors
}

/// The first thing that is said at the root and may not be.
fn root_error(schema: &Value, at: &str) -> Option<FieldError> {
    let kind = schema["type"].as_str().unwrap_or("");
    if !matches!(kind, "" | "object") {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                      enabled";
        let (field, kind) = (format!("{at}.type"), Value::from(kind));
        return Some(FieldError::with_value(&field, FieldErrorKind::Invalid, &kind, detail));
    }
    let says = |name: &str| match &schema[name] {
        Value::Null => false,
        Value::Bool(false) => name == "additionalProperties",
        Value::String(text) => !text.is_empty() || name.starts_with('x'),
        _ => true,
    };
    NOT_AT_ROOT.into_iter().find(|name| says(name)).map(|_| {
        let detail = format!(
            "only [{AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
        );
        FieldError {
            value: Some(go_schema::shown(schema)),
            ..FieldError::bare(at, FieldErrorKind::Invalid, detail)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::validation::Asked;

    #[test]
    fn a_status_that_is_written_by_itself_restricts_the_root() {
        let demands = Demands::of(&json!({}), None, Asked::Now);
        let check = |schema: Value, status: bool, expect: &[&str]| {
            let found = errors(&schema, "s", status, demands);
            let found: Vec<String> =
                found.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect();
            assert_eq!(found, expect, "{schema}");
        };
        let only = format!(
            "s: only [{AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
        );
        let branches = json!({"type": "object", "anyOf": [{"required": ["a"]}]});
        check(branches.clone(), false, &[]);
        check(branches, true, &[&only]);
        check(json!({"type": "object", "nullable": false, "required": ["a"]}), true, &[]);
        check(
            json!({"type": "object", "nullable": true}),
            false,
            &["s.nullable: nullable cannot be true at the root"],
        );
    }

    #[test]
    fn what_upstream_cannot_convert_is_told_once() {
        let demands = Demands::of(&json!({}), None, Asked::Now);
        let check = |schema: Value, expect: &str| {
            let found = errors(&schema, "s", false, demands);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, [expect], "{schema}");
        };
        check(
            json!({"type": "object", "$schema": "x"}),
            "s: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported",
        );
        check(
            json!({"properties": {"a": {"$ref": "#/x"}}}),
            "s.properties[a].$ref: Forbidden: $ref is not supported",
        );
    }

    #[test]
    fn defaults_of_the_root_are_whole_resources() {
        let demands = Demands::of(&json!({}), None, Asked::Now);
        let found = errors(&json!({"type": "object", "default": {}}), "s", false, demands);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["s.default.apiVersion: Required value", "s.default.kind: Required value"]
        );
    }
}
