//! What a kustomization changes in all its objects.

use serde_json::{Map, Value, json};

use super::{Item, entries, fields, text};
use crate::{
    node::{Content, Node},
    place::LoadError,
};

/// Where labels go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The objects' own metadata.
    Objects,
    /// And templates of pods.
    Templates,
    /// And selectors.
    Selectors,
}

/// Kinds that no namespace holds. Custom ones say so in their definitions.
const CLUSTER_SCOPED: [&str; 20] = [
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "ComponentStatus",
    "CustomResourceDefinition",
    "FlowSchema",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingWebhookConfiguration",
];

/// Kinds whose names are told otherwise: they get no prefix.
const NAMED_OTHERWISE: [&str; 3] = ["Namespace", "CustomResourceDefinition", "APIService"];

/// Where templates of pods are.
pub(super) const TEMPLATES: [&str; 2] = ["/spec/template", "/spec/jobTemplate/spec/template"];

pub(super) fn namespace(namespace: &str, items: &mut [Item]) -> Result<(), LoadError> {
    let cluster_wide: Vec<(String, String)> = items
        .iter()
        .filter(|item| item.kind() == "CustomResourceDefinition")
        .filter(|item| item.text("/spec/scope") == "Cluster")
        .map(|item| (item.text("/spec/group").to_owned(), item.text("/spec/names/kind").to_owned()))
        .collect();
    for item in items {
        let custom = (item.group().to_owned(), item.kind().to_owned());
        let field = match item.kind() {
            "Namespace" => "name",
            kind if CLUSTER_SCOPED.contains(&kind) || cluster_wide.contains(&custom) => continue,
            _ => "namespace",
        };
        item.note_name();
        item.manifest.object["metadata"][field] = json!(namespace);
    }
    Ok(())
}

pub(super) fn rename(new: impl Fn(&str) -> String, items: &mut [Item]) -> Result<(), LoadError> {
    for item in items.iter_mut().filter(|item| !NAMED_OTHERWISE.contains(&item.kind())) {
        item.note_name();
        item.manifest.object["metadata"]["name"] = json!(new(item.name()));
    }
    Ok(())
}

pub(super) fn labels(
    labels: &[(String, String)],
    reach: Reach,
    items: &mut [Item],
) -> Result<(), LoadError> {
    for item in items {
        let kind = item.kind().to_owned();
        let object = &mut item.manifest.object;
        add(&mut object["metadata"], "labels", labels);
        if reach != Reach::Objects {
            for path in TEMPLATES {
                if let Some(template) = object.pointer_mut(path) {
                    add(&mut template["metadata"], "labels", labels);
                }
            }
        }
        if reach == Reach::Selectors {
            select(&kind, object, labels);
        }
    }
    Ok(())
}

/// The selectors that kustomize knows (`commonlabels.go` of its builtin configuration).
fn select(kind: &str, object: &mut Value, labels: &[(String, String)]) {
    match kind {
        "Service" if object["spec"]["selector"].is_object() => {
            add(&mut object["spec"], "selector", labels);
        }
        "ReplicationController" => add(&mut object["spec"], "selector", labels),
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" => {
            add(&mut object["spec"]["selector"], "matchLabels", labels);
        }
        "PodDisruptionBudget" | "Job" if object.pointer("/spec/selector/matchLabels").is_some() => {
            add(&mut object["spec"]["selector"], "matchLabels", labels);
        }
        "NetworkPolicy" if object.pointer("/spec/podSelector/matchLabels").is_some() => {
            add(&mut object["spec"]["podSelector"], "matchLabels", labels);
        }
        _ => {}
    }
}

pub(super) fn annotations(
    annotations: &[(String, String)],
    items: &mut [Item],
) -> Result<(), LoadError> {
    for item in items {
        let object = &mut item.manifest.object;
        add(&mut object["metadata"], "annotations", annotations);
        for path in TEMPLATES {
            if let Some(template) = object.pointer_mut(path) {
                add(&mut template["metadata"], "annotations", annotations);
            }
        }
    }
    Ok(())
}

fn add(holder: &mut Value, field: &str, pairs: &[(String, String)]) {
    if holder.is_null() {
        *holder = Value::Object(Map::new());
    }
    let Some(holder) = holder.as_object_mut() else { return };
    let map = holder.entry(field).or_insert_with(|| Value::Object(Map::new()));
    if map.is_null() {
        *map = Value::Object(Map::new());
    }
    for (key, value) in pairs {
        map[key.as_str()] = json!(value);
    }
}

pub(super) fn replicas(said: &[Node], items: &mut [Item]) -> Result<(), LoadError> {
    for one in said {
        let name = one.at(&["name"]).map(text).transpose()?.unwrap_or_default();
        let count = one.at(&["count"]).map(Node::to_json);
        let Some(count @ Value::Number(_)) = count else {
            return Err(one.place.error("`replicas` wants a `name` and a `count`"));
        };
        let mut found = false;
        for item in items.iter_mut().filter(|item| item.names().any(|(_, one)| one == name)) {
            if matches!(item.kind(), "Deployment" | "ReplicaSet" | "StatefulSet") {
                item.manifest.object["spec"]["replicas"] = count.clone();
                found = true;
            }
        }
        if !found {
            return Err(one.place.error(format!("nothing called {name:?} has replicas")));
        }
    }
    Ok(())
}

/// What an image is replaced by.
#[derive(Default)]
struct Image {
    name: String,
    new_name: Option<String>,
    new_tag: Option<String>,
    digest: Option<String>,
}

pub(super) fn images(said: &[Node], items: &mut [Item]) -> Result<(), LoadError> {
    for one in said {
        let mut image = Image::default();
        for entry in entries(one)? {
            let value = match &entry.value.content {
                Content::Number(number) => number.to_string(),
                _ => text(&entry.value)?.to_owned(),
            };
            match &*entry.key {
                "name" => image.name = value,
                "newName" => image.new_name = Some(value),
                "newTag" => image.new_tag = Some(value),
                "digest" => image.digest = Some(value),
                other => {
                    let message = format!("`{other}` of images is not supported");
                    return Err(entry.place.error(message).help(fields::HELP));
                }
            }
        }
        items.iter_mut().for_each(|item| image.replace(&mut item.manifest.object));
    }
    Ok(())
}

impl Image {
    /// In all containers below, wherever they are.
    fn replace(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, below) in map.iter_mut() {
                    if matches!(&**key, "containers" | "initContainers") {
                        let containers = below.as_array_mut().into_iter().flatten();
                        for used in containers.filter_map(|one| one.get_mut("image")) {
                            if let Some(new) = used.as_str().and_then(|used| self.instead_of(used))
                            {
                                *used = Value::String(new);
                            }
                        }
                    }
                    self.replace(below);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item)),
            _ => {}
        }
    }

    fn instead_of(&self, used: &str) -> Option<String> {
        let end_of_path = used.rfind('/').map_or(0, |slash| slash + 1);
        let ends = used[end_of_path..].find([':', '@']).map_or(used.len(), |at| end_of_path + at);
        let (name, rest) = used.split_at(ends);
        (name == self.name).then(|| {
            let name = self.new_name.as_deref().unwrap_or(name);
            match (&self.digest, &self.new_tag) {
                (Some(digest), _) => format!("{name}@{digest}"),
                (None, Some(tag)) => format!("{name}:{tag}"),
                (None, None) => format!("{name}{rest}"),
            }
        })
    }
}
