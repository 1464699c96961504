//! Names that refer to objects of the same kustomization, which namespace, prefix and suffix have renamed
//! (`namereference.go` of kustomize's builtin configuration).

use serde_json::{Value, json};

use super::Item;

/// Where a pod names others: the kind, and the field below the pod's spec. `[]`: each of a list.
const OF_PODS: [(&str, &str); 13] = [
    ("ServiceAccount", "serviceAccountName"),
    ("ServiceAccount", "serviceAccount"),
    ("ConfigMap", "volumes/[]/configMap/name"),
    ("ConfigMap", "volumes/[]/projected/sources/[]/configMap/name"),
    ("ConfigMap", "[containers]/[]/env/[]/valueFrom/configMapKeyRef/name"),
    ("ConfigMap", "[containers]/[]/envFrom/[]/configMapRef/name"),
    ("Secret", "volumes/[]/secret/secretName"),
    ("Secret", "volumes/[]/projected/sources/[]/secret/name"),
    ("Secret", "[containers]/[]/env/[]/valueFrom/secretKeyRef/name"),
    ("Secret", "[containers]/[]/envFrom/[]/secretRef/name"),
    ("Secret", "imagePullSecrets/[]/name"),
    ("PersistentVolumeClaim", "volumes/[]/persistentVolumeClaim/claimName"),
    ("PriorityClass", "priorityClassName"),
];

/// Where the specs of pods are.
const PODS: [&str; 3] = ["spec/template/spec", "spec/jobTemplate/spec/template/spec", "spec"];

/// Where other objects name others: kinds that do, the kind named, and the field.
const OTHERS: [(&str, &str, &str); 4] = [
    ("StatefulSet", "Service", "spec/serviceName"),
    ("Ingress", "Secret", "spec/tls/[]/secretName"),
    ("Ingress", "Service", "spec/rules/[]/http/paths/[]/backend/service/name"),
    ("ServiceAccount", "Secret", "imagePullSecrets/[]/name"),
];

/// Fields that name a service with its namespace, for webhooks and aggregated APIs.
const SERVICES: [&str; 3] = [
    "webhooks/[]/clientConfig/service",
    "spec/conversion/webhook/clientConfig/service",
    "spec/service",
];

/// Fields that name an object by kind and name.
const BY_KIND: [&str; 2] = ["roleRef", "spec/scaleTargetRef"];

/// What an object was called, and is now.
struct Renamed {
    kind: String,
    was: Vec<(String, String)>,
    now: (String, String),
}

/// Lets all references follow what was renamed.
pub(super) fn follow(items: &mut [Item]) {
    let renamed: Vec<Renamed> = items
        .iter()
        .filter(|item| !item.was.is_empty())
        .map(|item| Renamed {
            kind: item.kind().to_owned(),
            was: item.was.clone(),
            now: (item.namespace().to_owned(), item.name().to_owned()),
        })
        .collect();
    for item in items {
        let kind = item.kind().to_owned();
        let object = &mut item.manifest.object;
        for path in PODS.iter().filter(|path| **path != "spec" || kind == "Pod") {
            for (named, field) in OF_PODS {
                for containers in ["containers", "initContainers"] {
                    let field = field.replace("[containers]", containers);
                    each(object, &format!("{path}/{field}"), &mut |value| {
                        name(value, named, &renamed)
                    });
                }
            }
        }
        for (_, named, field) in OTHERS.iter().filter(|(of, ..)| *of == kind) {
            each(object, field, &mut |value| name(value, named, &renamed));
        }
        for field in SERVICES {
            each(object, field, &mut |value| full_name(value, "Service", &renamed));
        }
        each(object, "subjects/[]", &mut |value| {
            if value["kind"] == "ServiceAccount" {
                full_name(value, "ServiceAccount", &renamed);
            }
        });
        for field in BY_KIND {
            each(object, field, &mut |value| {
                let named = value["kind"].as_str().unwrap_or_default().to_owned();
                if value["name"].is_string() {
                    name(&mut value["name"], &named, &renamed);
                }
            });
        }
    }
}

fn name(value: &mut Value, kind: &str, renamed: &[Renamed]) {
    let Some(called) = value.as_str() else { return };
    let is_meant =
        |one: &&Renamed| one.kind == kind && one.was.iter().any(|(_, was)| was == called);
    if let Some(found) = renamed.iter().find(is_meant) {
        *value = json!(found.now.1);
    }
}

/// A name and a namespace beside it.
fn full_name(value: &mut Value, kind: &str, renamed: &[Renamed]) {
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let called = (text("namespace"), text("name"));
    let is_meant = |one: &&Renamed| one.kind == kind && one.was.contains(&called);
    if let Some(found) = renamed.iter().find(is_meant) {
        (value["namespace"], value["name"]) = (json!(found.now.0), json!(found.now.1));
    }
}

/// Each value at a path; nothing where there is none.
fn each(value: &mut Value, path: &str, then: &mut dyn FnMut(&mut Value)) {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let below = |value: &mut Value| match rest {
        "" => then(value),
        rest => each(value, rest, then),
    };
    match first {
        "[]" => value.as_array_mut().into_iter().flatten().for_each(below),
        field => value.get_mut(field).into_iter().for_each(below),
    }
}
