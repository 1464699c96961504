//! Endpoints and EndpointSlices; disruption budgets and evictions; ServiceAccounts; pods that nobody looks after.

use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, change, scenario, web};

const SERVICES: &str = "/api/v1/namespaces/NS/services";
pub const SHOP: &str = "/api/v1/namespaces/NS/services/shop";
pub const PODS: &str = "/api/v1/namespaces/NS/pods";
const ONE: &str = "/api/v1/namespaces/NS/pods/one";
const ONE_STATUS: &str = "/api/v1/namespaces/NS/pods/one/status";
const TWO_STATUS: &str = "/api/v1/namespaces/NS/pods/two/status";
const BUDGETS: &str = "/apis/policy/v1/namespaces/NS/poddisruptionbudgets";

pub fn node() -> Step {
    let metadata = json!({"name": "$NS-a"});
    Step::Create("/api/v1/nodes", json!({"metadata": metadata}))
}

/// Every slice gets another label, or another value of one.
pub fn relabel_slices(name: &str, value: &str) -> Step {
    Step::PatchSlices(json!({"metadata": {"labels": {name: value}}}))
}

/// The node's zone.
fn zone(name: &str) -> Step {
    let labels = json!({
        "topology.kubernetes.io/zone": name, "topology.kubernetes.io/region": "r", "rack": "1",
    });
    Step::Patch("/api/v1/nodes/NS-a", json!({"metadata": {"labels": labels}}))
}

/// Pod `two` is bound to the node.
fn bind() -> Step {
    let target = json!({"kind": "Node", "name": "$NS-a"});
    Step::Post(
        "/api/v1/namespaces/NS/pods/two/binding",
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "two"}, "target": target}),
        201,
    )
}

fn pod(name: &str) -> Step {
    Step::Create(
        PODS,
        json!({
            "metadata": {"name": name, "labels": {"app": "shop"}},
            "spec": {
                "nodeName": "$NS-a", "hostname": name, "subdomain": "shop",
                "terminationGracePeriodSeconds": 3600,
                "containers": [{
                    "name": "c", "image": "v1",
                    "ports": [{"name": "web", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}],
                }],
            },
        }),
    )
}

