//! StatefulSets, their revisions and claims; binding and protection of claims and volumes.

use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, scenario};

const SETS: &str = "/apis/apps/v1/namespaces/NS/statefulsets";
const DB: &str = "/apis/apps/v1/namespaces/NS/statefulsets/db";
const CLAIMS: &str = "/api/v1/namespaces/NS/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const PODS: &str = "/api/v1/namespaces/NS/pods";

fn template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    })
}

pub fn db(replicas: u32, more: Value) -> Step {
    let mut spec = json!({
        "replicas": replicas,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": template("v1"),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let metadata = json!({"name": "db", "annotations": {"note": "kept"}});
    Step::Create(SETS, json!({"metadata": metadata, "spec": spec}))
}

pub fn change(spec: Value) -> Step {
    Step::Patch(DB, json!({"spec": spec}))
}

pub fn image(image: &str) -> Step {
    change(json!({"template": template(image)}))
}

fn claim_spec() -> Value {
    json!({
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "none-$NS",
        "resources": {"requests": {"storage": "1Gi"}},
    })
}

pub fn with_claims(deleted: &str, scaled: &str) -> Value {
    json!({
        "volumeClaimTemplates": [
            {"metadata": {"name": "data", "labels": {"of": "db"}}, "spec": claim_spec()},
        ],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted, "whenScaled": scaled},
    })
}

pub fn volume(name: &str, size: &str, more: Value) -> Step {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "nfs": {"server": "nobody.invalid", "path": "/"},
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "none-$NS",
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let metadata = json!({"name": format!("$NS-{name}"), "labels": {"scenario": "$NS"}});
    Step::Create(VOLUMES, json!({"metadata": metadata, "spec": spec}))
}

pub fn claim(name: &str, more: Value) -> Step {
    let mut spec = claim_spec();
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    Step::Create(CLAIMS, json!({"metadata": {"name": name}, "spec": spec}))
}

/// A pod with a volume of its own, on a node that nobody runs.
fn own_volume(name: &str) -> Step {
    let template = json!({"metadata": {"labels": {"of": "pod"}}, "spec": claim_spec()});
    Step::Create(
        PODS,
        json!({"metadata": {"name": name}, "spec": {
            "nodeName": "$NS-a",
            "containers": [{"name": "c", "image": "v1"}],
            "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}],
            "terminationGracePeriodSeconds": 0,
        }}),
    )
}

fn ready(times: usize) -> Vec<Step> {
    vec![Step::Ready; times]
}

fn steps(parts: Vec<Vec<Step>>) -> Vec<Step> {
    parts.concat()
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let parallel = || json!({"podManagementPolicy": "Parallel"});
    let partition = |at: u32| json!({"updateStrategy": {"rollingUpdate": {"partition": at}}});
    vec![
        scenario("stateful-ordered", steps(vec![vec![db(3, json!({}))], ready(3)])),
        scenario(
            "stateful-parallel",
            vec![
                db(3, parallel()),
                Step::Ready,
                change(json!({"replicas": 1})),
                image("v2"),
                Step::Ready,
            ],
        ),
        scenario(
            "stateful-scale",
            steps(vec![
                vec![db(2, json!({}))],
                ready(2),
                vec![change(json!({"replicas": 4}))],
                ready(2),
                vec![change(json!({"replicas": 1})), change(json!({"replicas": 0}))],
            ]),
        ),
        scenario(
            "stateful-update",
            steps(vec![vec![db(3, json!({}))], ready(3), vec![image("v2")], ready(3)]),
        ),
        scenario(
            "stateful-partition",
            steps(vec![
                vec![db(3, partition(2))],
                ready(3),
                vec![image("v2")],
                ready(1),
                vec![Step::Delete("/api/v1/namespaces/NS/pods/db-0", None)],
                ready(1),
                vec![change(partition(0))],
                ready(2),
            ]),
        ),
        scenario(
            "stateful-rollback",
            steps(vec![
                vec![db(2, json!({}))],
                ready(2),
                vec![image("v2")],
                ready(2),
                vec![image("v1")],
                ready(2),
            ]),
        ),
        scenario(
            "stateful-history",
            steps(vec![
                vec![db(1, json!({"revisionHistoryLimit": 1}))],
                ready(1),
                vec![image("v2")],
                ready(1),
                vec![image("v3")],
                ready(1),
                vec![image("v4")],
                ready(1),
            ]),
        ),
        scenario(
            "stateful-on-delete",
            steps(vec![
                vec![db(2, json!({"updateStrategy": {"type": "OnDelete"}}))],
                ready(2),
                vec![image("v2"), Step::Delete("/api/v1/namespaces/NS/pods/db-0", None)],
                ready(1),
            ]),
        ),
        scenario(
            "stateful-broken-update",
            steps(vec![vec![db(2, json!({}))], ready(2), vec![image("v2"), image("v3")], ready(2)]),
        ),
        scenario(
            "stateful-ordinals",
            steps(vec![
                vec![db(2, json!({"ordinals": {"start": 5}}))],
                ready(2),
                vec![change(json!({"ordinals": {"start": 6}}))],
                ready(2),
            ]),
        ),
        scenario(
            "stateful-pod-ends",
            steps(vec![
                vec![db(2, json!({}))],
                ready(2),
                vec![Step::Patch(
                    "/api/v1/namespaces/NS/pods/db-0/status",
                    json!({"status": {"phase": "Failed"}}),
                )],
                ready(1),
            ]),
        ),
        scenario(
            "stateful-orphan",
            steps(vec![
                vec![db(2, json!({}))],
                ready(2),
                vec![Step::Delete(DB, Some("Orphan")), db(2, json!({}))],
            ]),
        ),
        scenario(
            "stateful-delete",
            steps(vec![
                vec![db(2, json!({}))],
                ready(2),
                vec![Step::Delete(DB, Some("Foreground"))],
            ]),
        ),
        scenario(
            "stateful-claims-retain",
            steps(vec![
                vec![db(2, with_claims("Retain", "Retain"))],
                ready(2),
                vec![change(json!({"replicas": 1})), Step::Delete(DB, Some("Background"))],
            ]),
        ),
        scenario(
            "stateful-claims-delete",
            steps(vec![
                vec![db(2, with_claims("Delete", "Delete"))],
                ready(2),
                vec![change(json!({"replicas": 1})), change(json!({"replicas": 2}))],
                ready(1),
                vec![Step::Delete(DB, Some("Background"))],
            ]),
        ),
        scenario(
            "stateful-claims-policy",
            steps(vec![
                vec![db(2, with_claims("Retain", "Delete"))],
                ready(2),
                vec![
                    change(
                        json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}}),
                    ),
                    change(json!({"replicas": 1})),
                    Step::Delete(DB, Some("Background")),
                ],
            ]),
        ),
        scenario(
            "volume-smallest",
            vec![
                volume("large", "5Gi", json!({})),
                volume("small", "2Gi", json!({})),
                volume("tiny", "100Mi", json!({})),
                claim("c", json!({})),
                Step::Expect("/api/v1/namespaces/NS/persistentvolumeclaims/c"),
            ],
        ),
        scenario(
            "volume-released",
            vec![
                volume("one", "1Gi", json!({})),
                claim("c", json!({})),
                Step::Delete("/api/v1/namespaces/NS/persistentvolumeclaims/c", None),
                claim("c", json!({})),
            ],
        ),
        scenario(
            "volume-asked-for",
            vec![
                volume("one", "1Gi", json!({})),
                volume("two", "1Gi", json!({})),
                claim("c", json!({"volumeName": "$NS-two"})),
                claim("d", json!({"volumeName": "$NS-none"})),
                claim("e", json!({"volumeName": "$NS-two"})),
            ],
        ),
        scenario(
            "volume-kept-for",
            vec![
                volume("one", "1Gi", json!({"claimRef": {"namespace": "$NS", "name": "c"}})),
                claim("d", json!({})),
                claim("c", json!({})),
            ],
        ),
        scenario(
            "volume-does-not-fit",
            vec![
                volume("modes", "1Gi", json!({"accessModes": ["ReadOnlyMany"]})),
                volume("block", "1Gi", json!({"volumeMode": "Block"})),
                volume("class", "1Gi", json!({"storageClassName": "other-$NS"})),
                claim("c", json!({})),
            ],
        ),
        scenario(
            "volume-ephemeral",
            vec![
                Step::Create("/api/v1/nodes", json!({"metadata": {"name": "$NS-a"}})),
                volume("one", "1Gi", json!({})),
                own_volume("p"),
                Step::Expect("/api/v1/namespaces/NS/persistentvolumeclaims/p-v"),
                // In use, as any other.
                Step::Delete("/api/v1/namespaces/NS/persistentvolumeclaims/p-v", None),
                Step::Delete("/api/v1/namespaces/NS/pods/p", None),
                // Somebody else's, which the pod does not use; then it gets its own.
                claim("q-v", json!({})),
                own_volume("q"),
                Step::Delete("/api/v1/namespaces/NS/persistentvolumeclaims/q-v", None),
                Step::Expect("/api/v1/namespaces/NS/persistentvolumeclaims/q-v"),
            ],
        ),
        scenario(
            "volume-protection",
            vec![
                Step::Create("/api/v1/nodes", json!({"metadata": {"name": "$NS-a"}})),
                volume("one", "1Gi", json!({})),
                claim("c", json!({})),
                Step::Create(
                    PODS,
                    json!({"metadata": {"name": "p"}, "spec": {
                        "nodeName": "$NS-a",
                        "containers": [{"name": "c", "image": "v1"}],
                        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
                        "terminationGracePeriodSeconds": 0,
                    }}),
                ),
                Step::Delete("/api/v1/namespaces/NS/persistentvolumeclaims/c", None),
                Step::Delete("/api/v1/namespaces/NS/pods/p", None),
            ],
        ),
    ]
}
