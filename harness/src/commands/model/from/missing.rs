//! ConfigMaps and Secrets that pods need and that a folder does not have: somebody else makes them, so they are taken to be
//! there. Without them, containers never start.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// What pods need, by kind, namespace and name: its keys, as far as pods name them.
type Needed = BTreeMap<(&'static str, String, String), BTreeSet<String>>;

/// The objects that are missing.
pub fn objects(manifests: &[Value]) -> Vec<Value> {
    let mut needed = Needed::new();
    for manifest in manifests {
        let namespace = manifest["metadata"]["namespace"].as_str().unwrap_or("default");
        if let Some(pod) = pod_spec(manifest) {
            of_pod(pod, namespace, &mut needed);
        }
    }
    needed.retain(|(kind, namespace, name), _| {
        !manifests.iter().any(|one| {
            one["kind"] == **kind
                && one["metadata"]["name"] == **name
                && one["metadata"]["namespace"].as_str().unwrap_or("default") == namespace
        })
    });
    let object = |((kind, namespace, name), keys): ((&str, String, String), BTreeSet<String>)| {
        let data: BTreeMap<String, &str> = keys.into_iter().map(|key| (key, "")).collect();
        json!({
            "apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace},
            "data": data,
        })
    };
    needed.into_iter().map(object).collect()
}

/// The pod that an object is, or makes.
fn pod_spec(object: &Value) -> Option<&Value> {
    let pointer = match object["kind"].as_str()? {
        "Pod" => "/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    object.pointer(pointer).filter(|spec| spec["containers"].is_array())
}

fn of_pod(pod: &Value, namespace: &str, into: &mut Needed) {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let mut needs = |kind, of: &Value, name: &str| {
        let (name, optional) = (of[name].as_str(), of["optional"] == true);
        if let Some(name) = name.filter(|_| !optional) {
            let keys = into.entry((kind, namespace.to_owned(), name.to_owned())).or_default();
            let items = list(&of["items"]);
            let named = items.iter().map(|item| &item["key"]).chain([&of["key"]]);
            keys.extend(named.filter_map(Value::as_str).map(str::to_owned));
        }
    };
    let containers = ["initContainers", "containers"].iter().flat_map(|field| list(&pod[*field]));
    for container in containers {
        for env in list(&container["env"]) {
            needs("Secret", &env["valueFrom"]["secretKeyRef"], "name");
            needs("ConfigMap", &env["valueFrom"]["configMapKeyRef"], "name");
        }
        for from in list(&container["envFrom"]) {
            needs("Secret", &from["secretRef"], "name");
            needs("ConfigMap", &from["configMapRef"], "name");
        }
    }
    for volume in list(&pod["volumes"]) {
        needs("Secret", &volume["secret"], "secretName");
        needs("ConfigMap", &volume["configMap"], "name");
        for source in list(&volume["projected"]["sources"]) {
            needs("Secret", &source["secret"], "name");
            needs("ConfigMap", &source["configMap"], "name");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_or_optional_is_not_missing() {
        let pod = json!({"kind": "Pod", "metadata": {"name": "p"}, "spec": {
            "containers": [{
                "env": [
                    {"valueFrom": {"secretKeyRef": {"name": "password", "key": "value"}}},
                    {"valueFrom": {"configMapKeyRef": {"name": "known", "key": "a"}}},
                ],
                "envFrom": [{"secretRef": {"name": "maybe", "optional": true}}],
            }],
            "volumes": [{"configMap": {"name": "files", "items": [{"key": "b"}]}}],
        }});
        let known = json!({"kind": "ConfigMap", "metadata": {"name": "known"}});
        let found = objects(&[pod, known]);
        let names: Vec<&Value> = found.iter().map(|one| &one["metadata"]["name"]).collect();
        assert_eq!(names, [&json!("files"), &json!("password")]);
        assert_eq!(
            found.iter().map(|one| &one["data"]).collect::<Vec<_>>(),
            [&json!({"b": ""}), &json!({"value": ""})]
        );
    }
}
