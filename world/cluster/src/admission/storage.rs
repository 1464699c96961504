//! Plug-ins that look at volumes: StorageObjectInUseProtection, DefaultStorageClass,
//! PersistentVolumeClaimResize.

use std::ops::Bound;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use crate::{encoding::quantity_nanos, status::Refusal, verbs::Work, world::meta};

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

fn classes() -> GroupResource {
    GroupResource::new("storage.k8s.io", "storageclasses")
}

/// Adds the finalizer that keeps volumes and claims while they are used.
pub(super) fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = &mut object["metadata"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(list) if list.iter().any(|known| known == finalizer) => {}
        Some(list) => list.push(json!(finalizer)),
        None => *finalizers = json!([finalizer]),
    }
}

/// A claim that names no class gets the default one, of several the newest.
pub(super) fn default_class(work: &Work<'_>, claim: &mut Value) {
    let annotated =
        claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].is_string();
    if claim["spec"]["storageClassName"].is_string() || annotated {
        return;
    }
    let all = work.live.world.store.root().scan(&classes(), "", Bound::Unbounded);
    let defaults =
        all.filter(|(_, class)| class["metadata"]["annotations"][DEFAULT_CLASS] == "true");
    let newest = defaults
        .map(|(_, class)| {
            (meta(class, "creationTimestamp"), std::cmp::Reverse(meta(class, "name")))
        })
        .max();
    if let Some((_, std::cmp::Reverse(name))) = newest {
        claim["spec"]["storageClassName"] = json!(name);
    }
}

/// A bound claim grows only where its class allows it. Errors: 403.
pub(super) fn check_resize(work: &Work<'_>, old: &Value, new: &Value) -> Result<(), Refusal> {
    let size = |claim: &Value| {
        let text = claim.pointer("/spec/resources/requests/storage").and_then(Value::as_str);
        text.and_then(quantity_nanos).unwrap_or(0)
    };
    if size(new) <= size(old) || old["status"]["phase"] != "Bound" {
        return Ok(());
    }
    let class = old["spec"]["storageClassName"].as_str().unwrap_or("");
    let class = work.live.world.store.get(&ObjectKey::new(classes(), "", class));
    if class.is_some_and(|class| class["allowVolumeExpansion"] == json!(true)) {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc \
               must support resize";
    Err(Refusal::forbidden(&work.kind.served(), meta(new, "name"), why))
}
