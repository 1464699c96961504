//! The store: a persistent map of objects, one revision counter, all roots, and a log per resource type.
//!
//! Persistent means structurally shared: a clone is a fork and costs some pointer copies; a commit copies
//! one path of a tree. Nothing here knows HTTP, schemas or time. Values carry their own
//! `metadata.resourceVersion`, which the caller writes before the commit ([`Store::next_revision`]).
//!
//! Order: objects of one type are listed as etcd would, by the bytes of `namespace/name`.

use std::{
    cmp::Ordering,
    ops::Bound,
    sync::{Arc, OnceLock},
};

use rpds::{RedBlackTreeMapSync, VectorSync};
use serde_json::Value;
use trace::{Change, GroupResource, ObjectKey, Revision};

pub use packed::Packed;
pub use print::Print;
pub(crate) use stored::Stored;

pub(crate) mod packed;
mod print;
mod stored;

/// An object's key, ordered as etcd orders `/registry/<resource>/<namespace>/<name>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot(pub ObjectKey);

impl Slot {
    fn path(&self) -> impl Iterator<Item = u8> {
        let namespace = self.0.namespace.as_bytes();
        let slash: &[u8] = if namespace.is_empty() { b"" } else { b"/" };
        namespace.iter().chain(slash).chain(self.0.name.as_bytes()).copied()
    }
}

impl Ord for Slot {
    fn cmp(&self, other: &Slot) -> Ordering {
        if self.0.namespace == other.0.namespace {
            return self.0.name.cmp(&other.0.name);
        }
        self.path().cmp(other.path())
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Slot) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All objects of one type at one revision.
type Table = RedBlackTreeMapSync<Slot, Stored>;

/// All objects at one revision. Cloning it copies one pointer.
#[derive(Debug, Clone)]
pub struct Root(RedBlackTreeMapSync<GroupResource, Table>);

impl Root {
    /// The object, if it exists here.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        Some(self.0.get(&key.resource)?.get(&Slot(key.clone()))?.object())
    }

    /// Objects of one type, in `namespace` if one is given, that come at or after the slot `from`.
    pub fn scan<'a>(
        &'a self,
        resource: &GroupResource,
        namespace: &'a str,
        from: Bound<Slot>,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Arc<Value>)> + use<'a> {
        self.stored(resource, namespace, from).map(|(key, stored)| (key, stored.object()))
    }

    /// The same with what was made of them.
    pub(crate) fn stored<'a>(
        &'a self,
        resource: &GroupResource,
        namespace: &'a str,
        from: Bound<Slot>,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Stored)> + use<'a> {
        let first = match from {
            Bound::Unbounded if !namespace.is_empty() => {
                Bound::Included(Slot(ObjectKey::new(resource.clone(), namespace, "")))
            }
            other => other,
        };
        self.0
            .get(resource)
            .into_iter()
            .flat_map(move |table| table.range((first.clone(), Bound::Unbounded)))
            .map(|(slot, stored)| (&slot.0, stored))
            .take_while(move |(key, _)| namespace.is_empty() || &*key.namespace == namespace)
    }

    /// Every object: by type, then in list order.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        let tables = self.0.values();
        tables.flat_map(|table| table.iter().map(|(slot, stored)| (&slot.0, stored.object())))
    }

    /// The prints of all objects together.
    pub fn print(&self) -> Print {
        let prints = self.0.values().flat_map(Table::values).map(Stored::print);
        Print(prints.fold(0, |sum, print| sum.wrapping_add(print)))
    }

    /// How many objects of a type there are.
    pub fn count(&self, resource: &GroupResource) -> usize {
        self.0.get(resource).map_or(0, Table::size)
    }
}

/// One entry of the log.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The revision that it made.
    pub revision: Revision,
    /// What happened.
    pub change: Change,
    /// To which object.
    pub key: ObjectKey,
    /// The object after it; for a deletion its last state with the deletion's revision.
    pub object: Arc<Value>,
    /// The object before it.
    pub previous: Option<Arc<Value>>,
    packed: OnceLock<Arc<packed::Happened>>,
}

impl Logged {
    /// An entry.
    pub(crate) fn new(
        revision: Revision,
        change: Change,
        key: ObjectKey,
        object: Arc<Value>,
        previous: Option<Arc<Value>>,
    ) -> Logged {
        Logged { revision, change, key, object, previous, packed: OnceLock::new() }
    }
}

/// The revision asked for is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("revision {asked} was compacted, the oldest kept is {oldest}")]
pub struct Compacted {
    /// What was asked for.
    pub asked: Revision,
    /// The oldest revision that can be asked for.
    pub oldest: Revision,
}

