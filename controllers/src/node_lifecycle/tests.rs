//! Which taints a node gets and loses, a line each.

use serde_json::{Value, json};

use crate::{
    Controller, Request,
    fixture::{object, run, view},
};

fn says(status: &str) -> Value {
    json!({"conditions": [{"type": "Ready", "status": status}]})
}

/// Keys and effects of the taints that are written; "-" for no write.
fn check(spec: Value, status: Value, another_is_ready: bool, expect: &str) {
    let mut objects = vec![object("nodes/a", json!({"spec": spec, "status": status}))];
    if another_is_ready {
        objects.push(object("nodes/b", json!({"status": says("True")})));
    }
    let (sent, _) = run(Controller::NodeLifecycle, &view(&objects), "nodes/a", &[]);
    let taint = |taint: &Value| {
        let text =
            |field: &str| taint[field].as_str().unwrap_or("").replace("node.kubernetes.io/", "");
        format!("{}:{}", text("key"), text("effect"))
    };
    let told = match &sent[..] {
        [] => "-".to_owned(),
        [Request::Update { fields, .. }] => {
            let taints = fields[0].1.as_array().into_iter().flatten();
            taints.map(taint).collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect);
}

#[test]
fn taints_follow_conditions() {
    let new = json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]});
    check(new.clone(), says("True"), false, "");
    check(json!({}), says("True"), false, "-");
    check(new, says("False"), true, "not-ready:NoSchedule not-ready:NoExecute");
    check(json!({}), says("Unknown"), true, "unreachable:NoSchedule unreachable:NoExecute");
    // Nothing is evicted where nothing is ready.
    check(json!({}), says("Unknown"), false, "unreachable:NoSchedule");
    check(json!({"unschedulable": true}), says("True"), false, "unschedulable:NoSchedule");
    let own = json!({"taints": [{"key": "own", "effect": "NoExecute"}], "unschedulable": true});
    check(own, says("True"), false, "own:NoExecute unschedulable:NoSchedule");
    let full = json!({"conditions": [{"type": "DiskPressure", "status": "True"}]});
    check(json!({}), full, false, "disk-pressure:NoSchedule");
}

#[test]
fn pods_of_a_node_that_is_down_are_not_ready() {
    let taints = json!({"taints": [
        {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"},
    ]});
    let objects = [
        object("nodes/a", json!({"spec": taints, "status": says("Unknown")})),
        object("pods/default/p", json!({"spec": {"nodeName": "a"}, "status": says("True")})),
        object("pods/default/q", json!({"spec": {"nodeName": "a"}, "status": says("False")})),
    ];
    let (sent, _) = run(Controller::NodeLifecycle, &view(&objects), "nodes/a", &[]);
    let [Request::PodCondition { key, kind: "Ready", status: "False", .. }] = &sent[..] else {
        panic!("{sent:?}")
    };
    assert_eq!(&*key.name, "p");
}
