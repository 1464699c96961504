//! The pod garbage collector (`pkg/controller/podgc`, Kubernetes 1.36): pods that are deleted on nodes out of service,
//! pods of nodes that are gone, and pods that are deleted and were never bound.
//!
//! It looks every 20 s, at all pods. A node that pods name and that is not there is believed to be gone when it is
//! still not there 40 s after the look that missed it first, whatever was in between; which nodes those are it
//! remembers ([`Memory::MissedUntil`]).
//!
//! Looks fall on the world's full thirds of a minute. Where none of them would find anything none takes place: they
//! would be stops of the clock for ever. Upstream's begin when it starts, and it is chance there whether the second
//! look after the first that missed a node comes before those 40 s are over. Who could notice: nobody but a reader of
//! times. Not there: the limit of 12500 pods that have ended.

use std::{collections::BTreeSet, time::Duration};

use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    object::{Body, Object},
    pod::Pod,
    request::{Memory, Request},
    scheduler::nodes,
    view::View,
};

/// From one look to the next (`gcCheckPeriod`).
const PERIOD: Duration = Duration::from_secs(20);
/// So long a node must be gone (`quarantineTime`).
const QUARANTINE: Duration = Duration::from_secs(40);
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// Why a pod is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    OutOfService,
    NodeGone,
    Unbound,
}

/// A pod that is to go.
type Found<'v> = (ObjectKey, &'v Object, &'v Pod, Due);

fn pods() -> GroupResource {
    GroupResource::new("", "pods")
}

/// The key of everything: a look is at all pods.
fn everything() -> ObjectKey {
    ObjectKey::new(pods(), "", "")
}

fn node_key(pod: &Pod) -> ObjectKey {
    ObjectKey::new(nodes(), "", &pod.node)
}

/// The first look at this time or after it.
fn look(at: Time) -> Time {
    let since_look = at.0.rem_euclid(PERIOD.as_nanos() as i64);
    let since_look = Duration::from_nanos(since_look as u64);
    if since_look.is_zero() { at } else { at.plus(PERIOD - since_look) }
}

/// How long it is to the next look.
fn until_next(now: Time) -> Duration {
    look(now.plus(Duration::from_nanos(1))).since(now)
}

fn due(view: &View, object: &Object, pod: &Pod) -> Option<Due> {
    let deleted = object.meta.is_deleted();
    if deleted && object.meta.grace_seconds == Some(0) && pod.has_ended() {
        // All that could be done is done: something else keeps it.
        return None;
    }
    if pod.node.is_empty() {
        return deleted.then_some(Due::Unbound);
    }
    match view.get(&node_key(pod)).map(|node| &node.body) {
        Some(Body::Node(node)) => {
            let out = node.taints.iter().any(|taint| *taint.key == *OUT_OF_SERVICE);
            (deleted && out && !node.ready).then_some(Due::OutOfService)
        }
        _ => Some(Due::NodeGone),
    }
}

/// Every pod that is to go, by namespace and name.
fn all_due(view: &View) -> Vec<Found<'_>> {
    let found = view.list(&pods(), "").filter_map(|(key, object)| {
        let Body::Pod(pod) = &object.body else { return None };
        let pod: &Pod = pod;
        due(view, object, pod).map(|due| (key, object, pod, due))
    });
    found.collect()
}

pub(crate) fn reconcile(view: &View, now: Time, calls: &mut Calls<'_>) -> Reconciled {
    let all = all_due(view);
    let of = |due: Due| all.iter().filter(move |found| found.3 == due);
    let mut again = None;
    let mut out: Vec<&Found<'_>> = of(Due::OutOfService).collect();
    // Upstream takes those first that a kubelet has evicted, which none does here.
    out.sort_by_key(|(key, object, ..)| (object.meta.created, key.name.clone()));
    for found in out {
        again = sooner(again, collect(found, now, calls)?);
    }
    let missed: BTreeSet<ObjectKey> = of(Due::NodeGone).map(|found| node_key(found.2)).collect();
    for node in missed.iter().filter(|node| view.missed_until(node).is_none()) {
        let memory = Memory::MissedUntil(Some(now.plus(QUARANTINE)));
        calls.send(|| Request::Remember { key: node.clone(), memory })?;
        again = sooner(again, Some(look(now.plus(QUARANTINE)).since(now)));
    }
    let mut gone = BTreeSet::new();
    for (node, until) in view.all_missed() {
        if now < *until {
            again = sooner(again, Some(look(*until).since(now)));
            continue;
        }
        let memory = Memory::MissedUntil(None);
        calls.send(|| Request::Remember { key: node.clone(), memory })?;
        if view.get(node).is_none() {
            gone.insert(node);
        }
    }
    for found in of(Due::NodeGone).filter(|found| gone.contains(&node_key(found.2))) {
        again = sooner(again, collect(found, now, calls)?);
    }
    for found in of(Due::Unbound) {
        again = sooner(again, collect(found, now, calls)?);
    }
    Ok(again)
}

fn sooner(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    [one, other].into_iter().flatten().min()
}

/// Marks a pod as failed, where it has not ended, and deletes it. If one of the two is refused, when to try again:
/// others don't wait for it.
fn collect(
    (key, object, pod, due): &Found<'_>,
    now: Time,
    calls: &mut Calls<'_>,
) -> Result<Option<Duration>, Stop> {
    if !pod.has_ended() {
        let (kind, reason, message) = match due {
            Due::NodeGone => {
                branch!(PodGcNodeGone);
                ("DisruptionTarget", "DeletionByPodGC", "PodGC: node no longer exists")
            }
            Due::OutOfService | Due::Unbound => {
                branch!(PodGcDeleted);
                ("", "", "")
            }
        };
        let marked = calls.send(|| Request::PodCondition {
            key: key.clone(),
            uid: object.meta.uid.clone(),
            kind,
            status: "True",
            reason,
            message: message.into(),
            since: now,
            phase: Some("Failed"),
        })?;
        if is_refused(marked) {
            return Ok(Some(until_next(now)));
        }
    }
    let deleted = calls.send(|| Request::Delete {
        key: key.clone(),
        uid: object.meta.uid.clone(),
        revision: None,
        propagation: None,
        grace_seconds: Some(0),
    })?;
    Ok(is_refused(deleted).then(|| until_next(now)))
}

/// Whether a write was refused; what is gone needs none.
fn is_refused(response: &Response) -> bool {
    matches!(response, Response::Refused { code, .. } if *code != 404)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>, now: Time) -> Vec<Affected> {
    let is_due = |object: &Object| matches!(&object.body, Body::Pod(pod) if due(view, object, pod).is_some());
    let concerned = if change.key.resource == pods() {
        change.after.is_some_and(is_due)
    } else if change.key.resource == nodes() {
        view.on_node(&change.key.name).any(|(_, pod)| is_due(pod))
    } else {
        false
    };
    match concerned {
        true => vec![Affected { key: everything(), after: until_next(now) }],
        false => vec![],
    }
}

#[cfg(test)]
mod tests;
