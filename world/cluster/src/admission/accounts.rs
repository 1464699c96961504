//! ServiceAccount: every pod has an account, and its token where it looks for one
//! (`plugin/pkg/admission/serviceaccount`).
//!
//! Only in worlds that ask for it ([`crate::World::mount_service_accounts`]): without a controller that makes the
//! default accounts every pod would be refused. `kubernetes.io/enforce-mountable-secrets` (deprecated) is not
//! looked at.

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use crate::{status::Refusal, verbs::Work};

/// Where programs look for a token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";
/// Seconds that a mounted token lives: an hour, and a little to tell it from others.
const LIFE_SECONDS: u32 = 3607;
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Errors: 403 where the account is missing.
pub(super) fn mount(work: &mut Work<'_>, pod: &mut Value, dry_run: bool) -> Result<(), Refusal> {
    // A kubelet's own pods have none.
    if !work.live.world.service_accounts || pod["metadata"]["annotations"][MIRROR].is_string() {
        return Ok(());
    }
    let given = pod["spec"]["serviceAccountName"].as_str().unwrap_or("");
    let name = if given.is_empty() { "default" } else { given }.to_owned();
    let namespace = work.route.namespace.clone();
    let accounts = GroupResource::new("", "serviceaccounts");
    let account = work.live.world.store.get(&ObjectKey::new(accounts, &namespace, &name)).cloned();
    let Some(account) = account else {
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
        );
        return super::refuse(work, pod, &[why]);
    };
    for field in ["serviceAccountName", "serviceAccount"] {
        pod["spec"][field] = json!(name);
    }
    let says = |object: &Value| object["automountServiceAccountToken"].as_bool();
    if says(&pod["spec"]).or(says(&account)).unwrap_or(true) {
        mount_token(work, pod, dry_run);
    }
    let own = pod["spec"]["imagePullSecrets"].as_array().is_some_and(|list| !list.is_empty());
    if let Some(secrets) = account.get("imagePullSecrets").filter(|_| !own) {
        pod["spec"]["imagePullSecrets"] = secrets.clone();
    }
    Ok(())
}

fn mount_token(work: &mut Work<'_>, pod: &mut Value, dry_run: bool) {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let mut names = volumes.filter_map(|volume| volume["name"].as_str());
    let known = names.find(|name| name.starts_with(VOLUME)).map(str::to_owned);
    let bare = |container: &Value| {
        let mut mounts = container["volumeMounts"].as_array().into_iter().flatten();
        !mounts.any(|mount| mount["mountPath"] == MOUNT_PATH)
    };
    let lists = ["initContainers", "containers"];
    let needed = lists
        .iter()
        .filter_map(|list| pod["spec"][list].as_array())
        .any(|list| list.iter().any(bare));
    if !needed {
        return;
    }
    let name = known.clone().unwrap_or_else(|| work.generate_name(VOLUME, dry_run));
    for list in lists {
        let containers = pod.pointer_mut(&format!("/spec/{list}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter(|container| bare(container)) {
            push(
                &mut container["volumeMounts"],
                json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH}),
            );
        }
    }
    if known.is_none() {
        push(&mut pod["spec"]["volumes"], volume(&name));
    }
}

fn push(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(items) => items.push(item),
        None => *list = json!([item]),
    }
}

/// Token, authority and namespace (`TokenVolumeSource`).
fn volume(name: &str) -> Value {
    json!({"name": name, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": LIFE_SECONDS, "path": "token"}},
        {"configMap": {
            "name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}],
        }},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]}})
}
