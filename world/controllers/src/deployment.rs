//! The Deployment controller (`pkg/controller/deployment`, Kubernetes 1.36).
//!
//! Ported function by function; the names are upstream's, so that each can be laid beside its original. Events are
//! not written. Where upstream updates a Deployment's status twice in one go, the second update here carries the
//! revision that the first one made; upstream's meets a 409 and starts again. Whether a rollout that got stuck says
//! `NewReplicaSetCreated` or `ReplicaSetUpdated` depends there on who is faster; here it is always the latter.
//! The annotation `deprecated.deployment.rollback.to` (gone with extensions/v1beta1) is not looked at.

use std::time::Duration;

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Revision, Time};

use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    object::{Body, Labels, Meta, Object, Text},
    read,
    replica_set::{ReplicaSet, candidates, claim, controller_ref, owners_of, replica_sets},
    request::Request,
    selector::Selector,
    template::Template,
    view::View,
};

mod new_set;
mod rollout;
mod scale;
mod status;

pub use status::{DeploymentCondition, DeploymentStatus};

/// Upstream's `math.MaxInt32`, which means *none* for limits and deadlines.
const NONE: i64 = i32::MAX as i64;

/// A Deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// `spec.replicas`.
    pub replicas: i64,
    /// `spec.selector`.
    pub selector: Selector,
    /// `spec.template`.
    pub template: Template,
    /// `spec.strategy`.
    pub strategy: Strategy,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// `spec.progressDeadlineSeconds`, if there is one.
    pub progress_deadline_seconds: Option<i64>,
    /// `spec.revisionHistoryLimit`, if there is one.
    pub history_limit: Option<i64>,
    /// `spec.paused`.
    pub paused: bool,
    /// `status`.
    pub status: DeploymentStatus,
}

/// How old pods make place for new ones.
#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// All old ones first.
    Recreate,
    /// A few at a time.
    Rolling {
        /// `maxSurge`.
        surge: Amount,
        /// `maxUnavailable`.
        unavailable: Amount,
    },
}

/// An IntOrString: a number, or a share of the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A number.
    Number(i64),
    /// A percentage.
    Percent(i64),
}

impl Amount {
    pub(crate) fn read(value: &Value) -> Amount {
        let text = value.as_str().unwrap_or("");
        match text.strip_suffix('%').and_then(|text| text.parse().ok()) {
            Some(percent) => Amount::Percent(percent),
            None => Amount::Number(value.as_i64().unwrap_or(0)),
        }
    }

    /// Of so many, rounded up or down.
    pub(crate) fn of(self, all: i64, up: bool) -> i64 {
        match self {
            Amount::Number(number) => number,
            Amount::Percent(percent) if up => (percent * all + 99).div_euclid(100),
            Amount::Percent(percent) => (percent * all).div_euclid(100),
        }
    }
}

impl Deployment {
    pub(crate) fn read(object: &Value) -> Deployment {
        let (spec, status) = (&object["spec"], &object["status"]);
        let limit =
            |field: &str| spec.get(field).and_then(Value::as_i64).filter(|limit| *limit != NONE);
        let rolling = &spec["strategy"]["rollingUpdate"];
        Deployment {
            replicas: read::number(spec, "replicas"),
            selector: Selector::read(&spec["selector"]),
            template: Template::read(&spec["template"]),
            strategy: match spec["strategy"]["type"] == "Recreate" {
                true => Strategy::Recreate,
                false => Strategy::Rolling {
                    surge: Amount::read(&rolling["maxSurge"]),
                    unavailable: Amount::read(&rolling["maxUnavailable"]),
                },
            },
            min_ready_seconds: read::number(spec, "minReadySeconds"),
            progress_deadline_seconds: limit("progressDeadlineSeconds"),
            history_limit: limit("revisionHistoryLimit"),
            paused: read::flag(spec, "paused"),
            status: DeploymentStatus::read(status),
        }
    }

    /// `ResolveFenceposts`: surge and unavailable.
    fn fenceposts(&self) -> (i64, i64) {
        let Strategy::Rolling { surge, unavailable } = self.strategy else { return (0, 0) };
        match (surge.of(self.replicas, true), unavailable.of(self.replicas, false)) {
            (0, 0) => (0, 1),
            posts => posts,
        }
    }

    fn max_surge(&self) -> i64 {
        self.fenceposts().0
    }

    fn max_unavailable(&self) -> i64 {
        if self.replicas == 0 { 0 } else { self.fenceposts().1.min(self.replicas) }
    }
}

/// A ReplicaSet of a Deployment.
#[derive(Clone)]
pub(crate) struct Set {
    key: ObjectKey,
    object: Object,
}

impl Set {
    fn new(key: ObjectKey, object: Object) -> Option<Set> {
        matches!(object.body, Body::ReplicaSet(_)).then_some(Set { key, object })
    }

    fn meta(&self) -> &Meta {
        &self.object.meta
    }

    fn set(&self) -> &ReplicaSet {
        match &self.object.body {
            Body::ReplicaSet(set) => set,
            _ => unreachable!("`new` lets nothing else in"),
        }
    }

    fn replicas(&self) -> i64 {
        self.set().replicas
    }

    /// `ReplicaSetsByCreationTimestamp`.
    fn age(&self) -> (Time, Text) {
        (self.meta().created, self.key.name.clone())
    }
}

