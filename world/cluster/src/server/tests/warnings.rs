//! What those are warned of who write pods and what makes pods.

use super::*;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const HIDES: &str = "299 - \"spec.template.spec.containers[0].env[1]: hides previous definition of \\\"A\\\", which \
    may be dropped when using apply\"";

fn warnings(got: &Got) -> Vec<&str> {
    got.headers.get_all("warning").iter().map(|value| value.to_str().expect("text")).collect()
}

fn deployment() -> Value {
    let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}}})
}

#[test]
fn variables_are_kept_and_warned_of_whenever_something_else_is_desired() {
    let api = Api::new();
    let created = api.create(DEPLOYMENTS, deployment());
    assert_eq!(warnings(&created), [HIDES]);
    let path = format!("{DEPLOYMENTS}/d");
    let check = |path: &str, patch: Value, expect: &[&str]| {
        let got = api.call("PATCH", path, Some(patch));
        assert_eq!(got.code, 200, "{}", got.message());
        assert_eq!(warnings(&got), expect);
    };
    check(&path, json!({}), &[]);
    check(&path, json!({"metadata": {"labels": {"x": "y"}}}), &[]);
    check(&path, json!({"metadata": {"annotations": {"x": "y"}}}), &[HIDES]);
    check(&path, json!({"spec": {"replicas": 2}}), &[HIDES]);
    check(&format!("{path}/scale"), json!({"spec": {"replicas": 3}}), &[HIDES]);
    check(&format!("{path}/status"), json!({"status": {"replicas": 3}}), &[]);
    let stored = api.get(&path);
    let container = "/spec/template/spec/containers/0/env";
    assert_eq!(stored.body.pointer(container), deployment().pointer(container));
    let entries = stored.body["metadata"]["managedFields"].as_array().expect("a list");
    let variables = "/fieldsV1/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"c\"}/f:env";
    let managed = entries.iter().find_map(|entry| entry.pointer(variables));
    assert_eq!(managed, Some(&json!({".": {}, "k:{\"name\":\"A\"}": {}})));
}

#[test]
fn pods_end_in_a_second_at_least_and_templates_are_warned() {
    let api = Api::new();
    let spec =
        json!({"terminationGracePeriodSeconds": -5, "containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": "p.q"}, "spec": spec});
    let pod = api.create("/api/v1/namespaces/default/pods", pod);
    assert_eq!(pod.body["spec"]["terminationGracePeriodSeconds"], 1);
    let named = "299 - \"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a \
                 DNS label is recommended: [must not contain dots]\"";
    assert_eq!(warnings(&pod), [named]);
    let template = json!({"metadata": {"name": "t"}, "template": {"spec": spec}});
    let template = api.create("/api/v1/namespaces/default/podtemplates", template);
    assert_eq!(template.body["template"]["spec"]["terminationGracePeriodSeconds"], -5);
    let grace = "299 - \"template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and \
                 will be treated as 1\"";
    assert_eq!(warnings(&template), [grace]);
}
