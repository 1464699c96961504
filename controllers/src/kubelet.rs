//! The kubelets of all nodes, as far as the cluster sees them.
//!
//! A pod that is bound, and whose claims are, runs and is ready at once; one that a Job controls then ends well; one
//! that is being deleted is gone at once, without using up its grace period (kwok's default stages, `pod-fast`).
//! Annotations of the pod say otherwise (see [`script`]). A container that ends is started again as the pod's
//! `restartPolicy` says, after 10 s, 20 s and so on, up to 5 min.
//!
//! All containers of a pod do the same; what their probes see of it is told by [`life`]. Images that can't be pulled are
//! not there yet. Where the user gives kwok `Stage` files for pods, this kubelet leaves pods to them (the crate
//! `stages`).

use std::time::Duration;

use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    object::{Body, Meta, Object},
    pod::{Pod, Probes},
    request::{PodState, Request},
    scheduler::nodes,
    view::View,
    volumes,
};

mod life;
mod script;

use life::Life;
use script::Script;

/// Before a container is started for the second time; each further time doubles it.
const FIRST_RESTART: Duration = Duration::from_secs(10);
/// `MaxContainerBackOff`.
const LONGEST_RESTART: Duration = Duration::from_secs(300);
/// What a container that was asked to end exits with: 128 and SIGTERM.
pub const TERMINATED: i64 = 143;

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Pod(pod) = &object.body else { return Ok(None) };
    // A node that nobody has made has no kubelet.
    let node = ObjectKey::new(nodes(), "", &pod.node);
    if pod.node.is_empty() || view.get(&node).is_none() {
        return Ok(None);
    }
    let script = Script::read(&object.meta);
    if object.meta.is_deleted() {
        return end(key, object, pod, &script, now, calls);
    }
    let mut turn = |state| send(key, &object.meta, state, now, calls);
    match &*pod.phase {
        "Pending" if !has_volumes(view, key, pod) => Ok(None),
        "Pending" => turn(running(&life(&script, pod), Duration::ZERO, 0)),
        "Running" => match (next(view, object, pod, &script, now), left(pod, now)) {
            (_, Some(Duration::ZERO)) => turn(PodState::TooLong { restarts: pod.restarts }),
            (Some(Ok(state)), _) => turn(state),
            (Some(Err(after)), left) => Ok(Some(left.map_or(after, |left| left.min(after)))),
            (None, left) => Ok(left),
        },
        _ => Ok(None),
    }
}

/// How long containers wait that have ended after so many restarts.
pub fn restarts_after(restarts: i64) -> Duration {
    let doublings = u32::try_from(restarts).unwrap_or(0).min(5);
    (FIRST_RESTART * 2u32.pow(doublings)).min(LONGEST_RESTART)
}

/// How long it may still run; none if for ever (`activeDeadlineHandler`).
fn left(pod: &Pod, now: Time) -> Option<Duration> {
    let seconds = u64::try_from(pod.deadline_seconds?).ok()?;
    Some(pod.started?.plus(Duration::from_secs(seconds)).since(now))
}

fn send(
    key: &ObjectKey,
    meta: &Meta,
    state: PodState,
    since: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let (key, uid) = (key.clone(), meta.uid.clone());
    calls.need(|| Request::PodPhase { key, uid, state, since })?;
    Ok(None)
}

/// Whether all its claims are bound.
fn has_volumes(view: &View, key: &ObjectKey, pod: &Pod) -> bool {
    pod.claims.iter().all(|(_, name)| {
        let claim = ObjectKey::new(volumes::claims(), &key.namespace, name);
        matches!(
            view.get(&claim).map(|claim| &claim.body),
            Some(Body::Claim(claim)) if *claim.phase == *"Bound"
        )
    })
}

