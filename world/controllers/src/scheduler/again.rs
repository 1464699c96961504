//! When a pod is looked at again (`backend/queue`, and the `EventsToRegister` of each plugin).
//!
//! Which plugins turned a pod away stands in its condition, so nothing else has to be remembered. Upstream asks each of
//! these plugins whether an event may help; here a pod is tried again where its kind may: it is told the same
//! once more where it did not.

use trace::{GroupResource, ObjectKey};

use super::{nodes, wants_node};
use crate::{
    controller::{Affected, Change},
    object::{Body, Object, Text},
    pod::Pod,
    view::View,
    volumes,
};

/// What happened, as far as it may help a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A node came, or changed.
    Node,
    /// A node went.
    NodeGone,
    /// A pod came to a node, or changed its labels.
    PodThere,
    /// A pod left its node, or takes less of it, or one is no longer kept for it.
    Room,
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let resource = &change.key.resource;
    if *resource == GroupResource::new("", "pods") {
        return of_pod(view, change);
    }
    if *resource == nodes() {
        return of_node(view, change);
    }
    if *resource == volumes::claims() {
        let used = |pod: &Pod| pod.claims.iter().any(|(_, name)| *name == change.key.name);
        let own = |key: &ObjectKey| key.namespace == change.key.namespace;
        return unbound(view, &|key, pod| own(key) && used(pod));
    }
    if *resource == volumes::volumes() || *resource == volumes::classes() {
        return unbound(view, &|_, pod| !pod.claims.is_empty());
    }
    vec![]
}

/// The pods that wait for a node of which this holds.
fn unbound(view: &View, which: &dyn Fn(&ObjectKey, &Pod) -> bool) -> Vec<Affected> {
    let waiting = view.unbound().filter(|key| match view.get(key).map(|object| &object.body) {
        Some(Body::Pod(pod)) => which(key, pod),
        _ => false,
    });
    waiting.map(Affected::now).collect()
}

fn of_node(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let body = |object: Option<&Object>| match object.map(|object| &object.body) {
        Some(Body::Node(node)) => Some(node.clone()),
        _ => None,
    };
    let (before, after) = (body(change.before), body(change.after));
    let same = before.as_ref().zip(after.as_ref()).is_some_and(|(before, after)| {
        let labels = |object: Option<&Object>| object.map(|object| object.meta.labels.clone());
        before.taints == after.taints
            && before.unschedulable == after.unschedulable
            && before.allocatable == after.allocatable
            && before.pods == after.pods
            && labels(change.before) == labels(change.after)
    });
    match after {
        _ if same => vec![],
        Some(_) => turned_away(view, Event::Node),
        None => {
            let mut affected = turned_away(view, Event::NodeGone);
            // It was kept for them while their volumes were made.
            let kept = view.nominated().filter(|(node, _)| *node == change.key.name);
            affected.extend(kept.map(|(_, key)| Affected::now(key)));
            affected
        }
    }
}

fn of_pod(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let (before, after) = (change.before, change.after);
    if let Some(object) = after
        && wants_node(change.key, object).is_some()
    {
        // Its own condition is nothing new to it.
        let asks = |object: &Object| {
            wants_node(change.key, object).map(|placed| {
                let mut pod = placed.pod.clone();
                pod.unschedulable = None;
                pod.unschedulable_since = None;
                pod.conditions.clear();
                pod.placing.nominated = Text::from("");
                (pod, placed.meta.labels.clone())
            })
        };
        let mut affected = match before.and_then(asks) == asks(object) {
            true => vec![],
            false => vec![Affected::now(change.key)],
        };
        affected.extend(let_go(view, before, after));
        return affected;
    }
    let event = match (there(before), there(after)) {
        (None, Some(_)) => Event::PodThere,
        (Some(_), None) => Event::Room,
        (Some(before), Some(after)) if takes_less(before, after) => Event::Room,
        (Some(_), Some(_)) if labels(before) != labels(after) => Event::PodThere,
        _ => return let_go(view, before, after),
    };
    turned_away(view, event)
}

/// No node, or another one, is kept for a pod: that may help those that mattered no more than it.
fn let_go(view: &View, before: Option<&Object>, after: Option<&Object>) -> Vec<Affected> {
    let Some(pod) = kept(before) else { return vec![] };
    let same = |after: &Pod| after.placing.nominated == pod.placing.nominated;
    if kept(after).is_some_and(same) || there(after).is_some() {
        return vec![];
    }
    let mut affected = turned_away(view, Event::Room);
    affected.retain(|one| match view.get(&one.key).map(|object| &object.body) {
        Some(Body::Pod(other)) => other.placing.priority <= pod.placing.priority,
        _ => false,
    });
    affected
}

fn labels(object: Option<&Object>) -> Option<&crate::object::Labels> {
    object.map(|object| &object.meta.labels)
}

fn takes_less(before: &Pod, after: &Pod) -> bool {
    let (before, after) = (&before.requests.all, &after.requests.all);
    after.cpu_milli < before.cpu_milli
        || after.memory_bytes < before.memory_bytes
        || after.ephemeral_bytes < before.ephemeral_bytes
        || before
            .others
            .iter()
            .any(|(name, amount)| after.others.get(name).is_none_or(|left| left < amount))
}

/// A pod that takes room on a node.
fn there(object: Option<&Object>) -> Option<&Pod> {
    match object.map(|found| &found.body) {
        Some(Body::Pod(pod)) if !pod.node.is_empty() && !pod.has_ended() => Some(pod),
        _ => None,
    }
}

/// A pod that a node is kept for.
fn kept(object: Option<&Object>) -> Option<&Pod> {
    match object.map(|found| &found.body) {
        Some(Body::Pod(pod)) if pod.node.is_empty() && !pod.has_ended() => {
            Some(&**pod).filter(|pod| !pod.placing.nominated.is_empty())
        }
        _ => None,
    }
}

/// The pods that were turned away for reasons that the event may end.
fn turned_away(view: &View, event: Event) -> Vec<Affected> {
    let helped = |key: &&ObjectKey| match view.get(key).map(|object| &object.body) {
        Some(Body::Pod(pod)) => may_help(pod.unschedulable.as_deref().unwrap_or(""), event),
        _ => false,
    };
    view.turned_away().filter(helped).map(Affected::now).collect()
}

/// By what turned a pod away: the part of its message before what preemption says.
fn may_help(message: &str, event: Event) -> bool {
    let why = message.split(super::NO_CLAIMS).next().unwrap_or("");
    let of_pods = why.contains("topology spread")
        || why.contains("affinity rules")
        || why.contains("existing pods anti-affinity");
    match event {
        Event::Node | Event::Room => true,
        Event::NodeGone => why.contains("topology spread"),
        Event::PodThere => of_pods,
    }
}
