//! Which pods may be evicted: the plugin DefaultEvictor (`pkg/framework/plugins/defaultevictor`).

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;
use trace::{GroupResource, ObjectKey};

use super::{
    args::{Scope, Threshold},
    cycle::{Cycle, Guest, Host, hosts},
    fit,
};
use crate::{
    object::{Body, Text},
    selector::Selector,
    view::View,
};

/// `SystemCriticalPriority`: pods from here on keep a cluster alive.
pub(super) const SYSTEM_CRITICAL: i64 = 2_000_000_000;
/// A pod that has it may be evicted, whatever it is.
const EVICT: &str = "descheduler.alpha.kubernetes.io/evict";
/// A pod that has it would rather not be (`SoftNoEvictionAnnotationKey`).
pub(super) const NO_EVICTION: &str = "descheduler.alpha.kubernetes.io/prefer-no-eviction";
const MIRROR: &str = "kubernetes.io/config.mirror";
const SOURCE: &str = "kubernetes.io/config.source";

/// A reason not to evict a pod (`PodProtection`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum Protection {
    PodsWithLocalStorage,
    DaemonSetPods,
    SystemCriticalPods,
    FailedBarePods,
    #[serde(rename = "PodsWithPVC")]
    PodsWithClaims,
    #[serde(rename = "PodsWithoutPDB")]
    PodsWithoutBudget,
    PodsWithResourceClaims,
}

impl Protection {
    /// `defaultPodProtections`.
    pub(super) const DEFAULT: [Protection; 4] = [
        Protection::PodsWithLocalStorage,
        Protection::SystemCriticalPods,
        Protection::FailedBarePods,
        Protection::DaemonSetPods,
    ];
}

/// DefaultEvictorArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evictor {
    /// `nodeSelector`: of the nodes that a pod may fit.
    pub(super) node_selector: Selector,
    /// `labelSelector`.
    pub(super) labels: Option<Selector>,
    /// `namespaceLabelSelector`.
    pub(super) namespace_labels: Option<Selector>,
    /// `priorityThreshold`.
    pub(super) threshold: Threshold,
    /// `nodeFit`.
    pub(super) node_fit: bool,
    /// `minReplicas`.
    pub(super) min_replicas: u64,
    /// `minPodAge`.
    pub(super) min_age: Option<Duration>,
    /// Whether `noEvictionPolicy` is Mandatory.
    pub(super) heeds_no_eviction: bool,
    /// Those that hold.
    pub(super) protections: BTreeSet<Protection>,
    /// `podProtections.config.PodsWithPVC.protectedStorageClasses`; empty for all.
    pub(super) classes: Vec<Text>,
}

/// A profile's DefaultEvictor.
pub(super) struct Filter<'v> {
    args: &'v Evictor,
    /// Pods from this priority on stay.
    threshold: i64,
    /// Nodes that a pod may fit.
    hosts: Vec<Host<'v>>,
}

