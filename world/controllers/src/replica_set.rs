//! The ReplicaSet controller (`pkg/controller/replicaset`, Kubernetes 1.36): adopts and releases pods by its
//! selector, makes the missing ones, deletes the ones too many, and counts. Also the ReplicationController controller
//! (`pkg/controller/replication`), which is the same with an older type.
//!
//! Expectations have no part here: the view shows the controller's own writes.

use std::{cmp::Ordering, collections::BTreeMap, time::Duration};

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    object::{Body, Labels, Meta, Object, Owner, Text},
    pod::Pod,
    read,
    request::Request,
    selector::Selector,
    template::Template,
    view::View,
};

mod ranking;

/// At most this many pods are made or deleted in one go (`BurstReplicas`).
const BURST: usize = 500;

/// A ReplicaSet.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaSet {
    /// `spec.replicas`.
    pub replicas: i64,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// `spec.selector`.
    pub selector: Selector,
    /// `spec.template`.
    pub template: Template,
    /// `status`.
    pub status: ReplicaSetStatus,
}

/// A ReplicaSet's status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplicaSetStatus {
    /// `replicas`.
    pub replicas: i64,
    /// `fullyLabeledReplicas`.
    pub fully_labeled: i64,
    /// `readyReplicas`.
    pub ready: i64,
    /// `availableReplicas`.
    pub available: i64,
    /// `terminatingReplicas`; none where the server does not count them.
    pub terminating: Option<i64>,
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// The condition `ReplicaFailure`: since when, reason, message.
    pub failure: Option<(Time, Text, Text)>,
}

impl ReplicaSetStatus {
    /// So many more pods with these labels are there. Whether they are available is for the caller to say.
    fn count(&mut self, set: &ReplicaSet, labels: &Labels, ready: bool, pods: i64) {
        let full = set.template.labels.iter().all(|(key, value)| labels.get(key) == Some(value));
        self.replicas += pods;
        self.fully_labeled += if full { pods } else { 0 };
        self.ready += if ready { pods } else { 0 };
    }
}

impl ReplicaSet {
    pub(crate) fn read(object: &Value) -> ReplicaSet {
        let (spec, status) = (&object["spec"], &object["status"]);
        let failure = read::list(status, "conditions").find(|c| c["type"] == "ReplicaFailure");
        let failure = failure.map(|found| {
            let since = read::time(found, "lastTransitionTime").unwrap_or_default();
            (since, read::text(found, "reason"), read::text(found, "message"))
        });
        ReplicaSet {
            replicas: read::number(spec, "replicas"),
            min_ready_seconds: read::number(spec, "minReadySeconds"),
            selector: Selector::read(&spec["selector"]),
            template: Template::read(&spec["template"]),
            status: ReplicaSetStatus {
                replicas: read::number(status, "replicas"),
                fully_labeled: read::number(status, "fullyLabeledReplicas"),
                ready: read::number(status, "readyReplicas"),
                available: read::number(status, "availableReplicas"),
                terminating: status.get("terminatingReplicas").and_then(Value::as_i64),
                observed_generation: read::number(status, "observedGeneration"),
                failure,
            },
        }
    }

    /// A ReplicationController, whose selector is of labels only.
    pub(crate) fn read_older(object: &Value) -> ReplicaSet {
        let labels = read::labels(&object["spec"], "selector");
        let selector = Selector { labels, expressions: vec![] };
        ReplicaSet { selector, ..ReplicaSet::read(object) }
    }
}

pub(crate) fn replica_sets() -> GroupResource {
    GroupResource::new("apps", "replicasets")
}

pub(crate) fn replication_controllers() -> GroupResource {
    GroupResource::new("", "replicationcontrollers")
}

fn pods() -> GroupResource {
    GroupResource::new("", "pods")
}

/// The reference that a controller of this kind puts into what it makes (`metav1.NewControllerRef`).
pub(crate) fn controller_ref(api_version: &str, kind: &str, key: &ObjectKey, meta: &Meta) -> Owner {
    Owner {
        api_version: api_version.into(),
        kind: kind.into(),
        name: key.name.clone(),
        uid: meta.uid.clone(),
        controller: true,
        blocks: true,
    }
}

/// Whether an object belongs to a workload now, adopting or releasing it where that is due
/// (`ControllerRefManager.ClaimObject`).
pub(crate) fn claim(
    key: &ObjectKey,
    object: &Object,
    selector: &Selector,
    owner: &Owner,
    owner_deleted: bool,
    calls: &mut Calls<'_>,
) -> Result<bool, Stop> {
    let matches = !selector.is_empty() && selector.matches(&object.meta.labels);
    claim_if(matches, (key, object), owner, owner_deleted, None, calls)
}

