//! A provisioner for every StorageClass that has one (as kubernetes-csi/external-provisioner does): makes a volume of
//! the size that the claim asks for, and deletes it when it is released and its class says so.
//!
//! Volumes hold nothing here, so any class will do. Who could notice: whoever expects a class with an unknown
//! provisioner to stay without volumes; `kubernetes.io/no-provisioner` is for that. What it made grows when
//! its claim asks for more. Snapshots and clones are not there.

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{
    BIND_COMPLETED, Claim, Class, PROVISIONED_BY, PROVISIONERS, SELECTED_NODE, Volume, claims,
    classes, volumes,
};
use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    object::{Body, Meta, Text},
    request::Request,
    view::View,
};

pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    match &object.body {
        Body::Claim(claim) if *claim.phase == *"Bound" => {
            super::expand::grow(view, key, object, claim, calls)
        }
        Body::Claim(claim) => provision(view, key, &object.meta, claim, calls),
        Body::Volume(volume) => delete(key, &object.meta, volume, calls),
        _ => Ok(None),
    }
}

fn provision(
    view: &View,
    key: &ObjectKey,
    meta: &Meta,
    claim: &Claim,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let asked = meta.annotations.get(PROVISIONERS[1]);
    let bound = meta.annotations.contains_key(BIND_COMPLETED) || !claim.volume.is_empty();
    let (Some(asked), Some(name), false, false) = (asked, &claim.class, bound, meta.is_deleted())
    else {
        return Ok(None);
    };
    let class = view.get(&ObjectKey::new(classes(), "", name));
    let Some(Body::Class(class)) = class.map(|class| &class.body) else { return Ok(None) };
    if class.provisioner != *asked || class.waits && !meta.annotations.contains_key(SELECTED_NODE) {
        return Ok(None);
    }
    let volume = ObjectKey::new(volumes(), "", &format!("pvc-{}", meta.uid));
    if view.get(&volume).is_some() {
        return Ok(None);
    }
    let object = || Box::new(new_volume(&volume.name, key, meta, claim, class));
    let sent = calls.send(|| Request::Create { key: volume.clone(), object: object() })?;
    match sent {
        Response::Refused { code, message, .. } if *code != 409 => {
            Err(Stop::Failed(format!("{code}: {message}")))
        }
        _ => Ok(None),
    }
}

fn new_volume(name: &Text, key: &ObjectKey, meta: &Meta, claim: &Claim, class: &Class) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: class.provisioner}},
        "spec": {
            "accessModes": claim.modes,
            "capacity": {"storage": claim.request},
            "claimRef": super::reference(key, meta),
            "csi": {"driver": class.provisioner, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": class.reclaim,
            "storageClassName": claim.class,
            "volumeMode": claim.volume_mode,
        },
    })
}

fn delete(key: &ObjectKey, meta: &Meta, volume: &Volume, calls: &mut Calls<'_>) -> Reconciled {
    let due = meta.annotations.contains_key(PROVISIONED_BY)
        && *volume.phase == *"Released"
        && *volume.reclaim == *"Delete"
        && !meta.is_deleted();
    if due {
        calls.need(|| Request::delete(key.clone(), meta.uid.clone()))?;
    }
    Ok(None)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let is = |resource: GroupResource| change.key.resource == resource;
    if is(claims()) || is(volumes()) {
        return vec![Affected::now(change.key)];
    }
    if !is(classes()) {
        return vec![];
    }
    let resource = claims();
    let waiting = view.list(&resource, "").filter(
        |(_, object)| matches!(&object.body, Body::Claim(claim) if *claim.phase == *"Pending"),
    );
    waiting.map(|(key, _)| Affected::now(&key)).collect()
}
