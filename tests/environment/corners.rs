//! Branches that no other scenario comes to, one or two each.

use serde_json::{Value, json};

use crate::{
    jobs,
    scenario::{SETS, Scenario, Step, change, image, map, scenario, template, web},
    services::{self, PODS, SHOP},
    stateful::{self, claim, db, volume, with_claims},
};

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const CLAIM: &str = "/api/v1/namespaces/NS/persistentvolumeclaims/c";
const DATA_0: &str = "/api/v1/namespaces/NS/persistentvolumeclaims/data-db-0";
const DATA_1: &str = "/api/v1/namespaces/NS/persistentvolumeclaims/data-db-1";
const DB_0: &str = "/api/v1/namespaces/NS/pods/db-0/status";
const DB_1: &str = "/api/v1/namespaces/NS/pods/db-1/status";
const DB_2: &str = "/api/v1/namespaces/NS/pods/db-2/status";
const ONE_STATUS: &str = "/api/v1/namespaces/NS/pods/one/status";
const NODE: &str = "/api/v1/nodes/NS-a";

fn hold(path: &'static str) -> Step {
    Step::Patch(path, json!({"metadata": {"finalizers": ["example.com/hold"]}}))
}

fn release(path: &'static str) -> Step {
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/hold"]}});
    Step::MayPatch(path, patch)
}

/// Ready, or not any more, since just now.
fn ready(is: bool) -> Value {
    let status = if is { "True" } else { "False" };
    json!({"status": {"phase": "Running", "conditions": [
        {"type": "Ready", "status": status, "lastTransitionTime": "$NOW"},
    ]}})
}

/// A template whose pods are refused.
fn refused(mut template: Value) -> Value {
    template["spec"]["priorityClassName"] = json!("none");
    json!({"template": template})
}

/// A StatefulSet's pod that was there before it.
fn early(name: &str) -> Step {
    let spec = json!({"containers": [{"name": "c", "image": "v1"}]});
    let metadata = json!({"name": name, "labels": {"app": "db"}});
    Step::Create(PODS, json!({"metadata": metadata, "spec": spec}))
}

