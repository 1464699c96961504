//! Which nodes will do, and which is the best.

use serde_json::{Value, json};

use super::{Scenario, Step, asks, pod, scenario};

const A: &str = "/api/v1/nodes/a";

fn zone(zone: &str) -> Value {
    json!({"labels": {"topology.kubernetes.io/zone": zone}})
}

fn near(kind: &str, app: &str, topology: &str) -> Value {
    let term = json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology});
    json!({kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
}

fn named(terms: &[&[&str]]) -> Value {
    let term = |names: &&[&str]| {
        let field =
            |name: &&str| json!({"key": "metadata.name", "operator": "In", "values": [name]});
        json!({"matchFields": names.iter().map(field).collect::<Vec<_>>()})
    };
    let terms: Vec<Value> = terms.iter().map(term).collect();
    let required = json!({"nodeSelectorTerms": terms});
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
}

fn spread(topology: &str, more: Value) -> Value {
    let mut constraint = json!({
        "maxSkew": 1, "topologyKey": topology, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        constraint[key] = value.clone();
    }
    json!([constraint])
}

pub fn all() -> Vec<Scenario> {
    let tainted = json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]});
    let in_zone = "topology.kubernetes.io/zone";
    let of_a = |affinity: Value| json!({"labels": {"app": "a"}, "affinity": affinity});
    let port =
        json!([{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 80}]}]);
    let one_address = json!([{"name": "c", "image": "i", "ports": [
        {"containerPort": 1, "hostPort": 80, "hostIP": "10.0.0.1"},
    ]}]);
    vec![
        scenario("no-nodes", vec![pod("p", json!({})), Step::Nodes(vec![("a", json!({}))])]),
        scenario(
            "kept-away",
            vec![
                Step::Nodes(vec![
                    ("a", json!({"unschedulable": true})),
                    ("b", tainted.clone()),
                    ("c", json!({})),
                ]),
                pod("p", json!({"nodeSelector": {"disk": "ssd"}})),
                pod(
                    "tolerant",
                    json!({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/hostname": "b"}}),
                ),
                Step::Patch(
                    A,
                    json!({"metadata": {"labels": {"disk": "ssd"}}, "spec": {"unschedulable": false}}),
                ),
            ],
        ),
        scenario(
            "soft-taint",
            vec![
                Step::Nodes(vec![
                    ("a", json!({"taints": [{"key": "k", "effect": "PreferNoSchedule"}]})),
                    ("b", json!({})),
                ]),
                pod("p", json!({})),
            ],
        ),
        scenario(
            "named",
            vec![
                Step::Nodes(vec![("a", json!({})), ("b", tainted)]),
                pod("there", json!({"affinity": named(&[&["b"], &["gone"]])})),
                pod("nowhere", json!({"affinity": named(&[&["gone"]])})),
                pod("both", json!({"affinity": named(&[&["a", "b"]])})),
                pod("one", json!({"affinity": named(&[&["a"]])})),
            ],
        ),
        scenario(
            "resources",
            vec![
                Step::Nodes(vec![
                    ("a", json!({"size": {"cpu": "1", "example.com/gpu": "1"}})),
                    ("b", json!({"size": {"cpu": "2", "pods": "1"}})),
                ]),
                pod("on-b", json!({"containers": asks("2")})),
                pod("late", json!({"containers": asks("2")})),
                Step::Gone("on-b"),
            ],
        ),
        scenario(
            "resources-of-others",
            vec![
                Step::Nodes(vec![
                    ("a", json!({"size": {"example.com/gpu": "1"}})),
                    ("b", json!({"size": {"cpu": "2", "memory": "1Gi"}})),
                ]),
                pod("large", json!({"containers": asks("5")})),
                pod(
                    "gpu",
                    json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "2"}}}]}),
                ),
                pod(
                    "storage",
                    json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"ephemeral-storage": "1Gi"}}}]}),
                ),
            ],
        ),
        scenario(
            "balance",
            vec![
                Step::Nodes(vec![("a", json!({})), ("b", json!({"size": {"memory": "64Gi"}}))]),
                pod("p", json!({"containers": asks("2")})),
                pod("q", json!({"containers": asks("100m")})),
            ],
        ),
        scenario(
            "ports",
            vec![
                Step::Nodes(vec![("a", json!({}))]),
                pod("p", json!({"containers": port})),
                pod("q", json!({"containers": one_address})),
            ],
        ),
        scenario(
            "gates",
            vec![
                Step::Nodes(vec![("a", json!({}))]),
                pod("p", json!({"schedulingGates": [{"name": "example.com/wait"}]})),
                Step::Patch(
                    "/api/v1/namespaces/NS/pods/p",
                    json!({"spec": {"schedulingGates": null}}),
                ),
            ],
        ),
        scenario(
            "spread",
            vec![
                Step::Nodes(vec![("a", zone("x")), ("b", zone("y")), ("c", json!({}))]),
                pod("one", json!({"labels": {"app": "a"}, "nodeName": "a"})),
                pod(
                    "two",
                    json!({"labels": {"app": "a"}, "topologySpreadConstraints": spread(in_zone, json!({}))}),
                ),
                pod(
                    "domains",
                    json!({"labels": {"app": "a"}, "topologySpreadConstraints": spread(in_zone, json!({"minDomains": 3}))}),
                ),
                pod(
                    "keys",
                    json!({"labels": {"app": "a", "v": "2"}, "nodeSelector": {in_zone: "x"},
                "topologySpreadConstraints": spread(in_zone, json!({"matchLabelKeys": ["v"]}))}),
                ),
                pod(
                    "selected",
                    json!({"labels": {"app": "a"}, "nodeSelector": {in_zone: "x"},
                "topologySpreadConstraints": spread(in_zone, json!({"nodeAffinityPolicy": "Ignore"}))}),
                ),
            ],
        ),
        scenario(
            "spread-by-default",
            vec![
                Step::Nodes(vec![("a", zone("x")), ("b", zone("x")), ("c", zone("y"))]),
                Step::Create(
                    "/api/v1/namespaces/NS/services",
                    json!({
                        "metadata": {"name": "s"}, "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]},
                    }),
                ),
                pod("one", json!({"labels": {"app": "a"}, "nodeName": "a"})),
                pod("two", json!({"labels": {"app": "a"}})),
            ],
        ),
        scenario(
            "affinity",
            vec![
                Step::Nodes(vec![
                    ("a", zone("x")),
                    ("b", zone("x")),
                    ("c", zone("y")),
                    ("d", json!({})),
                ]),
                pod(
                    "alone",
                    json!({"labels": {"app": "b"}, "affinity": near("podAffinity", "a", in_zone)}),
                ),
                pod("first", json!({"labels": {"app": "a"}, "nodeName": "c"})),
                pod(
                    "away",
                    json!({"labels": {"app": "a"}, "nodeSelector": {in_zone: "y"}, "affinity": near("podAntiAffinity", "b", "kubernetes.io/hostname")}),
                ),
                pod(
                    "single",
                    json!({"labels": {"app": "c"}, "nodeSelector": {"kubernetes.io/hostname": "d"}, "affinity": near("podAntiAffinity", "d", "kubernetes.io/hostname")}),
                ),
                pod(
                    "hated",
                    json!({"labels": {"app": "d"}, "nodeSelector": {"kubernetes.io/hostname": "d"}}),
                ),
                pod(
                    "hates",
                    json!({"nodeSelector": {"kubernetes.io/hostname": "d"}, "affinity": near("podAntiAffinity", "c", "kubernetes.io/hostname")}),
                ),
            ],
        ),
        scenario(
            "affinity-of-a-group",
            vec![
                Step::Nodes(vec![("a", zone("x")), ("b", json!({}))]),
                pod("one", of_a(near("podAffinity", "a", in_zone))),
                pod("two", of_a(near("podAffinity", "a", in_zone))),
            ],
        ),
    ]
}
