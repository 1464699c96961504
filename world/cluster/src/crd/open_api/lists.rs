//! What a schema may say of how a list is merged: sets of what can't be taken apart, lists of objects with keys.

use serde_json::Value;

use super::{forbidden, invalid, keyword, list, required, typed, unsupported};
use crate::{crd::demands::Demands, schema::FieldError};

const TYPE: &str = "x-kubernetes-list-type";
const KEYS: &str = "x-kubernetes-list-map-keys";

/// Errors of a list's kind.
pub(super) fn list_errors(
    schema: &Value,
    at: &str,
    demands: Demands,
    errors: &mut Vec<FieldError>,
) {
    let field = |name: &str| format!("{at}.{name}");
    let kind = keyword(schema, TYPE);
    if kind.is_some() && schema["type"] != "array" {
        errors.push(typed(schema, at, "must be array if x-kubernetes-list-type is specified"));
    } else if demands.atomic && is_set_of_parts(schema) {
        let items = &schema["items"];
        let what = match items["type"] == "array" {
            true => TYPE,
            false => "x-kubernetes-map-type",
        };
        // Upstream shows the list's type of either.
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.push(invalid(&field(&format!("items.{what}")), &items[TYPE], detail));
    }
    if let Some(kind) =
        kind.filter(|kind| !["atomic", "set", "map"].iter().any(|known| **kind == *known))
    {
        errors.push(unsupported(&field(TYPE), kind, &["atomic", "set", "map"]));
    }
    if !list(schema, KEYS).is_empty() && kind.is_none_or(|kind| *kind != "map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match kind {
            None => required(&field(TYPE), detail),
            Some(kind) => invalid(&field(TYPE), kind, detail),
        });
    }
    if kind.is_some_and(|kind| *kind == "map") {
        map_errors(schema, at, errors);
    }
    if demands.keys {
        errors.extend(key_errors(schema, at));
    }
}

/// Whether a list is a set of items that could be merged (`hasNonAtomicSetType`).
pub(in crate::crd) fn is_set_of_parts(schema: &Value) -> bool {
    let items = &schema["items"];
    schema[TYPE] == "set"
        && match items["type"].as_str() {
            Some("array") => keyword(items, TYPE).is_some_and(|kind| *kind != "atomic"),
            Some("object") => items["x-kubernetes-map-type"] != "atomic",
            _ => false,
        }
}

/// A list of objects with keys: that it names them, and that they are fields of its items.
fn map_errors(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let field = |name: &str| format!("{at}.{name}");
    let keys = list(schema, KEYS);
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(required(&field(KEYS), detail));
    }
    let Some(items) = keyword(schema, "items") else {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        return errors.push(required(&field("items"), detail));
    };
    if items.is_array() {
        let detail = "must only have a single schema if x-kubernetes-list-type is map";
        return errors.push(invalid(&field("items"), items, detail));
    }
    let kind = Value::from(items["type"].as_str().unwrap_or(""));
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        return errors.push(invalid(&field("items.type"), &kind, detail));
    }
    for (index, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or("");
        match items["properties"].get(name) {
            Some(property) if property["type"] == "array" || property["type"] == "object" => {
                let at = field(&format!("items.properties[{name}].type"));
                let detail =
                    "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(invalid(&at, &kind, detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(invalid(&field(KEYS), &schema[KEYS], detail));
            }
        }
        if keys[..index].contains(key) {
            let detail = "must not contain duplicate entries";
            errors.push(invalid(&field(KEYS), &schema[KEYS], detail));
        }
    }
}

/// That items and their keys are never null, and no key is missing (`validateMapListKeysMapSet`).
pub(in crate::crd) fn key_errors(schema: &Value, at: &str) -> Vec<FieldError> {
    let (items, mut errors) = (&schema["items"], Vec::new());
    let Some(kind @ ("set" | "map")) = schema[TYPE].as_str() else { return errors };
    if items["nullable"] == true {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        errors.push(forbidden(&format!("{at}.items.nullable"), detail));
    }
    let keys = list(schema, KEYS).iter().filter(|_| kind == "map");
    for key in keys.filter_map(Value::as_str) {
        let Some(property) = items["properties"].get(key) else { continue };
        let field = |name: &str| format!("{at}.items.properties[{key}].{name}");
        let required_key = list(items, "required").iter().any(|one| one == key);
        if !required_key && keyword(property, "default").is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            errors.push(required(&field("default"), detail));
        }
        if property["nullable"] == true {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(forbidden(&field("nullable"), detail));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::validation::Asked;

    fn check(schema: Value, expect: &[&str]) {
        let mut errors = Vec::new();
        list_errors(&schema, "s", Demands::of(&json!({}), None, Asked::Now), &mut errors);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expect, "{schema}");
    }

    #[test]
    fn sets_are_of_what_is_whole() {
        let set = |items: Value| json!({"type": "array", "x-kubernetes-list-type": "set", "items": items});
        check(set(json!({"type": "string"})), &[]);
        check(set(json!({"type": "object", "x-kubernetes-map-type": "atomic"})), &[]);
        check(
            set(json!({"type": "object"})),
            &[
                "s.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with \
                x-kubernetes-list-type=set",
            ],
        );
        check(
            set(json!({"type": "array", "x-kubernetes-list-type": "set", "nullable": true})),
            &[
                "s.items.x-kubernetes-list-type: Invalid value: \"set\": must be atomic as item of a list with \
                    x-kubernetes-list-type=set",
                "s.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
            ],
        );
    }

    #[test]
    fn keys_are_fields_that_are_there() {
        let map = |keys: Value, items: Value| {
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
                "items": items})
        };
        let items = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"},
            "o": {"type": "object", "default": {}}, "n": {"type": "string", "nullable": true}}});
        check(map(json!(["a"]), items.clone()), &[]);
        check(
            map(json!(["a", "a", "q"]), items.clone()),
            &[
                "s.x-kubernetes-list-map-keys: Invalid value: [\"a\",\"a\",\"q\"]: must not contain duplicate \
                    entries",
                "s.x-kubernetes-list-map-keys: Invalid value: [\"a\",\"a\",\"q\"]: entries must all be names of \
                    item properties",
            ],
        );
        check(
            map(json!(["o", "n"]), items),
            &[
                "s.items.properties[o].type: Invalid value: \"object\": must be a scalar type if parent array's \
                    x-kubernetes-list-type is map",
                "s.items.properties[n].default: Required value: this property is in x-kubernetes-list-map-keys, so \
                    it must have a default or be a required property",
                "s.items.properties[n].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it \
                    cannot be nullable",
            ],
        );
        check(
            json!({"type": "array", "x-kubernetes-list-type": "foo", "x-kubernetes-list-map-keys": ["a"]}),
            &[
                "s.x-kubernetes-list-type: Unsupported value: \"foo\": supported values: \"atomic\", \"set\", \
                    \"map\"",
                "s.x-kubernetes-list-type: Invalid value: \"foo\": must be map if x-kubernetes-list-map-keys is \
                    non-empty",
            ],
        );
    }
}