/// Objects, revisions, history.
#[derive(Debug, Clone)]
pub struct Store {
    root: Root,
    revision: Revision,
    /// Histories at or below this revision are gone; the root *of* this revision is kept.
    compacted: Revision,
    /// Root of revision `compacted + i` at index i.
    roots: VectorSync<Root>,
    log: RedBlackTreeMapSync<GroupResource, VectorSync<Arc<Logged>>>,
}

impl Store {
    /// An empty store at revision `start`; the first commit makes `start + 1`.
    pub fn new(start: Revision) -> Store {
        let root = Root(RedBlackTreeMapSync::new_sync());
        let roots = VectorSync::new_sync().push_back(root.clone());
        let log = RedBlackTreeMapSync::new_sync();
        Store { root, revision: start, compacted: start, roots, log }
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The revision that the next commit will make.
    pub fn next_revision(&self) -> Revision {
        self.revision.next()
    }

    /// The oldest revision whose root is kept.
    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    /// The newest root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The object, if it exists.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.root.get(key)
    }

    /// The root of an older revision. Errors: compacted. `None`: in the future.
    pub fn root_at(&self, revision: Revision) -> Result<Option<&Root>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted { asked: revision, oldest: self.compacted });
        }
        Ok(self.roots.get((revision.0 - self.compacted.0) as usize))
    }

    /// Sets an object, creating or replacing it.
    pub fn put(&mut self, key: ObjectKey, object: Arc<Value>) -> Arc<Logged> {
        let empty = Table::new_sync;
        let mut table = self.root.0.get(&key.resource).cloned().unwrap_or_else(empty);
        let slot = Slot(key.clone());
        let previous = table.get(&slot).map(Stored::object).cloned();
        table.insert_mut(slot, Stored::new(object.clone()));
        self.root.0.insert_mut(key.resource.clone(), table);
        let change = if previous.is_some() { Change::Updated } else { Change::Created };
        self.committed(change, key, object, previous)
    }

    /// Removes an object; `last` is what watchers see of it. `None` if there was none.
    pub fn delete(&mut self, key: ObjectKey, last: Arc<Value>) -> Option<Arc<Logged>> {
        let mut table = self.root.0.get(&key.resource)?.clone();
        let slot = Slot(key.clone());
        let previous = table.get(&slot).map(Stored::object).cloned()?;
        table.remove_mut(&slot);
        self.root.0.insert_mut(key.resource.clone(), table);
        Some(self.committed(Change::Deleted, key, last, Some(previous)))
    }

    fn committed(
        &mut self,
        change: Change,
        key: ObjectKey,
        object: Arc<Value>,
        previous: Option<Arc<Value>>,
    ) -> Arc<Logged> {
        self.revision = self.revision.next();
        self.roots.push_back_mut(self.root.clone());
        let resource = key.resource.clone();
        let logged = Arc::new(Logged::new(self.revision, change, key, object, previous));
        let mut log = self.log.get(&resource).cloned().unwrap_or_else(VectorSync::new_sync);
        log.push_back_mut(logged.clone());
        self.log.insert_mut(resource, log);
        logged
    }

    /// Types to which something happened.
    pub fn logged_types(&self) -> impl Iterator<Item = &GroupResource> {
        self.log.keys()
    }

    /// What happened to a type after `revision`, in order. Errors: part of that is gone.
    pub fn log_after<'a>(
        &'a self,
        resource: &GroupResource,
        revision: Revision,
    ) -> Result<impl Iterator<Item = &'a Arc<Logged>> + use<'a>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted { asked: revision, oldest: self.compacted });
        }
        let log = self.log.get(resource);
        let (mut low, mut high) = (0, log.map_or(0, VectorSync::len));
        while low < high {
            let middle = (low + high) / 2;
            let at =
                log.and_then(|log| log.get(middle)).map_or(Revision(0), |entry| entry.revision);
            if at <= revision {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(log.into_iter().flat_map(move |log| (low..log.len()).filter_map(|i| log.get(i))))
    }

    /// Forgets history before `revision` (at most up to now): its root stays, older ones go, and watches
    /// can start at `revision` but not before it. Costs a copy of what remains.
    pub fn compact(&mut self, revision: Revision) {
        let revision = revision.min(self.revision);
        if revision <= self.compacted {
            return;
        }
        let gone = (revision.0 - self.compacted.0) as usize;
        self.roots = self.roots.iter().skip(gone).cloned().collect();
        let kept = self.log.iter().map(|(resource, log)| {
            let entries = log.iter().filter(|entry| entry.revision > revision).cloned();
            (resource.clone(), entries.collect())
        });
        self.log = kept.collect();
        self.compacted = revision;
    }
}

#[cfg(test)]
mod tests;
