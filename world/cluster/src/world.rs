//! The world: everything that a fork needs, and nothing else.
//!
//! Objects and their history, the clock, the generator of names, and the custom types (derivable from the
//! objects, kept parsed because each request needs them). Cloning a world is forking it and costs a
//! handful of pointer copies. A world knows no HTTP and no connections; those are a `Server`'s.

use std::{ops::Bound, sync::Arc, time::Duration};

use controllers::Controller;
use rpds::RedBlackTreeMapSync;
use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Revision, Time};

use crate::{
    auth::{
        Authorization,
        x509::{self, Authorities},
    },
    crd::CustomType,
    environment::{Environment, EnvironmentOptions},
    facts::Release,
    names::{Names, SuffixOrder},
    store::{Logged, Print, Store},
};

pub(crate) mod kinds;
mod packed;

pub use packed::PackedWorld;

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
    /// The release that it says it is of.
    pub(crate) release: Release,
    /// Whether permissions count.
    pub(crate) authorization: Authorization,
    /// The administrator's token.
    pub(crate) admin_token: Arc<str>,
    /// Whether users have to say who they are.
    pub(crate) asks_for_credentials: bool,
    /// Whose client certificates count.
    pub(crate) client_authorities: Authorities,
    /// Whether pods get their account and its token.
    pub(crate) service_accounts: bool,
    /// Whether labels of namespaces say which pods they take.
    pub(crate) pod_security: bool,
    /// The built-in controllers, where any run.
    pub(crate) environment: Option<Arc<Environment>>,
}

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Priority classes that every cluster has: name, value, description.
const PRIORITY_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if \
         necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];

/// The type of PriorityClasses.
pub(crate) fn priority_classes() -> GroupResource {
    GroupResource::new("scheduling.k8s.io", "priorityclasses")
}

