//! When two states of a namespace are the same: everything that a controller decides is compared, nothing that
//! chance does.
//!
//! Names of pods, hashes of pod templates, uids and times are chance. Left out, each with its reason:
//!
//! | what | why | who could notice |
//! |---|---|---|
//! | `kube-root-ca.crt`, ServiceAccount `default` | their publishers are not built yet | pods that mount them |
//! | spec of pods | admission plug-ins add to it, here the templates count | - |
//! | generations of ReplicaSets | the real controllers run side by side and take other steps; observed = current is compared | nobody |
//! | order of conditions | upstream appends what changed last | nobody: they are a map by type |
//! | Progressing: `NewReplicaSetCreated`, `ReplicaSetUpdated` or `DeploymentResumed` | which of them is left where a rollout then waits for pods depends upstream on when the ReplicaSet's status comes: before the retry of a status update that met a 409, or after a Deployment was resumed | people |
//! | Events | none are written here | people |

use serde_json::{Map, Value, json};

use crate::arm::Arm;

/// The state of a namespace.
pub fn of(arm: &dyn Arm, namespace: &str) -> Value {
    let core = format!("/api/v1/namespaces/{namespace}");
    let apps = format!("/apis/apps/v1/namespaces/{namespace}");
    let paths = [
        core.clone(),
        format!("{core}/configmaps"),
        format!("{core}/pods"),
        format!("{apps}/replicasets"),
        format!("{apps}/deployments"),
    ];
    let bodies = arm.get_all(&paths);
    let [space, maps, pods, sets, deployments] = &bodies[..] else {
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
    for object in items(maps).iter().chain(&items(pods)).chain(&items(deployments)) {
        tokens.add(&object["metadata"]["uid"], "UID".to_owned());
    }
    let all = |list: &Value, of: &dyn Fn(&Value) -> Value| -> Value {
        let mut told: Vec<String> =
            items(list).iter().map(|item| tokens.replace(&of(item).to_string())).collect();
        told.retain(|text| !text.contains("kube-root-ca.crt"));
        told.sort();
        told.iter().map(|text| serde_json::from_str::<Value>(text).expect("JSON")).collect()
    };
    let gone = space["kind"] == "Status";
    json!({
        "namespace": if gone { json!("gone") } else { json!({
            "phase": space["status"]["phase"], "conditions": conditions(&space["status"]),
        }) },
        "configmaps": all(maps, &metadata),
        "pods": all(pods, &pod),
        "replicasets": all(sets, &workload),
        "deployments": all(deployments, &workload),
    })
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

fn pod(pod: &Value) -> Value {
    let mut metadata = metadata(pod);
    metadata["name"] = pod["metadata"]["generateName"].clone();
    json!({
        "metadata": metadata,
        "phase": pod["status"]["phase"],
        "containers": pod["spec"]["containers"][0]["image"],
    })
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
        (condition["type"].as_str().unwrap_or("").to_owned(), kept)
    });
    Value::Object(told.collect())
}

fn workload(object: &Value) -> Value {
    let mut status = object["status"].clone();
    let observed = status["observedGeneration"] == object["metadata"]["generation"];
    status["observedGeneration"] = observed.into();
    status["conditions"] = conditions(&object["status"]);
    let mut metadata = metadata(object);
    if object["metadata"]["generation"].is_number() && object["spec"].get("strategy").is_some() {
        metadata["generation"] = object["metadata"]["generation"].clone();
    }
    json!({"metadata": metadata, "spec": object["spec"], "status": status})
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
