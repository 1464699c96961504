//! Pods and their volumes.

use serde_json::{Value, json};

use super::{Scenario, Step, pod, scenario};

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const CLAIMS: &str = "/api/v1/namespaces/NS/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";

/// A class whose volumes wait for a pod.
fn class(name: &str, provisioner: &str, more: Value) -> Step {
    let mut class = json!({
        "metadata": {"name": name}, "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        class[key] = value.clone();
    }
    Step::Create(CLASSES, class)
}

fn claim(name: &str, class: &str, mode: &str) -> Step {
    Step::Create(
        CLAIMS,
        json!({"metadata": {"name": name}, "spec": {
            "storageClassName": class, "accessModes": [mode],
            "resources": {"requests": {"storage": "1Gi"}},
        }}),
    )
}

/// A volume that can be reached from one node, or from all.
fn volume(name: &str, class: &str, node: Option<&str>, more: Value) -> Step {
    let mut spec = json!({
        "storageClassName": class, "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"},
    });
    if let Some(node) = node {
        let host = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
        spec["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}});
    }
    for (key, value) in more["spec"].as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let labels = &more["labels"];
    Step::Create(VOLUMES, json!({"metadata": {"name": name, "labels": labels}, "spec": spec}))
}

fn uses(claim: &str) -> Value {
    json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]})
}

pub fn all() -> Vec<Scenario> {
    let nodes = || Step::Nodes(vec![("a", json!({})), ("b", json!({}))]);
    let kept = |claim: &str| json!({"spec": {"claimRef": {"name": claim, "namespace": "$NS"}}});
    let mut alone = kept("c");
    alone["spec"]["accessModes"] = json!(["ReadWriteOncePod"]);
    let zoned = |zone: &str| json!({"labels": {"topology.kubernetes.io/zone": zone}});
    let disk = json!({"volumes": [{"name": "v", "gcePersistentDisk": {"pdName": "d"}}],
        "nodeSelector": {"kubernetes.io/hostname": "a"}});
    let none = "kubernetes.io/no-provisioner";
    vec![
        scenario(
            "volume-local",
            vec![
                nodes(),
                class("local", none, json!({})),
                volume("v", "local", Some("b"), json!({})),
                claim("c", "local", "ReadWriteOnce"),
                pod("p", uses("c")),
                claim("second", "local", "ReadWriteOnce"),
                pod("q", uses("second")),
            ],
        ),
        scenario(
            "volume-made",
            vec![
                Step::Nodes(vec![("a", zoned("x")), ("b", zoned("y"))]),
                class(
                    "made",
                    "example.com/made",
                    json!({"allowedTopologies": [{"matchLabelExpressions": [
                        {"key": "topology.kubernetes.io/zone", "values": ["y"]},
                    ]}]}),
                ),
                claim("c", "made", "ReadWriteOnce"),
                pod("p", uses("c")),
            ],
        ),
        scenario(
            "volume-bound",
            vec![
                nodes(),
                volume("v", "", Some("b"), alone),
                claim("c", "", "ReadWriteOncePod"),
                pod("p", uses("c")),
                pod("q", uses("c")),
                pod(
                    "far",
                    json!({"volumes": uses("c")["volumes"], "nodeSelector": {"kubernetes.io/hostname": "a"}}),
                ),
            ],
        ),
        scenario(
            "volume-zone",
            vec![
                Step::Nodes(vec![("a", zoned("x")), ("b", zoned("y"))]),
                volume(
                    "v",
                    "",
                    None,
                    json!({"labels": {"topology.kubernetes.io/zone": "y__z"}, "spec": kept("c")["spec"]}),
                ),
                claim("c", "", "ReadWriteOnce"),
                pod("p", uses("c")),
                pod(
                    "q",
                    json!({"volumes": uses("c")["volumes"], "nodeSelector": {"topology.kubernetes.io/zone": "x"}}),
                ),
            ],
        ),
        scenario(
            "volume-elsewhere",
            vec![
                nodes(),
                volume("v", "", Some("b"), kept("c")),
                claim("c", "", "ReadWriteOnce"),
                pod(
                    "q",
                    json!({"volumes": uses("c")["volumes"], "nodeSelector": {"kubernetes.io/hostname": "a"}}),
                ),
            ],
        ),
        scenario(
            "volume-missing",
            vec![
                Step::Nodes(vec![("a", json!({}))]),
                pod("p", uses("c")),
                claim("c", "", "ReadWriteOnce"),
                volume("v", "", None, kept("c")),
            ],
        ),
        scenario(
            "volume-lost",
            vec![
                nodes(),
                Step::Create(
                    CLAIMS,
                    json!({
                        "metadata": {"name": "c", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                        "spec": {"storageClassName": "", "volumeName": "gone", "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": "1Gi"}}},
                    }),
                ),
                pod("p", uses("c")),
            ],
        ),
        scenario("disk", vec![nodes(), pod("p", disk.clone()), pod("q", disk)]),
    ]
}