pub fn state(path: &'static str, ip: &str, ready: bool) -> Step {
    let ready = if ready { "True" } else { "False" };
    Step::Patch(
        path,
        json!({"status": {
            "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        }}),
    )
}

pub fn shop(more: Value) -> Step {
    let mut spec = json!({"selector": {"app": "shop"}, "clusterIP": "None", "ports": [
        {"name": "http", "port": 80, "targetPort": "web"},
    ]});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let metadata =
        json!({"name": "shop", "labels": {"of": "shop"}, "annotations": {"note": "own"}});
    Step::Create(SERVICES, json!({"metadata": metadata, "spec": spec}))
}

fn two_pods() -> Vec<Step> {
    vec![
        node(),
        pod("one"),
        pod("two"),
        state(ONE_STATUS, "10.1.0.1", true),
        state(TWO_STATUS, "10.1.0.2", false),
    ]
}

fn then(first: Vec<Step>, more: Vec<Step>) -> Vec<Step> {
    [first, more].concat()
}

pub fn budget(spec: Value) -> Step {
    let mut spec = spec;
    if spec.get("selector").is_none() {
        spec["selector"] = json!({"matchLabels": {"app": "web"}});
    }
    Step::Create(BUDGETS, json!({"metadata": {"name": "b"}, "spec": spec}))
}

fn evict(name: &'static str, path: &'static str, code: u16) -> Step {
    let object = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "$NS"},
    });
    Step::Post(path, object, code)
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![
        scenario("service-empty", vec![shop(json!({}))]),
        scenario(
            "service-pods",
            then(
                vec![shop(json!({}))],
                then(
                    two_pods(),
                    vec![
                        state(TWO_STATUS, "10.1.0.2", true),
                        state(ONE_STATUS, "10.1.0.1", false),
                        Step::Patch(ONE, json!({"metadata": {"labels": {"app": "other"}}})),
                        Step::Patch(SHOP, json!({"metadata": {"labels": {"new": "label"}}})),
                    ],
                ),
            ),
        ),
        scenario(
            "service-terminating",
            then(
                two_pods(),
                vec![
                    shop(json!({})),
                    Step::Delete(ONE, None),
                    state(TWO_STATUS, "10.1.0.2", true),
                    Step::Patch(
                        TWO_STATUS,
                        json!({"status": {"phase": "Succeeded", "conditions": [
                            {"type": "Ready", "status": "False"},
                        ]}}),
                    ),
                ],
            ),
        ),
        scenario(
            "service-publishes-all",
            then(two_pods(), vec![shop(json!({"publishNotReadyAddresses": true}))]),
        ),
        scenario(
            "service-ports",
            then(
                two_pods(),
                vec![
                    shop(json!({"ports": [
                        {"name": "http", "port": 80, "targetPort": "web"},
                        {"name": "admin", "port": 81, "targetPort": 9090, "appProtocol": "http"},
                        {"name": "none", "port": 82, "targetPort": "missing"},
                    ]})),
                    Step::Patch(
                        SHOP,
                        json!({"spec": {"ports": [
                            {"port": 80, "$patch": "delete"},
                        ]}}),
                    ),
                ],
            ),
        ),
        scenario("service-without-ports", then(two_pods(), vec![shop(json!({"ports": null}))])),
        scenario(
            "service-without-selector",
            then(two_pods(), vec![shop(json!({"selector": null}))]),
        ),
        scenario(
            "service-external",
            vec![shop(
                json!({"type": "ExternalName", "externalName": "e.invalid", "clusterIP": null}),
            )],
        ),
        scenario(
            "service-deleted",
            then(two_pods(), vec![shop(json!({})), Step::Delete(SHOP, None)]),
        ),
        scenario(
            "service-hints",
            vec![
                node(),
                pod("one"),
                pod("two"),
                // After the pods, or they would have the label too.
                Step::Patch(
                    "/api/v1/nodes/NS-a",
                    json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "z"}}}),
                ),
                state(ONE_STATUS, "10.1.0.1", true),
                state(TWO_STATUS, "10.1.0.2", false),
                shop(json!({"trafficDistribution": "PreferClose"})),
                state(TWO_STATUS, "10.1.0.2", true),
                Step::Patch(SHOP, json!({"spec": {"trafficDistribution": "PreferSameNode"}})),
                state(ONE_STATUS, "10.1.0.1", false),
                Step::Patch(SHOP, json!({"spec": {"trafficDistribution": "PreferSameZone"}})),
                // The older annotation comes first.
                Step::Patch(
                    SHOP,
                    json!({"metadata": {"annotations": {
                        "service.kubernetes.io/topology-mode": "Auto",
                    }}}),
                ),
            ],
        ),
        scenario(
            "slices-given-away",
            then(
                two_pods(),
                vec![
                    shop(json!({})),
                    relabel_slices("kubernetes.io/service-name", "other"),
                    // What is told of the pods now stands nowhere.
                    state(TWO_STATUS, "10.1.0.2", true),
                    relabel_slices("kubernetes.io/service-name", "shop"),
                    relabel_slices("endpointslice.kubernetes.io/managed-by", "somebody"),
                    Step::Patch(ONE, json!({"metadata": {"labels": {"app": "other"}}})),
                    Step::Patch(SHOP, json!({"metadata": {"labels": {"new": "label"}}})),
                    Step::Delete(SHOP, None),
                    shop(json!({})),
                ],
            ),
        ),
        scenario(
            "slices-labelled",
            then(
                two_pods(),
                vec![
                    shop(json!({})),
                    relabel_slices("service.kubernetes.io/headless", "kept"),
                    relabel_slices("note", "own"),
                    relabel_slices("of", "other"),
                ],
            ),
        ),
        scenario(
            "pod-zone",
            vec![
                node(),
                zone("a"),
                pod("one"),
                Step::Create(
                    PODS,
                    json!({
                        "metadata": {"name": "two", "labels": {
                            "app": "shop", "topology.kubernetes.io/zone": "own",
                        }},
                        "spec": {"containers": [{"name": "c", "image": "v1"}]},
                    }),
                ),
                bind(),
                // What is known of the node later is nobody's concern.
                zone("b"),
                state(ONE_STATUS, "10.1.0.1", true),
                shop(json!({})),
            ],
        ),
        scenario(
            "budget-least",
            vec![
                budget(json!({"minAvailable": 1})),
                web(3, json!({})),
                Step::ReadyOne,
                Step::Ready,
            ],
        ),
        scenario(
            "budget-share",
            vec![
                web(4, json!({})),
                Step::Ready,
                budget(json!({"minAvailable": "50%"})),
                change(json!({"replicas": 1})),
            ],
        ),
        scenario(
            "budget-most",
            vec![
                web(3, json!({})),
                budget(json!({"maxUnavailable": "30%"})),
                Step::Ready,
                Step::DeleteOnePod,
            ],
        ),
        scenario("budget-nothing", vec![budget(json!({"maxUnavailable": 1}))]),
        scenario(
            "budget-changed",
            vec![
                web(2, json!({})),
                Step::Ready,
                budget(json!({"minAvailable": 2})),
                Step::Patch(
                    "/apis/policy/v1/namespaces/NS/poddisruptionbudgets/b",
                    json!({"spec": {"minAvailable": 0}}),
                ),
            ],
        ),
        // Pods that nobody makes again: under the same name, the real budget keeps a disruption for two minutes or not,
        // as chance has it.
        scenario(
            "budget-eviction",
            vec![
                node(),
                pod("one"),
                pod("two"),
                state(ONE_STATUS, "10.1.0.1", true),
                state(TWO_STATUS, "10.1.0.2", true),
                budget(json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}})),
                evict("one", "/api/v1/namespaces/NS/pods/one/eviction", 201),
                evict("two", "/api/v1/namespaces/NS/pods/two/eviction", 429),
            ],
        ),
        scenario(
            "budget-of-jobs",
            vec![
                budget(
                    json!({"maxUnavailable": 1, "selector": {"matchLabels": {"job-name": "work"}}}),
                ),
                Step::Create(
                    "/apis/batch/v1/namespaces/NS/jobs",
                    json!({
                        "metadata": {"name": "work"},
                        "spec": {"template": {"spec": {
                            "restartPolicy": "Never", "containers": [{"name": "c", "image": "v1"}],
                        }}},
                    }),
                ),
            ],
        ),
        scenario(
            "account",
            vec![
                Step::Create(
                    "/api/v1/namespaces/NS/configmaps",
                    json!({"metadata": {"name": "own"}}),
                ),
                Step::Delete("/api/v1/namespaces/NS/serviceaccounts/default", None),
                Step::Delete("/api/v1/namespaces/NS/configmaps/kube-root-ca.crt", None),
                Step::Patch(
                    "/api/v1/namespaces/NS/configmaps/kube-root-ca.crt",
                    json!({"metadata": {"annotations": {"kubernetes.io/description": ""}}}),
                ),
            ],
        ),
        scenario(
            "pod-never-bound",
            vec![
                Step::Create(
                    PODS,
                    json!({
                        "metadata": {"name": "one", "finalizers": ["example.com/hold"]},
                        "spec": {"containers": [{"name": "c", "image": "v1"}]},
                    }),
                ),
                Step::Delete(ONE, None),
                Step::Patch(
                    ONE,
                    json!({
                        "metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/hold"]},
                    }),
                ),
            ],
        ),
        // That a node does not come back is in `daemon-nodes-come-and-go`.
        scenario(
            "pod-node-comes-back",
            vec![
                node(),
                pod("one"),
                Step::Delete("/api/v1/nodes/NS-a", None),
                node(),
                Step::Patch(ONE, json!({"metadata": {"labels": {"app": "other"}}})),
            ],
        ),
        scenario(
            "pod-out-of-service",
            vec![
                node(),
                pod("one"),
                Step::Delete(ONE, None),
                Step::Patch(
                    "/api/v1/nodes/NS-a",
                    json!({"spec": {"taints": [{
                        "key": "node.kubernetes.io/out-of-service", "effect": "NoExecute",
                    }]}}),
                ),
            ],
        ),
    ]
}

