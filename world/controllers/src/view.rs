//! The cluster as controllers see it: all objects, found by key, type, namespace, uid and owner.
//!
//! Persistent maps: a clone is O(1), so that a controller can keep the view that it began with, and a fork of
//! a world shares everything.

use std::{ops::Bound, sync::Arc};

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    autoscaler::Recent,
    kinds::Kinds,
    object::{Object, Text},
    request::Memory,
};

mod index;
mod load;
mod strays;
mod tally;
mod zones;

pub(crate) use load::Load;
use strays::Stray;
pub use tally::Alike;
use tally::Tally;
use zones::Counts;
pub use zones::Zones;
pub(crate) use zones::{ZONE, counts_anew};

type Map<K, V> = RedBlackTreeMapSync<K, V>;

/// Objects of one type by namespace and name.
type Table = Map<(Text, Text), Object>;

/// All objects. See the module's documentation.
#[derive(Debug, Clone)]
pub struct View {
    /// The types that are served.
    pub kinds: Kinds,
    /// The certificate by which the API server is known, in PEM; empty where none is.
    pub root_ca: Text,
    /// The same, in base64.
    pub root_ca_base64: Text,
    /// In which order controllers go through what upstream keeps in Go's maps, which have none: the number of a
    /// permutation, 0 for the one by name.
    pub order: usize,
    tables: Map<GroupResource, Table>,
    by_uid: Map<Text, ObjectKey>,
    /// Uid of an owner and key of the object that names it. The owner need not exist.
    dependents: RedBlackTreeSetSync<(Text, Option<ObjectKey>)>,
    /// Objects of types that are adopted and that nobody controls.
    uncontrolled: RedBlackTreeSetSync<ObjectKey>,
    /// Pods without a node.
    unbound: RedBlackTreeSetSync<ObjectKey>,
    /// Those of them that a scheduler turned away.
    turned_away: RedBlackTreeSetSync<ObjectKey>,
    /// Those of them that a node is kept for, behind that.
    nominated: RedBlackTreeSetSync<(Text, ObjectKey)>,
    /// Node and key of the pods on it.
    on_node: RedBlackTreeSetSync<(Text, Option<ObjectKey>)>,
    /// Of the pods on nodes, those that say which others they want to be near to, or away from.
    with_terms: RedBlackTreeSetSync<(Text, Option<ObjectKey>)>,
    /// Pods by the uid of their controller.
    by_controller: Tally,
    /// Pods by their node.
    by_node: Tally,
    /// What the pods on a node that have not ended ask for.
    loads: Map<Text, Arc<Load>>,
    /// What autoscalers remember: no objects, and gone with them.
    recent: Map<ObjectKey, Recent>,
    /// When pods have to go that tolerate their node's taints for a while; gone with them.
    going: Map<ObjectKey, Time>,
    /// Since when nodes are not heard of; gone with them.
    silent: Map<ObjectKey, Time>,
    /// Until when nodes may be missing that pods name.
    missed: Map<ObjectKey, Time>,
    /// The uids of objects that the garbage collector has seen deleting their dependents.
    deleting: RedBlackTreeSetSync<Text>,
    /// Slices that somebody gave away.
    strays: RedBlackTreeSetSync<Stray>,
    /// The nodes as they were when zones were counted last.
    counted_nodes: Table,
    /// Whether there may be something else to count now.
    nodes_differ: bool,
}

impl Default for View {
    fn default() -> View {
        View {
            kinds: Kinds::default(),
            root_ca: "".into(),
            root_ca_base64: "".into(),
            order: 0,
            tables: Map::new_sync(),
            by_uid: Map::new_sync(),
            dependents: RedBlackTreeSetSync::new_sync(),
            uncontrolled: RedBlackTreeSetSync::new_sync(),
            unbound: RedBlackTreeSetSync::new_sync(),
            turned_away: RedBlackTreeSetSync::new_sync(),
            nominated: RedBlackTreeSetSync::new_sync(),
            on_node: RedBlackTreeSetSync::new_sync(),
            with_terms: RedBlackTreeSetSync::new_sync(),
            by_controller: Tally::default(),
            by_node: Tally::default(),
            loads: Map::new_sync(),
            recent: Map::new_sync(),
            going: Map::new_sync(),
            silent: Map::new_sync(),
            missed: Map::new_sync(),
            deleting: RedBlackTreeSetSync::new_sync(),
            strays: RedBlackTreeSetSync::new_sync(),
            counted_nodes: Table::new_sync(),
            nodes_differ: false,
        }
    }
}

