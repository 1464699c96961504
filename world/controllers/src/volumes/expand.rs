//! Claims that ask for more than they have.
//!
//! The expand controller of kube-controller-manager (`pkg/controller/volume/expand`, Kubernetes 1.36) only says who is
//! to do it, where the volume is of an older type that a CSI driver has taken over. All others wait for their driver's
//! resizer: here that is the provisioner ([`super::provisioner`]).

use serde_json::{Value, json};
use trace::ObjectKey;

use super::{Claim, Volume, bytes, claims, volumes};
use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    object::{Body, Object},
    request::Request,
    view::View,
    write,
};

/// `volumetypes.VolumeResizerKey`.
const RESIZER: &str = "volume.kubernetes.io/storage-resizer";
/// `util.AnnPreResizeCapacity`.
const BEFORE_RESIZE: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";

/// Older types of volumes and the drivers that look after them (`csi-translation-lib`).
const DRIVERS: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];

/// The driver that has taken over a volume of an older type.
pub(super) fn driver_of(spec: &Value) -> Option<&'static str> {
    DRIVERS.iter().find(|(kind, _)| spec.get(kind).is_some()).map(|(_, driver)| *driver)
}

/// The volume that a claim is bound to.
pub(super) fn bound<'v>(
    view: &'v View,
    key: &ObjectKey,
    object: &Object,
    claim: &Claim,
) -> Option<(ObjectKey, &'v Object, &'v Volume)> {
    let at = ObjectKey::new(volumes(), "", &claim.volume);
    let found = view.get(&at)?;
    let Body::Volume(volume) = &found.body else { return None };
    let of = volume.claim.as_ref()?;
    let ours = of.namespace == key.namespace && of.uid == object.meta.uid;
    ours.then_some((at, found, volume))
}

pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Claim(claim) = &object.body else { return Ok(None) };
    let Some((_, found, volume)) = bound(view, key, object, claim) else {
        return Err(Stop::Failed("the volume is not bound to the claim".to_owned()));
    };
    let grows = bytes(&claim.request) > bytes(&claim.capacity)
        || found.meta.annotations.contains_key(BEFORE_RESIZE);
    let Some(driver) = volume.driver.filter(|_| grows) else { return Ok(None) };
    let named = object.meta.annotations.get(RESIZER).is_some_and(|by| **by == *driver);
    if !named {
        branch!(ClaimNamesResizer);
        let mut annotations = object.meta.annotations.clone();
        annotations.insert(RESIZER.into(), driver.into());
        calls.must(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "",
            fields: vec![("/metadata/annotations", write::labels(&annotations))],
        })?;
    }
    Ok(None)
}

/// The resizer of a driver that needs nobody on the node (`kubernetes-csi/external-resizer`): the volume grows at once,
/// and the claim says so.
pub(super) fn grow(
    view: &View,
    key: &ObjectKey,
    object: &Object,
    claim: &Claim,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some((at, found, volume)) = bound(view, key, object, claim) else { return Ok(None) };
    let wanted = bytes(&claim.request);
    if wanted <= bytes(&claim.capacity)
        || !found.meta.annotations.contains_key(super::PROVISIONED_BY)
    {
        return Ok(None);
    }
    if bytes(&volume.capacity) < wanted {
        calls.must(|| Request::Update {
            key: at,
            revision: found.meta.revision,
            subresource: "",
            fields: vec![("/spec/capacity", json!({"storage": claim.request}))],
        })?;
    }
    calls.must(|| Request::Update {
        key: key.clone(),
        revision: object.meta.revision,
        subresource: "status",
        fields: vec![
            ("/status/capacity", json!({"storage": claim.request})),
            ("/status/allocatedResources", json!({"storage": claim.request})),
        ],
    })?;
    Ok(None)
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    if change.key.resource != claims() {
        return vec![];
    }
    let claim = |object: Option<&Object>| match object.map(|object| &object.body) {
        Some(Body::Claim(claim)) => {
            Some((*claim.phase == *"Bound", bytes(&claim.request), bytes(&claim.capacity)))
        }
        _ => None,
    };
    let due = match (claim(change.before), claim(change.after)) {
        (None, Some((bound, _, _))) => bound,
        (Some((_, asked, has)), Some((bound, asks, now_has))) => {
            bound && (asks > asked || now_has > has)
        }
        _ => false,
    };
    due.then(|| Affected::now(change.key)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Controller,
        fixture::{object, run, view},
    };

    const CLAIM: &str = "persistentvolumeclaims/default/c";

    fn claim(asks: &str, has: &str) -> (ObjectKey, Value) {
        object(
            CLAIM,
            json!({
                "spec": {
                    "volumeName": "v", "storageClassName": "s",
                    "resources": {"requests": {"storage": asks}},
                },
                "status": {"phase": "Bound", "capacity": {"storage": has}},
            }),
        )
    }

    fn volume(mut spec: Value, annotations: Value) -> (ObjectKey, Value) {
        spec["claimRef"] = json!({"namespace": "default", "name": "c", "uid": "c"});
        spec["capacity"] = json!({"storage": "1Gi"});
        object(
            "persistentvolumes/v",
            json!({"spec": spec, "metadata": {"annotations": annotations}}),
        )
    }

    #[test]
    fn a_driver_that_has_taken_over_is_named() {
        let check = |asks: &str, spec: Value, expect: usize| {
            let world = view(&[claim(asks, "1Gi"), volume(spec, json!({}))]);
            let (sent, _) = run(Controller::Expand, &world, CLAIM, &[]);
            assert_eq!(sent.len(), expect, "{sent:?}");
            for request in sent {
                let Request::Update { fields, .. } = request else { panic!("{request:?}") };
                assert_eq!(fields[0].1, json!({RESIZER: "pd.csi.storage.gke.io"}));
            }
        };
        check("2Gi", json!({"gcePersistentDisk": {}}), 1);
        check("1Gi", json!({"gcePersistentDisk": {}}), 0);
        check("2Gi", json!({"csi": {}}), 0);
    }

    #[test]
    fn the_provisioner_lets_its_volumes_grow() {
        let check = |asks: &str, annotations: Value, expect: &[&str]| {
            let world = view(&[claim(asks, "1Gi"), volume(json!({}), annotations)]);
            let (sent, _) = run(Controller::Provisioner, &world, CLAIM, &[]);
            let told = sent.iter().map(|request| match request {
                Request::Update { key, fields, .. } => {
                    format!("{} {}", key.name, fields[0].1["storage"].as_str().unwrap_or(""))
                }
                other => format!("{other:?}"),
            });
            assert_eq!(told.collect::<Vec<String>>(), expect);
        };
        let ours = || json!({super::super::PROVISIONED_BY: "trommel.dev/volumes"});
        check("2Gi", ours(), &["v 2Gi", "c 2Gi"]);
        check("1Gi", ours(), &[]);
        check("2Gi", json!({}), &[]);
    }
}
