//! The store's log: what was true when.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use trace::{Change, GroupResource, ObjectKey, Revision};

use super::{Illegal, Rule, selector::Scope};

/// An object's versions: from which revision on, and what it was; none: it was not there.
type Versions = Vec<(Revision, Option<Arc<Value>>)>;

/// All that a store ever held, from a revision on.
#[derive(Debug, Clone, Default)]
pub struct Store {
    since: Revision,
    begins: Revision,
    objects: BTreeMap<ObjectKey, Versions>,
    types: BTreeSet<GroupResource>,
    log: Vec<Logged>,
    by_type: BTreeMap<GroupResource, Vec<usize>>,
}

/// A change of one object.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The revision that it made.
    pub revision: Revision,
    /// What happened.
    pub change: Change,
    /// To which object.
    pub key: ObjectKey,
    /// The object after it; its last state for deletions.
    pub object: Arc<Value>,
}

impl Store {
    /// From the objects as of `since`, and everything that happened from there on, in order. A history over it begins at
    /// the revision `begins`.
    pub fn new(
        since: Revision,
        objects: impl IntoIterator<Item = (ObjectKey, Arc<Value>)>,
        log: Vec<Logged>,
        begins: Revision,
    ) -> Store {
        let mut store = Store { since, begins, ..Store::default() };
        for (key, object) in objects {
            store.types.insert(key.resource.clone());
            store.objects.insert(key, vec![(since, Some(object))]);
        }
        for (at, logged) in log.iter().enumerate() {
            store.types.insert(logged.key.resource.clone());
            store.by_type.entry(logged.key.resource.clone()).or_default().push(at);
            let object = (logged.change != Change::Deleted).then(|| logged.object.clone());
            store.objects.entry(logged.key.clone()).or_default().push((logged.revision, object));
        }
        store.log = log;
        store
    }

    /// The revision at which the history begins.
    pub fn begins(&self) -> Revision {
        self.begins
    }

    /// The first revision that it knows.
    pub fn since(&self) -> Revision {
        self.since
    }

    /// Whether it ever held an object of the type.
    pub fn has(&self, resource: &GroupResource) -> bool {
        self.types.contains(resource)
    }

    /// Whether it holds all objects of the type in this version.
    pub fn keeps_as(&self, resource: &GroupResource, api_version: &str) -> bool {
        self.versions(resource).all(|object| object["apiVersion"] == *api_version)
    }

    /// All that objects of the type ever were.
    pub fn versions(&self, resource: &GroupResource) -> impl Iterator<Item = &Arc<Value>> {
        self.of_type(resource).flat_map(|(_, versions)| versions).filter_map(|(_, is)| is.as_ref())
    }

    /// The objects of a type, with all that they were.
    pub fn of_type(
        &self,
        resource: &GroupResource,
    ) -> impl Iterator<Item = (&ObjectKey, &Versions)> {
        let first = ObjectKey::new(resource.clone(), "", "");
        let from_first = self.objects.range(first..);
        from_first.take_while(move |(key, _)| key.resource == *resource)
    }

    /// Whether it ever held this object.
    pub fn knows(&self, key: &ObjectKey) -> bool {
        self.objects.contains_key(key)
    }

    /// Whether this revision is that in which an object began.
    pub fn created(&self, key: &ObjectKey, revision: Revision) -> bool {
        let at = self.log.partition_point(|logged| logged.revision < revision);
        self.log.get(at).is_some_and(|logged| {
            logged.revision == revision && logged.change == Change::Created && logged.key == *key
        })
    }

    /// An object as it was at a revision.
    pub fn at(&self, key: &ObjectKey, revision: Revision) -> Option<&Arc<Value>> {
        at(self.objects.get(key)?, revision)
    }

    /// All that an object was from one revision to another, both included; the first is what it was when that began, each
    /// further one a change.
    pub fn between(
        &self,
        key: &ObjectKey,
        from: Revision,
        to: Revision,
    ) -> impl Iterator<Item = Option<&Arc<Value>>> {
        let versions = self.objects.get(key).map(Vec::as_slice).unwrap_or_default();
        let later = versions.iter().filter(move |(since, _)| *since > from && *since <= to);
        std::iter::once(self.at(key, from)).chain(later.map(|(_, object)| object.as_ref()))
    }

    /// What a list of this scope shows at a revision.
    pub fn listed<'s>(
        &'s self,
        scope: &'s Scope,
        revision: Revision,
    ) -> impl Iterator<Item = (&'s ObjectKey, &'s Arc<Value>)> {
        let of_type = scope.resource.iter().flat_map(|resource| self.of_type(resource));
        of_type.filter_map(move |(key, versions)| {
            let object = at(versions, revision)?;
            scope.selects(key, object).then_some((key, object))
        })
    }

    /// The revisions at which the type changed, up to one, the newest first; then the first that is known.
    pub fn revisions<'s>(
        &'s self,
        resource: &GroupResource,
        up_to: Revision,
    ) -> impl Iterator<Item = Revision> + 's {
        let changes = self.by_type.get(resource).into_iter().flatten().rev();
        let changes = changes.map(|at| self.log[*at].revision);
        changes.filter(move |revision| *revision <= up_to).chain([self.since])
    }

    /// What happened to the type after a revision, in order, each with the object before it.
    pub fn after<'s>(
        &'s self,
        resource: &GroupResource,
        revision: Revision,
    ) -> impl Iterator<Item = (&'s Logged, Option<&'s Arc<Value>>)> + 's {
        let changes = self.by_type.get(resource).into_iter().flatten();
        let changes = changes.map(|at| &self.log[*at]).filter(move |one| one.revision > revision);
        changes.map(|logged| {
            let before = Revision(logged.revision.0.saturating_sub(1));
            (logged, self.at(&logged.key, before))
        })
    }

    /// What the log itself says that can't be.
    pub fn broken(&self) -> Vec<Illegal> {
        let mut found = Vec::new();
        let mut last = self.since;
        for logged in &self.log {
            let mut say = |what: &str| {
                let text = format!("{} of {} {what}", logged.revision.0, logged.key);
                found.push(Illegal { rule: Rule::Log, sequence: 0, text });
            };
            if logged.revision <= last {
                say("does not grow");
            }
            last = logged.revision;
            let before = self.at(&logged.key, Revision(logged.revision.0.saturating_sub(1)));
            match (logged.change, before) {
                (Change::Created, Some(_)) => say("is a creation of what is there"),
                (Change::Updated | Change::Deleted, None) => {
                    say("is a change of what is not there")
                }
                (Change::Updated, Some(before)) if uid(before) != uid(&logged.object) => {
                    say("gives it another uid");
                }
                _ => {}
            }
        }
        found
    }
}

fn at(versions: &Versions, revision: Revision) -> Option<&Arc<Value>> {
    let later = versions.partition_point(|(since, _)| *since <= revision);
    versions.get(later.checked_sub(1)?)?.1.as_ref()
}

/// Of objects of one type: as etcd orders their keys, `namespace/name` by its bytes.
pub fn etcd_order(one: &ObjectKey, other: &ObjectKey) -> Ordering {
    if one.namespace == other.namespace {
        return one.name.cmp(&other.name);
    }
    let path = |key: &ObjectKey| [&*key.namespace, "/", &*key.name].concat();
    path(one).cmp(&path(other))
}

fn uid(object: &Value) -> &Value {
    &object["metadata"]["uid"]
}
