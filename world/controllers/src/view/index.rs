//! Where an object stands in the indexes of a view, and how it moves there.

use std::sync::Arc;

use rpds::RedBlackTreeSetSync;
use trace::{GroupResource, ObjectKey};

use super::{Alike, Load, View};
use crate::{
    object::{Body, Object, Text},
    pod::Pod,
};

/// Whether objects of this type are adopted by workloads.
fn is_adopted(resource: &GroupResource) -> bool {
    matches!(
        (&*resource.group, &*resource.resource),
        ("", "pods") | ("apps", "replicasets" | "controllerrevisions")
    )
}

impl View {
    pub(super) fn index_owners(
        &mut self,
        key: &ObjectKey,
        before: Option<&Object>,
        after: Option<&Object>,
    ) {
        let uid = |object: Option<&Object>| object.map(|object| object.meta.uid.clone());
        let (old, new) = (uid(before), uid(after));
        if old != new {
            if let Some(old) = old {
                self.by_uid.remove_mut(&old);
                self.deleting.remove_mut(&old);
            }
            if let Some(new) = new {
                self.by_uid.insert_mut(new, key.clone());
            }
        }
        if let Some(object) = after.filter(|object| object.meta.deletes_dependents()) {
            self.deleting.insert_mut(object.meta.uid.clone());
        }
        let owners = |object: Option<&Object>| -> Vec<Text> {
            let owners = object.into_iter().flat_map(|object| &object.meta.owners);
            owners.map(|owner| owner.uid.clone()).collect()
        };
        let (old, new) = (owners(before), owners(after));
        if old != new {
            for uid in old {
                self.dependents.remove_mut(&(uid, Some(key.clone())));
            }
            for uid in new {
                self.dependents.insert_mut((uid, Some(key.clone())));
            }
        }
    }

    pub(super) fn index_pods(
        &mut self,
        key: &ObjectKey,
        before: Option<&Object>,
        after: Option<&Object>,
    ) {
        if !is_adopted(&key.resource) {
            return;
        }
        let (old, new) = (Indexed::of(before), Indexed::of(after));
        let own = || key.clone();
        change(&mut self.uncontrolled, old.uncontrolled.then(own), new.uncontrolled.then(own));
        change(&mut self.unbound, old.unbound.then(own), new.unbound.then(own));
        change(&mut self.turned_away, old.turned_away.then(own), new.turned_away.then(own));
        let nominated = |of: &Indexed| of.nominated.clone().map(|node| (node, key.clone()));
        change(&mut self.nominated, nominated(&old), nominated(&new));
        let on_node = |of: &Indexed| of.node.clone().map(|node| (node, Some(key.clone())));
        change(&mut self.on_node, on_node(&old), on_node(&new));
        let with_terms = |of: &Indexed| on_node(of).filter(|_| of.has_terms);
        change(&mut self.with_terms, with_terms(&old), with_terms(&new));
        self.count(&key.namespace, before, after);
        self.weigh(before, after);
    }

    fn count(&mut self, namespace: &Text, before: Option<&Object>, after: Option<&Object>) {
        let of_controller = |object: Option<&Object>| {
            let (object, pod) = pod(object)?;
            let owner = object.meta.controller()?;
            Some((owner.uid.clone(), Alike::of(namespace, object, pod)))
        };
        self.by_controller.change(of_controller(before), of_controller(after));
        let on_node = |object: Option<&Object>| {
            let (object, pod) = pod(object).filter(|(_, pod)| !pod.node.is_empty())?;
            Some((pod.node.clone(), Alike::of(namespace, object, pod)))
        };
        self.by_node.change(on_node(before), on_node(after));
    }

    /// Of the node that a pod is on.
    fn load_mut(&mut self, pod: &Pod) -> &mut Load {
        if !self.loads.contains_key(&pod.node) {
            self.loads.insert_mut(pod.node.clone(), Arc::default());
        }
        Arc::make_mut(self.loads.get_mut(&pod.node).expect("it was added where it was missing"))
    }

    fn weigh(&mut self, before: Option<&Object>, after: Option<&Object>) {
        let there = |object| {
            let (_, pod) = pod(object)?;
            (!pod.node.is_empty() && !pod.has_ended()).then_some(pod)
        };
        let (old, new) = (there(before), there(after));
        let asks = |pod: &Pod| (pod.node.clone(), pod.requests.clone());
        if old.map(asks) == new.map(asks) {
            return;
        }
        if let Some(pod) = old {
            self.load_mut(pod).remove(pod);
        }
        if let Some(pod) = new {
            self.load_mut(pod).add(pod);
        }
    }
}

/// The pod, if the object is one.
fn pod(object: Option<&Object>) -> Option<(&Object, &Pod)> {
    match &object?.body {
        Body::Pod(pod) => Some((object?, pod)),
        _ => None,
    }
}

/// Replaces an entry by another, if it is another: an index that is shared is copied where it is written.
fn change<T: Ord>(index: &mut RedBlackTreeSetSync<T>, old: Option<T>, new: Option<T>) {
    if old == new {
        return;
    }
    if let Some(old) = old {
        index.remove_mut(&old);
    }
    if let Some(new) = new {
        index.insert_mut(new);
    }
}

/// In which indexes an object of a type that is adopted stands.
#[derive(Default)]
struct Indexed {
    uncontrolled: bool,
    unbound: bool,
    turned_away: bool,
    nominated: Option<Text>,
    node: Option<Text>,
    has_terms: bool,
}

impl Indexed {
    fn of(object: Option<&Object>) -> Indexed {
        let Some(object) = object else { return Indexed::default() };
        let uncontrolled = object.meta.controller().is_none();
        let Body::Pod(pod) = &object.body else {
            return Indexed { uncontrolled, ..Indexed::default() };
        };
        if !pod.node.is_empty() {
            let (node, has_terms) = (Some(pod.node.clone()), pod.placing.has_terms());
            return Indexed { uncontrolled, node, has_terms, ..Indexed::default() };
        }
        let nominated = Some(&pod.placing.nominated).filter(|node| !node.is_empty()).cloned();
        let turned_away = pod.unschedulable.is_some();
        Indexed { uncontrolled, unbound: true, turned_away, nominated, ..Indexed::default() }
    }
}
