//! When two states of a namespace are the same: everything that a controller decides is compared, nothing that
//! chance does.
//!
//! Names of pods, hashes of pod templates, uids and times are chance. Left out, each with its reason:
//!
//! | what | why | who could notice |
//! |---|---|---|
//! | spec of pods | admission plug-ins add to it, here the templates count | - |
//! | generations of ReplicaSets | the real controllers run side by side and take other steps; observed = current is compared | nobody |
//! | order of conditions | upstream appends what changed last | nobody: they are a map by type |
//! | Progressing: `NewReplicaSetCreated`, `ReplicaSetUpdated` or `DeploymentResumed` | which of them is left where a rollout then waits for pods depends upstream on when the ReplicaSet's status comes: before the retry of a status update that met a 409, or after a Deployment was resumed | people |
//! | `last-change-trigger-time` of Endpoints and EndpointSlices, and the order of what is in them | a measure of delays; not written here | who measures delays |
//! | taint `node.kubernetes.io/unreachable` | nobody runs the real nodes; noticed after a minute | - |
//! | a refused pod's name in `FailedCreate` | here the one that it would have had, upstream only what it was to begin with | people |
//! | Events of autoscalers, budgets, nodes and volumes; how often an Event came | none are written here; real controllers try again | people |

use std::{
    io::Write,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use controllers::{Controller, events::component};
use serde_json::{Map, Value, json};
use trace::Time;

use crate::{arm::Arm, events, scenario::Scenario};

/// What of an object is compared.
type Part = fn(&Value) -> Value;

/// Types that are compared where a scenario has to do with them: the word in its paths, the type's path, what of it.
const MORE: &[(&str, &str, Part)] = &[
    ("statefulsets", "apis/apps/v1/namespaces/NS/statefulsets", workload),
    ("statefulsets", "apis/apps/v1/namespaces/NS/controllerrevisions", revision),
    ("statefulsets", "api/v1/namespaces/NS/persistentvolumeclaims", plain),
    ("statefulsets", "api/v1/persistentvolumes?labelSelector=scenario%3DNS", volume),
    ("serviceaccounts", "api/v1/namespaces/NS/serviceaccounts", metadata),
    ("nodes", "api/v1/nodes?labelSelector=scenario%3DNS", node),
    (
        "signingrequests",
        "apis/certificates.k8s.io/v1/certificatesigningrequests?labelSelector=scenario%3DNS",
        signing_request,
    ),
    (
        "clusterroles",
        "apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=scenario%3DNS",
        cluster_role,
    ),
    ("secrets", "api/v1/namespaces/NS/secrets", secret),
    ("secrets", "api/v1/namespaces/NS/serviceaccounts", account),
    ("autoscaling", "apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers", autoscaler),
    ("resourcequotas", "api/v1/namespaces/NS/resourcequotas", plain),
    ("replicationcontrollers", "api/v1/namespaces/NS/replicationcontrollers", workload),
    ("services", "api/v1/namespaces/NS/endpoints", endpoints),
    ("services", "apis/discovery.k8s.io/v1/namespaces/NS/endpointslices", slice),
    ("disruption", "apis/policy/v1/namespaces/NS/poddisruptionbudgets", workload),
    ("disruption", "apis/batch/v1/namespaces/NS/jobs", job),
    ("daemonsets", "apis/apps/v1/namespaces/NS/daemonsets", workload),
    ("daemonsets", "apis/apps/v1/namespaces/NS/controllerrevisions", revision),
    ("/jobs", "apis/batch/v1/namespaces/NS/jobs", job),
    ("/cronjobs", "apis/batch/v1/namespaces/NS/jobs", job),
    ("/cronjobs", "apis/batch/v1/namespaces/NS/cronjobs", cron_job),
    ("persistentvolume", "api/v1/namespaces/NS/persistentvolumeclaims", plain),
    ("persistentvolume", "api/v1/persistentvolumes?labelSelector=scenario%3DNS", volume),
];

/// Compared where controllers write them.
const EVENTS: &str = "api/v1/namespaces/NS/events";

/// The types of [`MORE`] that a scenario has to do with.
pub fn more(scenario: &Scenario) -> Vec<(&'static str, Part)> {
    let paths: Vec<&str> = scenario.paths().collect();
    let named = |word: &str| paths.iter().any(|path| path.contains(word));
    let mut found: Vec<(&'static str, Part)> =
        MORE.iter().filter(|(word, _, _)| named(word)).map(|(_, path, of)| (*path, *of)).collect();
    if scenario.tells() {
        found.push((EVENTS, event));
    }
    found.sort_by_key(|(path, _)| *path);
    found.dedup_by_key(|(path, _)| *path);
    found
}

/// The state of a namespace.
pub fn of(arm: &dyn Arm, namespace: &str, more: &[(&'static str, Part)]) -> Value {
    let core = format!("/api/v1/namespaces/{namespace}");
    let apps = format!("/apis/apps/v1/namespaces/{namespace}");
    let mut paths = vec![
        core.clone(),
        format!("{core}/configmaps"),
        format!("{core}/pods"),
        format!("{apps}/replicasets"),
        format!("{apps}/deployments"),
    ];
    paths.extend(more.iter().map(|(path, _)| format!("/{}", path.replace("NS", namespace))));
    let bodies = arm.get_all(&paths);
    let [space, maps, pods, sets, deployments, others @ ..] = &bodies[..] else {
        panic!("an answer each: {bodies:?}")
    };
    let items = |list: &Value| list["items"].as_array().cloned().unwrap_or_default();
    let mut tokens = Tokens::default();
    for set in items(sets) {
        let revision = &set["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
        let hash = &set["metadata"]["labels"]["pod-template-hash"];
        tokens.add(hash, format!("HASH{}", revision.as_str().unwrap_or("-")));
        tokens.add(&set["metadata"]["uid"], "UID".to_owned());
    }
    for pod in items(pods).iter().filter(|pod| !is_numbered(pod)) {
        if pod["metadata"]["generateName"].is_string() {
            tokens.add(&pod["metadata"]["name"], "POD".to_owned());
        }
        // Of a Job that is gone.
        tokens.add(&pod["metadata"]["labels"]["controller-uid"], "UID".to_owned());
    }
    for object in others.iter().flat_map(items) {
        let uid = &object["metadata"]["annotations"]["kubernetes.io/service-account.uid"];
        tokens.add(uid, "UID".to_owned());
    }
    for object in [maps, pods, deployments].into_iter().chain(others).flat_map(items) {
        tokens.add(&object["metadata"]["uid"], "UID".to_owned());
        // Those of owners that are gone, or of a type that is not compared.
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.for_each(|owner| tokens.add(&owner["uid"], "UID".to_owned()));
        tokens.add(&object["spec"]["claimRef"]["uid"], "UID".to_owned());
        if object["revision"].is_number() {
            for label in ["controller.kubernetes.io/hash", "controller-revision-hash"] {
                let hash = &object["metadata"]["labels"][label];
                tokens.add(hash, format!("HASH{}", object["revision"]));
            }
        }
    }
    let all = |list: &Value, of: &dyn Fn(&Value) -> Value| -> Value {
        let kept = items(list).into_iter().map(|item| of(&item)).filter(|told| !told.is_null());
        let mut told: Vec<String> = kept.map(|told| tokens.replace(&told.to_string())).collect();
        told.sort();
        told.iter().map(|text| serde_json::from_str::<Value>(text).expect("JSON")).collect()
    };
    let gone = space["kind"] == "Status";
    let mut state = json!({
        "namespace": if gone { json!("gone") } else { json!({
            "phase": space["status"]["phase"], "conditions": conditions(&space["status"]),
        }) },
        "configmaps": all(maps, &metadata),
        "pods": all(pods, &pod),
        "replicasets": all(sets, &workload),
        "deployments": all(deployments, &workload),
    });
    for ((path, of), list) in more.iter().zip(others) {
        state[*path] = all(list, of);
        if let Some(told) = state[*path].as_array_mut().filter(|_| *path == EVENTS) {
            told.dedup();
        }
    }
    state
}

/// Chance texts and what stands for them.
#[derive(Default)]
struct Tokens(Vec<(String, String)>);

impl Tokens {
    fn add(&mut self, text: &Value, stands: String) {
        if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
            self.0.push((text.to_owned(), stands));
        }
    }

    fn replace(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (token, stands)| text.replace(token, stands))
    }
}

fn metadata(object: &Value) -> Value {
    let mut kept = Map::new();
    for field in ["name", "labels", "annotations", "finalizers", "ownerReferences"] {
        if let Some(value) = object["metadata"].get(field) {
            kept.insert(field.to_owned(), value.clone());
        }
    }
    let deleted = !object["metadata"]["deletionTimestamp"].is_null();
    kept.insert("deleted".to_owned(), deleted.into());
    Value::Object(kept)
}

/// Whether its name is no chance: a StatefulSet's.
fn is_numbered(pod: &Value) -> bool {
    pod["spec"]["hostname"] == pod["metadata"]["name"]
}

fn pod(pod: &Value) -> Value {
    let mut metadata = metadata(pod);
    if let Some(generated) = pod["metadata"].get("generateName").filter(|_| !is_numbered(pod)) {
        metadata["name"] = generated.clone();
    }
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let claims: Vec<&Value> =
        volumes.map(|volume| &volume["persistentVolumeClaim"]["claimName"]).collect();
    json!({
        "metadata": metadata,
        "phase": pod["status"]["phase"],
        "ready": ready(pod),
        "containers": pod["spec"]["containers"][0]["image"],
        "claims": claims,
        "host": [pod["spec"]["hostname"], pod["spec"]["subdomain"]],
    })
}

/// The status of a pod's condition `Ready`.
fn ready(pod: &Value) -> &Value {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|one| one["type"] == "Ready").map_or(&Value::Null, |found| &found["status"])
}

/// Who writes Events here.
const TELLING: [Controller; 7] = [
    Controller::Deployment,
    Controller::ReplicaSet,
    Controller::ReplicationController,
    Controller::StatefulSet,
    Controller::DaemonSet,
    Controller::Job,
    Controller::CronJob,
];

/// Who tells what, of those who write Events here.
fn event(object: &Value) -> Value {
    let who = &object["source"]["component"];
    if !TELLING.iter().any(|one| *who == component(*one)) {
        return Value::Null;
    }
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let of = &object["involvedObject"];
    let message = events::message(&text(&object["message"]), &text(&of["name"]));
    let told = [&object["type"], &object["reason"]];
    json!([who, of["kind"], of["apiVersion"], of["name"], told, message])
}

/// Conditions by type, without times.
fn conditions(status: &Value) -> Value {
    let list = status["conditions"].as_array().into_iter().flatten();
    let told = list.map(|condition| {
        let mut kept = json!([condition["status"], condition["reason"], condition["message"]]);
        let reason = condition["reason"].as_str().unwrap_or("");
        if matches!(reason, "NewReplicaSetCreated" | "ReplicaSetUpdated" | "DeploymentResumed") {
            kept = json!("under way");
        }
        if reason == "FailedCreate"
            && let Some((_, why)) =
                condition["message"].as_str().and_then(|text| text.split_once(" is forbidden"))
        {
            kept[2] = why.into();
        }
        (condition["type"].as_str().unwrap_or("").to_owned(), kept)
    });
    Value::Object(told.collect())
}

fn workload(object: &Value) -> Value {
    let mut status = object["status"].clone();
    let observed = status["observedGeneration"] == object["metadata"]["generation"];
    status["observedGeneration"] = observed.into();
    status["conditions"] = conditions(&object["status"]);
    for time in status["disruptedPods"].as_object_mut().into_iter().flat_map(|o| o.values_mut()) {
        *time = true.into();
    }
    let mut metadata = metadata(object);
    let by_user =
        ["strategy", "updateStrategy"].iter().any(|field| !object["spec"][field].is_null());
    if object["metadata"]["generation"].is_number() && by_user {
        metadata["generation"] = object["metadata"]["generation"].clone();
    }
    json!({"metadata": metadata, "spec": object["spec"], "status": status})
}

fn plain(object: &Value) -> Value {
    let mut status = object["status"].clone();
    if status["conditions"].is_array() {
        status["conditions"] = conditions(&object["status"]);
    }
    json!({"metadata": metadata(object), "spec": object["spec"], "status": status})
}

fn job(object: &Value) -> Value {
    let mut job = plain(object);
    for time in ["startTime", "completionTime"] {
        job["status"][time] = (!job["status"][time].is_null()).into();
    }
    job
}

/// Not what it says: tokens are signed by other keys. Nor the authority: the judge's controllers know none.
fn secret(object: &Value) -> Value {
    let data = object["data"].as_object().into_iter().flatten();
    let told: Vec<&String> = data.map(|(key, _)| key).filter(|key| *key != "ca.crt").collect();
    json!({"metadata": metadata(object), "type": object["type"], "data": told})
}

/// Not who sends it: that is somebody else in each arm. Nor by whom its certificate is signed.
fn signing_request(object: &Value) -> Value {
    let issued = object["status"]["certificate"].as_str().filter(|text| !text.is_empty());
    let status = json!({
        "conditions": conditions(&object["status"]), "certificate": issued.map(certificate),
    });
    json!({"metadata": metadata(object), "usages": object["spec"]["usages"], "status": status})
}

/// With who manages its rules.
fn cluster_role(object: &Value) -> Value {
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let rules = managers.filter(|entry| !entry["fieldsV1"]["f:rules"].is_null());
    let rules: Vec<Value> =
        rules.map(|entry| json!([entry["manager"], entry["operation"]])).collect();
    json!({
        "metadata": metadata(object), "aggregationRule": object["aggregationRule"],
        "rules": object["rules"], "managers of rules": rules,
    })
}

/// What openssl is asked about certificates: not who signed it and how, nor its number, which is another authority in
/// each arm, and chance.
const ASKED: [&str; 10] = [
    "x509", "-noout", "-subject", "-nameopt", "RFC2253", "-dates", "-dateopt", "iso_8601",
    "-pubkey", "-ext",
];
const EXTENSIONS: &str = "keyUsage,extendedKeyUsage,basicConstraints,subjectAltName";

/// What a certificate says, in base64 of PEM: text, and for how many seconds it is good.
fn certificate(text: &str) -> Value {
    let pem = STANDARD.decode(text).expect("base64");
    let mut openssl = Command::new("openssl");
    let openssl = openssl.args(ASKED).arg(EXTENSIONS).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut openssl = openssl.spawn().expect("openssl starts");
    openssl.stdin.take().expect("a pipe").write_all(&pem).expect("it reads");
    let said = openssl.wait_with_output().expect("it ends");
    assert!(said.status.success(), "it is a certificate");
    let said = String::from_utf8(said.stdout).expect("text");
    let date = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)).expect("a date");
        Time::parse_rfc3339(&line.replace(' ', "T")).expect("a date")
    };
    let seconds = date("notAfter=").seconds() - date("notBefore=").seconds();
    let says: Vec<&str> = said.lines().filter(|line| !line.starts_with("not")).collect();
    json!({"says": says, "seconds": seconds})
}