/// A Deployment while it is reconciled.
pub(crate) struct Work<'a, 'r> {
    calls: &'a mut Calls<'r>,
    key: &'a ObjectKey,
    meta: &'a Meta,
    spec: &'a Deployment,
    now: Time,
    /// Of the Deployment, as last written.
    revision: Revision,
    annotations: Labels,
    status: DeploymentStatus,
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Deployment(deployment) = &object.body else { return Ok(None) };
    let mut work = Work {
        calls,
        key,
        meta: &object.meta,
        spec: deployment,
        now,
        revision: object.meta.revision,
        annotations: object.meta.annotations.clone(),
        status: deployment.status.clone(),
    };
    if deployment.selector.is_empty() {
        if work.status.observed_generation < object.meta.generation {
            work.status.observed_generation = object.meta.generation;
            work.update_status()?;
        }
        return Ok(None);
    }
    let mut sets = work.claim_sets(view)?;
    if object.meta.is_deleted() {
        branch!(DeploymentDeleted);
        let (new, old) = work.sets_and_revision(&mut sets, false)?;
        work.sync_deployment_status(&all(&old, new.as_ref()))?;
        return Ok(None);
    }
    work.check_paused_conditions()?;
    if deployment.paused || work.is_scaling_event(&mut sets)? {
        branch!(DeploymentSynced);
        work.sync(&mut sets)?;
        return Ok(None);
    }
    match deployment.strategy {
        Strategy::Recreate => work.rollout_recreate(view, &mut sets),
        Strategy::Rolling { .. } => work.rollout_rolling(&mut sets),
    }
}

/// Old ReplicaSets, then the new one.
fn all(old: &[Set], new: Option<&Set>) -> Vec<Set> {
    old.iter().chain(new).cloned().collect()
}

fn active(sets: &[Set]) -> Vec<Set> {
    sets.iter().filter(|set| set.replicas() > 0).cloned().collect()
}

fn replicas_of(sets: &[Set]) -> i64 {
    sets.iter().map(Set::replicas).sum()
}

fn available_of(sets: &[Set]) -> i64 {
    sets.iter().map(|set| set.set().status.available).sum()
}

impl Work<'_, '_> {
    fn claim_sets(&mut self, view: &View) -> Result<Vec<Set>, Stop> {
        let owner = controller_ref("apps/v1", "Deployment", self.key, self.meta);
        let (mut sets, deleted) = (Vec::new(), self.meta.is_deleted());
        let resource = replica_sets();
        for (key, object) in candidates(view, &resource, &self.key.namespace, &self.meta.uid) {
            if claim(&key, object, &self.spec.selector, &owner, deleted, self.calls)? {
                sets.extend(Set::new(key, object.clone()));
            }
        }
        sets.sort_by_key(Set::age);
        Ok(sets)
    }

    /// PUT of the status as it stands here.
    fn update_status(&mut self) -> Result<(), Stop> {
        let (key, revision) = (self.key.clone(), self.revision);
        let (annotations, status) = (&self.annotations, &self.status);
        let written = self.calls.must(|| Request::DeploymentStatus {
            key,
            revision,
            annotations: annotations.clone(),
            status: Box::new(status.clone()),
        })?;
        if let Some(written) = written {
            self.revision = written.meta.revision;
        }
        Ok(())
    }

    /// `isScalingEvent`.
    fn is_scaling_event(&mut self, sets: &mut [Set]) -> Result<bool, Stop> {
        let (new, old) = self.sets_and_revision(sets, false)?;
        let sets = active(&all(&old, new.as_ref()));
        Ok(sets
            .iter()
            .any(|set| scale::desired(set).is_some_and(|desired| desired != self.spec.replicas)))
    }

    /// `sync`: when scaled or paused.
    fn sync(&mut self, sets: &mut [Set]) -> Result<(), Stop> {
        let (new, old) = self.sets_and_revision(sets, false)?;
        self.scale(new.as_ref(), &old)?;
        if self.spec.paused {
            self.cleanup(&old)?;
        }
        self.sync_deployment_status(&all(&old, new.as_ref()))
    }
}

pub(crate) fn deployments() -> GroupResource {
    GroupResource::new("apps", "deployments")
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let mut affected = Vec::new();
    if change.key.resource == deployments() {
        affected.push(Affected::now(change.key));
    }
    if change.key.resource == replica_sets() {
        for object in [change.before, change.after].into_iter().flatten() {
            affected.extend(owners_of(view, &deployments(), change.key, object));
        }
    }
    // Recreate waits for the last old pod to go.
    if let (Some(Object { meta, body: Body::Pod(_) }), None) = (change.before, change.after) {
        affected.extend(recreated(view, meta));
    }
    affected.dedup();
    affected
}

fn recreated(view: &View, pod: &Meta) -> Option<Affected> {
    let (_, set) = view.by_uid(&pod.controller()?.uid)?;
    let (key, owner) = view.by_uid(&set.meta.controller()?.uid)?;
    let Body::Deployment(deployment) = &owner.body else { return None };
    (deployment.strategy == Strategy::Recreate).then(|| Affected::now(key))
}

/// After how long a key that waits for a deadline comes back: a second later, as upstream.
fn after_deadline(since: Time, deadline_seconds: i64, now: Time) -> Duration {
    let due = since.plus(Duration::from_secs(deadline_seconds.unsigned_abs()));
    due.since(now) + Duration::from_secs(1)
}

#[cfg(test)]
mod tests;
