//! What a decision comes to: the writes of one scheduling cycle.

use serde_json::{Value, json};
use trace::{ObjectKey, Time};

use super::{
    Candidate, Decision, NAME, Nomination, decide, disks,
    snapshot::{self, Placed},
};
use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    object::{Meta, Text},
    pod::Pod,
    request::Request,
    view::View,
    volumes::{self, BOUND_BY_CONTROLLER, SELECTED_NODE},
    write,
};

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let (Some(object), Some(decision)) = (view.get(key), decide(view, key, now)) else {
        return Ok(None);
    };
    let Some(of) = Placed::of(key, object) else { return Ok(None) };
    match decision {
        Decision::Bind(nodes) => bind(view, &of, &nodes[0], calls)?,
        Decision::Fail { message, nominate } => {
            let nominated = match &nominate {
                Nomination::Keep => None,
                Nomination::Clear => Some(Text::from("")),
                Nomination::Preempt(best) => Some(best[0].node.clone()),
            };
            tell(&of, &message, nominated, now, calls)?;
            if let Nomination::Preempt(best) = &nominate {
                evict(view, &of, &best[0], now, calls)?;
            }
        }
    }
    Ok(None)
}

fn patch(of: &Placed<'_>, status: Value, calls: &mut Calls<'_>) -> Result<(), Stop> {
    let (key, uid) = (of.key.clone(), of.meta.uid.clone());
    calls.need(|| Request::PatchStatus { key, uid, status: Box::new(status) })?;
    Ok(())
}

/// A condition of a pod.
fn condition(of: &Meta, kind: &str, (status, reason): (&str, &str), message: &str) -> Value {
    let mut condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastProbeTime": null,
    });
    if of.generation != 0 {
        condition["observedGeneration"] = json!(of.generation);
    }
    condition
}

/// Says why the pod can't be bound now, and which node is kept for it (`handleSchedulingFailure`).
fn tell(
    of: &Placed<'_>,
    message: &Text,
    nominated: Option<Text>,
    now: Time,
    calls: &mut Calls<'_>,
) -> Result<(), Stop> {
    let Pod { unschedulable, unschedulable_since, .. } = of.pod;
    let nominated = nominated.filter(|node| *node != of.pod.placing.nominated);
    if unschedulable.as_ref() == Some(message) && nominated.is_none() {
        return Ok(());
    }
    let mut told = condition(of.meta, "PodScheduled", ("False", "Unschedulable"), message);
    told["lastTransitionTime"] = json!(unschedulable_since.unwrap_or(now).rfc3339());
    let mut status = json!({"conditions": [told]});
    if let Some(node) = nominated {
        status["nominatedNodeName"] = if node.is_empty() { Value::Null } else { json!(node) };
    }
    patch(of, status, calls)
}

/// Makes room: takes the node from pods that it is kept for and that matter less, and deletes the victims
/// (`prepareCandidateAsync`).
fn evict(
    view: &View,
    of: &Placed<'_>,
    candidate: &Candidate,
    now: Time,
    calls: &mut Calls<'_>,
) -> Result<(), Stop> {
    let victims = candidate.victims.iter();
    let victims = victims.filter_map(|key| Placed::of(key, view.get(key)?));
    let victims: Vec<Placed<'_>> = victims.filter(|victim| !victim.meta.is_deleted()).collect();
    if victims.is_empty() {
        branch!(SchedulerVictimsLeave);
        return Ok(());
    }
    let kept = view.nominated().filter(|(node, _)| *node == candidate.node);
    for other in kept.filter_map(|(_, key)| Placed::of(key, view.get(key)?)) {
        if other.priority() < of.priority() && other.key != of.key {
            branch!(SchedulerTakesNomination);
            patch(&other, json!({"nominatedNodeName": null}), calls)?;
        }
    }
    for victim in victims {
        if !victim.pod.placing.preempted {
            let message = format!("{NAME}: preempting to accommodate a higher priority pod");
            let reason = ("True", "PreemptionByScheduler");
            let mut told = condition(victim.meta, "DisruptionTarget", reason, &message);
            told["lastTransitionTime"] = json!(now.rfc3339());
            patch(&victim, json!({"conditions": [told]}), calls)?;
        }
        calls.need(|| Request::delete(victim.key.clone(), victim.meta.uid.clone()))?;
    }
    Ok(())
}

/// Binds the pod, or first its volumes: then its turn comes again when they are.
fn bind(view: &View, of: &Placed<'_>, node: &Text, calls: &mut Calls<'_>) -> Result<(), Stop> {
    if bind_volumes(view, of, node, calls)? {
        branch!(SchedulerBindsVolumes);
        return Ok(());
    }
    let (key, uid, node) = (of.key.clone(), of.meta.uid.clone(), node.clone());
    let bound = calls.need(|| Request::Bind { key, uid, node })?;
    debug_assert!(matches!(bound, Response::Written(_) | Response::Refused { .. }));
    Ok(())
}

/// Gives the claims that wait for the pod their volumes, or says for which node these are to be made (VolumeBinding,
/// PreBind). Whether some are not bound yet.
fn bind_volumes(
    view: &View,
    of: &Placed<'_>,
    node: &Text,
    calls: &mut Calls<'_>,
) -> Result<bool, Stop> {
    if of.pod.claims.is_empty() {
        return Ok(false);
    }
    let nodes = snapshot::take(view);
    let disks = disks::Disks::read(view, of).unwrap_or_default();
    let plan = nodes.iter().find(|info| info.name == *node).and_then(|info| disks.plan(view, info));
    let Some(plan) = plan.filter(|plan| !plan.bind.is_empty() || !plan.provision.is_empty()) else {
        return Ok(false);
    };
    if of.pod.placing.nominated != *node {
        patch(of, json!({"nominatedNodeName": node}), calls)?;
    }
    for (waiting, key, meta, volume) in &plan.bind {
        if volume.claim.as_ref().is_some_and(|of| of.uid == waiting.meta.uid) {
            continue;
        }
        branch!(SchedulerTakesVolume);
        let mut annotations = meta.annotations.clone();
        if volume.claim.is_none() {
            annotations.entry(BOUND_BY_CONTROLLER.into()).or_insert_with(|| "yes".into());
        }
        let reference = volumes::reference(&waiting.key, waiting.meta);
        calls.must(|| Request::Update {
            key: key.clone(),
            revision: meta.revision,
            subresource: "",
            fields: vec![
                ("/metadata/annotations", write::labels(&annotations)),
                ("/spec/claimRef", reference),
            ],
        })?;
    }
    for waiting in &plan.provision {
        let mut annotations = waiting.meta.annotations.clone();
        if annotations.insert(SELECTED_NODE.into(), node.clone()).is_none() {
            calls.must(|| Request::Update {
                key: waiting.key.clone(),
                revision: waiting.meta.revision,
                subresource: "",
                fields: vec![("/metadata/annotations", write::labels(&annotations))],
            })?;
        }
    }
    Ok(true)
}
