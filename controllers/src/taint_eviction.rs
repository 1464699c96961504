//! Pods go from nodes whose taints they don't tolerate (`pkg/controller/tainteviction`, Kubernetes 1.36).
//!
//! A toleration that ends is counted from the taint's `timeAdded`, or the pod's creation where that is later; upstream
//! counts from when it first saw both. Taints without that time, which users write, are tolerated for ever by a
//! toleration that ends. Who could notice: whoever taints a node by hand and waits for `tolerationSeconds`.

use std::time::Duration;

use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Body, Object},
    pod::{Pod, Toleration},
    request::Request,
    scheduler::{Taint, nodes, toleration_of},
    view::View,
};

/// When a pod has to go; none: it may stay.
fn due(view: &View, object: &Object, pod: &Pod) -> Option<Time> {
    let node = view.get(&ObjectKey::new(nodes(), "", &pod.node))?;
    let Body::Node(node) = &node.body else { return None };
    let taints: Vec<&Taint> =
        node.taints.iter().filter(|taint| *taint.effect == *"NoExecute").collect();
    let used: Option<Vec<(&Taint, &Toleration)>> =
        taints.iter().map(|taint| Some((*taint, toleration_of(pod, taint)?))).collect();
    let Some(used) = used else { return Some(Time::default()) };
    let shortest = used.iter().filter_map(|(_, toleration)| toleration.seconds).min()?;
    let since = used.iter().filter_map(|(taint, _)| taint.added).max()?.max(object.meta.created);
    Some(since.plus(Duration::from_secs(shortest.max(0).unsigned_abs())))
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
    let Some(at) = due(view, object, pod) else { return Ok(None) };
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
    let concerned = |object: &Object| {
        matches!(&object.body, Body::Pod(pod) if due(view, object, pod).is_some())
            && !object.meta.is_deleted()
    };
    if change.key.resource == GroupResource::new("", "pods") {
        return match change.after {
            Some(pod) if concerned(pod) => vec![Affected::now(change.key)],
            _ => vec![],
        };
    }
    if change.key.resource != nodes() || change.after.is_none() {
        return vec![];
    }
    let pods = view.on_node(&change.key.name).filter(|(_, pod)| concerned(pod));
    pods.map(|(key, _)| Affected::now(key)).collect()
}

#[cfg(test)]
mod tests;