impl View {
    /// The object, if it exists.
    pub fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.tables.get(&key.resource)?.get(&(key.namespace.clone(), key.name.clone()))
    }

    /// The object of this uid.
    pub fn by_uid(&self, uid: &str) -> Option<(&ObjectKey, &Object)> {
        let key = self.by_uid.get(uid)?;
        self.get(key).map(|object| (key, object))
    }

    /// The objects of a type, in `namespace` if one is given, by namespace and name.
    pub fn list<'a>(
        &'a self,
        resource: &GroupResource,
        namespace: &str,
    ) -> impl Iterator<Item = (ObjectKey, &'a Object)> + use<'a> {
        let namespace = Text::from(namespace);
        let from = Bound::Included((namespace.clone(), Text::from("")));
        let (table, resource) = (self.tables.get(resource).into_iter(), resource.clone());
        table
            .flat_map(move |table| table.range((from.clone(), Bound::Unbounded)))
            .take_while(move |((at, _), _)| namespace.is_empty() || *at == namespace)
            .map(move |((namespace, name), object)| {
                (ObjectKey::new(resource.clone(), namespace, name), object)
            })
    }

    /// The types of which there are objects.
    pub fn resources(&self) -> impl Iterator<Item = &GroupResource> {
        self.tables.iter().filter(|(_, table)| !table.is_empty()).map(|(resource, _)| resource)
    }

    /// The objects that name this uid as owner, by key.
    pub fn dependents<'a>(
        &'a self,
        uid: &str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Object)> + use<'a> {
        self.at(&self.dependents, uid)
    }

    /// Every object that names an owner, by owner and key.
    pub fn owned(&self) -> impl Iterator<Item = &ObjectKey> {
        self.dependents.iter().filter_map(|(_, key)| key.as_ref())
    }

    /// The objects of a type that workloads adopt, in a namespace, that nobody controls.
    pub fn uncontrolled<'a>(
        &'a self,
        resource: &GroupResource,
        namespace: &str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Object)> + use<'a> {
        let from = ObjectKey::new(resource.clone(), namespace, "");
        self.uncontrolled
            .range((Bound::Included(from.clone()), Bound::Unbounded))
            .take_while(move |key| key.resource == from.resource && key.namespace == from.namespace)
            .filter_map(|key| self.get(key).map(|object| (key, object)))
    }

    /// The pods that have no node.
    pub fn unbound(&self) -> impl Iterator<Item = &ObjectKey> {
        self.unbound.iter()
    }

    /// The pods without a node that a scheduler turned away.
    pub fn turned_away(&self) -> impl Iterator<Item = &ObjectKey> {
        self.turned_away.iter()
    }

    /// The pods without a node that one is kept for: the node and the pod's key.
    pub fn nominated(&self) -> impl Iterator<Item = &(Text, ObjectKey)> {
        self.nominated.iter()
    }

    /// The pods on a node.
    pub fn on_node<'a>(
        &'a self,
        node: &str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Object)> + use<'a> {
        self.at(&self.on_node, node)
    }

    /// Of the pods on a node, those that say which others they want to be near to, or away from.
    pub(crate) fn with_terms<'a>(
        &'a self,
        node: &str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Object)> + use<'a> {
        self.at(&self.with_terms, node)
    }

    /// The objects that stand in an index at this place.
    fn at<'a>(
        &'a self,
        index: &'a RedBlackTreeSetSync<(Text, Option<ObjectKey>)>,
        place: &str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Object)> + use<'a> {
        let place = Text::from(place);
        index
            .range((Bound::Included((place.clone(), None)), Bound::Unbounded))
            .take_while(move |(of, _)| *of == place)
            .filter_map(|(_, key)| {
                let key = key.as_ref()?;
                self.get(key).map(|object| (key, object))
            })
    }

    /// How many pods of which kinds the object of this uid controls.
    pub fn controlled<'a>(
        &'a self,
        uid: &str,
    ) -> impl Iterator<Item = (&'a Alike, usize)> + use<'a> {
        self.by_controller.of(uid)
    }

    /// How many pods of which kinds are on a node.
    pub fn counted_on<'a>(
        &'a self,
        node: &str,
    ) -> impl Iterator<Item = (&'a Alike, usize)> + use<'a> {
        self.by_node.of(node)
    }

    /// What the pods on a node that have not ended ask for.
    pub(crate) fn load(&self, node: &Text) -> Option<&Arc<Load>> {
        self.loads.get(node)
    }

    /// What an autoscaler did lately, if it ever acted.
    pub fn recent(&self, key: &ObjectKey) -> Option<&Recent> {
        self.recent.get(key)
    }

    /// What all autoscalers did lately.
    pub fn all_recent(&self) -> impl Iterator<Item = (&ObjectKey, &Recent)> {
        self.recent.iter()
    }

    /// When a pod has to go from a node whose taints it tolerates for a while, if that is settled.
    pub(crate) fn goes_at(&self, key: &ObjectKey) -> Option<Time> {
        self.going.get(key).copied()
    }

    /// When all such pods have to go.
    pub fn all_going(&self) -> impl Iterator<Item = (&ObjectKey, &Time)> {
        self.going.iter()
    }

    /// Since when a node is not heard of, if it is not.
    pub(crate) fn silent_since(&self, key: &ObjectKey) -> Option<Time> {
        self.silent.get(key).copied()
    }

    /// Since when all such nodes are not.
    pub fn all_silent(&self) -> impl Iterator<Item = (&ObjectKey, &Time)> {
        self.silent.iter()
    }

    /// Until when a node may be missing that pods name, if it was missed.
    pub(crate) fn missed_until(&self, node: &ObjectKey) -> Option<Time> {
        self.missed.get(node).copied()
    }

    /// Until when all such nodes may be missing, those among them that are there again.
    pub fn all_missed(&self) -> impl Iterator<Item = (&ObjectKey, &Time)> {
        self.missed.iter()
    }

    /// Keeps what a controller is to know at its next turn.
    pub fn remember(&mut self, key: &ObjectKey, memory: Memory) {
        match memory {
            Memory::Scaled(recent) => self.recent.insert_mut(key.clone(), *recent),
            Memory::GoesAt(Some(at)) => self.going.insert_mut(key.clone(), at),
            Memory::GoesAt(None) => {
                self.going.remove_mut(key);
            }
            Memory::SilentSince(Some(at)) => self.silent.insert_mut(key.clone(), at),
            Memory::SilentSince(None) => {
                self.silent.remove_mut(key);
            }
            Memory::MissedUntil(Some(until)) => self.missed.insert_mut(key.clone(), until),
            Memory::MissedUntil(None) => {
                self.missed.remove_mut(key);
            }
            Memory::NoSlices => self.forget_slices(key),
        }
    }

    /// What upstream keeps in a map, in the present order.
    pub(crate) fn in_order<T>(&self, mut sorted: Vec<T>) -> Vec<T> {
        let (mut number, mut ordered) = (self.order, Vec::new());
        while number > 0 && !sorted.is_empty() {
            let left = sorted.len();
            ordered.push(sorted.remove(number % left));
            number /= left;
        }
        ordered.extend(sorted);
        ordered
    }

    /// Whether the object of this uid deletes its dependents, or has ever done so. Upstream's graph never takes that back
    /// (`markDeletingDependents`): where something else keeps the object, it goes on looking so until the collector
    /// starts anew.
    pub(crate) fn has_deleted_dependents(&self, uid: &Text) -> bool {
        self.deleting.contains(uid)
    }

    /// The objects of which only the garbage collector's memory says that they delete their dependents.
    pub fn still_deleting(&self) -> impl Iterator<Item = &ObjectKey> {
        let known = self.deleting.iter().filter_map(|uid| self.by_uid(uid));
        known.filter(|(_, object)| !object.meta.deletes_dependents()).map(|(key, _)| key)
    }

    /// Sets or removes an object; answers what was there.
    pub fn set(&mut self, key: &ObjectKey, object: Option<Object>) -> Option<Object> {
        let before = self.get(key).cloned();
        self.index_owners(key, before.as_ref(), object.as_ref());
        self.index_pods(key, before.as_ref(), object.as_ref());
        self.index_slices(key, before.as_ref(), object.as_ref());
        let counts = Counts::of(key, before.as_ref(), object.as_ref());
        let mut table = self.tables.get(&key.resource).cloned().unwrap_or_else(Table::new_sync);
        let slot = (key.namespace.clone(), key.name.clone());
        match object {
            Some(object) => table.insert_mut(slot, object),
            None => {
                table.remove_mut(&slot);
                self.recent.remove_mut(key);
                self.going.remove_mut(key);
                self.silent.remove_mut(key);
            }
        }
        self.tables.insert_mut(key.resource.clone(), table);
        self.count_zones(counts);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_a_number() {
        let of = |order| View { order, ..View::default() }.in_order(vec!['a', 'b', 'c']);
        assert_eq!(of(0), ['a', 'b', 'c']);
        let all: std::collections::BTreeSet<Vec<char>> = (0..6).map(of).collect();
        assert_eq!(all.len(), 6);
    }
}
