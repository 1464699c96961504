//! What a kustomization changes in all its objects.

use serde_json::{Map, Value, json};

use super::{
    Item, builtin,
    configuration::Configuration,
    spec::{FieldSpec, Type},
    text,
};
use crate::{node::Node, place::LoadError};

/// Types whose names are told otherwise: they get no prefix.
const NAMED_OTHERWISE: [&str; 3] =
    ["CustomResourceDefinition", "apiregistration.k8s.io/APIService", "Namespace"];

pub(super) fn namespace(namespace: &str, items: &mut [Item], configuration: &Configuration) {
    for item in items {
        item.note_id();
        let of = item.type_of();
        let is_namespace = of == Type::of("v1", "Namespace");
        let fields = item.own(&configuration.namespaces);
        let object = &mut item.manifest.object;
        if !builtin::is_cluster_scoped(&of) {
            object["metadata"]["namespace"] = json!(namespace);
        }
        if matches!(&*of.kind, "RoleBinding" | "ClusterRoleBinding") {
            let subjects = object["subjects"].as_array_mut().into_iter().flatten();
            for subject in subjects.filter(|subject| subject["name"] == "default") {
                subject["namespace"] = json!(namespace);
            }
        }
        for field in fields {
            // Other types of kind Namespace have names of their own.
            if is_namespace || field.path != ["metadata", "name"] {
                field.each(object, &json!(""), &mut |value| *value = json!(namespace));
            }
        }
    }
}

pub(super) fn prefix(prefix: &str, items: &mut [Item]) {
    for item in renamed(items) {
        item.affixes.prefixes.push(prefix.to_owned());
        item.rename(format!("{prefix}{}", item.name()));
    }
}

pub(super) fn suffix(suffix: &str, items: &mut [Item]) {
    for item in renamed(items) {
        item.affixes.suffixes.push(suffix.to_owned());
        item.rename(format!("{}{suffix}", item.name()));
    }
}

fn renamed(items: &mut [Item]) -> impl Iterator<Item = &mut Item> {
    items.iter_mut().filter(|item| {
        let original = item.original().type_of(&item.type_of());
        !NAMED_OTHERWISE.iter().any(|one| Type::read(one).selects(&original))
    })
}

/// Sets pairs of labels or annotations in these fields.
pub(super) fn set_pairs(pairs: &[(String, String)], fields: &[FieldSpec], items: &mut [Item]) {
    if pairs.is_empty() {
        return;
    }
    for item in items {
        for field in item.own(fields) {
            let object = &mut item.manifest.object;
            field.each(object, &Value::Object(Map::new()), &mut |value| {
                if let Some(map) = value.as_object_mut() {
                    map.extend(pairs.iter().map(|(key, value)| (key.clone(), json!(value))));
                }
            });
        }
    }
}

pub(super) fn replicas(
    said: &[Node],
    items: &mut [Item],
    configuration: &Configuration,
) -> Result<(), LoadError> {
    for one in said {
        let name = one.at(&["name"]).map(|name| text(name, "name")).transpose()?.unwrap_or("");
        let count = one.at(&["count"]).map(Node::to_json);
        let Some(count @ Value::Number(_)) = count else {
            return Err(one.place.error("`replicas` wants a `name` and a `count`"));
        };
        let mut found = false;
        for item in items.iter_mut().filter(|item| item.ids().any(|id| id.name == name)) {
            for field in item.own(&configuration.replicas) {
                field.each(&mut item.manifest.object, &json!(0), &mut |value| {
                    *value = count.clone();
                });
                found = true;
            }
        }
        if !found {
            return Err(one.place.error(format!("nothing called {name:?} has replicas")));
        }
    }
    Ok(())
}