fn account(object: &Value) -> Value {
    json!({"metadata": metadata(object), "secrets": object["secrets"]})
}

fn autoscaler(object: &Value) -> Value {
    let mut autoscaler = plain(object);
    let scaled = !autoscaler["status"]["lastScaleTime"].is_null();
    autoscaler["status"]["lastScaleTime"] = scaled.into();
    autoscaler["status"]["currentMetrics"] = object["status"]["currentMetrics"].clone();
    autoscaler
}

fn cron_job(object: &Value) -> Value {
    let mut cron_job = plain(object);
    for time in ["lastScheduleTime", "lastSuccessfulTime"] {
        cron_job["status"][time] = (!cron_job["status"][time].is_null()).into();
    }
    for job in cron_job["status"]["active"].as_array_mut().into_iter().flatten() {
        job["resourceVersion"] = Value::Null;
    }
    cron_job
}

/// Lists in no order, without the time of the last change.
fn endpoints(object: &Value) -> Value {
    let mut subsets = object["subsets"].clone();
    for subset in subsets.as_array_mut().into_iter().flatten() {
        sort(&mut subset["ports"]);
    }
    sort(&mut subsets);
    json!({"metadata": without_change(object), "subsets": subsets})
}

fn slice(object: &Value) -> Value {
    let (mut endpoints, mut ports) = (object["endpoints"].clone(), object["ports"].clone());
    sort(&mut endpoints);
    sort(&mut ports);
    let mut metadata = without_change(object);
    metadata["name"] = object["metadata"]["generateName"].clone();
    let family = &object["addressType"];
    json!({"metadata": metadata, "family": family, "endpoints": endpoints, "ports": ports})
}

