//! Which lists are sets or maps: the order of their items means nothing.
//!
//! By schema (`x-kubernetes-list-type`: set, or map with these keys) or by what the API says of the field. The table
//! goes by the field's name, because this crate holds no schemas; a list of which the items lack the key, or share it,
//! keeps its order.

use std::collections::BTreeSet;

use serde_json::Value;

/// A field's name, and by which fields of an item the items are told apart. None: items are plain values.
///
/// Sources: `core/v1` and `meta/v1` types (`+listMapKey`, `+patchMergeKey`); for the addresses and ports of Endpoints
/// and EndpointSlices their types' documentation, which promises no order; API conventions for `conditions`.
const SETS: &[(&str, &[&str])] = &[
    ("addresses", &["ip", "hostname", "type", "address"]),
    ("conditions", &["type"]),
    ("endpoints", &["addresses", "targetRef"]),
    ("finalizers", &[]),
    ("managedFields", &["manager", "operation", "subresource", "apiVersion"]),
    ("notReadyAddresses", &["ip", "hostname"]),
    ("ownerReferences", &["uid"]),
    ("ports", &["name", "containerPort", "port", "protocol"]),
];

/// The same, of which the order shows in what is made of them: written in another order by a program that walks
/// through a map, but not by one that means it.
const SETS_OF_TEMPLATES: &[(&str, &[&str])] = &[
    ("containerStatuses", &["name"]),
    ("env", &["name"]),
    ("imagePullSecrets", &["name"]),
    ("initContainerStatuses", &["name"]),
    ("secrets", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
];

/// Whether the order of this list says nothing to anybody.
pub(crate) fn is_set(field: &str, items: &[Value]) -> bool {
    items.len() > 1 && matches(SETS, field, items)
}

/// The same, lists of pod templates included.
pub(crate) fn is_set_or_template(field: &str, items: &[Value]) -> bool {
    items.len() > 1 && (matches(SETS, field, items) || matches(SETS_OF_TEMPLATES, field, items))
}

fn matches(table: &[(&str, &[&str])], field: &str, items: &[Value]) -> bool {
    let Some((_, keys)) = table.iter().find(|(name, _)| *name == field) else { return false };
    let mut seen = BTreeSet::new();
    items.iter().all(|item| {
        let key = match (keys.is_empty(), item) {
            (true, Value::String(text)) => text.clone(),
            (false, Value::Object(map)) => {
                let parts: Vec<&Value> = keys.iter().filter_map(|key| map.get(*key)).collect();
                if parts.is_empty() {
                    return false;
                }
                keys.iter()
                    .map(|key| map.get(*key).map_or(String::new(), Value::to_string) + " ")
                    .collect()
            }
            _ => return false,
        };
        seen.insert(key)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_sets_where_their_items_have_keys_of_their_own() {
        let check = |field: &str, items: Value, expect: (bool, bool)| {
            let items = items.as_array().unwrap();
            let found = (is_set(field, items), is_set_or_template(field, items));
            assert_eq!(found, expect, "{field} {items:?}");
        };
        check("conditions", json!([{"type": "A"}, {"type": "B"}]), (true, true));
        check("conditions", json!([{"type": "A"}, {"type": "A"}]), (false, false));
        check("conditions", json!([{"type": "A"}, {"kind": "B"}]), (false, false));
        check("finalizers", json!(["a", "b"]), (true, true));
        check("finalizers", json!(["a", 1]), (false, false));
        check("ports", json!([{"name": "a", "port": 1}, {"name": "b", "port": 2}]), (true, true));
        check("env", json!([{"name": "A"}, {"name": "B"}]), (false, true));
        check("args", json!(["a", "b"]), (false, false));
        check("addresses", json!([{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]), (true, true));
    }
}
