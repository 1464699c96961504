//! Pods go from nodes whose taints they don't tolerate (`pkg/controller/tainteviction`, Kubernetes 1.36).
//!
//! A toleration that ends is counted from when pod and taints are first seen together, which is remembered until the
//! pod is gone or may stay ([`Memory::GoesAt`]), as in upstream's `taintEvictionQueue`: another taint that comes later
//! changes nothing about it. Controllers that start anew count anew.

use std::time::Duration;

use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Body, Object},
    pod::{Pod, Toleration},
    request::{Memory, Request},
    scheduler::{nodes, toleration_of},
    view::View,
};

/// How long a pod may stay on its node.
#[derive(PartialEq)]
enum Stay {
    ForEver,
    For(Duration),
    No,
}

/// `processPodOnNode`, `getMinTolerationTime`
fn stay(view: &View, pod: &Pod) -> Stay {
    let node = view.get(&ObjectKey::new(nodes(), "", &pod.node)).map(|node| &node.body);
    let Some(Body::Node(node)) = node else { return Stay::ForEver };
    let taints = node.taints.iter().filter(|taint| *taint.effect == *"NoExecute");
    let used: Option<Vec<&Toleration>> = taints.map(|taint| toleration_of(pod, taint)).collect();
    let Some(used) = used else { return Stay::No };
    match used.iter().filter_map(|toleration| toleration.seconds).min() {
        None => Stay::ForEver,
        Some(seconds) if seconds <= 0 => Stay::No,
        Some(seconds) => Stay::For(Duration::from_secs(seconds.unsigned_abs())),
    }
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Pod(pod) = &object.body else { return Ok(None) };
    if object.meta.is_deleted() {
        return Ok(None);
    }
    let known = view.goes_at(key);
    let at = match stay(view, pod) {
        Stay::ForEver => None,
        Stay::For(time) => Some(known.unwrap_or(now.plus(time))),
        Stay::No => Some(now),
    };
    let kept = at.filter(|at| *at > now);
    if kept != known {
        let memory = Memory::GoesAt(kept);
        calls.send(|| Request::Remember { key: key.clone(), memory })?;
    }
    let Some(at) = at else { return Ok(None) };
    if at > now {
        branch!(EvictionLater);
        return Ok(Some(at.since(now)));
    }
    let told = pod.conditions.contains(&("DisruptionTarget".into(), "True".into()));
    if !told {
        calls.need(|| Request::PodCondition {
            key: key.clone(),
            uid: object.meta.uid.clone(),
            kind: "DisruptionTarget",
            status: "True",
            reason: "DeletionByTaintManager",
            message: "Taint manager: deleting due to NoExecute taint".into(),
            since: now,
            phase: None,
        })?;
    }
    branch!(Evicts);
    calls.need(|| Request::delete(key.clone(), object.meta.uid.clone()))?;
    Ok(None)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let concerned = |key: &ObjectKey, object: &Object| {
        let goes = |pod| stay(view, pod) != Stay::ForEver || view.goes_at(key).is_some();
        matches!(&object.body, Body::Pod(pod) if goes(pod)) && !object.meta.is_deleted()
    };
    if change.key.resource == GroupResource::new("", "pods") {
        return match change.after {
            Some(pod) if concerned(change.key, pod) => vec![Affected::now(change.key)],
            _ => vec![],
        };
    }
    if change.key.resource != nodes() || change.after.is_none() {
        return vec![];
    }
    let pods = view.on_node(&change.key.name).filter(|(key, pod)| concerned(key, pod));
    pods.map(|(key, _)| Affected::now(key)).collect()
}

#[cfg(test)]
mod tests;
