//! What no schema of a definition may say, structural or not (`ValidateCustomResourceDefinitionOpenAPISchema`, but for
//! CEL rules).

mod lists;

use serde_json::{Value, json};

pub(super) use self::lists::{is_set_of_parts, key_errors};
use super::demands::Demands;
use crate::schema::{
    FieldError, FieldErrorKind,
    keywords::{forbidden, invalid, keyword, list, required, schemas},
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Errors of a schema and all below it; `at` is its path in the definition.
pub(super) fn errors(schema: &Value, at: &str, demands: Demands) -> Vec<FieldError> {
    let mut walk = Walk { demands, errors: Vec::new() };
    walk.visit(schema, at, &Place { root: true, ..Place::default() });
    walk.errors
}

/// Whether a schema is of a type that `OpenAPI` does not have.
pub(super) fn is_of_another_type(schema: &Value) -> bool {
    schema["type"].as_str().is_some_and(|kind| !kind.is_empty() && !TYPES.contains(&kind))
}

fn unsupported(field: &str, value: &Value, supported: &[&str]) -> FieldError {
    let names: Vec<String> = supported.iter().map(|name| format!("{name:?}")).collect();
    let detail = format!("supported values: {}", names.join(", "));
    FieldError::with_value(field, FieldErrorKind::NotSupported, value, detail)
}

/// That something has a type which another keyword asks for.
fn typed(schema: &Value, at: &str, detail: &str) -> FieldError {
    let field = format!("{at}.type");
    match schema["type"].as_str().unwrap_or("") {
        "" => required(&field, detail),
        kind => invalid(&field, &Value::from(kind), detail),
    }
}

/// Where a schema stands.
#[derive(Debug, Clone, Default)]
struct Place {
    /// Whether it is the root.
    root: bool,
    /// Whether it is of the type or metadata of a resource.
    meta: bool,
    /// Where it is that it may have no defaults.
    no_defaults: Option<String>,
}

struct Walk {
    demands: Demands,
    errors: Vec<FieldError>,
}

impl Walk {
    fn visit(&mut self, schema: &Value, at: &str, place: &Place) {
        self.standard(schema, at, place);
        let field = |name: &str| format!("{at}.{name}");
        let below = Place { root: false, ..place.clone() };
        if schema["uniqueItems"] == true {
            let detail =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.errors.push(forbidden(&field("uniqueItems"), detail));
        }
        if let Some(values) = keyword(schema, "additionalProperties") {
            let at = field("additionalProperties");
            if schemas(schema, "properties").is_some() && *values != json!(true) {
                let detail = "additionalProperties and properties are mutual exclusive";
                self.errors.push(forbidden(&at, detail));
            }
            let mut below = below.clone();
            if place.meta {
                let place = "inside additionalProperties applying to object metadata";
                below.no_defaults = Some(place.to_owned());
            }
            if values.is_object() {
                self.visit(values, &at, &below);
            }
        }
        for (name, property) in schemas(schema, "properties").into_iter().flatten() {
            let mut below = below.clone();
            let resource = place.root || schema["x-kubernetes-embedded-resource"] == true;
            if resource && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
                below.meta = true;
                if place.root {
                    below.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.visit(property, &field(&format!("properties[{name}]")), &below);
        }
        for name in ["not", "items"] {
            match keyword(schema, name) {
                Some(Value::Array(_)) | None => {}
                Some(one) => self.visit(one, &field(name), &below),
            }
        }
        for name in ["allOf", "oneOf", "anyOf", "items"] {
            for (index, branch) in list(schema, name).iter().enumerate() {
                self.visit(branch, &field(&format!("{name}[{index}]")), &below);
            }
        }
        for name in ["definitions", "dependencies"] {
            let all = schemas(schema, name).into_iter().flatten();
            for (key, one) in all.filter(|(_, one)| one.is_object()) {
                self.visit(one, &field(&format!("{name}[{key}]")), &below);
            }
        }
        self.extensions(schema, at);
    }

    /// `specStandardValidatorV3`
    fn standard(&mut self, schema: &Value, at: &str, place: &Place) {
        let field = |name: &str| format!("{at}.{name}");
        if self.demands.types && is_of_another_type(schema) {
            self.errors.push(unsupported(&field("type"), &schema["type"], &TYPES));
        }
        if let Some(place) =
            place.no_defaults.as_ref().filter(|_| keyword(schema, "default").is_some())
        {
            self.errors.push(forbidden(&field("default"), format!("must not be set {place}")));
        }
        let unknown = [
            ("id", schema["id"].as_str().is_some_and(|id| !id.is_empty())),
            ("additionalItems", keyword(schema, "additionalItems").is_some()),
            ("patternProperties", schemas(schema, "patternProperties").is_some()),
            ("definitions", schemas(schema, "definitions").is_some()),
            ("dependencies", keyword(schema, "dependencies").is_some()),
            ("$ref", keyword(schema, "$ref").is_some()),
        ];
        for (name, _) in unknown.into_iter().filter(|(_, given)| *given) {
            self.errors.push(forbidden(&field(name), format!("{name} is not supported")));
        }
        if schema["type"] == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            self.errors.push(forbidden(&field("type"), detail));
        }
        if !list(schema, "items").is_empty() {
            let detail = "items must be a schema object and not an array";
            self.errors.push(forbidden(&field("items"), detail));
        }
        if place.meta && schema["x-kubernetes-embedded-resource"] == true {
            let detail = "must not be used inside of resource meta";
            self.errors.push(forbidden(&field("x-kubernetes-embedded-resource"), detail));
        }
    }

    fn extensions(&mut self, schema: &Value, at: &str) {
        let field = |name: &str| format!("{at}.{name}");
        let preserve = "x-kubernetes-preserve-unknown-fields";
        if schema[preserve] == false {
            let detail = "must be true or undefined";
            self.errors.push(invalid(&field(preserve), &Value::Bool(false), detail));
        }
        if let Some(kind) = keyword(schema, "x-kubernetes-map-type") {
            if schema["type"] != "object" {
                let detail = "must be object if x-kubernetes-map-type is specified";
                self.errors.push(typed(schema, at, detail));
            }
            if *kind != "atomic" && *kind != "granular" {
                let field = field("x-kubernetes-map-type");
                self.errors.push(unsupported(&field, kind, &["atomic", "granular"]));
            }
        }
        lists::list_errors(schema, at, self.demands, &mut self.errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::Asked;

    fn check(schema: Value, expect: &[&str]) {
        let demands = Demands::of(&json!({}), None, Asked::Now);
        let found: Vec<String> =
            errors(&schema, "s", demands).iter().map(FieldError::to_string).collect();
        assert_eq!(found, expect, "{schema}");
    }

    #[test]
    fn what_no_schema_may_say() {
        let of = |field: Value| json!({"type": "object", "properties": {"a": field}});
        check(
            of(json!({"type": "object", "properties": {"b": {}}, "additionalProperties": false})),
            &[
                "s.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual \
                exclusive",
            ],
        );
        check(
            of(json!({"type": "object", "properties": {"b": {}}, "additionalProperties": true})),
            &[],
        );
        check(
            of(json!({"items": [{"type": "foo"}], "x-kubernetes-preserve-unknown-fields": false})),
            &[
                "s.properties[a].items: Forbidden: items must be a schema object and not an array",
                "s.properties[a].items[0].type: Unsupported value: \"foo\": supported values: \"array\", \
                    \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
                "s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or \
                    undefined",
            ],
        );
        check(
            of(json!({"type": "string", "x-kubernetes-map-type": "foo"})),
            &[
                "s.properties[a].type: Invalid value: \"string\": must be object if x-kubernetes-map-type is \
                    specified",
                "s.properties[a].x-kubernetes-map-type: Unsupported value: \"foo\": supported values: \"atomic\", \
                    \"granular\"",
            ],
        );
    }

    #[test]
    fn metadata_have_no_defaults() {
        let labels =
            json!({"type": "object", "additionalProperties": {"type": "string", "default": "x"}});
        let metadata = json!({"type": "object", "properties": {"labels": labels}});
        let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
            "properties": {"metadata": metadata, "kind": {"type": "string", "default": "Foo"}}});
        check(
            json!({"type": "object", "properties": {"a": embedded,
                "metadata": {"type": "object", "default": {}}}}),
            &[
                "s.properties[a].properties[metadata].properties[labels].additionalProperties.default: Forbidden: \
                    must not be set inside additionalProperties applying to object metadata",
                "s.properties[metadata].default: Forbidden: must not be set in top-level metadata",
            ],
        );
    }
}
