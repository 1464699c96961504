//! What keeps a configuration from being typed by its schema: values of a wrong type, and items that are named
//! alike (structured-merge-diff's `typed/validate.go`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::place::{self, Place};
use crate::schema::{ListType, Node, Schema, Type, keys_of};

/// Errors as upstream words them, with their paths.
pub fn type_errors(schema: &Schema, config: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    walk(Some((schema, schema.root())), config, "", true, &mut errors);
    errors
}

/// Whether an object that is written as a whole is typed by its schema. Items may be named alike (`AllowDuplicates`).
pub fn is_typed(schema: &Schema, object: &Value) -> bool {
    let mut errors = Vec::new();
    walk(Some((schema, schema.root())), object, "", false, &mut errors);
    errors.is_empty()
}

fn walk(place: Place<'_>, value: &Value, at: &str, distinct: bool, errors: &mut Vec<String>) {
    let Some((schema, node)) = place else { return };
    if value.is_null() {
        return;
    }
    if let Some(wrong) = wrong_type(schema, node, value) {
        errors.push(format!("{at}: {wrong}"));
        return;
    }
    // Fields that are declared have a type also where others are kept.
    if node.preserve_unknown && node.properties.is_empty() {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                walk(place::field(place, name), value, &format!("{at}.{name}"), distinct, errors);
            }
        }
        Value::Array(items) => {
            let mut known = BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                if let Some(why) = unnamed(schema, node, item) {
                    // What comes after it is not looked at.
                    errors.push(format!("{at}: element {index}: {why}"));
                    return;
                }
                let element = place::element(place, index, item);
                let named = distinct && node.list_type != ListType::Atomic;
                if named && !known.insert(element.clone()) {
                    errors.push(format!("{at}: duplicate entries for key {element}"));
                }
                walk(place::items(place), item, &format!("{at}{element}"), distinct, errors);
            }
        }
        _ => {}
    }
}

/// What keeps an item of a set or map list from having a name (`listItemToPathElement`).
fn unnamed(schema: &Schema, node: &Node, item: &Value) -> Option<String> {
    let why = match (node.list_type, item) {
        (ListType::Map, Value::Null) => "associative list with keys may not have a null element",
        (ListType::Map, Value::Object(_)) => {
            let keys = keys_of(schema, node, item);
            let missing = keys.as_object().is_some_and(serde_json::Map::is_empty);
            return missing.then(|| {
                let keys: Vec<String> =
                    node.map_keys.iter().map(|key| format!("{key:?}")).collect();
                format!(
                    "associative list with keys has an element that omits all key fields [{}] (and \
                     doesn't have default values for any key fields)",
                    keys.join(" ")
                )
            });
        }
        (ListType::Map, _) => "associative list with keys may not have non-map elements",
        (ListType::Set, Value::Object(_)) => {
            "associative list without keys has an element that's a map type"
        }
        (ListType::Set, Value::Array(_)) => {
            "not supported: associative list with lists as elements"
        }
        (ListType::Set, Value::Null) => {
            "associative list without keys has an element that's an explicit null"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

fn wrong_type(schema: &Schema, node: &Node, value: &Value) -> Option<String> {
    let scalar = !value.is_object() && !value.is_array();
    // Texts of a format but `byte` may be any scalar (`convertPrimitive` of `kube-openapi/pkg/schemaconv`).
    let formatted = node.kind == Type::String
        && node.format.as_deref().is_some_and(|format| !matches!(format, "" | "byte"));
    if node.int_or_string || node.quantity || formatted {
        // Of a custom type, such a number or text has no type there and may be anything.
        let anything = node.int_or_string && !schema.is_builtin();
        let wrong = !scalar && !anything;
        return wrong.then(|| format!("expected any scalar, got {}", shown(value)));
    }
    match node.kind {
        Type::Object if !value.is_object() => Some(format!("expected map, got {}", shown(value))),
        Type::Array if !value.is_array() => Some(format!("expected list, got {}", shown(value))),
        Type::String if !value.is_string() => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go_syntax(value)
        )),
        Type::Boolean if !value.is_boolean() => {
            Some(format!("expected boolean, got {}", shown(value)))
        }
        Type::Integer | Type::Number if !value.is_number() => {
            Some(format!("expected numeric (int or float), got {}", go_type(value)))
        }
        _ => None,
    }
}

/// `%v` of upstream's wrapper of a value.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("&{{{text}}}"),
        other => format!("&{{{}}}", go_syntax(other)),
    }
}

/// `%#v`
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", go_syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Array(_) => "[]interface {}",
        _ => "map[string]interface {}",
    }
}
