//! What is in use is not removed (`pvc_protection_controller.go`, `pv_protection_controller.go`, Kubernetes 1.36):
//! a claim stays while a pod on a node uses it, a volume while it is bound.

use serde_json::json;
use trace::ObjectKey;

use super::{claims, ephemeral, volumes};
use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Body, Meta, Object, Text},
    request::Request,
    view::View,
};

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let (name, used) = match &object.body {
        Body::Claim(_) => (CLAIM, is_used(view, key, &object.meta)),
        Body::Volume(volume) => (VOLUME, *volume.phase == *"Bound"),
        _ => return Ok(None),
    };
    let has = object.meta.has_finalizer(name);
    if object.meta.is_deleted() && has && !used {
        branch!(ProtectionEnds);
        set(key, &object.meta, object.meta.finalizers_without(name), calls)?;
    } else if !object.meta.is_deleted() && !has {
        let mut finalizers = object.meta.finalizers.clone();
        finalizers.push(name.into());
        set(key, &object.meta, finalizers, calls)?;
    }
    Ok(None)
}

fn set(
    key: &ObjectKey,
    meta: &Meta,
    finalizers: Vec<Text>,
    calls: &mut Calls<'_>,
) -> Result<(), crate::calls::Stop> {
    calls.need(|| Request::Update {
        key: key.clone(),
        revision: meta.revision,
        subresource: "",
        fields: vec![("/metadata/finalizers", json!(finalizers))],
    })?;
    Ok(())
}

/// Whether a pod on a node uses the claim; one that has ended still does, but not where the claim was made for it and
/// its kubelet is done with it: it may be waiting for the claim to go.
fn is_used(view: &View, key: &ObjectKey, meta: &Meta) -> bool {
    let pods = trace::GroupResource::new("", "pods");
    view.list(&pods, &key.namespace).any(|(_, object)| match &object.body {
        Body::Pod(pod) if !pod.node.is_empty() && pod.is_ephemeral(&key.name) => {
            !is_shut_down(&object.meta) && ephemeral::is_for(meta, &object.meta)
        }
        Body::Pod(pod) if !pod.node.is_empty() => {
            pod.claims.iter().any(|(_, claim)| *claim == key.name)
        }
        _ => false,
    })
}

/// `podIsShutDown`
fn is_shut_down(pod: &Meta) -> bool {
    pod.is_deleted() && pod.grace_seconds == Some(0)
}

pub(crate) fn keys_affected_claims(view: &View, change: &Change<'_>) -> Vec<Affected> {
    if change.key.resource == claims() {
        return vec![Affected::now(change.key)];
    }
    // Only a pod that is gone can let go of a claim, or one that is done with what was made for it.
    let pod = match (change.before, change.after) {
        (Some(Object { body: Body::Pod(pod), .. }), None) => pod,
        (_, Some(Object { body: Body::Pod(pod), meta }))
            if !pod.ephemeral.is_empty() && is_shut_down(meta) =>
        {
            pod
        }
        _ => return vec![],
    };
    let key = |claim: &Text| ObjectKey::new(claims(), &change.key.namespace, claim);
    let used = pod.claims.iter().map(|(_, claim)| key(claim));
    used.filter(|key| view.get(key).is_some()).map(|key| Affected::now(&key)).collect()
}

pub(crate) fn keys_affected_volumes(change: &Change<'_>) -> Vec<Affected> {
    match change.key.resource == volumes() {
        true => vec![Affected::now(change.key)],
        false => vec![],
    }
}