fn without_change(object: &Value) -> Value {
    let mut metadata = metadata(object);
    if let Some(annotations) = metadata["annotations"].as_object_mut() {
        annotations.remove("endpoints.kubernetes.io/last-change-trigger-time");
        if annotations.is_empty() {
            metadata["annotations"] = Value::Null;
        }
    }
    metadata
}

fn sort(list: &mut Value) {
    if let Some(list) = list.as_array_mut() {
        list.sort_by_key(Value::to_string);
    }
    if list.as_array().is_some_and(Vec::is_empty) {
        *list = Value::Null;
    }
}

/// What keeps pods away. Not that a node is unreachable: nobody runs the real ones, and after a minute that is noticed.
fn node(object: &Value) -> Value {
    let taints = object["spec"]["taints"].as_array().into_iter().flatten();
    let taints = taints.filter(|taint| taint["key"] != "node.kubernetes.io/unreachable");
    let mut taints: Vec<String> =
        taints.map(|taint| format!("{}:{}", taint["key"], taint["effect"])).collect();
    taints.sort();
    json!({"name": object["metadata"]["name"], "taints": taints})
}

fn revision(object: &Value) -> Value {
    json!({"metadata": metadata(object), "revision": object["revision"], "data": object["data"]})
}

fn volume(object: &Value) -> Value {
    let mut volume = plain(object);
    if volume["spec"]["claimRef"].is_object() {
        volume["spec"]["claimRef"]["resourceVersion"] = Value::Null;
    }
    volume["status"]["lastPhaseTransitionTime"] = Value::Null;
    volume
}

/// The leaves at which two states differ.
pub fn difference(embedded: &Value, real: &Value) -> String {
    let mut lines = Vec::new();
    walk("", embedded, real, &mut lines);
    lines.join("\n")
}

fn walk(path: &str, embedded: &Value, real: &Value, lines: &mut Vec<String>) {
    match (embedded, real) {
        (a, b) if a == b => {}
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                walk(&format!("{path}/{key}"), &embedded[key], &real[key], lines);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                walk(&format!("{path}/{index}"), a, b, lines);
            }
        }
        (a, b) => lines.push(format!("  {path}\n    embedded {a}\n    real     {b}")),
    }
}
