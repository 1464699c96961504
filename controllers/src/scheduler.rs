//! The scheduler (`pkg/scheduler`, Kubernetes 1.36): feasibility first.
//!
//! Filters: NodeUnschedulable, NodeName, TaintToleration, node selector and required node affinity, NodeResourcesFit (CPU, memory, number of
//! pods). Of the feasible nodes the one with the fewest pods of the same controller (what the default topology
//! spread comes to where nodes are alike), then the largest share of free CPU and memory (LeastAllocated), then the
//! first by name; upstream weighs the scores and draws among equals at random.
//!
//! A pod waits for its claims to exist and to be bound; claims of a class that waits for a consumer get the node that
//! was chosen.
//!
//! Not there yet: pod affinity and anti-affinity, topology spread, where volumes are, host ports, extended resources, priorities
//! and preemption, scheduling gates. A pod that asks for one of these is placed as if it did not.

use std::collections::BTreeMap;

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    object::{Body, Labels, Object, Text},
    pod::{Pod, Resources, Toleration},
    read,
    request::Request,
    view::View,
    volumes, write,
};

/// The scheduler that pods without another one get.
const NAME: &str = "default-scheduler";

/// A Node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// Whether the condition `Ready` is True.
    pub ready: bool,
    /// `status.conditions`: types and statuses.
    pub conditions: Vec<(Text, Text)>,
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
    /// `timeAdded`.
    pub added: Option<Time>,
}

impl Node {
    pub(crate) fn read(object: &Value) -> Node {
        let (spec, allocatable) = (&object["spec"], &object["status"]["allocatable"]);
        let taint = |value: &Value| Taint {
            key: read::text(value, "key"),
            value: read::text(value, "value"),
            effect: read::text(value, "effect"),
            added: read::time(value, "timeAdded"),
        };
        Node {
            ready: read::list(&object["status"], "conditions")
                .any(|found| found["type"] == "Ready" && found["status"] == "True"),
            conditions: read::list(&object["status"], "conditions")
                .map(|found| (read::text(found, "type"), read::text(found, "status")))
                .collect(),
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
    if let Some(why) = waits_for_volumes(view, key, pod) {
        let all = view.list(&nodes(), "").count();
        let message = format!("0/{all} nodes are available: {why}.").into();
        return wait(key, pod, message, now, calls);
    }
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
        return wait(key, pod, unschedulable(all, &reasons), now, calls);
    };
    if select_node(view, key, pod, &node, calls)? {
        return Ok(None);
    }
    let bound =
        calls.need(|| Request::Bind { key: key.clone(), uid: object.meta.uid.clone(), node })?;
    debug_assert!(matches!(bound, Response::Written(_) | Response::Refused { .. }));
    Ok(None)
}

/// Says why the pod can't be bound now.
fn wait(
    key: &ObjectKey,
    pod: &Pod,
    message: Text,
    since: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    if pod.unschedulable.as_deref() != Some(&*message) {
        calls.need(|| Request::PodUnschedulable { key: key.clone(), message, since })?;
    }
    Ok(None)
}

/// A pod's claim, and whether its class waits for the first pod that uses it.
fn claim_of<'v>(view: &'v View, key: &ObjectKey, name: &str) -> Option<(&'v Object, bool)> {
    let object = view.get(&ObjectKey::new(volumes::claims(), &key.namespace, name))?;
    let Body::Claim(claim) = &object.body else { return None };
    let class = claim
        .class
        .as_ref()
        .and_then(|class| view.get(&ObjectKey::new(volumes::classes(), "", class)));
    let waits = matches!(class.map(|class| &class.body), Some(Body::Class(class)) if class.waits);
    Some((object, waits))
}

fn is_bound(claim: &Object) -> bool {
    matches!(&claim.body, Body::Claim(claim) if *claim.phase == *"Bound")
}

/// Why its volumes keep the pod from every node (VolumeBinding, PreFilter).
fn waits_for_volumes(view: &View, key: &ObjectKey, pod: &Pod) -> Option<String> {
    for (_, name) in &pod.claims {
        let Some((claim, waits)) = claim_of(view, key, name) else {
            return Some(format!("persistentvolumeclaim {name:?} not found"));
        };
        if claim.meta.is_deleted() {
            return Some(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        if !waits && !is_bound(claim) {
            return Some("pod has unbound immediate PersistentVolumeClaims".to_owned());
        }
    }
    None
}

/// Says for which node the volumes of its waiting claims are to be (VolumeBinding, PreBind). Whether some are not
/// bound yet: then the pod's turn comes when they are.
fn select_node(
    view: &View,
    key: &ObjectKey,
    pod: &Pod,
    node: &Text,
    calls: &mut Calls<'_>,
) -> Result<bool, Stop> {
    let mut waits = false;
    for (_, name) in &pod.claims {
        let Some((claim, _)) = claim_of(view, key, name).filter(|(claim, _)| !is_bound(claim))
        else {
            continue;
        };
        waits = true;
        let mut annotations = claim.meta.annotations.clone();
        if annotations.insert(volumes::SELECTED_NODE.into(), node.clone()).is_none() {
            let key = ObjectKey::new(volumes::claims(), &key.namespace, name);
            calls.need(|| Request::Update {
                key,
                revision: claim.meta.revision,
                subresource: "",
                fields: vec![("/metadata/annotations", write::labels(&annotations))],
            })?;
        }
    }
    Ok(waits)
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
    let selected = pod.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    let allowed =
        pod.affinity.as_ref().is_none_or(|affinity| affinity.allows(&name.into(), labels));
    if !selected || !allowed {
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

pub(crate) fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    toleration_of(pod, taint).is_some()
}

/// The toleration by which a pod tolerates a taint.
pub(crate) fn toleration_of<'p>(pod: &'p Pod, taint: &Taint) -> Option<&'p Toleration> {
    pod.tolerations.iter().find(|toleration| {
        (toleration.effect.is_empty() || toleration.effect == taint.effect)
            && (toleration.key.is_empty() && toleration.exists || toleration.key == taint.key)
            && (toleration.exists || toleration.value == taint.value)
    })
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let of_node = change.key.resource == nodes() || change.key.resource == volumes::claims();
    if !of_node && *change.key.resource.resource != *"pods" {
        return vec![];
    }
    if let Some(object) = change.after
        && wants_node(object).is_some()
    {
        // Its own condition is nothing new to it.
        let before = change.before.and_then(wants_node);
        let asks = |pod: &Pod| Pod { unschedulable: None, conditions: vec![], ..pod.clone() };
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
