//! Which built-in controllers a controller counts on, by what RBAC lets it create.

use std::collections::BTreeSet;

use serde_json::Value;

/// Types that mean nothing until a built-in controller, the scheduler or a kubelet acts on them.
const WORKLOADS: [(&str, &[&str]); 3] = [
    ("", &["pods", "replicationcontrollers"]),
    ("apps", &["daemonsets", "deployments", "replicasets", "statefulsets"]),
    ("batch", &["cronjobs", "jobs"]),
];

/// The types of workloads that roles among these objects let their holders create, by name. A role for everything
/// (`*`) says nothing about what is made.
pub(super) fn workloads_made(objects: &[Value]) -> BTreeSet<&'static str> {
    let rules = objects.iter().filter_map(|object| object["rules"].as_array()).flatten();
    let has =
        |list: &Value, wanted: &str| list.as_array().into_iter().flatten().any(|one| one == wanted);
    let mut made = BTreeSet::new();
    for rule in rules.filter(|rule| has(&rule["verbs"], "create") || has(&rule["verbs"], "*")) {
        for (_, resources) in WORKLOADS.iter().filter(|(group, _)| has(&rule["apiGroups"], group)) {
            made.extend(resources.iter().filter(|resource| has(&rule["resources"], resource)));
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn workloads_are_those_that_may_be_created() {
        let check = |rule: Value, expect: &[&str]| {
            let role = json!({"kind": "ClusterRole", "rules": [rule]});
            assert_eq!(
                Vec::from_iter(workloads_made(std::slice::from_ref(&role))),
                expect,
                "{role}"
            );
        };
        let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        check(rule("apps", &["deployments", "deployments/status"], &["create"]), &["deployments"]);
        check(rule("batch", &["jobs", "cronjobs"], &["*"]), &["cronjobs", "jobs"]);
        check(rule("", &["pods"], &["get", "watch"]), &[]);
        check(rule("", &["configmaps"], &["create"]), &[]);
        check(rule("example.com", &["jobs"], &["create"]), &[]);
    }
}
