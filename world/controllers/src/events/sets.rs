//! What is told of sets of pods: Deployments, ReplicaSets, DaemonSets, StatefulSets.

use super::{Answered, Note};
use crate::{
    Request,
    object::{Body, Meta},
};

/// A Deployment (`getNewReplicaSet`, `scaleReplicaSet`).
pub(super) fn of_deployment(of: &Answered<'_>, meta: &Meta) -> Option<Note> {
    let scaled = |name: &str, from: i64, to: i64| {
        let way = if from < to { "up" } else { "down" };
        let message = format!("Scaled {way} replica set {name} from {from} to {to}");
        (from != to).then(|| of.normal(meta, "ScalingReplicaSet", message))
    };
    match (of.request, of.refused()) {
        (Request::CreateReplicaSet(new), None) => scaled(&new.key.name, 0, new.replicas),
        (Request::CreateReplicaSet(_), Some((_, "AlreadyExists" | "NamespaceTerminating", _))) => {
            None
        }
        (Request::CreateReplicaSet(new), Some((_, _, why))) => {
            let message = format!("Failed to create new replica set {:?}: {why}", new.key.name);
            Some(of.warning(meta, "ReplicaSetCreateError", message))
        }
        (Request::UpdateReplicaSet { key, replicas, .. }, None) => {
            let Body::ReplicaSet(before) = &of.before.get(key)?.body else { return None };
            scaled(&key.name, before.replicas, *replicas)
        }
        _ => None,
    }
}

/// Whoever makes and deletes pods one by one (`RealPodControl`).
pub(super) fn of_pod(of: &Answered<'_>, meta: &Meta) -> Option<Note> {
    let makes = matches!(of.request, Request::CreatePod { .. }) || of.creates("pods").is_some();
    if makes {
        return match of.refused() {
            None => {
                Some(of.normal(meta, "SuccessfulCreate", format!("Created pod: {}", of.written)))
            }
            Some((_, "NamespaceTerminating", _)) => None,
            Some((_, _, why)) => {
                Some(of.warning(meta, "FailedCreate", format!("Error creating: {why}")))
            }
        };
    }
    let pod = of.deletes("pods")?;
    match of.refused() {
        None => Some(of.normal(meta, "SuccessfulDelete", format!("Deleted pod: {}", pod.name))),
        Some((404, ..)) => None,
        Some((_, _, why)) => {
            Some(of.warning(meta, "FailedDelete", format!("Error deleting: {why}")))
        }
    }
}

/// A DaemonSet that deletes a pod because it has ended (`podsShouldBeOnNode`).
pub(super) fn of_ended_pod(of: &Answered<'_>, meta: &Meta) -> Option<Note> {
    let key = of.deletes("pods")?;
    let pod = of.pod(key)?;
    let node = pod.target_node()?;
    let found = |how: &str, to: &str| {
        let (namespace, name) = (&key.namespace, &key.name);
        format!("Found {how} daemon pod {namespace}/{name} on node {node}, will try to {to} it")
    };
    match &*pod.phase {
        "Failed" => Some(of.warning(meta, "FailedDaemonPod", found("failed", "kill"))),
        "Succeeded" => Some(of.normal(meta, "SucceededDaemonPod", found("succeeded", "delete"))),
        _ => None,
    }
}

/// A StatefulSet (`recordPodEvent`, `recordClaimEvent`).
pub(super) fn of_stateful(of: &Answered<'_>, meta: &Meta) -> Vec<Note> {
    let set = &of.key.name;
    let refused = of.refused();
    let told = |verb: &str, what: &str, well: &str, why: Option<&str>| match why {
        None => {
            let message = format!("{verb} {what} in StatefulSet {set} {well}");
            of.normal(meta, &format!("Successful{verb}"), message)
        }
        Some(why) => {
            let message = format!("{verb} {what} in StatefulSet {set} failed error: {why}");
            of.warning(meta, &format!("Failed{verb}"), message)
        }
    };
    let pod = |verb: &str, name: &str, why: Option<&str>| {
        told(verb, &format!("Pod {name}"), "successful", why)
    };
    let why = refused.map(|(_, _, why)| why);
    if let Some(key) = of.creates("pods") {
        let exists = matches!(refused, Some((_, "AlreadyExists", _)));
        return (!exists).then(|| pod("Create", &key.name, why)).into_iter().collect();
    }
    if let Some(key) = of.creates("persistentvolumeclaims") {
        let name = pod_of(&key.name, set);
        let failed = why.map(|why| {
            let why = format!("failed to create PVC {}: {why}", key.name);
            pod("Create", name, Some(&why))
        });
        let of_pod = if why.is_some() { "for Pod" } else { "Pod" };
        let claim = match refused {
            Some((_, "AlreadyExists", _)) => None,
            _ => {
                Some(told("Create", &format!("Claim {} {of_pod} {name}", key.name), "success", why))
            }
        };
        return claim.into_iter().chain(failed).collect();
    }
    if let Some(key) = of.deletes("pods") {
        let why = refused.filter(|(code, ..)| *code != 404).map(|(_, _, why)| why);
        return vec![pod("Delete", &key.name, why)];
    }
    match of.request {
        Request::Update { key, .. } if *key.resource.resource == *"pods" => {
            vec![pod("Update", &key.name, why)]
        }
        _ => vec![],
    }
}

/// The pod that a claim of a template is for: `data-web-0` is for `web-0`.
fn pod_of<'n>(claim: &'n str, set: &str) -> &'n str {
    let at = claim.rfind(&format!("{set}-"));
    at.map_or(claim, |at| &claim[at..])
}
