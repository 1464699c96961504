//! Defaulting.

use serde_json::Value;

use super::{Node, Schema, defaults};

/// See [`Schema::default`].
pub(super) fn default(schema: &Schema, object: &mut Value) {
    if schema.is_builtin() {
        defaults::fill(schema, object);
    } else {
        fill(schema, schema.root(), object);
        drop_nulls(schema, schema.root(), object);
    }
}

/// Whether a null stands where none may.
fn wrong_null(value: &Value, node: &Node) -> bool {
    value.is_null() && !node.nullable
}

fn fill(schema: &Schema, node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, &id) in &node.properties {
                let property = schema.node(id);
                let Some(default) = &property.default else { continue };
                if fields.get(name).is_none_or(|value| wrong_null(value, property)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                let Some(field) = schema.field(node, name) else { continue };
                fill_null(field, value);
                fill(schema, field, value);
            }
        }
        Value::Array(items) => {
            let Some(node) = schema.items(node) else { return };
            for item in items {
                fill_null(node, item);
                fill(schema, node, item);
            }
        }
        _ => {}
    }
}

fn fill_null(node: &Node, value: &mut Value) {
    if let Some(default) = &node.default
        && wrong_null(value, node)
    {
        *value = default.clone();
    }
}

/// Drops the nulls that may not be null and have no default: upstream does so after defaulting, which is
/// how `foo: null` in a manifest means "not set".
pub(super) fn drop_nulls(schema: &Schema, node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(field) = schema.field(node, name) else { return true };
            let keep = !wrong_null(value, field);
            drop_nulls(schema, field, value);
            keep
        }),
        Value::Array(items) => {
            let Some(node) = schema.items(node) else { return };
            items.iter_mut().for_each(|item| drop_nulls(schema, node, item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Gvk;

    #[test]
    fn custom_defaults_fill_and_nulls_go() {
        let gvk = Gvk { group: "example.com".into(), version: "v1".into(), kind: "Foo".into() };
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "replicas": {"type": "integer", "default": 1},
            "nested": {"type": "object", "default": {}, "properties": {
                "a": {"type": "string", "default": "x"}}},
            "absent": {"type": "object", "properties": {"b": {"type": "string", "default": "y"}}},
            "open": {"type": "string", "nullable": true, "default": "z"},
            "plain": {"type": "string"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "object", "properties": {
                "c": {"type": "string", "default": "i"}}}},
        }}}});
        let schema = Schema::custom(&gvk, Some(&schema)).unwrap();
        let check = |mut object: Value, expect: Value| {
            schema.default(&mut object);
            assert_eq!(object, expect);
        };
        check(
            json!({"spec": {"list": [{}, {"c": "own"}], "open": null, "plain": null,
                "map": {"k": null, "l": "v"}}}),
            json!({"spec": {"replicas": 1, "nested": {"a": "x"}, "open": null,
                "list": [{"c": "i"}, {"c": "own"}], "map": {"l": "v"}}}),
        );
        check(
            json!({"spec": {"replicas": null, "nested": null, "absent": {}}}),
            json!({"spec": {"replicas": 1, "nested": {"a": "x"}, "absent": {"b": "y"}, "open": "z"}}),
        );
        check(json!({}), json!({}));
    }
}