fn pod(node: &str, more: Value) -> Step {
    let ports = json!([{"name": "web", "containerPort": 8080}]);
    let mut spec = json!({
        "nodeName": node, "terminationGracePeriodSeconds": 3600,
        "containers": [{"name": "c", "image": "v1", "ports": ports}],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let metadata = json!({"name": "one", "labels": {"app": "shop"}});
    Step::Create(PODS, json!({"metadata": metadata, "spec": spec}))
}

fn class(name: &str, provisioner: &str, annotations: Value, mode: &str) -> Step {
    let metadata = json!({"name": name, "annotations": annotations});
    Step::Create(
        CLASSES,
        json!({"metadata": metadata, "provisioner": provisioner, "volumeBindingMode": mode}),
    )
}

/// A class whose volumes may grow.
fn grows(name: &str) -> Step {
    let mut class = class(name, "example.com/own", json!({}), "Immediate");
    if let Step::Create(_, object) = &mut class {
        object["allowVolumeExpansion"] = json!(true);
    }
    class
}

/// A volume of an older type, that a CSI driver looks after by now.
fn taken_over(mut volume: Step) -> Step {
    if let Step::Create(_, object) = &mut volume {
        let spec = object["spec"].as_object_mut().expect("it has a spec");
        spec.remove("nfs");
        spec.insert("gcePersistentDisk".to_owned(), json!({"pdName": "disk"}));
    }
    volume
}

fn deployments() -> Vec<Scenario> {
    let mut held = template("v1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let spec =
        json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": held});
    vec![
        scenario(
            "corner-new-set-scaled-by-hand",
            vec![web(2, json!({})), Step::Ready, Step::ScaleSet("v1", 5), Step::Ready],
        ),
        scenario(
            "corner-old-set-scaled-by-hand",
            vec![
                web(2, json!({})),
                Step::Ready,
                image("v2"),
                Step::Ready,
                Step::Ready,
                change(json!({"replicas": 1})),
                Step::ScaleSet("v1", 1),
            ],
        ),
        scenario(
            "corner-history-in-use",
            vec![
                web(2, json!({"revisionHistoryLimit": 0})),
                Step::Ready,
                image("v2"),
                change(json!({"paused": true})),
            ],
        ),
        scenario("corner-deadline", vec![web(1, json!({"progressDeadlineSeconds": 1}))]),
        scenario(
            "corner-min-ready",
            vec![web(1, json!({"minReadySeconds": 3})), Step::PatchPods(ready(true)), image("v2")],
        ),
        scenario(
            "corner-terminating-pod",
            vec![
                Step::Create(SETS, json!({"metadata": {"name": "alone"}, "spec": spec})),
                Step::DeleteOnePod,
            ],
        ),
    ]
}

fn stateful() -> Vec<Scenario> {
    vec![
        scenario(
            "corner-stateful-min-ready",
            vec![db(2, json!({"minReadySeconds": 3})), Step::PatchPods(ready(true))],
        ),
        scenario(
            "corner-stateful-pod-without-claims",
            vec![early("db-0"), db(1, with_claims("Retain", "Retain")), Step::Ready],
        ),
        scenario(
            "corner-stateful-pod-without-labels",
            vec![early("db-0"), db(1, json!({})), Step::Ready],
        ),
        scenario(
            "corner-stateful-stale-claim",
            vec![
                db(2, with_claims("Retain", "Delete")),
                Step::Ready,
                Step::Ready,
                hold(DATA_1),
                stateful::change(json!({"replicas": 1})),
                stateful::change(json!({"replicas": 2})),
                release(DATA_1),
            ],
        ),
        scenario(
            "corner-stateful-claim-goes",
            vec![
                db(1, with_claims("Retain", "Retain")),
                hold(DATA_0),
                Step::Delete(DATA_0, None),
                stateful::image("v2"),
                release(DATA_0),
            ],
        ),
        scenario(
            "corner-stateful-shrink-waits",
            vec![
                db(3, json!({})),
                Step::Ready,
                Step::Ready,
                Step::Ready,
                Step::Patch(DB_1, ready(false)),
                Step::Patch(DB_2, ready(false)),
                stateful::change(json!({"replicas": 1})),
                Step::Patch(DB_1, ready(true)),
                Step::Patch(DB_0, ready(true)),
            ],
        ),
    ]
}

fn others() -> Vec<Scenario> {
    let foreign = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "m", "uid": "m"}]);
    let mut foreign_volume = volume("of-a-map", "1Gi", json!({}));
    if let Step::Create(_, object) = &mut foreign_volume {
        object["metadata"]["ownerReferences"] = foreign;
    }
    let back = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "b", "blockOwnerDeletion": true,
    }]);
    let status = json!({"status": {"phase": "Running", "containerStatuses": [{
        "name": "c", "image": "v1", "imageID": "", "ready": false, "restartCount": 1,
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    }]}});
    let failed = || {
        let ended = json!({"exitCode": 1, "startedAt": "$NOW", "finishedAt": "$NOW"});
        json!({"status": {"phase": "Failed", "containerStatuses": [{
            "name": "c", "image": "v1", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": ended},
        }]}})
    };
    let often = json!({"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "v1"}]});
    vec![
        scenario(
            "corner-gc-circle",
            vec![
                map("a", &[]),
                map("b", &["a!"]),
                Step::Patch(
                    "/api/v1/namespaces/NS/configmaps/a",
                    json!({"metadata": {"ownerReferences": back}}),
                ),
                Step::Delete("/api/v1/namespaces/NS/configmaps/a", Some("Foreground")),
            ],
        ),
        scenario("corner-gc-owner-elsewhere", vec![map("m", &[]), foreign_volume]),
        scenario(
            "corner-job-restarts",
            vec![
                jobs::job(json!({"backoffLimit": 0, "template": {"spec": often}})),
                Step::PatchPods(status),
            ],
        ),
        scenario("corner-pods-refused", vec![web(1, refused(template("v1")))]),
        scenario(
            "corner-job-pods-refused",
            vec![jobs::job(refused(
                json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "v1"}]}}),
            ))],
        ),
        scenario(
            "corner-budget-remembers",
            vec![
                services::node(),
                pod("$NS-a", json!({})),
                services::state(ONE_STATUS, "10.1.0.1", true),
                services::budget(
                    json!({"minAvailable": 0, "selector": {"matchLabels": {"app": "shop"}}}),
                ),
                Step::Patch(
                    "/apis/policy/v1/namespaces/NS/poddisruptionbudgets/b/status",
                    json!({"status": {"disruptedPods": {"one": "$NOW"}}}),
                ),
            ],
        ),
        scenario("corner-job-backs-off", vec![jobs::job(json!({})), Step::PatchPods(failed())]),
        scenario(
            "corner-job-index-backs-off",
            vec![
                jobs::job(json!({
                    "completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": 2,
                })),
                Step::PatchPods(failed()),
            ],
        ),
        scenario(
            "corner-slice-emptied",
            vec![
                services::node(),
                services::shop(json!({})),
                pod("$NS-a", json!({})),
                services::state(ONE_STATUS, "10.1.0.1", true),
                Step::Patch(
                    ONE_STATUS,
                    json!({"status": {
                        "podIP": "fd00::1", "podIPs": [{"ip": "fd00::1"}, {"$patch": "replace"}],
                    }}),
                ),
            ],
        ),
        scenario(
            "corner-slice-deleted",
            vec![
                services::node(),
                services::shop(json!({})),
                pod("$NS-a", json!({})),
                services::state(ONE_STATUS, "10.1.0.1", true),
                Step::Create(
                    PODS,
                    json!({
                        "metadata": {"name": "two", "labels": {"app": "shop"}},
                        "spec": {
                            "nodeName": "$NS-a", "terminationGracePeriodSeconds": 0,
                            "containers": [{
                                "name": "c", "image": "v1",
                                "ports": [{"name": "web", "containerPort": 9090}],
                            }],
                        },
                    }),
                ),
                services::state("/api/v1/namespaces/NS/pods/two/status", "10.1.0.2", true),
                Step::Delete("/api/v1/namespaces/NS/pods/two", None),
                Step::Patch(SHOP, json!({"metadata": {"labels": {"new": "label"}}})),
            ],
        ),
        scenario(
            "corner-budget-forgives",
            vec![
                services::node(),
                pod("$NS-a", json!({})),
                services::budget(
                    json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}}),
                ),
                Step::Patch(
                    ONE_STATUS,
                    json!({"status": {"phase": "Running", "conditions": [{
                        "type": "DisruptionTarget", "status": "True", "reason": "Said",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }]}}),
                ),
            ],
        ),
        scenario(
            "corner-tolerated-for-a-while",
            vec![
                services::node(),
                pod(
                    "$NS-a",
                    json!({"terminationGracePeriodSeconds": 0, "tolerations": [{
                        "key": "example.com/own", "operator": "Exists", "effect": "NoExecute",
                        "tolerationSeconds": 3,
                    }, {"key": "node.kubernetes.io/unreachable", "operator": "Exists"}]}),
                ),
                Step::Patch(
                    NODE,
                    json!({"spec": {"taints": [{
                        "key": "example.com/own", "effect": "NoExecute", "timeAdded": "$NOW",
                    }]}}),
                ),
            ],
        ),
    ]
}

