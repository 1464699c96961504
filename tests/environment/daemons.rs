//! DaemonSets. Nodes live in no namespace: each scenario has its own, by name and label. Pods tolerate what the real
//! node controller puts on nodes that nobody runs.

use serde_json::{Value, json};

use crate::{
    scenario::{Scenario, Step, scenario},
    services,
};

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

/// What [`not_ready`] is called.
pub const NOT_READY: &str = "node-not-ready";

/// What becomes of pods whose node says that it is not ready: nothing, unless they come to it then. Two nodes of a zone
/// of their own, one of which stays ready, so that the other gets the taint that evicts: that shows that the real
/// controller knows what it says.
pub fn not_ready() -> Scenario {
    const A: &str = "/api/v1/nodes/NS-a";
    const B: &str = "/api/v1/nodes/NS-b";
    const A_STATUS: &str = "/api/v1/nodes/NS-a/status";
    const B_STATUS: &str = "/api/v1/nodes/NS-b/status";
    const PODS: &str = "/api/v1/namespaces/NS/pods";
    const ONE: &str = "/api/v1/namespaces/NS/pods/one";
    const TWO: &str = "/api/v1/namespaces/NS/pods/two";
    const ONE_STATUS: &str = "/api/v1/namespaces/NS/pods/one/status";
    const TWO_STATUS: &str = "/api/v1/namespaces/NS/pods/two/status";
    let node = |name: &str| {
        let labels = json!({"scenario": "$NS", "topology.kubernetes.io/zone": "$NS"});
        let metadata = json!({"name": format!("$NS-{name}"), "labels": labels});
        Step::Create(NODES, json!({"metadata": metadata}))
    };
    // With another heartbeat each time: upstream takes no notice of what comes with the same one.
    let says = |path: &'static str, status: &str, second: u32| {
        let condition = json!({
            "type": "Ready", "status": status, "reason": "Said",
            "lastHeartbeatTime": format!("2026-01-01T00:00:0{second}Z"),
        });
        Step::Patch(path, json!({"status": {"conditions": [condition]}}))
    };
    let pod = |name: &str, node: Value| {
        Step::Create(
            PODS,
            json!({"metadata": {"name": name, "labels": {"app": "shop"}}, "spec": {
                "nodeName": node, "tolerations": [{"operator": "Exists"}],
                "terminationGracePeriodSeconds": 0, "containers": [{
                    "name": "c", "image": "v1", "ports": [{"name": "web", "containerPort": 8080}],
                }],
            }}),
        )
    };
    let target = json!({"kind": "Node", "name": "$NS-a"});
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "two"}, "target": target,
    });
    let mut steps = vec![
        node("a"),
        node("b"),
        says(A_STATUS, "True", 1),
        says(B_STATUS, "True", 1),
        services::shop(json!({})),
        pod("one", json!("$NS-a")),
        services::state(ONE_STATUS, "10.1.0.1", true),
        says(A_STATUS, "False", 2),
        // Ready before it is bound, which no kubelet would say.
        pod("two", Value::Null),
        services::state(TWO_STATUS, "10.1.0.2", true),
        Step::Post("/api/v1/namespaces/NS/pods/two/binding", binding, 201),
        services::state(TWO_STATUS, "10.1.0.2", true),
        says(A_STATUS, "True", 3),
    ];
    steps.extend([ONE, TWO, A, B].map(|path| Step::Delete(path, None)));
    scenario(NOT_READY, steps)
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
fn says(ready: bool) -> Step {
    let status = if ready { "True" } else { "False" };
    let condition = json!({"type": "Ready", "status": status, "reason": "Said"});
    Step::Patch("/api/v1/nodes/NS-a/status", json!({"status": {"conditions": [condition]}}))
}