/// What a running pod becomes next. Error: not before that time has passed.
fn next(
    view: &View,
    object: &Object,
    pod: &Pod,
    script: &Script,
    now: Time,
) -> Option<Result<PodState, Duration>> {
    let first = pod.containers.first();
    let restarts = first.map_or(0, |container| container.restarts);
    // It waits to be started again.
    if let Some((_, ended)) = first.and_then(|container| container.ended.as_ref()) {
        let left = restarts_after(restarts).saturating_sub(now.since(ended.unwrap_or(now)));
        let again = running(&life(script, pod), Duration::ZERO, restarts + 1);
        return Some(if left.is_zero() { Ok(again) } else { Err(left) });
    }
    let started = first.and_then(|container| container.started).unwrap_or(object.meta.created);
    let (age, life) = (now.since(started), life(script, pod));
    let by_job = object.meta.controller().is_some_and(|owner| *owner.kind == *"Job");
    let code = script.code(|| before(view, object, restarts), by_job);
    let ends = code.map(|code| (script.runs_for, code));
    let ends = ends.into_iter().chain(life.killed().map(|at| (at, TERMINATED)));
    let ends = ends.min_by_key(|(at, _)| *at);
    if let Some((_, code)) = ends.filter(|(at, _)| *at <= age) {
        return Some(Ok(ended(pod, code, restarts)));
    }
    // Somebody else may have said that it is ready before its time; only a probe or a gate says the contrary.
    let ready = life.is_ready(age) && pod.gates_hold();
    let tells = match pod.ready_since {
        None => ready,
        Some(_) => life.fails(age) || !pod.gates_hold(),
    };
    let starts = life.is_started(age)
        && pod.probes.as_ref().is_some_and(|probes| probes.startup.is_some())
        && first.is_some_and(|container| !container.is_started);
    if tells || starts {
        return Some(Ok(running(&life, age, restarts)));
    }
    let next = life.next(age).into_iter().chain(ends.map(|(at, _)| at)).min()?;
    Some(Err(next - age))
}

fn life(script: &Script, pod: &Pod) -> Life {
    match &pod.probes {
        Some(probes) => Life::of(script, probes),
        None => Life::of(script, &Probes::default()),
    }
}

/// Its containers run, at this age.
fn running(life: &Life, age: Duration, restarts: i64) -> PodState {
    PodState::Running { started: life.is_started(age), ready: life.is_ready(age), restarts }
}

/// How its containers end: for good, or until they are started again.
fn ended(pod: &Pod, code: i64, restarts: i64) -> PodState {
    let again = match &*pod.restart_policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    };
    PodState::Ended { code, restarts, again }
}

/// How often its containers, or earlier pods in its place, have ended before.
fn before(view: &View, object: &Object, restarts: i64) -> usize {
    let Some(owner) = object.meta.controller() else { return restarts as usize };
    let index = |meta: &Meta| meta.annotations.get(crate::job::INDEX).cloned();
    let earlier = view.dependents(&owner.uid).filter(|(_, other)| {
        let ended = matches!(&other.body, Body::Pod(pod) if pod.has_ended());
        ended && index(&other.meta) == index(&object.meta)
    });
    earlier.count() + restarts as usize
}

/// A pod that is being deleted.
fn end(
    key: &ObjectKey,
    object: &Object,
    pod: &Pod,
    script: &Script,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let meta = &object.meta;
    let (Some(until), Some(grace)) = (meta.deleted, meta.grace_seconds) else { return Ok(None) };
    if grace != 0 {
        let given = Duration::from_secs(grace.unsigned_abs());
        let asked = Time(until.0 - given.as_nanos() as i64);
        let left = script.ends_after.min(given).saturating_sub(now.since(asked));
        if !left.is_zero() {
            return Ok(Some(left));
        }
    }
    // With finalizers it stays: then this says that nothing of it runs any more.
    if !meta.finalizers.is_empty() && !pod.has_ended() && *pod.phase != *"Pending" {
        let state = PodState::Ended { code: TERMINATED, restarts: pod.restarts, again: false };
        send(key, meta, state, now, calls)?;
    }
    if grace != 0 {
        remove(key, meta, calls)?;
    }
    Ok(None)
}

fn remove(key: &ObjectKey, meta: &Meta, calls: &mut Calls<'_>) -> Result<(), Stop> {
    calls.need(|| Request::Delete {
        key: key.clone(),
        uid: meta.uid.clone(),
        revision: None,
        propagation: None,
        grace_seconds: Some(0),
    })?;
    Ok(())
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let bound = |object: &Object| matches!(&object.body, Body::Pod(pod) if !pod.node.is_empty());
    if change.after.is_some_and(bound) {
        return vec![Affected::now(change.key)];
    }
    if change.key.resource == volumes::claims() {
        let pods = view.list(&GroupResource::new("", "pods"), &change.key.namespace);
        let waits = pods.filter(|(_, object)| match &object.body {
            Body::Pod(pod) if *pod.phase == *"Pending" && !pod.node.is_empty() => {
                pod.claims.iter().any(|(_, claim)| *claim == change.key.name)
            }
            _ => false,
        });
        return waits.map(|(key, _)| Affected::now(&key)).collect();
    }
    // A node that joins: what was bound to it before.
    match (change.before, change.after) {
        (None, Some(_)) if change.key.resource == nodes() => {
            view.on_node(&change.key.name).map(|(key, _)| Affected::now(key)).collect()
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests;