/// As [`claim`], where more than a selector decides. What is adopted gets this finalizer.
pub(crate) fn claim_if(
    matches: bool,
    (key, object): (&ObjectKey, &Object),
    owner: &Owner,
    owner_deleted: bool,
    finalizer: Option<&'static str>,
    calls: &mut Calls<'_>,
) -> Result<bool, Stop> {
    let uid = || object.meta.uid.clone();
    match object.meta.controller() {
        Some(other) if other.uid != owner.uid => Ok(false),
        Some(_) if matches => Ok(true),
        Some(_) if owner_deleted => Ok(false),
        Some(_) => {
            let owners = vec![owner.uid.clone()];
            branch!(Releases);
            calls.need(|| Request::RemoveOwners { key: key.clone(), uid: uid(), owners })?;
            Ok(false)
        }
        None if owner_deleted || !matches || object.meta.is_deleted() => Ok(false),
        None => {
            branch!(Adopts);
            let adopted = calls.need(|| Request::Adopt {
                key: key.clone(),
                uid: uid(),
                owner: owner.clone(),
                finalizer,
            })?;
            Ok(matches!(adopted, Response::Written(_)))
        }
    }
}

/// What may belong to a workload: what it controls, and what nobody in its namespace controls.
pub(crate) fn candidates<'v>(
    view: &'v View,
    resource: &GroupResource,
    namespace: &str,
    uid: &str,
) -> Vec<(ObjectKey, &'v Object)> {
    let mut found: BTreeMap<ObjectKey, &Object> = view
        .dependents(uid)
        .filter(|(key, object)| {
            key.resource == *resource
                && object.meta.controller().is_some_and(|owner| *owner.uid == *uid)
        })
        .map(|(key, object)| (key.clone(), object))
        .collect();
    found.extend(view.uncontrolled(resource, namespace).map(|(key, object)| (key.clone(), object)));
    found.into_iter().collect()
}

fn owner(key: &ObjectKey, meta: &Meta) -> Owner {
    if key.resource == replica_sets() {
        return controller_ref("apps/v1", "ReplicaSet", key, meta);
    }
    branch!(ReplicationController);
    controller_ref("v1", "ReplicationController", key, meta)
}

fn counts_terminating(key: &ObjectKey) -> bool {
    key.resource == replica_sets()
}

/// Whether there is nothing to do, as far as that can be told without looking at each pod: as many as there should be,
/// none to adopt or to release, and the status says so. Where pods are available only some time after they are ready,
/// or something failed, each has to be looked at.
fn is_at_rest(view: &View, key: &ObjectKey, meta: &Meta, set: &ReplicaSet) -> bool {
    if meta.is_deleted() || set.min_ready_seconds != 0 || set.selector.is_empty() {
        return false;
    }
    let selects = |labels: &Labels| set.selector.matches(labels);
    if view.uncontrolled(&pods(), &key.namespace).any(|(_, pod)| selects(&pod.meta.labels)) {
        return false;
    }
    let (mut status, mut terminating) = (ReplicaSetStatus::default(), 0);
    for (alike, pods) in view.controlled(&meta.uid).filter(|(alike, _)| !alike.ended) {
        match (alike.deleted, selects(&alike.labels)) {
            (true, ours) => terminating += if ours { pods as i64 } else { 0 },
            (false, true) => status.count(set, &alike.labels, alike.ready, pods as i64),
            (false, false) => return false,
        }
    }
    status.available = status.ready;
    status.terminating = counts_terminating(key).then_some(terminating);
    status.observed_generation = meta.generation;
    status.replicas == set.replicas && status == set.status
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::ReplicaSet(set) = &object.body else { return Ok(None) };
    if is_at_rest(view, key, &object.meta, set) {
        return Ok(None);
    }
    let owner = owner(key, &object.meta);
    let deleted = object.meta.is_deleted();
    let mut active: Vec<(ObjectKey, &Object, &Pod)> = Vec::new();
    let (mut terminating, resource) = (0, pods());
    for (key, object) in candidates(view, &resource, &key.namespace, &object.meta.uid) {
        let Body::Pod(pod) = &object.body else { continue };
        if pod.has_ended() {
            continue;
        }
        if object.meta.is_deleted() {
            branch!(ReplicaSetTerminating);
            let ours = object.meta.controller().is_some_and(|found| found.uid == owner.uid);
            terminating += i64::from(ours && set.selector.matches(&object.meta.labels));
        } else if claim(&key, object, &set.selector, &owner, deleted, calls)? {
            active.push((key, object, pod));
        }
    }
    let managed = match deleted {
        true => Ok(()),
        false => manage(view, key, object, set, &active, now, calls)?,
    };
    let mut status = ReplicaSetStatus {
        terminating: counts_terminating(key).then_some(terminating),
        observed_generation: object.meta.generation,
        failure: match &managed {
            Ok(()) => None,
            Err((reason, message)) => Some(
                set.status
                    .failure
                    .clone()
                    .unwrap_or_else(|| (now, (*reason).into(), message.as_str().into())),
            ),
        },
        ..ReplicaSetStatus::default()
    };
    let mut next_check: Option<Duration> = None;
    for (_, object, pod) in &active {
        status.count(set, &object.meta.labels, pod.ready_since.is_some(), 1);
        let Some(since) = pod.ready_since else { continue };
        let wanted = Duration::from_secs(set.min_ready_seconds.unsigned_abs());
        match wanted.checked_sub(now.since(since)) {
            Some(left) if !left.is_zero() => {
                branch!(ReplicaSetMinReady);
                next_check = Some(next_check.map_or(left, |other| other.min(left)));
            }
            _ => status.available += 1,
        }
    }
    if status != set.status {
        calls.must(|| Request::ReplicaSetStatus {
            key: key.clone(),
            revision: object.meta.revision,
            status: status.clone(),
        })?;
    }
    match managed {
        Ok(()) => Ok(next_check),
        Err((_, message)) => Err(Stop::Failed(message)),
    }
}

