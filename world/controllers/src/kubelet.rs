//! The kubelets of all nodes, as far as the cluster sees them.
//!
//! A pod that is bound, and whose claims are, runs and is ready at once; one that a Job controls, or nobody where its
//! `restartPolicy` is not `Always`, then ends well; one that is being deleted is gone at once, without using up its grace
//! period (kwok's default stages, `pod-fast`, where bare pods run on).
//! Annotations of the pod say otherwise (see [`script`]). A container that ends is started again as the pod's
//! `restartPolicy` says (see [`restart`]). Nothing is started before the pod has its volumes, nor a container before it
//! can have what its environment names ([`crate::data`]); what is missing is noticed at once when it comes, by a real
//! kubelet up to two minutes later ([`waiting`]).
//!
//! All containers of a pod do the same, but where the image of some is changed ([`replaced`]); what their probes see of it is told by [`life`]. Images that can't be pulled are
//! not there yet. Where the user gives kwok `Stage` files for pods, this kubelet leaves pods to them (the crate
//! `stages`).

use std::time::Duration;

use trace::{ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    object::{Body, Meta, Object, Text},
    pod::{Pod, Probes},
    request::{PodState, Request},
    scheduler::nodes,
    view::View,
};

mod life;
mod node;
mod restart;
mod script;
mod waiting;

use life::Life;
pub(crate) use node::is_stopped;
pub use node::{KUBELET, STOPPED, WELL};
use script::Script;
pub use waiting::CONFIG_ERROR;
use waiting::{containers_lack, is_config_error, lacks, wait};

/// What a container that was asked to end exits with: 128 and SIGTERM.
pub const TERMINATED: i64 = 143;

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let pod = match &object.body {
        Body::Pod(pod) => pod,
        Body::Node(node) => return node::speak(key, object, node, now, calls),
        _ => return Ok(None),
    };
    // A node that nobody has made has no kubelet.
    let node = ObjectKey::new(nodes(), "", &pod.node);
    if pod.node.is_empty() || view.get(&node).is_none_or(|node| is_stopped(&node.meta)) {
        return Ok(None);
    }
    let script = Script::read(&object.meta);
    if object.meta.is_deleted() {
        return end(key, object, pod, &script, now, calls);
    }
    let left = left(pod, now);
    let next = match &*pod.phase {
        "Pending" | "Running" if left == Some(Duration::ZERO) => {
            Ok(PodState::TooLong { restarts: pod.restarts })
        }
        "Pending" => match lacks(view, key, object, pod) {
            Some(lacks) => wait(pod, lacks, &life(&script, pod), (0, 0), now),
            None => Ok(running(&life(&script, pod), Duration::ZERO, 0)),
        },
        "Running" => match next(view, key, object, pod, &script, now) {
            Some(Ok(state)) => Ok(state),
            Some(Err(after)) => Err(Some(after)),
            None => Err(None),
        },
        // Of a pod that has ended no change is looked at (`UpdatePod` of `pod_workers.go`).
        _ => return Ok(None),
    };
    match next {
        Ok(state) => send(key, &object.meta, state, now, calls),
        // Each change of the spec makes a kubelet tell the status anew (KEP-5067).
        Err(_) if pod.observed_generation != object.meta.generation => {
            send(key, &object.meta, PodState::Same, now, calls)
        }
        Err(after) => Ok([left, after].into_iter().flatten().min()),
    }
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

/// What a running pod becomes next. Error: not before that time has passed.
fn next(
    view: &View,
    key: &ObjectKey,
    object: &Object,
    pod: &Pod,
    script: &Script,
    now: Time,
) -> Option<Result<PodState, Duration>> {
    if let Some(state) = replaced(pod, &life(script, pod)) {
        return Some(Ok(state));
    }
    // What waits for its environment has ended before, whatever runs beside it.
    let waits = pod.containers.iter().find(|one| is_config_error(one));
    let first = waits.or(pod.containers.first());
    let restarts = first.map_or(0, |container| container.restarts);
    // It waits to be started again.
    if let Some(first) = first
        && let Some((_, ended)) = first.ended
    {
        let left = restart::left(first, ended.unwrap_or(now), now);
        if !left.is_zero() {
            return Some(Err(left));
        }
        let (life, counts) = (life(script, pod), (restarts, restarts + 1));
        return match containers_lack(view, key, pod) {
            Some(lacks) => match wait(pod, lacks, &life, counts, now) {
                Ok(state) => Some(Ok(state)),
                Err(next) => next.map(Err),
            },
            None => Some(Ok(running(&life, Duration::ZERO, restarts + 1))),
        };
    }
    let started = pod.containers.iter().filter_map(|container| container.started).max();
    let started = started.unwrap_or(object.meta.created);
    let (age, life) = (now.since(started), life(script, pod));
    let code = script.code(|| before(view, object, restarts), has_an_end(object, pod));
    let ends = code.map(|code| (script.runs_for, code));
    let ends = ends.into_iter().chain(life.killed().map(|at| (at, TERMINATED)));
    let ends = ends.min_by_key(|(at, _)| *at);
    if let Some((_, code)) = ends.filter(|(at, _)| *at <= age) {
        return Some(Ok(ended(pod, code, restarts, now)));
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

/// Containers that run with another image than the pod names by now are ended and started again at once, whatever the
/// `restartPolicy` (`computePodActions` of `pkg/kubelet/kuberuntime`; the image is all that `HashContainer` looks at,
/// Kubernetes 1.36); of init containers those that go on beside the others.
///
/// Simplifications: what their environment lacks by now does not keep them from it; one that runs while another of its pod
/// was never started is replaced when all run. Who could notice: whoever changes an image and takes away what the
/// container names, or changes it before the pod has started.
fn replaced(pod: &Pod, life: &Life) -> Option<PodState> {
    let all = pod.init_containers.iter().chain(&pod.containers);
    let outdated = all.filter(|container| container.is_outdated && container.started.is_some());
    let containers: Vec<Text> = outdated.map(|container| container.name.clone()).collect();
    let (started, ready) = (life.is_started(Duration::ZERO), life.is_ready(Duration::ZERO));
    (!containers.is_empty()).then_some(PodState::Replaced { containers, started, ready })
}

/// Whether it is there to come to an end: one of a Job, or one that nobody controls and that is not to be started again
/// when it has ended well, such as a test of Helm.
fn has_an_end(object: &Object, pod: &Pod) -> bool {
    match object.meta.controller() {
        Some(owner) => *owner.kind == *"Job",
        None => matches!(&*pod.restart_policy, "Never" | "OnFailure"),
    }
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
fn ended(pod: &Pod, code: i64, restarts: i64, now: Time) -> PodState {
    let again = match &*pod.restart_policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    };
    let wait = || pod.containers.first().map_or(Duration::ZERO, |one| restart::wait(one, now));
    PodState::Ended { code, restarts, again: again.then(wait) }
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
    let runs = *pod.phase != *"Pending" || pod.containers.iter().any(|one| one.started.is_some());
    if !meta.finalizers.is_empty() && !pod.has_ended() && runs {
        let state = PodState::Ended { code: TERMINATED, restarts: pod.restarts, again: None };
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
    if let Some(waiting) = waiting::keys_affected(view, change) {
        return waiting;
    }
    let runs = |node: Option<&Object>| node.is_some_and(|node| !is_stopped(&node.meta));
    match change.key.resource == nodes() && runs(change.after) && !runs(change.before) {
        true => node::keys_affected(view, change),
        false => vec![],
    }
}

#[cfg(test)]
mod tests;
