//! ClusterRoles that others make up.

use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, scenario};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const ALL: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/NS-all";
const PART: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/NS-part";

fn rule(verb: &str) -> Value {
    json!({"apiGroups": [""], "resources": ["pods"], "verbs": [verb]})
}

fn role(name: &str, label: &str, verbs: &[&str]) -> Step {
    let labels = json!({"scenario": "$NS", "to": format!("$NS-{label}")});
    let rules: Vec<Value> = verbs.iter().map(|verb| rule(verb)).collect();
    let metadata = json!({"name": format!("$NS-{name}"), "labels": labels});
    Step::Create(ROLES, json!({"metadata": metadata, "rules": rules}))
}

/// One that is made up of the roles with these labels, and has rules of its own to begin with.
fn made_up(name: &str, label: &str, of: &[&str], verbs: &[&str]) -> Step {
    let Step::Create(path, mut object) = role(name, label, verbs) else { panic!("it creates") };
    let selector = |label: &&str| json!({"matchLabels": {"to": format!("$NS-{label}")}});
    let selectors: Vec<Value> = of.iter().map(selector).collect();
    if verbs.is_empty() {
        object.as_object_mut().map(|fields| fields.remove("rules"));
    }
    object["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
    Step::Create(path, object)
}

fn patch(path: &'static str, patch: Value) -> Step {
    Step::Patch(path, patch)
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![
        scenario(
            "role-made-up",
            vec![
                role("part", "all", &["get", "list"]),
                made_up("all", "none", &["all", "more"], &[]),
                role("another", "all", &["list", "watch"]),
                role("third", "more", &["delete"]),
                patch(PART, json!({"rules": [rule("patch")]})),
                patch(PART, json!({"metadata": {"labels": {"to": "nobody"}}})),
                Step::Delete(PART, None),
            ],
        ),
        scenario(
            "role-with-rules-of-its-own",
            vec![
                made_up("all", "none", &["all"], &["get"]),
                role("part", "all", &["list"]),
                patch(ALL, json!({"rules": [rule("delete")]})),
                Step::Delete(PART, None),
                patch(ALL, json!({"aggregationRule": null})),
                role("part", "all", &["watch"]),
            ],
        ),
        scenario(
            "role-of-made-up-roles",
            vec![
                made_up("top", "none", &["middle"], &[]),
                made_up("all", "middle", &["all", "middle"], &[]),
                role("part", "all", &["list"]),
                Step::Delete(PART, None),
            ],
        ),
    ]
}