impl<'v> Filter<'v> {
    /// Errors: a PriorityClass that is not there, or is too high (`GetPriorityValueFromPriorityThreshold`).
    pub(super) fn new(view: &'v View, args: &'v Evictor) -> Result<Filter<'v>, String> {
        let threshold = match &args.threshold {
            Threshold::Value(value) => *value,
            Threshold::Class(name) => {
                let resource = GroupResource::new("scheduling.k8s.io", "priorityclasses");
                let class = view.get(&ObjectKey::new(resource, "", name));
                match class.map(|class| &class.body) {
                    Some(Body::PriorityClass(value)) => *value,
                    _ => return Err(format!("there is no PriorityClass {name:?}")),
                }
            }
        };
        if threshold > SYSTEM_CRITICAL {
            return Err(format!("priority threshold can't be greater than {SYSTEM_CRITICAL}"));
        }
        let selected = hosts(view).filter(|host| args.node_selector.matches(host.labels));
        Ok(Filter { args, threshold, hosts: selected.collect() })
    }

    /// Whether a pod may be evicted at all (`Filter`).
    pub(super) fn allows(&self, cycle: &Cycle<'_, '_, '_>, guest: &Guest<'_>) -> bool {
        let annotations = &guest.meta.annotations;
        if annotations.contains_key(EVICT) {
            return true;
        }
        let mirrors = annotations.contains_key(MIRROR);
        let is_static = annotations.get(SOURCE).is_some_and(|source| **source != *"api");
        let declines = self.args.heeds_no_eviction && annotations.contains_key(NO_EVICTION);
        !mirrors
            && !is_static
            && !declines
            && !cycle.is_going(guest)
            && !self.is_bare(guest)
            && !self.args.protections.iter().any(|one| self.protects(cycle.view, *one, guest))
            && self.args.labels.as_ref().is_none_or(|labels| labels.matches(&guest.meta.labels))
            && self.has_replicas(cycle.view, guest)
            && self.args.min_age.is_none_or(|age| {
                guest.pod.started.is_some_and(|started| cycle.now.since(started) >= age)
            })
    }

    /// The same, and whether it may be evicted now (`PreEvictionFilter`).
    pub(super) fn allows_now(&self, cycle: &Cycle<'_, '_, '_>, guest: &Guest<'_>) -> bool {
        self.allows(cycle, guest) && self.may_go(cycle.view, guest)
    }

    /// The same, of a plugin's own namespaces and labels: what most plugins list.
    pub(super) fn allows_of(
        &self,
        cycle: &Cycle<'_, '_, '_>,
        scope: &Scope,
        guest: &Guest<'_>,
    ) -> bool {
        scope.covers(guest) && self.allows_now(cycle, guest)
    }

    /// `PreEvictionFilter`.
    pub(super) fn may_go(&self, view: &View, guest: &Guest<'_>) -> bool {
        if self.args.node_fit && !fit::fits_another(view, guest, &self.hosts) {
            return false;
        }
        let Some(labels) = &self.args.namespace_labels else { return true };
        let key = ObjectKey::new(GroupResource::new("", "namespaces"), "", &guest.key.namespace);
        view.get(&key).is_some_and(|namespace| labels.matches(&namespace.meta.labels))
    }

    fn protects(&self, view: &View, protection: Protection, guest: &Guest<'_>) -> bool {
        let Guest { meta, pod, .. } = guest;
        match protection {
            Protection::PodsWithLocalStorage => pod.leaving.has_local_storage,
            Protection::DaemonSetPods => {
                meta.owners.iter().any(|owner| *owner.kind == *"DaemonSet")
            }
            // Without this protection the threshold does not hold either.
            Protection::SystemCriticalPods => {
                pod.placing.priority >= SYSTEM_CRITICAL || pod.placing.priority >= self.threshold
            }
            // They are never without any: see `is_bare`.
            Protection::FailedBarePods => false,
            Protection::PodsWithClaims => self.keeps_claims(view, guest),
            Protection::PodsWithoutBudget => !has_budget(view, guest),
            Protection::PodsWithResourceClaims => pod.leaving.has_resource_claims,
        }
    }

    /// Whether nobody would make the pod again: of such pods only those that have failed may go, where they are not
    /// protected (`applyFailedBarePodsProtection`).
    fn is_bare(&self, guest: &Guest<'_>) -> bool {
        let protected = self.args.protections.contains(&Protection::FailedBarePods);
        guest.meta.owners.is_empty() && (protected || *guest.pod.phase != *"Failed")
    }

    /// Whether a claim of the pod protects it, or nobody knows (`applyPVCPodsProtection`).
    fn keeps_claims(&self, view: &View, guest: &Guest<'_>) -> bool {
        let claims = &guest.pod.leaving.claims;
        if self.args.classes.is_empty() {
            return !claims.is_empty();
        }
        claims.iter().any(|name| {
            let resource = GroupResource::new("", "persistentvolumeclaims");
            let claim = view.get(&ObjectKey::new(resource, &guest.key.namespace, name));
            let class = match claim.map(|claim| &claim.body) {
                Some(Body::Claim(claim)) => claim.class.clone().filter(|name| !name.is_empty()),
                _ => None,
            };
            class.is_none_or(|class| self.args.classes.contains(&class))
        })
    }

    /// `minReplicas`: of pods with one owner, whichever it is.
    fn has_replicas(&self, view: &View, guest: &Guest<'_>) -> bool {
        let [owner] = &guest.meta.owners[..] else { return true };
        let least = self.args.min_replicas;
        let is_pod =
            |(_, object): &(&ObjectKey, &crate::Object)| matches!(object.body, Body::Pod(_));
        least <= 1 || view.dependents(&owner.uid).filter(is_pod).count() as u64 >= least
    }
}

/// `IsPodCoveredByPDB`.
fn has_budget(view: &View, guest: &Guest<'_>) -> bool {
    let resource = GroupResource::new("policy", "poddisruptionbudgets");
    let mut budgets = view.list(&resource, &guest.key.namespace);
    budgets.any(|(_, object)| match &object.body {
        Body::Budget(budget) => {
            budget.selector.as_ref().is_some_and(|selector| selector.matches(&guest.meta.labels))
        }
        _ => false,
    })
}
