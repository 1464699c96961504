//! The objects that a policy is configured by (`CollectParams`).

use std::{ops::Bound, sync::Arc};

use serde_json::Value;
use trace::ObjectKey;

use crate::{
    facts,
    verbs::{selector::Labels, selector_text},
    world::{World, kinds::Kind},
};

/// The type that a policy's `paramKind` names; none where it has none. Errors: there is no such type.
pub(super) fn kind(world: &World, named: &Value) -> Result<Option<Kind>, String> {
    let (Some(api_version), Some(kind)) = (named["apiVersion"].as_str(), named["kind"].as_str())
    else {
        return Ok(None);
    };
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let resource = match facts::by_kind(group, version, kind) {
        Some(row) => Some(row.resource.clone()),
        None => {
            let versions = world.customs.values().flat_map(|custom| &custom.versions);
            let mut rows = versions.map(|version| &version.row);
            rows.find(|row| row.group == group && row.version == version && row.kind == kind)
                .map(|row| row.resource.clone())
        }
    };
    let found = resource.and_then(|resource| world.kind(group, version, &resource));
    match found {
        Some(kind) => Ok(Some(kind)),
        None => Err(format!(
            "failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'"
        )),
    }
}

/// The objects that a binding refers to, as they are stored. Errors: there are none, though there have to be.
pub(super) fn of(
    world: &World,
    kind: &Kind,
    reference: &Value,
    namespace: &str,
) -> Result<Vec<Arc<Value>>, String> {
    let namespace = match (kind.row().namespaced, reference["namespace"].as_str()) {
        (false, Some(given)) if !given.is_empty() => {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                .to_owned());
        }
        (false, _) => "",
        (true, Some(given)) if !given.is_empty() => given,
        (true, _) if namespace.is_empty() => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            );
        }
        (true, _) => namespace,
    };
    let found: Vec<_> = match reference["name"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => {
            let key = ObjectKey::new(kind.storage.clone(), namespace, name);
            world.store.get(&key).cloned().into_iter().collect()
        }
        None => selected(world, kind, &reference["selector"], namespace),
    };
    if found.is_empty() && reference["parameterNotFoundAction"] == "Deny" {
        return Err(
            "no params found for policy binding with `Deny` parameterNotFoundAction".to_owned()
        );
    }
    Ok(found)
}

fn selected(world: &World, kind: &Kind, selector: &Value, namespace: &str) -> Vec<Arc<Value>> {
    let Ok(labels) = Labels::parse(&selector_text(selector)) else { return Vec::new() };
    let all = world.store.root().scan(&kind.storage, namespace, Bound::Unbounded);
    all.filter(|(_, object)| labels.is_empty() || labels.matches(object))
        .map(|(_, object)| object.clone())
        .collect()
}
