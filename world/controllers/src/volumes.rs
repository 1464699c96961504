//! Claims and volumes: what the controllers of both see.

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use crate::{
    node_affinity::NodeAffinity,
    object::{Labels, Meta, Text},
    quota::Counted,
    read,
    resources::quantity_milli,
    selector::Selector,
};

pub(crate) mod binder;
pub mod ephemeral;
pub(crate) mod expand;
pub(crate) mod protection;
pub(crate) mod provisioner;

/// `storagehelpers.AnnBindCompleted`.
pub(crate) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// `storagehelpers.AnnBoundByController`.
pub(crate) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// `storagehelpers.AnnDynamicallyProvisioned`.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// `storagehelpers.AnnStorageProvisioner`, and its older name.
pub(crate) const PROVISIONERS: [&str; 2] =
    ["volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner"];
/// `storagehelpers.AnnSelectedNode`: the scheduler's choice.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Of a StorageClass that nobody provisions for (`storagehelpers.NotSupportedProvisioner`).
pub(crate) const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// Of the class that claims without one get.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// A PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Claim {
    /// `spec.storageClassName`.
    pub class: Option<Text>,
    /// `spec.volumeName`.
    pub volume: Text,
    /// `spec.accessModes`.
    pub modes: Vec<Text>,
    /// `spec.resources.requests.storage`.
    pub request: Text,
    /// `spec.volumeMode`; Filesystem if absent.
    pub volume_mode: Text,
    /// `spec.selector`.
    pub selector: Option<Selector>,
    /// `status.phase`.
    pub phase: Text,
    /// `status.accessModes`.
    pub bound_modes: Vec<Text>,
    /// `status.capacity.storage`.
    pub capacity: Text,
    /// What quotas count.
    pub counted: Counted,
}

/// A PersistentVolume.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Volume {
    /// `spec.storageClassName`.
    pub class: Text,
    /// `spec.accessModes`.
    pub modes: Vec<Text>,
    /// `spec.capacity.storage`.
    pub capacity: Text,
    /// `spec.volumeMode`; Filesystem if absent.
    pub volume_mode: Text,
    /// `spec.persistentVolumeReclaimPolicy`.
    pub reclaim: Text,
    /// `spec.claimRef`.
    pub claim: Option<ClaimRef>,
    /// `status.phase`.
    pub phase: Text,
    /// The driver that has taken over a volume of an older type.
    pub driver: Option<&'static str>,
    /// `spec.nodeAffinity.required`: from which nodes it can be reached.
    pub nodes: Option<NodeAffinity>,
}

/// Whose a volume is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClaimRef {
    /// `namespace`.
    pub namespace: Text,
    /// `name`.
    pub name: Text,
    /// `uid`; empty where a user kept the volume for a claim by name.
    pub uid: Text,
}

/// A StorageClass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Class {
    /// `provisioner`.
    pub provisioner: Text,
    /// `reclaimPolicy`.
    pub reclaim: Text,
    /// Whether `volumeBindingMode` is WaitForFirstConsumer.
    pub waits: bool,
    /// Whether claims without a class get this one.
    pub is_default: bool,
    /// `allowedTopologies`: one suffices.
    pub topologies: Vec<Topology>,
}

/// Labels of nodes and their values: all have to be right.
pub type Topology = Vec<(Text, Vec<Text>)>;

/// The storage of an amount, in bytes; 0 for what is no amount.
pub(crate) fn bytes(amount: &str) -> i128 {
    quantity_milli(amount).unwrap_or(0) / 1000
}

fn texts(object: &Value, field: &str) -> Vec<Text> {
    read::list(object, field).filter_map(Value::as_str).map(Text::from).collect()
}

fn topology(term: &Value) -> Topology {
    let labels = read::list(term, "matchLabelExpressions");
    labels.map(|one| (read::text(one, "key"), texts(one, "values"))).collect()
}

fn volume_mode(spec: &Value) -> Text {
    spec.get("volumeMode").and_then(Value::as_str).unwrap_or("Filesystem").into()
}

impl Claim {
    pub(crate) fn read(object: &Value) -> Claim {
        let (spec, status) = (&object["spec"], &object["status"]);
        Claim {
            class: spec.get("storageClassName").and_then(Value::as_str).map(Text::from),
            volume: read::text(spec, "volumeName"),
            modes: texts(spec, "accessModes"),
            request: read::text(&spec["resources"]["requests"], "storage"),
            volume_mode: volume_mode(spec),
            selector: spec.get("selector").map(Selector::read),
            phase: read::text(status, "phase"),
            bound_modes: texts(status, "accessModes"),
            capacity: read::text(&status["capacity"], "storage"),
            counted: Counted::claim(object),
        }
    }
}

impl Volume {
    pub(crate) fn read(object: &Value) -> Volume {
        let spec = &object["spec"];
        let claim = spec.get("claimRef").filter(|claim| claim.is_object());
        Volume {
            class: read::text(spec, "storageClassName"),
            modes: texts(spec, "accessModes"),
            capacity: read::text(&spec["capacity"], "storage"),
            volume_mode: volume_mode(spec),
            reclaim: read::text(spec, "persistentVolumeReclaimPolicy"),
            claim: claim.map(|claim| ClaimRef {
                namespace: read::text(claim, "namespace"),
                name: read::text(claim, "name"),
                uid: read::text(claim, "uid"),
            }),
            phase: read::text(&object["status"], "phase"),
            driver: expand::driver_of(spec),
            nodes: spec["nodeAffinity"].get("required").map(NodeAffinity::of),
        }
    }

    /// Whether it can be reached from a node with these labels.
    pub(crate) fn is_reached_from(&self, labels: &Labels) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.allows(&"".into(), labels))
    }
}

impl ClaimRef {
    /// The claim that it names.
    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey::new(claims(), &self.namespace, &self.name)
    }
}

impl Class {
    pub(crate) fn read(object: &Value) -> Class {
        let annotations = &object["metadata"]["annotations"];
        Class {
            provisioner: read::text(object, "provisioner"),
            reclaim: read::text(object, "reclaimPolicy"),
            waits: object["volumeBindingMode"] == "WaitForFirstConsumer",
            is_default: annotations[DEFAULT_CLASS] == "true",
            topologies: read::list(object, "allowedTopologies").map(topology).collect(),
        }
    }

    /// Whether its volumes may be for a node with these labels (`MatchTopologySelectorTerms`).
    pub(crate) fn allows(&self, labels: &Labels) -> bool {
        let is = |(key, values): &(Text, Vec<Text>)| {
            labels.get(key).is_some_and(|value| values.contains(value))
        };
        let mut terms = self.topologies.iter();
        self.topologies.is_empty() || terms.any(|term| !term.is_empty() && term.iter().all(is))
    }
}

/// `spec.claimRef` of a volume that is a claim's.
pub(crate) fn reference(claim: &ObjectKey, meta: &Meta) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": claim.name,
        "namespace": claim.namespace, "uid": meta.uid,
        "resourceVersion": meta.revision.to_string(),
    })
}

pub(crate) fn claims() -> GroupResource {
    GroupResource::new("", "persistentvolumeclaims")
}

pub(crate) fn volumes() -> GroupResource {
    GroupResource::new("", "persistentvolumes")
}

pub(crate) fn classes() -> GroupResource {
    GroupResource::new("storage.k8s.io", "storageclasses")
}
