//! The scheduler (`pkg/scheduler`, Kubernetes 1.36): feasibility first.
//!
//! Filters: NodeUnschedulable, NodeName, TaintToleration, node selector, NodeResourcesFit (CPU, memory, number of
//! pods). Of the feasible nodes the one with the fewest pods of the same controller (what the default topology
//! spread comes to where nodes are alike), then the largest share of free CPU and memory (LeastAllocated), then the
//! first by name; upstream weighs the scores and draws among equals at random.
//!
//! Not there yet: affinity and anti-affinity, topology spread, volumes, host ports, extended resources, priorities
//! and preemption, scheduling gates. A pod that asks for one of these is placed as if it did not.

use std::collections::BTreeMap;

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response},
    controller::{Affected, Change},
    object::{Body, Labels, Object, Text},
    pod::{Pod, Resources, Toleration},
    read,
    request::Request,
    view::View,
};

/// The scheduler that pods without another one get.
const NAME: &str = "default-scheduler";

/// A Node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `status.allocatable`.
    pub allocatable: Resources,
    /// `status.allocatable.pods`.
    pub pods: i64,
}

/// How good a node is: compared from left to right.
type Score = (i64, i64);

/// A taint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Taint {
    /// `key`.
    pub key: Text,
    /// `value`.
    pub value: Text,
    /// `effect`.
    pub effect: Text,
}

impl Node {
    pub(crate) fn read(object: &Value) -> Node {
        let (spec, allocatable) = (&object["spec"], &object["status"]["allocatable"]);
        let taint = |value: &Value| Taint {
            key: read::text(value, "key"),
            value: read::text(value, "value"),
            effect: read::text(value, "effect"),
        };
        Node {
            unschedulable: read::flag(spec, "unschedulable"),
            taints: read::list(spec, "taints").map(taint).collect(),
            allocatable: Resources::read(allocatable),
            pods: read::text(allocatable, "pods").parse().unwrap_or(0),
        }
    }
}

pub(crate) fn nodes() -> GroupResource {
    GroupResource::new("", "nodes")
}

fn wants_node(object: &Object) -> Option<&Pod> {
    match &object.body {
        Body::Pod(pod)
            if pod.node.is_empty()
                && *pod.scheduler == *NAME
                && !pod.has_ended()
                && !object.meta.is_deleted() =>
        {
            Some(pod)
        }
        _ => None,
    }
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Some(pod) = wants_node(object) else { return Ok(None) };
    let (mut best, mut all): (Option<(Score, Text)>, usize) = (None, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let owner = object.meta.controller().map(|owner| &owner.uid);
    for (key, object) in view.list(&nodes(), "") {
        let Body::Node(node) = &object.body else { continue };
        all += 1;
        match fits(view, &key.name, node, &object.meta.labels, (owner, pod)) {
            Err(whys) => whys.into_iter().for_each(|why| *reasons.entry(why).or_default() += 1),
            Ok(score) if best.as_ref().is_none_or(|(other, _)| score > *other) => {
                best = Some((score, key.name.clone()));
            }
            Ok(_) => {}
        }
    }
    let Some((_, node)) = best else {
        let message = unschedulable(all, &reasons);
        if pod.unschedulable.as_deref() != Some(&*message) {
            let since = now;
            calls.need(|| Request::PodUnschedulable { key: key.clone(), message, since })?;
        }
        return Ok(None);
    };
    let bound =
        calls.need(|| Request::Bind { key: key.clone(), uid: object.meta.uid.clone(), node })?;
    debug_assert!(matches!(bound, Response::Written(_) | Response::Refused { .. }));
    Ok(None)
}

/// Upstream's message (`FitError.Error`), without what preemption found.
fn unschedulable(all: usize, reasons: &BTreeMap<String, usize>) -> Text {
    if all == 0 {
        return "no nodes available to schedule pods".into();
    }
    let mut reasons: Vec<String> =
        reasons.iter().map(|(why, count)| format!("{count} {why}")).collect();
    reasons.sort();
    format!("0/{all} nodes are available: {}.", reasons.join(", ")).into()
}

/// The node's score for the pod. Errors: why it can't run there, of the first filter that says no.
fn fits(
    view: &View,
    name: &str,
    node: &Node,
    labels: &Labels,
    (owner, pod): (Option<&Text>, &Pod),
) -> Result<Score, Vec<String>> {
    let marked = Taint {
        key: "node.kubernetes.io/unschedulable".into(),
        effect: "NoSchedule".into(),
        ..Taint::default()
    };
    if node.unschedulable && !tolerates(pod, &marked) {
        return Err(vec!["node(s) were unschedulable".to_owned()]);
    }
    let hard = |taint: &&Taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute");
    if let Some(taint) = node.taints.iter().filter(hard).find(|taint| !tolerates(pod, taint)) {
        return Err(vec![format!(
            "node(s) had untolerated taint {{{}: {}}}",
            taint.key, taint.value
        )]);
    }
    if !pod.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value)) {
        return Err(vec!["node(s) didn't match Pod's node affinity/selector".to_owned()]);
    }
    let (mut used, mut count, mut alike) = (Resources::default(), 0, 0);
    for (_, object) in view.on_node(name) {
        if let Body::Pod(other) = &object.body
            && !other.has_ended()
        {
            used = used.plus(other.requests);
            count += 1;
            let of = object.meta.controller().map(|owner| &owner.uid);
            alike += i64::from(owner.is_some() && of == owner);
        }
    }
    let after = used.plus(pod.requests);
    let mut short = Vec::new();
    for (what, none, wanted) in [
        ("Too many pods", count + 1 > node.pods, true),
        (
            "Insufficient cpu",
            after.cpu_milli > node.allocatable.cpu_milli,
            pod.requests.cpu_milli > 0,
        ),
        (
            "Insufficient memory",
            after.memory_bytes > node.allocatable.memory_bytes,
            pod.requests.memory_bytes > 0,
        ),
    ] {
        if none && wanted {
            short.push(what.to_owned());
        }
    }
    if !short.is_empty() {
        return Err(short);
    }
    let free = |used: i64, all: i64| if all == 0 { 0 } else { 100 * (all - used) / all };
    let free = free(after.cpu_milli, node.allocatable.cpu_milli)
        + free(after.memory_bytes, node.allocatable.memory_bytes);
    Ok((-alike, free))
}

fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    pod.tolerations.iter().any(|toleration: &Toleration| {
        (toleration.effect.is_empty() || toleration.effect == taint.effect)
            && (toleration.key.is_empty() && toleration.exists || toleration.key == taint.key)
            && (toleration.exists || toleration.value == taint.value)
    })
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let of_node = change.key.resource == nodes();
    if !of_node && *change.key.resource.resource != *"pods" {
        return vec![];
    }
    if let Some(object) = change.after
        && wants_node(object).is_some()
    {
        // Its own condition is nothing new to it.
        let before = change.before.and_then(wants_node);
        let asks = |pod: &Pod| Pod { unschedulable: None, ..pod.clone() };
        let news = wants_node(object).map(asks) != before.map(asks);
        return if news { vec![Affected::now(change.key)] } else { vec![] };
    }
    let occupies = |object: Option<&Object>| match object.map(|found| &found.body) {
        Some(Body::Pod(pod)) => !pod.node.is_empty() && !pod.has_ended(),
        _ => false,
    };
    let room = occupies(change.before) && !occupies(change.after);
    match of_node || room {
        true => view.unbound().map(Affected::now).collect(),
        false => vec![],
    }
}

#[cfg(test)]
mod tests;