/// The type of CustomResourceDefinitions.
pub(crate) fn crds() -> GroupResource {
    GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// The type of Namespaces.
pub(crate) fn namespaces() -> GroupResource {
    GroupResource::new("", "namespaces")
}

impl World {
    /// A cluster in which nothing has happened yet: the four namespaces exist, and the two priority
    /// classes of the system.
    pub fn new(options: WorldOptions) -> World {
        let mut world = World {
            store: Store::new(Revision(1)),
            now: options.start,
            names: Names::new(options.seed, options.suffixes),
            customs: RedBlackTreeMapSync::new_sync(),
            release: Release::CURRENT,
            authorization: Authorization::AlwaysAllow,
            admin_token: crate::ADMIN_TOKEN.into(),
            asks_for_credentials: false,
            client_authorities: x509::authorities(),
            service_accounts: false,
            pod_security: true,
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
        for (name, value, description) in PRIORITY_CLASSES {
            let class = world.priority_class(name, value, description);
            world.put(ObjectKey::new(priority_classes(), "", name), class);
        }
        world
    }

    /// A class as the API server makes its own (`scheduling/rest/storage_scheduling.go`).
    fn priority_class(&mut self, name: &str, value: i64, description: &str) -> Value {
        let now = self.now.rfc3339();
        json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {
                "name": name, "uid": self.names.uid(), "generation": 1, "creationTimestamp": now,
                "managedFields": [{
                    "manager": "kube-apiserver", "operation": "Update",
                    "apiVersion": "scheduling.k8s.io/v1", "time": now, "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}},
                }],
            },
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        })
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

    /// What its objects say, for telling many worlds of one origin apart quickly.
    pub fn print(&self) -> Print {
        self.store.root().print()
    }

    /// One object.
    pub fn object(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.store.get(key)
    }

    /// One object as of an older revision; none where that was forgotten, or there was no such object.
    pub fn object_at(&self, revision: Revision, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.store.root_at(revision).ok()??.get(key)
    }

    /// What happened to a type after `revision`, in order; nothing where that was forgotten.
    pub fn changes_after(
        &self,
        resource: &GroupResource,
        revision: Revision,
    ) -> impl Iterator<Item = &Arc<Logged>> {
        self.store.log_after(resource, revision).into_iter().flatten()
    }

    /// What happened to all types after `revision`, in order; nothing where that was forgotten.
    pub fn all_changes_after(&self, revision: Revision) -> Vec<&Arc<Logged>> {
        let types = self.store.logged_types();
        let mut changes: Vec<_> =
            types.flat_map(|resource| self.changes_after(resource, revision)).collect();
        changes.sort_by_key(|logged| logged.revision);
        changes
    }

    /// From now on other uids and generated names; those names sort beyond all earlier ones.
    pub fn reseed(&mut self, seed: u64, order: SuffixOrder) {
        self.names.reseed(seed, order);
    }

    /// Every `generateName` name ever issued, in order of issue.
    pub fn generated_names(&self) -> impl Iterator<Item = &str> {
        self.names.issued()
    }

    /// From now on it says that it is of this release, and serves the beta versions that were served then.
    pub fn serve_as(&mut self, release: Release) {
        self.release = release;
        if let Some(environment) = &mut self.environment {
            let kinds = crate::environment::kinds(&self.customs, release);
            Arc::make_mut(environment).serve(kinds);
        }
    }

    /// The release that it says it is of.
    pub fn release(&self) -> Release {
        self.release
    }

    /// Gives the administrator another token than [`crate::ADMIN_TOKEN`], which is nobody's then.
    pub fn set_admin_token(&mut self, token: &str) {
        self.admin_token = token.into();
    }

    /// From now on users ([`trace::Actor::User`]) are nobody without a token or certificate that counts; without this
    /// they are the administrator, for requests from within this process carry none.
    pub fn ask_for_credentials(&mut self) {
        self.asks_for_credentials = true;
    }

    /// From now on permissions count; the roles and bindings exist that every cluster has.
    pub fn enforce_rbac(&mut self) {
        crate::rbac::bootstrap::create(self);
        self.authorization = Authorization::Rbac;
    }

    /// From now on new pods get their ServiceAccount and a volume with its token, and are refused where there is no
    /// such account.
    pub fn mount_service_accounts(&mut self) {
        self.service_accounts = true;
    }

    /// From now on labels of namespaces refuse no pods and warn of none.
    pub fn ignore_pod_security(&mut self) {
        self.pod_security = false;
    }

    /// A token of a ServiceAccount that is good for so long by the world's clock. None if there is no such
    /// account.
    pub fn account_token(&self, namespace: &str, name: &str, life: Duration) -> Option<String> {
        let key = ObjectKey::new(GroupResource::new("", "serviceaccounts"), namespace, name);
        let uid = meta(self.store.get(&key)?, "uid");
        let claims = crate::auth::token::Claims {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            audiences: vec![crate::auth::token::ISSUER.to_owned()],
            id: Names::opaque(b"token", self.revision().0),
            since: self.now,
            until: self.now.plus(life),
        };
        Some(claims.token())
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
        crate::environment::join_nodes(self, options.nodes, !options.stages_of_nodes());
        if options.controllers.contains(&Controller::Provisioner) {
            crate::environment::add_default_class(self);
        }
        self.environment = Environment::start(self, options).map(Arc::new);
    }

    /// Whether the built-in controllers have nothing to do before the next of their timers.
    pub fn is_environment_quiet(&self) -> bool {
        self.environment.as_ref().is_none_or(|environment| environment.is_quiet())
    }

    /// What went wrong with stages that were played: templates that failed, writes that were refused. Each once, the
    /// first twenty.
    pub fn stage_problems(&self) -> &[String] {
        self.environment.as_ref().map_or(&[], |environment| environment.stage_problems())
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
            environment.serve(crate::environment::kinds(&self.customs, self.release));
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
    fn a_new_world_has_the_four_namespaces_and_two_classes() {
        let options = WorldOptions { start: Time(0), seed: 1, suffixes: SuffixOrder::Ascending };
        let world = World::new(options);
        let names: Vec<&str> = world.objects().map(|(key, _)| &*key.name).collect();
        let classes = PRIORITY_CLASSES.map(|(name, ..)| name);
        assert_eq!(names, [&NAMESPACES[..], &classes].concat());
        let mut fork = world.clone();
        fork.remove(ObjectKey::new(namespaces(), "", "default"));
        assert_eq!(world.objects().count(), 6);
        assert_eq!(fork.objects().count(), 5);
        assert_eq!(fork.revision(), world.revision().next());
    }
}
