//! DaemonSets. Nodes live in no namespace: each scenario has its own, by name and label. Pods tolerate what the real
//! node controller puts on nodes that nobody runs.

use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, scenario};

const SETS: &str = "/apis/apps/v1/namespaces/NS/daemonsets";
const LOG: &str = "/apis/apps/v1/namespaces/NS/daemonsets/log";
const NODES: &str = "/api/v1/nodes";

fn template(image: &str) -> Value {
    let tolerates = |key: &str| json!({"key": key, "operator": "Exists"});
    json!({
        "metadata": {"labels": {"app": "log"}},
        "spec": {
            "containers": [{"name": "c", "image": image}],
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"scenario": "$NS"},
            "tolerations": [
                tolerates("node.kubernetes.io/not-ready"),
                tolerates("node.kubernetes.io/unreachable"),
            ],
        },
    })
}

pub fn log(more: Value) -> Step {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "log"}},
        "template": template("v1"),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let metadata = json!({"name": "log", "annotations": {"note": "kept"}});
    Step::Create(SETS, json!({"metadata": metadata, "spec": spec}))
}

fn node(name: &str) -> Step {
    let metadata = json!({"name": format!("$NS-{name}"), "labels": {"scenario": "$NS"}});
    Step::Create(NODES, json!({"metadata": metadata}))
}

pub fn nodes(names: &[&str]) -> Vec<Step> {
    names.iter().map(|name| node(name)).collect()
}

pub fn image(image: &str) -> Step {
    Step::Patch(LOG, json!({"spec": {"template": template(image)}}))
}

pub fn taint(effect: &str) -> Step {
    let taints = json!([{"key": "example.com/own", "value": "x", "effect": effect}]);
    Step::Patch("/api/v1/nodes/NS-a", json!({"spec": {"taints": taints}}))
}

pub fn no_taint() -> Step {
    Step::Patch("/api/v1/nodes/NS-a", json!({"spec": {"taints": null}}))
}

pub fn rolling(surge: Value, unavailable: Value) -> Value {
    json!({"updateStrategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}})
}

fn with(first: Vec<Step>, then: Vec<Step>) -> Vec<Step> {
    [first, then].concat()
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let three = || nodes(&["a", "b", "c"]);
    vec![
        scenario("daemon", with(three(), vec![log(json!({})), Step::ReadyOne, Step::Ready])),
        scenario(
            "daemon-nodes-come-and-go",
            with(
                nodes(&["a"]),
                vec![
                    log(json!({})),
                    Step::Bind,
                    node("b"),
                    Step::Bind,
                    Step::Ready,
                    Step::Delete("/api/v1/nodes/NS-a", None),
                    Step::Patch(
                        "/api/v1/nodes/NS-b",
                        json!({"metadata": {"labels": {"scenario": null}}}),
                    ),
                ],
            ),
        ),
        scenario(
            "daemon-taints",
            with(
                nodes(&["a", "b"]),
                vec![
                    log(json!({})),
                    Step::Bind,
                    Step::Ready,
                    taint("NoSchedule"),
                    taint("NoExecute"),
                    no_taint(),
                ],
            ),
        ),
        scenario(
            "daemon-update",
            with(
                three(),
                vec![
                    log(rolling(json!(0), json!(1))),
                    Step::Ready,
                    image("v2"),
                    Step::ReadyOne,
                    Step::ReadyOne,
                    Step::ReadyOne,
                ],
            ),
        ),
        scenario(
            "daemon-update-percent",
            with(
                three(),
                vec![
                    log(rolling(json!(0), json!("50%"))),
                    Step::Ready,
                    image("v2"),
                    Step::Ready,
                    Step::Ready,
                ],
            ),
        ),
        scenario(
            "daemon-surge",
            with(
                three(),
                vec![
                    log(rolling(json!(1), json!(0))),
                    Step::Bind,
                    Step::Ready,
                    image("v2"),
                    Step::ReadyOne,
                    Step::ReadyOne,
                    Step::ReadyOne,
                ],
            ),
        ),
        scenario(
            "daemon-on-delete",
            with(
                nodes(&["a", "b"]),
                vec![
                    log(json!({"updateStrategy": {"type": "OnDelete"}})),
                    Step::Ready,
                    image("v2"),
                    Step::DeleteOnePod,
                    Step::Ready,
                ],
            ),
        ),
        scenario(
            "daemon-history",
            with(
                nodes(&["a"]),
                vec![
                    log(json!({"revisionHistoryLimit": 1})),
                    Step::Ready,
                    image("v2"),
                    Step::Ready,
                    image("v1"),
                    Step::Ready,
                    image("v3"),
                    Step::Ready,
                ],
            ),
        ),
        scenario(
            "daemon-pod-ends",
            with(nodes(&["a", "b"]), vec![log(json!({})), Step::End(1, 1), Step::End(1, 0)]),
        ),
        scenario(
            "daemon-orphaned",
            with(
                nodes(&["a", "b"]),
                vec![
                    log(json!({})),
                    Step::Ready,
                    Step::Delete(LOG, Some("Orphan")),
                    log(json!({})),
                ],
            ),
        ),
        scenario(
            "daemon-deleted",
            with(nodes(&["a"]), vec![log(json!({})), Step::Delete(LOG, Some("Foreground"))]),
        ),
        scenario(
            "node-cordoned",
            vec![
                node("a"),
                Step::Patch("/api/v1/nodes/NS-a", json!({"spec": {"unschedulable": true}})),
                Step::Patch("/api/v1/nodes/NS-a", json!({"spec": {"unschedulable": false}})),
            ],
        ),
        scenario(
            "node-tainted",
            vec![
                node("a"),
                pod("one", json!([])),
                pod("two", json!([{"key": "example.com/own", "operator": "Exists"}])),
                taint("NoExecute"),
            ],
        ),
        // That nothing is evicted, because no other node is ready either, is part of it.
        scenario("node-fails", vec![node("a"), says(false), says(true)]),
    ]
}

/// A pod on the node.
fn pod(name: &str, tolerations: Value) -> Step {
    Step::Create(
        "/api/v1/namespaces/NS/pods",
        json!({"metadata": {"name": name}, "spec": {
            "nodeName": "$NS-a", "tolerations": tolerations, "terminationGracePeriodSeconds": 3600,
            "containers": [{"name": "c", "image": "v1"}],
        }}),
    )
}

/// The node says whether it is ready.
pub fn says(ready: bool) -> Step {
    let status = if ready { "True" } else { "False" };
    let condition = json!({"type": "Ready", "status": status, "reason": "Said"});
    Step::Patch("/api/v1/nodes/NS-a/status", json!({"status": {"conditions": [condition]}}))
}
