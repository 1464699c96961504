//! Which node a pod gets, and what is said if none: a line each.

use serde_json::{Value, json};

use crate::{
    Controller, Request,
    fixture::{affected, object, run, view},
};

fn node(name: &str, fields: Value) -> (trace::ObjectKey, Value) {
    let allocatable = json!({"cpu": "4", "memory": "8Gi", "pods": "2"});
    let mut node = json!({"status": {"allocatable": allocatable}});
    for (key, value) in fields.as_object().into_iter().flatten() {
        node[key] = value.clone();
    }
    object(&format!("nodes/{name}"), node)
}

fn pod(name: &str, spec: Value) -> (trace::ObjectKey, Value) {
    let mut pod =
        json!({"spec": {"schedulerName": "default-scheduler"}, "status": {"phase": "Pending"}});
    for (key, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    object(&format!("pods/default/{name}"), pod)
}

/// Where `p` goes, or why it does not.
fn check(spec: Value, others: &[(trace::ObjectKey, Value)], expect: &str) {
    let mut objects = vec![pod("p", spec)];
    objects.extend(others.iter().cloned());
    let (sent, _) = run(Controller::Scheduler, &view(&objects), "pods/default/p", &[]);
    let told = match &sent[..] {
        [Request::Bind { node, .. }] => node.to_string(),
        [Request::PatchStatus { status, .. }] => {
            let message = status["conditions"][0]["message"].as_str().unwrap_or("no message");
            message.split(" no new claims").next().unwrap_or("").to_owned()
        }
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect);
}

fn asks(cpu: &str) -> Value {
    json!({"containers": [{"resources": {"requests": {"cpu": cpu}}}]})
}

#[test]
fn a_pod_goes_where_it_fits_best() {
    let on = |node: &str, cpu: &str| {
        let mut spec = asks(cpu);
        spec["nodeName"] = json!(node);
        spec
    };
    let nodes = [node("a", json!({})), node("b", json!({}))];
    check(json!({}), &nodes, "a");
    let busy = [nodes[0].clone(), nodes[1].clone(), pod("x", on("a", "1"))];
    check(json!({}), &busy, "b");
    let full = [nodes[0].clone(), pod("x", on("a", "3"))];
    check(asks("2"), &full, "0/1 nodes are available: 1 Insufficient cpu.");
    let crowded = [nodes[0].clone(), pod("x", on("a", "0")), pod("y", on("a", "0"))];
    check(json!({}), &crowded, "0/1 nodes are available: 1 Too many pods.");
}

#[test]
fn taints_selectors_and_cordons_are_obeyed() {
    let tainted = node(
        "a",
        json!({"spec": {"taints": [
            {"key": "k", "value": "v", "effect": "NoSchedule"},
        ]}}),
    );
    let all = std::slice::from_ref(&tainted);
    check(json!({}), all, "0/1 nodes are available: 1 node(s) had untolerated taint(s).");
    for toleration in [
        json!({"key": "k", "operator": "Equal", "value": "v"}),
        json!({"key": "k", "operator": "Exists", "effect": "NoSchedule"}),
        json!({"operator": "Exists"}),
    ] {
        check(json!({"tolerations": [toleration]}), all, "a");
    }
    let wrong = json!({"tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute"}]});
    check(wrong, all, "0/1 nodes are available: 1 node(s) had untolerated taint(s).");
    let soft = node("a", json!({"spec": {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}}));
    check(json!({}), &[soft], "a");
    let cordoned = node("a", json!({"spec": {"unschedulable": true}}));
    check(json!({}), &[cordoned], "0/1 nodes are available: 1 node(s) were unschedulable.");
    let labelled = node("a", json!({"metadata": {"labels": {"disk": "ssd"}, "name": "a"}}));
    check(json!({"nodeSelector": {"disk": "ssd"}}), std::slice::from_ref(&labelled), "a");
    check(
        json!({"nodeSelector": {"disk": "hdd"}}),
        &[labelled],
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    );
    check(json!({}), &[], "no nodes available to schedule pods");
}

#[test]
fn other_schedulers_and_bound_or_deleted_pods_are_not_its_business() {
    check(json!({"schedulerName": "mine"}), &[node("a", json!({}))], "[]");
    check(json!({"nodeName": "a"}), &[node("a", json!({}))], "[]");
}

#[test]
fn waiting_pods_are_looked_at_again_when_it_may_help() {
    let check = |message: &str, key: &str, change: [Option<Value>; 2], expect: usize| {
        let mut waiting = pod("p", json!({}));
        waiting.1["status"]["conditions"] =
            json!([{"type": "PodScheduled", "status": "False", "message": message}]);
        let world = view(std::slice::from_ref(&waiting));
        let [before, after] = change;
        let found = affected(Controller::Scheduler, &world, key, before, after).len();
        assert_eq!(found, expect, "{message} {key}");
    };
    let node = |cpu: &str| {
        Some(node("a", json!({"status": {"allocatable": {"cpu": cpu, "pods": "2"}}})).1)
    };
    let bound = || Some(pod("x", json!({"nodeName": "a"})).1);
    let (full, near) =
        ("0/1 nodes: 1 Insufficient cpu.", "0/1 nodes: 1 node(s) didn't match pod affinity rules.");
    check(full, "nodes/a", [None, node("4")], 1);
    check(full, "nodes/a", [node("4"), node("8")], 1);
    check(full, "nodes/a", [node("4"), node("4")], 0);
    check(full, "nodes/a", [node("4"), None], 0);
    check(full, "pods/default/x", [bound(), None], 1);
    check(full, "pods/default/x", [None, bound()], 0);
    check(near, "pods/default/x", [None, bound()], 1);
    let mut told = pod("p", json!({})).1;
    told["status"]["conditions"] =
        json!([{"type": "PodScheduled", "status": "False", "message": full}]);
    check(full, "pods/default/p", [Some(pod("p", json!({})).1), Some(told)], 0);
}
