//! The scenarios, as data.

use serde_json::{Value, json};

use crate::{arm::Arm, events};

/// What is done to both arms. `NS` in paths is the scenario's namespace.
#[derive(Debug, Clone)]
pub enum Step {
    /// POST. Here and in patches an owner's `uid: "NAME"` is replaced by the uid of the ConfigMap of that name, where there is one.
    Create(&'static str, Value),
    /// Strategic merge patch.
    Patch(&'static str, Value),
    /// DELETE, with a propagation policy.
    Delete(&'static str, Option<&'static str>),
    /// POST that is answered with this status.
    Post(&'static str, Value, u16),
    /// Strategic merge patch of what may be gone.
    MayPatch(&'static str, Value),
    /// DELETE of what may be gone.
    MayDelete(&'static str, Option<&'static str>),
    /// It exists: the scenario is what it is meant to be.
    Expect(&'static str),
    /// Every pod that is meant for one node is bound to it, as by a scheduler.
    Bind,
    /// Every pod that is not ready becomes so, as if a kubelet had started it.
    Ready,
    /// One pod that is not ready becomes so: of the oldest image by name.
    ReadyOne,
    /// So many pods end with this exit code, those of the lowest completion indexes first.
    End(usize, i32),
    /// One pod is deleted, if there is any: of the oldest image by name, one that is not ready before one that is.
    DeleteOnePod,
    /// One pod is evicted, if there is any: the last by the same order. The answers are compared.
    EvictOnePod,
    /// Every pod gets this patch of its status.
    PatchPods(Value),
    /// Every EndpointSlice gets this patch.
    PatchSlices(Value),
    /// The ReplicaSet of this image is scaled.
    ScaleSet(&'static str, u32),
    /// One pod, if there is any, gets another label `app`: the first by the same order.
    RelabelOnePod(&'static str),
    /// One after the other, without waiting for anybody: the real controllers see the first of them or not.
    AtOnce(Vec<Step>),
}

impl Step {
    /// What it is sent to.
    pub fn path(&self) -> Option<&'static str> {
        match self {
            Step::Create(path, _)
            | Step::Patch(path, _)
            | Step::Delete(path, _)
            | Step::Post(path, _, _)
            | Step::MayPatch(path, _)
            | Step::MayDelete(path, _)
            | Step::Expect(path) => Some(path),
            Step::Bind | Step::Ready | Step::ReadyOne | Step::End(..) => None,
            Step::DeleteOnePod | Step::EvictOnePod | Step::RelabelOnePod(_) => None,
            Step::PatchPods(_) | Step::PatchSlices(_) | Step::ScaleSet(..) | Step::AtOnce(_) => {
                None
            }
        }
    }
}

impl Step {
    /// What is done, one after the other: one thing, unless it is [`Step::AtOnce`].
    pub fn parts(&self) -> &[Step] {
        match self {
            Step::AtOnce(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    /// Whether a Deployment makes a ReplicaSet of it, which has an age among others.
    pub fn changes_template(&self) -> bool {
        let changes = |part: &Step| matches!(part, Step::Patch(WEB, patch) if !patch["spec"]["template"].is_null());
        self.parts().iter().any(changes)
    }
}

/// One behaviour.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Also its namespace.
    pub name: String,
    /// In order; compared after each.
    pub steps: Vec<Step>,
}

impl Scenario {
    /// What its steps are sent to.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.steps.iter().flat_map(Step::parts).filter_map(Step::path)
    }

    /// Whether nothing but owners and what they own is in it: its ends may depend on the order in which the garbage
    /// collector's workers look at them.
    pub fn is_of_owners(&self) -> bool {
        self.paths().all(|path| path.starts_with(MAPS))
    }

    /// Whether Events are compared too.
    pub fn tells(&self) -> bool {
        self.name.starts_with(events::PREFIX)
    }

    /// Whether DaemonSets are in it, whose updates may begin at any node.
    pub fn is_of_daemons(&self) -> bool {
        self.paths().any(|path| path.contains("/daemonsets"))
    }
}

pub const MAPS: &str = "/api/v1/namespaces/NS/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/NS/deployments";
const WEB: &str = "/apis/apps/v1/namespaces/NS/deployments/web";
pub const SETS: &str = "/apis/apps/v1/namespaces/NS/replicasets";

/// A uid that nobody has.
const NOBODY: &str = "6d3f2a54-0000-4000-8000-000000000000";

/// A ConfigMap and its owners; `!` waits for it, `?` has a uid that nobody has.
pub fn map(name: &str, owners: &[&str]) -> Step {
    let reference = |owner: &&str| {
        let plain = owner.trim_end_matches(['!', '?']);
        let uid = if owner.ends_with('?') { NOBODY } else { plain };
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": plain, "uid": uid,
            "blockOwnerDeletion": owner.ends_with('!'),
        })
    };
    let owners: Vec<Value> = owners.iter().map(reference).collect();
    Step::Create(MAPS, json!({"metadata": {"name": name, "ownerReferences": owners}}))
}

pub fn template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    })
}

pub fn web(replicas: u32, more: Value) -> Step {
    let mut spec = json!({
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template("v1"),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let metadata = json!({"name": "web", "annotations": {"note": "kept"}});
    Step::Create(DEPLOYMENTS, json!({"metadata": metadata, "spec": spec}))
}

pub fn change(spec: Value) -> Step {
    Step::Patch(WEB, json!({"spec": spec}))
}

pub fn image(image: &str) -> Step {
    change(json!({"template": template(image)}))
}

pub fn scenario(name: &'static str, steps: Vec<Step>) -> Scenario {
    Scenario { name: name.to_owned(), steps }
}

/// owner ← a ← b, owner ← c (waited for).
fn family(delete: &'static str) -> Vec<Step> {
    vec![
        map("owner", &[]),
        map("a", &["owner"]),
        map("b", &["a"]),
        map("c", &["owner!"]),
        Step::Delete("/api/v1/namespaces/NS/configmaps/owner", Some(delete)),
    ]
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    let surge = |surge: Value, unavailable: Value| json!({"strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}});
    vec![
        scenario("gc-background", family("Background")),
        scenario("gc-foreground", family("Foreground")),
        scenario("gc-orphan", family("Orphan")),
        scenario(
            "gc-two-owners",
            vec![
                map("one", &[]),
                map("two", &[]),
                map("child", &["one", "two"]),
                Step::Delete("/api/v1/namespaces/NS/configmaps/one", None),
                Step::Delete("/api/v1/namespaces/NS/configmaps/two", None),
            ],
        ),
        scenario("gc-wrong-uid", vec![map("owner", &[]), map("child", &["owner?"])]),
        scenario(
            "gc-absent-beside-present",
            vec![map("owner", &[]), map("child", &["gone?", "owner"])],
        ),
        scenario(
            "namespace",
            vec![
                map("plain", &[]),
                Step::Create(MAPS, held),
                Step::Delete("/api/v1/namespaces/NS", None),
                Step::Patch(
                    "/api/v1/namespaces/NS/configmaps/held",
                    json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/hold"]}}),
                ),
            ],
        ),
        scenario(
            "rollout",
            vec![web(3, json!({})), Step::Ready, image("v2"), Step::Ready, Step::Ready],
        ),
        scenario(
            "rollout-no-surge",
            vec![web(4, surge(json!(0), json!(1))), Step::Ready, image("v2"), Step::Ready],
        ),
        scenario(
            "rollout-percent",
            vec![web(10, surge(json!("30%"), json!("20%"))), Step::Ready, image("v2"), Step::Ready],
        ),
        scenario(
            "rollback",
            vec![
                web(2, json!({})),
                Step::Ready,
                image("v2"),
                Step::Ready,
                image("v1"),
                Step::Ready,
            ],
        ),
        scenario(
            "rollover",
            vec![
                web(4, json!({})),
                Step::Ready,
                image("v2"),
                image("v3"),
                Step::Ready,
                Step::Ready,
            ],
        ),
        scenario(
            "rollover-scaled",
            vec![
                web(10, surge(json!(3), json!(2))),
                Step::Ready,
                image("v2"),
                Step::ReadyOne,
                Step::ReadyOne,
                Step::ReadyOne,
                image("v3"),
                change(json!({"replicas": 17})),
                change(json!({"replicas": 6})),
                Step::Ready,
                Step::Ready,
            ],
        ),
        scenario(
            "scale",
            vec![
                web(2, json!({})),
                Step::Ready,
                change(json!({"replicas": 5})),
                Step::Ready,
                change(json!({"replicas": 1})),
                change(json!({"replicas": 0})),
            ],
        ),
        scenario(
            "scale-in-rollout",
            vec![
                web(10, surge(json!(3), json!(2))),
                Step::Ready,
                image("v2"),
                change(json!({"replicas": 30})),
                Step::Ready,
                Step::Ready,
            ],
        ),
        scenario(
            "scaled-and-changed-at-once",
            vec![
                web(4, json!({})),
                Step::Ready,
                Step::AtOnce(vec![image("v2"), change(json!({"replicas": 8}))]),
                Step::Ready,
                Step::AtOnce(vec![change(json!({"replicas": 2})), image("v3")]),
                Step::Ready,
                Step::Ready,
            ],
        ),
        scenario(
            "pause",
            vec![
                web(2, json!({"paused": true})),
                change(json!({"paused": false})),
                Step::Ready,
                change(json!({"paused": true, "template": template("v2")})),
                change(json!({"replicas": 3})),
                change(json!({"paused": false})),
                Step::Ready,
                Step::Ready,
            ],
        ),
        scenario(
            "recreate",
            vec![
                web(2, json!({"strategy": {"type": "Recreate"}})),
                Step::Ready,
                image("v2"),
                Step::Ready,
            ],
        ),
        scenario(
            "history",
            vec![
                web(1, json!({"revisionHistoryLimit": 1})),
                Step::Ready,
                image("v2"),
                Step::Ready,
                image("v3"),
                Step::Ready,
                image("v4"),
                Step::Ready,
            ],
        ),
        scenario("replace", vec![web(2, json!({})), Step::Ready, Step::DeleteOnePod, Step::Ready]),
        scenario(
            "delete",
            vec![web(2, json!({})), Step::Ready, Step::Delete(WEB, Some("Background"))],
        ),
        scenario(
            "delete-foreground",
            vec![web(2, json!({})), Step::Ready, Step::Delete(WEB, Some("Foreground"))],
        ),
        scenario(
            "delete-orphan",
            vec![
                web(2, json!({})),
                Step::Ready,
                Step::Delete(WEB, Some("Orphan")),
                // And adopted by the next of the same name.
                web(2, json!({})),
            ],
        ),
        scenario(
            "replica-set",
            vec![
                Step::Create(
                    SETS,
                    json!({"metadata": {"name": "alone"}, "spec": {
                        "replicas": 2,
                        "selector": {"matchLabels": {"app": "web"}},
                        "template": template("v1"),
                    }}),
                ),
                Step::Ready,
                Step::Patch(
                    "/apis/apps/v1/namespaces/NS/replicasets/alone",
                    json!({"spec": {"replicas": 1}}),
                ),
            ],
        ),
    ]
}

/// An object whose owners' uids are those of the ConfigMaps that they name, and its claim's that of the claim.
pub fn with_uids(arm: &dyn Arm, namespace: &str, mut object: Value) -> Value {
    let owners = object["metadata"]["ownerReferences"].as_array_mut();
    for owner in owners.into_iter().flatten() {
        if owner["uid"] == owner["name"] {
            let name = owner["name"].as_str().unwrap_or("");
            let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
            let uid = arm.send("GET", &path, None).1["metadata"]["uid"].clone();
            owner["uid"] = if uid.is_null() { json!(NOBODY) } else { uid };
        }
    }
    let reference = &object["spec"]["claimRef"];
    if reference["uid"].is_string() && reference["uid"] == reference["name"] {
        let name = reference["name"].as_str().unwrap_or("");
        let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}");
        let uid = arm.send("GET", &path, None).1["metadata"]["uid"].clone();
        object["spec"]["claimRef"]["uid"] = uid;
    }
    object
}

/// Pods by image, phase and label: names are chance.
fn pods(arm: &dyn Arm, namespace: &str) -> Vec<Value> {
    let (_, list) = arm.send("GET", &format!("/api/v1/namespaces/{namespace}/pods"), None);
    let mut pods = list["items"].as_array().cloned().unwrap_or_default();
    pods.sort_by_key(|pod| {
        let texts = [&pod["spec"]["containers"][0]["image"], &pod["status"]["phase"]];
        (texts.map(Value::to_string), pod["metadata"]["labels"]["app"].to_string())
    });
    pods
}

fn path(namespace: &str, pod: &Value) -> String {
    let name = pod["metadata"]["name"].as_str().unwrap_or("");
    format!("/api/v1/namespaces/{namespace}/pods/{name}")
}

/// See [`Step::Ready`].
pub fn make_ready(arm: &dyn Arm, namespace: &str) {
    for pod in pods(arm, namespace).iter().filter(|pod| is_pending(pod)) {
        mark_ready(arm, namespace, pod);
    }
}

/// See [`Step::Bind`].
pub fn bind(arm: &dyn Arm, namespace: &str) {
    let target = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    for pod in pods(arm, namespace).iter().filter(|pod| pod["spec"]["nodeName"].is_null()) {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["metadata"]["name"]},
            "target": {"kind": "Node", "name": pod.pointer(target)},
        });
        arm.must("POST", &format!("{}/binding", path(namespace, pod)), Some(binding));
    }
}

/// See [`Step::ReadyOne`].
pub fn make_one_ready(arm: &dyn Arm, namespace: &str) {
    if let Some(pod) = pods(arm, namespace).iter().find(|pod| is_pending(pod)) {
        mark_ready(arm, namespace, pod);
    }
}

fn is_pending(pod: &Value) -> bool {
    pod["status"]["phase"] == "Pending"
}

fn mark_ready(arm: &dyn Arm, namespace: &str, pod: &Value) {
    let status = json!({"status": {"phase": "Running", "conditions": [{
        "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    // It may be gone by now: a rollout goes on while its pods become ready.
    arm.send("PATCH", &format!("{}/status", path(namespace, pod)), Some(status));
}

/// See [`Step::End`]. They ended long ago, so that nothing waits for a back-off.
pub fn end(arm: &dyn Arm, namespace: &str, count: usize, code: i32) {
    let mut pods = pods(arm, namespace);
    pods.retain(|pod| !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")));
    let index = |pod: &Value| {
        let text =
            pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].as_str();
        text.and_then(|text| text.parse::<i64>().ok())
    };
    pods.sort_by_key(index);
    let past = "2025-01-01T00:00:00Z";
    for pod in pods.iter().take(count) {
        let ended = json!({"exitCode": code, "startedAt": past, "finishedAt": past});
        let status = json!({"status": {
            "phase": if code == 0 { "Succeeded" } else { "Failed" },
            "containerStatuses": [{
                "name": "c", "image": "v1", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": ended},
            }],
        }});
        arm.must("PATCH", &format!("{}/status", path(namespace, pod)), Some(status));
    }
}

/// See [`Step::DeleteOnePod`].
pub fn delete_one_pod(arm: &dyn Arm, namespace: &str) {
    if let Some(pod) = pods(arm, namespace).first() {
        arm.must("DELETE", &path(namespace, pod), None);
    }
}

/// See [`Step::EvictOnePod`]. The status of the answer.
pub fn evict_one_pod(arm: &dyn Arm, namespace: &str) -> Option<u16> {
    let pods = pods(arm, namespace);
    let pod = pods.last()?;
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": pod["metadata"]["name"], "namespace": namespace},
    });
    Some(arm.send("POST", &format!("{}/eviction", path(namespace, pod)), Some(eviction)).0)
}

/// See [`Step::RelabelOnePod`].
pub fn relabel_one_pod(arm: &dyn Arm, namespace: &str, label: &str) {
    if let Some(pod) = pods(arm, namespace).first() {
        let patch = json!({"metadata": {"labels": {"app": label}}});
        arm.must("PATCH", &path(namespace, pod), Some(patch));
    }
}

/// See [`Step::PatchPods`].
pub fn patch_pods(arm: &dyn Arm, namespace: &str, patch: &Value) {
    for pod in pods(arm, namespace) {
        arm.must("PATCH", &format!("{}/status", path(namespace, &pod)), Some(patch.clone()));
    }
}

/// See [`Step::PatchSlices`].
pub fn patch_slices(arm: &dyn Arm, namespace: &str, patch: &Value) {
    let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices");
    let (_, list) = arm.send("GET", &slices, None);
    for slice in list["items"].as_array().into_iter().flatten() {
        let name = slice["metadata"]["name"].as_str().unwrap_or("");
        arm.must("PATCH", &format!("{slices}/{name}"), Some(patch.clone()));
    }
}

/// See [`Step::ScaleSet`].
pub fn scale_set(arm: &dyn Arm, namespace: &str, image: &str, replicas: u32) {
    let sets = format!("/apis/apps/v1/namespaces/{namespace}/replicasets");
    let (_, list) = arm.send("GET", &sets, None);
    for set in list["items"].as_array().into_iter().flatten() {
        if set["spec"]["template"]["spec"]["containers"][0]["image"] == image {
            let name = set["metadata"]["name"].as_str().unwrap_or("");
            let patch = json!({"spec": {"replicas": replicas}});
            arm.must("PATCH", &format!("{sets}/{name}"), Some(patch));
        }
    }
}
