//! Which parts of an update are what they were (`CorrelatedObject`, KEP-4008): errors of unchanged values don't
//! stop an update.

use serde_json::Value;

use super::{Additional, ListType, Node, Schema, keys_of};

/// The node of a field that can be compared with its old value: unknown fields can't.
fn field<'a>(schema: &'a Schema, node: &Node, name: &str) -> Option<&'a Node> {
    match (node.properties.get(name), node.additional) {
        (Some(&id), _) | (None, Additional::Values(id)) => Some(schema.node(id)),
        _ => None,
    }
}

/// The item of an old list that an item of the new one was: of map lists by key, of others none.
pub(crate) fn old_item<'a>(
    schema: &Schema,
    list: &Node,
    item: &Value,
    old: Option<&'a Value>,
) -> Option<&'a Value> {
    if list.list_type != ListType::Map {
        return None;
    }
    let key = keys_of(schema, list, item);
    old?.as_array()?.iter().find(|old| keys_of(schema, list, old) == key)
}

/// Whether a value is what it was, by the rules of its node.
pub(crate) fn unchanged(schema: &Schema, node: &Node, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(items), Value::Array(olds)) => {
            items.len() == olds.len()
                && match (node.list_type, schema.items(node)) {
                    (ListType::Map, Some(item_node)) => items.iter().all(|item| {
                        let found = old_item(schema, node, item, Some(old));
                        found.is_some_and(|found| unchanged(schema, item_node, item, found))
                    }),
                    _ => items == olds,
                }
        }
        (Value::Object(fields), Value::Object(olds)) => {
            fields.len() == olds.len()
                && fields.iter().all(|(name, value)| {
                    let below = field(schema, node, name).zip(olds.get(name));
                    below.is_some_and(|(node, old)| unchanged(schema, node, value, old))
                })
        }
        _ => new == old,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Gvk;

    #[test]
    fn values_are_compared_by_their_lists_types() {
        let gvk = Gvk { group: "g".into(), version: "v1".into(), kind: "K".into() };
        let list = |extra: Value| {
            let mut list = json!({"type": "array", "items": {"type": "object", "properties": {
                "k": {"type": "string"}, "v": {"type": "integer"}}}});
            list.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            json!({"type": "object", "properties": {"l": list}})
        };
        let map = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
        let check = |extra: &Value, new: Value, old: Value, expect: bool| {
            let schema = Schema::custom(&gvk, Some(&list(extra.clone()))).unwrap();
            assert_eq!(unchanged(&schema, schema.root(), &new, &old), expect, "{new} {old}");
        };
        let (ab, ba) =
            (json!({"l": [{"k": "a"}, {"k": "b"}]}), json!({"l": [{"k": "b"}, {"k": "a"}]}));
        check(&json!({}), ab.clone(), ab.clone(), true);
        check(&json!({}), ab.clone(), ba.clone(), false);
        check(&map, ab.clone(), ba, true);
        check(&map, ab, json!({"l": [{"k": "a"}, {"k": "c"}]}), false);
        check(&map, json!({"unknown": 1}), json!({"unknown": 1}), false);
    }
}