fn volumes() -> Vec<Scenario> {
    let completed = json!({"pv.kubernetes.io/bind-completed": "yes"});
    let mut lost = claim("c", json!({}));
    if let Step::Create(_, object) = &mut lost {
        object["metadata"]["annotations"] = completed;
    }
    let default = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    vec![
        scenario(
            "corner-claim-waits",
            vec![
                class("wait-$NS", "example.com/own", json!({}), "WaitForFirstConsumer"),
                claim("c", json!({"storageClassName": "wait-$NS"})),
                Step::Delete("/apis/storage.k8s.io/v1/storageclasses/wait-NS", None),
            ],
        ),
        scenario("corner-claim-lost-name", vec![lost]),
        scenario(
            "corner-claim-lost",
            vec![
                volume("one", "1Gi", json!({})),
                claim("c", json!({})),
                Step::Delete("/api/v1/persistentvolumes/NS-one", None),
                Step::Patch(
                    "/api/v1/persistentvolumes/NS-one",
                    json!({"metadata": {"finalizers": null}}),
                ),
            ],
        ),
        scenario(
            "corner-volume-unbound",
            vec![
                volume("one", "1Gi", json!({})),
                claim("c", json!({})),
                volume(
                    "two",
                    "1Gi",
                    json!({"claimRef": {"namespace": "$NS", "name": "c", "uid": "c"}}),
                ),
            ],
        ),
        scenario(
            "corner-volume-fails",
            vec![
                volume("one", "1Gi", json!({"persistentVolumeReclaimPolicy": "Delete"})),
                claim("c", json!({})),
                Step::Delete(CLAIM, None),
            ],
        ),
        scenario(
            "corner-claim-names-resizer",
            vec![
                grows("grows-$NS"),
                taken_over(volume("one", "1Gi", json!({"storageClassName": "grows-$NS"}))),
                claim("c", json!({"storageClassName": "grows-$NS"})),
                Step::Patch(
                    CLAIM,
                    json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}),
                ),
                Step::Delete("/apis/storage.k8s.io/v1/storageclasses/grows-NS", None),
            ],
        ),
        scenario(
            "corner-claim-default-class",
            vec![
                claim("c", json!({"storageClassName": null})),
                class("default-$NS", "kubernetes.io/no-provisioner", default, "Immediate"),
                Step::Delete("/apis/storage.k8s.io/v1/storageclasses/default-NS", None),
            ],
        ),
    ]
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    [deployments(), stateful(), others(), volumes()].concat()
}
