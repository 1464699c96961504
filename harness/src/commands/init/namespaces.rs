//! Namespaces that objects lie in, and that nobody creates: an `install` folder has roles and accounts in the namespace
//! that its users make by hand.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Those that a cluster has from the beginning.
const THERE: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// A Namespace object for each that these objects need and none of them is.
pub(super) fn missing<'o>(objects: impl Iterator<Item = &'o Value> + Clone) -> Vec<Value> {
    let is_namespace = |object: &&Value| object["kind"] == "Namespace";
    let made = objects.clone().filter(is_namespace).map(|object| &object["metadata"]["name"]);
    let made: BTreeSet<&str> = made.filter_map(Value::as_str).chain(THERE).collect();
    let needed: BTreeSet<&str> =
        objects.filter_map(|object| object["metadata"]["namespace"].as_str()).collect();
    let missing = needed.difference(&made);
    missing
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_or_made_is_not_made_again() {
        let object = |kind: &str, metadata: Value| json!({"kind": kind, "metadata": metadata});
        let objects = [
            object("ServiceAccount", json!({"name": "a", "namespace": "operator"})),
            object("Role", json!({"name": "a", "namespace": "operator"})),
            object("Role", json!({"name": "a", "namespace": "kube-system"})),
            object("Role", json!({"name": "a", "namespace": "made"})),
            object("Namespace", json!({"name": "made"})),
        ];
        let missing = missing(objects.iter());
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0]["metadata"], json!({"name": "operator"}));
    }
}
