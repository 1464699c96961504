//! What a folder needs and does not have, because somebody else makes it: namespaces, the ConfigMaps and Secrets of its
//! pods, the StorageClasses of its claims. It is taken to be there: without it, nothing ever starts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::namespace;

/// What pods need, by kind, namespace and name: its keys, as far as pods name them.
type Needed = BTreeMap<(&'static str, String, String), BTreeSet<String>>;

/// That an object is missing, in words.
pub fn told(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    format!("{kind} {name} is not in the folder; it is taken to be there")
}

/// The objects that are missing, those first that others need.
pub fn objects(manifests: &[Value]) -> Vec<Value> {
    let mut all = namespaces(manifests);
    all.extend(storage_class(manifests));
    all.extend(needed_by_pods(manifests));
    all
}

/// Namespaces that there are from the beginning.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

fn namespaces(manifests: &[Value]) -> Vec<Value> {
    let named = manifests.iter().filter_map(|one| one["metadata"]["namespace"].as_str());
    let named: BTreeSet<&str> = named.filter(|name| !NAMESPACES.contains(name)).collect();
    let is_there = |name: &&str| {
        manifests.iter().any(|one| one["kind"] == "Namespace" && one["metadata"]["name"] == **name)
    };
    let object =
        |name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    named.into_iter().filter(|name| !is_there(name)).map(object).collect()
}

/// The StorageClasses that claims name, and a default one if a claim names none. Their volumes are made when they are
/// asked for.
fn storage_class(manifests: &[Value]) -> Vec<Value> {
    let templates =
        manifests.iter().filter_map(|one| one["spec"]["volumeClaimTemplates"].as_array()).flatten();
    let claims = manifests.iter().filter(|one| one["kind"] == "PersistentVolumeClaim");
    let mut names: BTreeSet<Option<&str>> =
        templates.chain(claims).map(|claim| claim["spec"]["storageClassName"].as_str()).collect();
    let classes = || manifests.iter().filter(|one| one["kind"] == "StorageClass");
    let is_default = |class: &Value| class["metadata"]["annotations"][DEFAULT_CLASS] == "true";
    let has_volumes = manifests.iter().any(|one| one["kind"] == "PersistentVolume");
    names.retain(|name| match name {
        // No class at all, or volumes of the folder's own.
        Some("") => false,
        Some(name) => !has_volumes && !classes().any(|one| one["metadata"]["name"] == **name),
        None => !has_volumes && !classes().any(is_default),
    });
    let class = |name: Option<&str>| {
        let default = if name.is_none() { json!({DEFAULT_CLASS: "true"}) } else { json!({}) };
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": name.unwrap_or("standard"), "annotations": default},
            "provisioner": "csi.trommel.dev",
        })
    };
    names.into_iter().map(class).collect()
}

/// `storage.k8s.io`: the class of claims that name none.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

fn needed_by_pods(manifests: &[Value]) -> Vec<Value> {
    let mut needed = Needed::new();
    for manifest in manifests {
        let namespace = namespace(manifest);
        if let Some(pod) = pod_spec(manifest) {
            of_pod(pod, namespace, &mut needed);
        }
    }
    needed.retain(|(kind, namespace, name), _| {
        !manifests.iter().any(|one| {
            one["kind"] == **kind
                && one["metadata"]["name"] == **name
                && self::namespace(one) == namespace
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