/// Of the only scenario with nodes that are ready and of several zones, which concern every Service: it has to be
/// played alone.
pub const ZONES: &str = "zones";

/// A node that is ready, with so many processors.
fn of_zone(path: &'static str, cpu: &str) -> Step {
    Step::Patch(
        path,
        json!({"status": {
            "allocatable": {"cpu": cpu},
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "Test", "message": "",
                "lastHeartbeatTime": "$NOW", "lastTransitionTime": "$NOW",
            }],
        }}),
    )
}

/// The node says that it is not.
fn not_ready(path: &'static str) -> Step {
    Step::Patch(
        path,
        json!({"status": {"conditions": [{
            "type": "Ready", "status": "False", "reason": "Test", "message": "",
            "lastHeartbeatTime": "$NOW", "lastTransitionTime": "$NOW",
        }]}}),
    )
}

/// Endpoints shared out by the processors of zones.
pub fn zones() -> Scenario {
    const A: &str = "/api/v1/nodes/NS-a/status";
    const B: &str = "/api/v1/nodes/NS-b/status";
    const STATUS: [&str; 4] = [
        "/api/v1/namespaces/NS/pods/p0/status",
        "/api/v1/namespaces/NS/pods/p1/status",
        "/api/v1/namespaces/NS/pods/p2/status",
        "/api/v1/namespaces/NS/pods/p3/status",
    ];
    const IPS: [&str; 4] = ["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4"];
    let node = |name: &str, zone: &str| {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        let metadata = json!({"name": format!("$NS-{name}"), "labels": labels});
        Step::Create("/api/v1/nodes", json!({"metadata": metadata}))
    };
    let pod = |number: usize, node: &str| {
        let port = json!({"name": "web", "containerPort": 8080});
        Step::Create(
            PODS,
            json!({
                "metadata": {"name": format!("p{number}"), "labels": {"app": "shop"}},
                "spec": {
                    "nodeName": format!("$NS-{node}"), "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "c", "image": "v1", "ports": [port]}],
                },
            }),
        )
    };
    let ready = |number: usize| state(STATUS[number], IPS[number], true);
    let mode = |mode: Value| {
        let annotations = json!({"service.kubernetes.io/topology-mode": mode});
        Step::Patch(SHOP, json!({"metadata": {"annotations": annotations}}))
    };
    let mut steps = vec![node("a", "x"), node("b", "y"), of_zone(A, "2"), of_zone(B, "2")];
    steps.extend([pod(0, "a"), pod(1, "a"), pod(2, "b"), pod(3, "b")]);
    steps.extend([
        shop(json!({})),
        mode(json!("Auto")),
        ready(0),
        // One of two for the other zone.
        ready(1),
        // Three are not to be shared out by two.
        ready(2),
        ready(3),
        // Its endpoints stay, and there is only one zone left.
        not_ready(B),
        // A late second look of upstream's would find both zones again, and give hints: it is to find no mode.
        mode(json!("Disabled")),
        of_zone(B, "2"),
        of_zone(A, "6"),
        mode(json!("auto")),
        mode(Value::Null),
        Step::Delete(SHOP, None),
    ]);
    let pods = [
        "/api/v1/namespaces/NS/pods/p0",
        "/api/v1/namespaces/NS/pods/p1",
        "/api/v1/namespaces/NS/pods/p2",
        "/api/v1/namespaces/NS/pods/p3",
    ];
    steps.extend(pods.map(|path| Step::Delete(path, None)));
    steps.extend(["/api/v1/nodes/NS-a", "/api/v1/nodes/NS-b"].map(|path| Step::Delete(path, None)));
    scenario(ZONES, steps)
}
