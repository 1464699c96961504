//! What properties speak of, read off a store.

use serde_json::Value;

use crate::cluster::{
    Cluster, Store,
    kinds::KindId,
    objects::{Content, Stored},
};

/// An annotation of `kubectl apply`, which a ReplicaSet does not get.
pub(in crate::themelios) const LAST_APPLIED: &str =
    "kubectl.kubernetes.io/last-applied-configuration";
pub(super) const HASH: &str = "pod-template-hash";
const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// A store, to be asked about.
#[derive(Debug, Clone, Copy)]
pub(in crate::themelios) struct Facts<'s> {
    pub cluster: &'s Cluster,
    pub store: &'s Store,
}

impl<'s> Facts<'s> {
    pub(in crate::themelios) fn of_kind(
        &self,
        kind: &str,
    ) -> impl Iterator<Item = &'s Value> + use<'s> {
        let id = KindId::named(kind).expect("a kind of models");
        let (store, objects) = (self.store, &self.cluster.objects);
        store.of_kind(objects, id).filter_map(|(_, stored)| stored.value())
    }

    /// The objects of a kind that an object controls.
    pub(in crate::themelios) fn owned(
        &self,
        kind: &str,
        owner: &'s Value,
    ) -> impl Iterator<Item = &'s Value> + use<'s> {
        self.of_kind(kind).filter(move |object| owns(owner, object))
    }

    /// The pods that an object of any store controls.
    pub(super) fn owned_by(&self, owner: &Value) -> Vec<&'s Value> {
        self.of_kind("Pod").filter(|object| owns(owner, object)).collect()
    }

    pub(in crate::themelios) fn active_pods(
        &self,
        owner: &Value,
    ) -> impl Iterator<Item = &'s Value> {
        self.owned_by(owner).into_iter().filter(|pod| is_active(pod))
    }

    pub(in crate::themelios) fn active(&self, owner: &Value) -> usize {
        self.active_pods(owner).count()
    }

    /// The ordinals of a StatefulSet's pods, in order.
    pub(super) fn ordinals(&self, set: &Value) -> Vec<i64> {
        let mut all: Vec<i64> = self.owned_by(set).into_iter().filter_map(ordinal).collect();
        all.sort_unstable();
        all
    }

    /// Objects that were written since `before`, before and after: other than in their revisions.
    pub(in crate::themelios) fn written_since(
        &self,
        before: &Store,
    ) -> Vec<(Option<&'s Stored>, &'s Stored)> {
        let objects = &self.cluster.objects;
        let changed = self.store.changed_since(objects, before).into_iter();
        let pairs = changed.filter_map(|(before, after)| Some((before, after?)));
        let is_object = |stored: &Stored| matches!(stored.content, Content::Object { .. });
        let written = |(before, after): &(Option<&Stored>, &Stored)| {
            is_object(after)
                && before.is_none_or(|before| {
                    before.value().map(without_revision) != after.value().map(without_revision)
                })
        };
        pairs.filter(written).collect()
    }
}

fn without_revision(value: &Value) -> Value {
    let mut value = value.clone();
    value["metadata"]["resourceVersion"] = Value::Null;
    value
}

/// Whether `owner` controls `object`.
pub(in crate::themelios) fn owns(owner: &Value, object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let controls =
        |one: &Value| one["controller"] == true && one["uid"] == owner["metadata"]["uid"];
    owners.is_some_and(|owners| owners.iter().any(controls))
}

pub(in crate::themelios) fn is_active(pod: &Value) -> bool {
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    pod["metadata"]["deletionTimestamp"].is_null() && !ended
}

pub(in crate::themelios) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut ready = conditions.filter(|one| one["type"] == "Ready");
    pod["status"]["phase"] == "Running" && ready.any(|one| one["status"] == "True")
}

/// The number at the end of a pod's name.
pub(in crate::themelios) fn ordinal(pod: &Value) -> Option<i64> {
    pod["metadata"]["name"].as_str()?.rsplit_once('-')?.1.parse().ok()
}

pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// Whether the newest generation of a workload is observed.
pub(super) fn is_stable(object: &Value) -> bool {
    number(object, "/status/observedGeneration") >= number(object, "/metadata/generation")
}

/// `DeploymentComplete` of `pkg/controller/deployment/util`.
pub(super) fn is_complete(of: &Value) -> bool {
    let wanted = number(of, "/spec/replicas");
    let counts = ["updatedReplicas", "replicas", "availableReplicas"];
    is_stable(of)
        && counts.iter().all(|field| number(&of["status"], &format!("/{field}")) == wanted)
}

pub(super) fn hash(object: &Value) -> &Value {
    &object["metadata"]["labels"][HASH]
}

/// Whether a ReplicaSet is the one of a Deployment's present template.
pub(super) fn is_new(of: &Value, set: &Value) -> bool {
    let mut template = set["spec"]["template"].clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH);
    }
    template["spec"] == of["spec"]["template"]["spec"]
        && template["metadata"]["labels"] == of["spec"]["template"]["metadata"]["labels"]
}

/// The uids of ended pods that a Job has not counted.
pub(super) fn uncounted(job: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["succeeded", "failed"]
        .map(|list| job["status"]["uncountedTerminatedPods"][list].as_array());
    lists.into_iter().flatten().flatten()
}

pub(super) fn is_tracked(pod: &Value) -> bool {
    let finalizers = pod["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|all| all.iter().any(|one| one == TRACKING))
}
