//! Lists, maps and structs that an apply replaces as a whole (`findAtomics` of `policy/mutating/patch/smd.go`): a policy
//! may not set them, for it would take away what it does not say.

use serde_json::Value;

use crate::schema::{ListType, Node, Schema};

/// The paths of those that a configuration has, as `.spec.selector`.
pub(super) fn of(schema: &Schema, configuration: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema, Some(schema.root()), configuration, "", &mut found);
    found
}

/// Below maps whose keys are free upstream does not look, and in what has no type every list is atomic.
fn walk(schema: &Schema, node: Option<&Node>, value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let Some(node) = node else { return };
            if node.atomic_map || node.is_raw() {
                found.push(path.to_owned());
            }
            for (name, value) in fields {
                if let Some(&id) = node.properties.get(name) {
                    walk(schema, Some(schema.node(id)), value, &format!("{path}.{name}"), found);
                }
            }
        }
        Value::Array(items) => {
            if node.is_none_or(|node| node.list_type == ListType::Atomic) {
                found.push(path.to_owned());
            }
            let below = node.and_then(|node| schema.items(node));
            for (index, item) in items.iter().enumerate() {
                walk(schema, below, item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_replaced_as_a_whole_is_named() {
        let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
        let check = |configuration: Value, expect: &[&str]| {
            assert_eq!(of(&schema, &configuration), expect, "{configuration}");
        };
        check(json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 2}}), &[]);
        check(json!({"spec": {"selector": {"matchLabels": {"a": "b"}}}}), &[".spec.selector"]);
        let container = json!({"name": "c", "args": ["a"], "env": [{"name": "e", "value": "f"}]});
        check(
            json!({"spec": {"template": {"spec": {"containers": [container], "nodeSelector": {"a": "b"}}}}}),
            &[".spec.template.spec.containers[0].args", ".spec.template.spec.nodeSelector"],
        );
    }
}