/// Makes or deletes pods. The inner error: why that failed, as the status tells it.
fn manage(
    view: &View,
    key: &ObjectKey,
    object: &Object,
    set: &ReplicaSet,
    active: &[(ObjectKey, &Object, &Pod)],
    now: Time,
    calls: &mut Calls<'_>,
) -> Result<Result<(), (&'static str, String)>, Stop> {
    let wanted = usize::try_from(set.replicas).unwrap_or(0);
    match active.len().cmp(&wanted) {
        Ordering::Equal => Ok(Ok(())),
        Ordering::Less => {
            branch!(ReplicaSetGrows);
            let made = create(key, object, set, (wanted - active.len()).min(BURST), calls)?;
            Ok(made.map_err(|message| ("FailedCreate", message)))
        }
        Ordering::Greater => {
            branch!(ReplicaSetShrinks);
            let surplus = (active.len() - wanted).min(BURST);
            let mut failed = None;
            let gone = ranking::to_delete(view, object, active, surplus, now);
            let delete = |(key, pod, _): &(ObjectKey, &Object, &Pod)| {
                Request::delete(key.clone(), pod.meta.uid.clone())
            };
            for sent in calls.send_all(&gone, delete)? {
                if let Response::Refused { code, message, .. } = sent
                    && *code != 404
                {
                    failed.get_or_insert(("FailedDelete", message.to_string()));
                }
            }
            Ok(failed.map_or(Ok(()), Err))
        }
    }
}

/// Makes pods in batches that double, and stops after one in which a creation failed (`slowStartBatch`).
fn create(
    key: &ObjectKey,
    object: &Object,
    set: &ReplicaSet,
    count: usize,
    calls: &mut Calls<'_>,
) -> Result<Result<(), String>, Stop> {
    let (mut left, mut batch) = (count, 1);
    while left > 0 {
        let size = left.min(batch);
        let mut failed = None;
        let new = |_: &()| Request::CreatePod {
            namespace: key.namespace.clone(),
            generate_name: format!("{}-", key.name).into(),
            owner: owner(key, &object.meta),
            template: set.template.clone(),
        };
        for sent in calls.send_all(&vec![(); size], new)? {
            match sent {
                // Nothing can be made there any more, and that is nobody's fault.
                Response::Refused { reason, .. } if **reason == *"NamespaceTerminating" => {}
                Response::Refused { message, .. } => {
                    failed.get_or_insert(message.to_string());
                }
                _ => {}
            }
        }
        if let Some(message) = failed {
            branch!(ReplicaSetFailedCreate);
            return Ok(Err(message));
        }
        left -= size;
        batch *= 2;
    }
    Ok(Ok(()))
}

/// `of` is the type of the objects that keep pods.
pub(crate) fn keys_affected(view: &View, change: &Change<'_>, of: &GroupResource) -> Vec<Affected> {
    let mut affected = Vec::new();
    if change.key.resource == *of {
        affected.push(Affected::now(change.key));
    }
    if change.key.resource == pods() {
        for object in [change.before, change.after].into_iter().flatten() {
            affected.extend(owners_of(view, of, change.key, object));
        }
    }
    affected.dedup();
    affected
}

/// The workloads of a type that an object concerns: its controller, or all that could adopt it.
pub(crate) fn owners_of(
    view: &View,
    resource: &GroupResource,
    key: &ObjectKey,
    object: &Object,
) -> Vec<Affected> {
    if let Some(owner) = object.meta.controller() {
        let found = view.by_uid(&owner.uid).filter(|(key, _)| key.resource == *resource);
        return found.map(|(key, _)| Affected::now(key)).into_iter().collect();
    }
    let adopts = |found: &Object| {
        found
            .body
            .selector()
            .is_some_and(|selector| !selector.is_empty() && selector.matches(&object.meta.labels))
    };
    let all = view.list(resource, &key.namespace).filter(|(_, found)| adopts(found));
    all.map(|(key, _)| Affected::now(&key)).collect()
}

#[cfg(test)]
mod tests;
