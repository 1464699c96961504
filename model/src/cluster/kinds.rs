//! The types that a cluster of a model serves.

use controllers::{Kind, Kinds};
use trace::{GroupResource, ObjectKey};

/// A type: `apiVersion`, `kind`, group, resource, whether its objects live in namespaces.
type Row = (&'static str, &'static str, &'static str, &'static str, bool);

/// Those that most stores hold come first: a store keeps a sum for each type up to its last.
const ROWS: [Row; 26] = [
    ("v1", "Pod", "", "pods", true),
    ("v1", "Node", "", "nodes", false),
    ("apps/v1", "ReplicaSet", "apps", "replicasets", true),
    ("apps/v1", "Deployment", "apps", "deployments", true),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "autoscaling", "horizontalpodautoscalers", true),
    ("metrics.k8s.io/v1beta1", "PodMetrics", "metrics.k8s.io", "pods", true),
    ("apps/v1", "StatefulSet", "apps", "statefulsets", true),
    ("apps/v1", "ControllerRevision", "apps", "controllerrevisions", true),
    ("v1", "PersistentVolumeClaim", "", "persistentvolumeclaims", true),
    ("batch/v1", "Job", "batch", "jobs", true),
    ("v1", "ConfigMap", "", "configmaps", true),
    ("apps/v1", "DaemonSet", "apps", "daemonsets", true),
    ("policy/v1", "PodDisruptionBudget", "policy", "poddisruptionbudgets", true),
    ("batch/v1", "CronJob", "batch", "cronjobs", true),
    ("v1", "Service", "", "services", true),
    ("discovery.k8s.io/v1", "EndpointSlice", "discovery.k8s.io", "endpointslices", true),
    ("v1", "Endpoints", "", "endpoints", true),
    ("v1", "Secret", "", "secrets", true),
    ("v1", "Namespace", "", "namespaces", false),
    ("v1", "ServiceAccount", "", "serviceaccounts", true),
    ("v1", "ReplicationController", "", "replicationcontrollers", true),
    ("v1", "PersistentVolume", "", "persistentvolumes", false),
    ("storage.k8s.io/v1", "StorageClass", "storage.k8s.io", "storageclasses", false),
    ("v1", "ResourceQuota", "", "resourcequotas", true),
    ("scheduling.k8s.io/v1", "PriorityClass", "scheduling.k8s.io", "priorityclasses", false),
    ("v1", "LimitRange", "", "limitranges", true),
];

/// A type's place in the table; the one behind the last is for what controllers remember.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub(super) u8);

impl KindId {
    /// Pods.
    pub const POD: KindId = KindId(0);
    /// Nodes.
    pub const NODE: KindId = KindId(1);
    /// Deployments.
    pub const DEPLOYMENT: KindId = KindId(3);
    /// Of what controllers remember.
    pub(super) const MEMORY: KindId = KindId(ROWS.len() as u8);

    /// The type of this name; none if no cluster of a model serves it.
    pub fn of(resource: &GroupResource) -> Option<KindId> {
        let is = |row: &Row| *row.2 == *resource.group && *row.3 == *resource.resource;
        ROWS.iter().position(is).map(|at| KindId(at as u8))
    }

    /// The type of an object's `apiVersion` and `kind`. Versions of a group are one type.
    pub fn of_object(api_version: &str, kind: &str) -> Option<KindId> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is = |row: &Row| row.2 == group && row.1 == kind;
        ROWS.iter().position(is).map(|at| KindId(at as u8))
    }

    /// The type of a `kind`, whatever its group.
    pub fn named(kind: &str) -> Option<KindId> {
        ROWS.iter().position(|row| row.1 == kind).map(|at| KindId(at as u8))
    }

    /// Under which name its objects are stored.
    pub fn resource(self) -> GroupResource {
        let row = &ROWS[usize::from(self.0)];
        GroupResource::new(row.2, row.3)
    }

    /// Its `kind`.
    pub fn kind(self) -> &'static str {
        ROWS.get(usize::from(self.0)).map_or("memory", |row| row.1)
    }

    /// Its `apiVersion`.
    pub fn api_version(self) -> &'static str {
        ROWS[usize::from(self.0)].0
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(self) -> bool {
        ROWS[usize::from(self.0)].4
    }

    pub(super) fn bit(self) -> KindSet {
        KindSet(1 << self.0)
    }
}

/// The key of a node.
pub fn node_key(name: &str) -> ObjectKey {
    ObjectKey::new(KindId::NODE.resource(), "", name)
}

/// The row of a `kind`, or the one behind the last for memories.
const fn row_of(name: &str) -> usize {
    let mut at = 0;
    while at < ROWS.len() {
        if is_same(ROWS[at].1, name) {
            return at;
        }
        at += 1;
    }
    assert!(is_same(name, "memory"), "a kind of the table");
    ROWS.len()
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// All types, as controllers look them up.
pub(super) fn served() -> Kinds {
    let kind = |(version, kind, group, resource, namespaced): &Row| {
        let resource = GroupResource::new(group, resource);
        (((*version).into(), (*kind).into()), Kind { resource, namespaced: *namespaced })
    };
    ROWS.iter().map(kind).collect()
}

/// Some types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KindSet(u32);

impl KindSet {
    pub(super) const ALL: KindSet = KindSet(u32::MAX);

    /// These types.
    ///
    /// # Panics
    /// If one of them is not in the table: they are names in this crate's code.
    pub(super) const fn of(names: &[&str]) -> KindSet {
        let (mut bits, mut at) = (0, 0);
        while at < names.len() {
            bits |= 1 << row_of(names[at]);
            at += 1;
        }
        KindSet(bits)
    }

    pub(super) fn without(self, kind: KindId) -> KindSet {
        KindSet(self.0 & !kind.bit().0)
    }

    pub(super) fn has(self, kind: KindId) -> bool {
        self.0 & kind.bit().0 != 0
    }

    /// All of them but memories.
    pub(super) fn kinds(self) -> impl Iterator<Item = KindId> {
        (0..ROWS.len() as u8).map(KindId).filter(move |kind| self.has(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_all_their_names() {
        for (at, row) in ROWS.iter().enumerate() {
            let id = KindId(at as u8);
            assert_eq!(KindId::of(&id.resource()), Some(id));
            assert_eq!(KindId::of_object(row.0, row.1), Some(id));
        }
        assert_eq!(KindId::of_object("apps/v1beta2", "Deployment"), KindId::named("Deployment"));
        assert_eq!(KindId::of_object("v1", "Deployment"), None);
        assert_eq!(KindId::named("Deployment"), Some(KindId::DEPLOYMENT));
        assert_eq!((KindId::POD.kind(), KindId::NODE.kind()), ("Pod", "Node"));
        assert!(KindSet::of(&["Pod", "memory"]).has(KindId::MEMORY));
        assert!(!KindSet::of(&["Pod"]).has(KindId::MEMORY));
    }
}
