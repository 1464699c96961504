//! Taints from what a node says of itself (`pkg/controller/nodelifecycle`, Kubernetes 1.36): not ready, unreachable,
//! short of something, cordoned.
//!
//! A node that is not heard of becomes unknown ([`silence`]), and its pods are not ready ([`pods`]). The taints that evict
//! pods come one after the other, and more slowly where many nodes of a zone are not ready ([`limit`]); where no node at
//! all is ready nothing is evicted (upstream's master disruption mode).

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    kubelet::is_stopped,
    object::{Body, Object},
    request::Request,
    scheduler::{Node, Taint, nodes},
    view::View,
};

mod limit;
mod pods;
mod silence;

use limit::Turn;
use silence::Look;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Conditions, the status that taints, and the taint.
const BY_CONDITION: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// Whether this controller puts the taint on nodes, and takes it off.
fn is_ours(taint: &Taint) -> bool {
    let key = |of: &&str| *taint.key == **of;
    match &*taint.effect {
        "NoSchedule" => BY_CONDITION.iter().any(|(_, _, of)| key(of)) || key(&UNSCHEDULABLE),
        "NoExecute" => key(&NOT_READY) || key(&UNREACHABLE),
        _ => false,
    }
}

/// The taints that the node is to have of this controller: key and effect.
fn wanted(node: &Node, all_down: bool) -> Vec<(&'static str, &'static str)> {
    let ready = node.conditions.iter().find(|(kind, _)| **kind == *"Ready");
    let mut wanted: Vec<(&str, &str)> = BY_CONDITION
        .into_iter()
        .filter(|(kind, status, _)| {
            node.conditions.iter().any(|(of, is)| **of == **kind && **is == **status)
        })
        .map(|(_, _, taint)| (taint, "NoSchedule"))
        .collect();
    if node.unschedulable {
        wanted.push((UNSCHEDULABLE, "NoSchedule"));
    }
    match ready.map(|(_, status)| &**status) {
        _ if all_down => {
            branch!(NodesAllDown);
        }
        Some("False") => wanted.push((NOT_READY, "NoExecute")),
        Some("Unknown") => wanted.push((UNREACHABLE, "NoExecute")),
        Some(_) => {}
        // Of a node that has never said anything only what keeps pods away is taken off.
        None => {
            let has = |key: &str| {
                node.taints.iter().any(|taint| *taint.key == *key && *taint.effect == *"NoExecute")
            };
            let both = [NOT_READY, UNREACHABLE].into_iter().filter(|key| has(key));
            wanted.extend(both.map(|key| (key, "NoExecute")));
        }
    }
    wanted
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    match &object.body {
        Body::Node(node) => of_node(view, key, (object, node), now, calls),
        Body::Pod(pod) => pods::arrived(view, (key, object, pod), now, calls).map(|()| None),
        _ => Ok(None),
    }
}

fn of_node(
    view: &View,
    key: &ObjectKey,
    (object, node): (&Object, &Node),
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let mut again = match silence::look(view, key, (object, node), now, calls)? {
        // It comes back, as all that changes does.
        Look::Told => return Ok(None),
        Look::Heard(again) => again,
    };
    let is_ready = |node: &Object| matches!(&node.body, Body::Node(node) if node.ready);
    let all_down = !view.list(&nodes(), "").any(|(_, node)| is_ready(node));
    let mut wanted = wanted(node, all_down);
    if !node.taints.iter().any(limit::evicts)
        && let Some(at) = wanted.iter().position(|(_, effect)| *effect == "NoExecute")
    {
        let turn = limit::turn(view, object, now);
        if turn != Turn::Now {
            branch!(NodeTaintWaits);
            wanted.remove(at);
        }
        if let Turn::In(left) = turn {
            again = Some(again.map_or(left, |again| again.min(left)));
        }
    }
    let is_wanted = |taint: &Taint| wanted.contains(&(&*taint.key, &*taint.effect));
    let kept: Vec<&Taint> =
        node.taints.iter().filter(|taint| !is_ours(taint) || is_wanted(taint)).collect();
    let has = |(key, effect): &&(&str, &str)| {
        node.taints.iter().any(|taint| *taint.key == **key && *taint.effect == **effect)
    };
    let new: Vec<_> = wanted.iter().filter(|taint| !has(taint)).collect();
    if !new.is_empty() || kept.len() != node.taints.len() {
        branch!(NodeTaints);
        calls.must(|| {
            let added = |(key, effect): &&(&str, &str)| {
                json!({"key": key, "effect": effect, "timeAdded": now.rfc3339()})
            };
            let all: Vec<Value> =
                kept.iter().map(|taint| write(taint)).chain(new.iter().map(added)).collect();
            let all = if all.is_empty() { Value::Null } else { json!(all) };
            Request::Update {
                key: key.clone(),
                revision: object.meta.revision,
                subresource: "",
                fields: vec![("/spec/taints", all)],
            }
        })?;
    }
    Ok(again)
}

fn write(taint: &Taint) -> Value {
    let mut value = json!({"key": taint.key, "effect": taint.effect});
    crate::write::texts(&mut value, &[("value", &taint.value)]);
    if let Some(added) = taint.added {
        value["timeAdded"] = json!(added.rfc3339());
    }
    value
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let seen = |object: &Object| match &object.body {
        Body::Node(node) => {
            let seen = (node.unschedulable, node.taints.clone(), node.conditions.clone());
            Some((seen, is_stopped(&object.meta)))
        }
        _ => None,
    };
    if change.key.resource == GroupResource::new("", "pods") && pods::arrives(change) {
        return vec![Affected::now(change.key)];
    }
    if change.key.resource != nodes() {
        return vec![];
    }
    let ready = |object: Option<&Object>| {
        object.is_some_and(|object| matches!(&object.body, Body::Node(node) if node.ready))
    };
    // The first that is ready, and the last, make a difference to all.
    if ready(change.before) != ready(change.after) {
        return view.list(&nodes(), "").map(|(key, _)| Affected::now(&key)).collect();
    }
    let (before, after) = (change.before.and_then(seen), change.after.and_then(seen));
    match after.is_some() && before != after {
        true => vec![Affected::now(change.key)],
        false => vec![],
    }
}

#[cfg(test)]
mod tests;
