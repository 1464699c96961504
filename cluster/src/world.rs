//! The world: everything that a fork needs, and nothing else.
//!
//! Objects and their history, the clock, the generator of names, and the custom types (derivable from the
//! objects, kept parsed because each request needs them). Cloning a world is forking it and costs a
//! handful of pointer copies. A world knows no HTTP and no connections; those are a `Server`'s.

use std::{ops::Bound, sync::Arc};

use controllers::Controller;
use rpds::RedBlackTreeMapSync;
use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Revision, Time};

use crate::{
    crd::CustomType,
    environment::{Environment, EnvironmentOptions},
    names::{Names, SuffixOrder},
    store::{Logged, Store},
};

pub(crate) mod kinds;

/// What a new world starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorldOptions {
    /// What its clock shows first.
    pub start: Time,
    /// Decides uids and generated names.
    pub seed: u64,
    /// Which way generated names sort.
    pub suffixes: SuffixOrder,
}

/// The whole state of an embedded cluster. See the module's documentation.
#[derive(Debug, Clone)]
pub struct World {
    pub(crate) store: Store,
    pub(crate) now: Time,
    pub(crate) names: Names,
    /// Custom types by served group and resource, from the CustomResourceDefinitions in the store.
    pub(crate) customs: RedBlackTreeMapSync<GroupResource, Arc<CustomType>>,
    /// The built-in controllers, where any run.
    pub(crate) environment: Option<Arc<Environment>>,
}

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The type of CustomResourceDefinitions.
pub(crate) fn crds() -> GroupResource {
    GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// The type of Namespaces.
pub(crate) fn namespaces() -> GroupResource {
    GroupResource::new("", "namespaces")
}

impl World {
    /// A cluster in which nothing has happened yet: the four namespaces exist.
    pub fn new(options: WorldOptions) -> World {
        let mut world = World {
            store: Store::new(Revision(1)),
            now: options.start,
            names: Names::new(options.seed, options.suffixes),
            customs: RedBlackTreeMapSync::new_sync(),
            environment: None,
        };
        for name in NAMESPACES {
            let uid = world.names.uid();
            let namespace = json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": name,
                    "uid": uid,
                    "creationTimestamp": world.now.rfc3339(),
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            });
            world.put(ObjectKey::new(namespaces(), "", name), namespace);
        }
        world
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.store.revision()
    }

    /// The world's clock.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Every object, bookkeeping included: by type, then in list order.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        self.store.root().objects()
    }

    /// One object.
    pub fn object(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.store.get(key)
    }

    /// From now on other uids and generated names; those names sort beyond all earlier ones.
    pub fn reseed(&mut self, seed: u64, order: SuffixOrder) {
        self.names.reseed(seed, order);
    }

    /// Every `generateName` name ever issued, in order of issue.
    pub fn generated_names(&self) -> impl Iterator<Item = &str> {
        self.names.issued()
    }

    /// Sets an object; writes the new revision into it.
    pub(crate) fn put(&mut self, key: ObjectKey, mut object: Value) -> Arc<Logged> {
        self.stamp(&mut object);
        let logged = self.store.put(key, Arc::new(object));
        self.learn_types(&logged);
        self.observe(&logged);
        logged
    }

    /// Removes an object; its last state carries the revision of the removal.
    pub(crate) fn remove(&mut self, key: ObjectKey) -> Option<Arc<Logged>> {
        let mut last = (**self.store.get(&key)?).clone();
        self.stamp(&mut last);
        let logged = self.store.delete(key, Arc::new(last))?;
        self.learn_types(&logged);
        self.observe(&logged);
        Some(logged)
    }

    /// From now on these built-in controllers run; they have everything that exists still to look at.
    pub fn start_environment(&mut self, options: &EnvironmentOptions) {
        crate::environment::join_nodes(self, options.nodes);
        if options.controllers.contains(&Controller::Provisioner) {
            crate::environment::add_default_class(self);
        }
        self.environment = Environment::start(self, options).map(Arc::new);
    }

    /// Whether the built-in controllers have nothing to do before the next of their timers.
    pub fn is_environment_quiet(&self) -> bool {
        self.environment.as_ref().is_none_or(|environment| environment.is_quiet())
    }

    /// What the built-in controllers have still to do, for a world's identity: the same value, the same work.
    /// Null where none is pending.
    pub fn pending(&self) -> Value {
        self.environment.as_ref().map_or(Value::Null, |environment| environment.pending(self))
    }

    fn observe(&mut self, logged: &Logged) {
        let Some(environment) = &mut self.environment else { return };
        let environment = Arc::make_mut(environment);
        if logged.key.resource == crds() {
            environment.serve(crate::environment::kinds(&self.customs));
        }
        environment.observe(logged, self.now);
    }

    fn stamp(&self, object: &mut Value) {
        object["metadata"]["resourceVersion"] = json!(self.store.next_revision().to_string());
    }

    fn learn_types(&mut self, logged: &Logged) {
        if logged.key.resource != crds() {
            return;
        }
        let kept: RedBlackTreeMapSync<_, _> = self
            .store
            .root()
            .scan(&crds(), "", Bound::Unbounded)
            .filter_map(|(_, object)| CustomType::parse(object))
            .map(|custom| (custom.resource.clone(), Arc::new(custom)))
            .collect();
        self.customs = kept;
    }
}

/// `metadata.<field>` of an object as text.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|meta| meta.get(field)).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_world_has_the_four_namespaces() {
        let options = WorldOptions { start: Time(0), seed: 1, suffixes: SuffixOrder::Ascending };
        let world = World::new(options);
        let names: Vec<&str> = world.objects().map(|(key, _)| &*key.name).collect();
        assert_eq!(names, NAMESPACES);
        let mut fork = world.clone();
        fork.remove(ObjectKey::new(namespaces(), "", "default"));
        assert_eq!(world.objects().count(), 4);
        assert_eq!(fork.objects().count(), 3);
        assert_eq!(fork.revision(), world.revision().next());
    }
}
