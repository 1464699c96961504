//! Pruning: fields that the schema doesn't know are dropped, and named for the Warn and Strict levels of
//! `fieldValidation`.

use serde_json::Value;

use super::{Additional, Node, Path, Schema, Type};

/// See [`Schema::prune`].
pub(super) fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    walk(schema, schema.root(), object, &Path::Root, &mut unknown);
    unknown.sort();
    unknown
}

fn walk(schema: &Schema, node: &Node, value: &mut Value, at: &Path<'_>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if keeps_anything(schema, node) && node.properties.is_empty() {
                return;
            }
            fields.retain(|name, value| {
                let below = Path::Field(at, name);
                match schema.field(node, name) {
                    Some(field) => walk(schema, field, value, &below, unknown),
                    None if keeps_anything(schema, node) => {}
                    None => {
                        unknown.push(below.to_string());
                        return false;
                    }
                }
                true
            });
        }
        Value::Array(items) => {
            if let Some(node) = schema.items(node) {
                for (index, item) in items.iter_mut().enumerate() {
                    walk(schema, node, item, &Path::Index(at, index), unknown);
                }
            }
        }
        _ => {}
    }
}

/// Whether fields that have no schema of their own stay. A node without a type is untouched: only custom
/// schemas may have one, and only where they preserve or where the value is a scalar.
fn keeps_anything(schema: &Schema, node: &Node) -> bool {
    node.preserve_unknown
        || node.additional == Additional::Anything
        || (schema.is_builtin() && node.kind == Type::Any)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Gvk;

    fn check(schema: &Schema, mut object: Value, expect: Value, unknown: &[&str]) {
        assert_eq!(schema.prune(&mut object), unknown);
        assert_eq!(object, expect);
    }

    #[test]
    fn unknown_fields_go() {
        let deployment = Schema::builtin("apps", "v1", "Deployment").unwrap();
        check(
            &deployment,
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "zzz": 1,
                "metadata": {"name": "a", "labels": {"x": "y"}, "wrong": 1},
                "spec": {"template": {"spec": {"containers": [{"name": "c", "foo": {}}]}}}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "a", "labels": {"x": "y"}},
                "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}),
            &["metadata.wrong", "spec.template.spec.containers[0].foo", "zzz"],
        );
    }

    #[test]
    fn custom_schemas_say_what_stays() {
        let gvk = Gvk { group: "example.com".into(), version: "v1".into(), kind: "Foo".into() };
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "known": {"type": "string"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"inner": {"type": "object", "properties": {"a": {"type": "string"}}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object",
                "properties": {"b": {"type": "string"}}}},
            "pod": {"type": "object", "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true},
        }}}});
        let schema = Schema::custom(&gvk, Some(&schema)).unwrap();
        check(
            &schema,
            json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"},
                "spec": {"known": "k", "zzz": 1, "free": {"any": 1, "inner": {"a": "", "b": ""}},
                    "map": {"k": {"b": "", "c": ""}},
                    "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"bad": 1}, "spec": {}}}}),
            json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"},
                "spec": {"known": "k", "free": {"any": 1, "inner": {"a": ""}},
                    "map": {"k": {"b": ""}},
                    "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}}}}),
            &["spec.free.inner.b", "spec.map.k.c", "spec.pod.metadata.bad", "spec.zzz"],
        );
    }
}
