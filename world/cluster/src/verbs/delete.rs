//! delete and deletecollection (`k8s.io/apiserver/pkg/registry/generic/registry/store.go`).
//!
//! What upstream leaves to controllers is left here too: dependents (garbage collector), the contents of a
//! namespace (namespace controller), a pod's last seconds (kubelet). They belong to the environment.

use std::{ops::Bound, sync::Arc, time::Duration};

use serde_json::{Value, json};
use trace::{Actor, GroupResource, ObjectKey, Time};

use super::{
    List, Outcome, Payload, Work, identity, object,
    options::{self, DeleteOptions, Propagation},
    scope::Scope,
    strategy,
};
use crate::{
    crd,
    server::{Author, Live},
    status::{self, Refusal},
    webhooks::Calls,
    world::{self, meta},
};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The warning of a delete of a job that does not say what becomes of its pods.
const PODS_OF_JOBS: &str = "child pods are preserved by default when jobs are deleted; set \
    propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/// What keeps a CRD until its objects are gone.
const CRD_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

const NANOS_A_SECOND: i64 = 1_000_000_000;

/// What became of a deleted object.
pub(super) enum Fate {
    Gone(Arc<Value>),
    Waits(Arc<Value>),
}

impl Work<'_> {
    pub(super) fn delete(&mut self) -> Result<Outcome, Refusal> {
        let options = self.delete_options()?;
        self.warn_of_pods(&options);
        let old = self.stored()?;
        let shown = self.present(&old)?;
        let (resource, name) = (self.kind.served(), self.route.name.clone());
        self.admit_delete(&name)?;
        self.check_delete_preconditions(&old, &name, &options)?;
        self.approve_deletion(&old, &shown, &options)?;
        self.foresee_deletion(&old, &shown, &name, &options)?;
        let code = match &options.orphan_dependents {
            Some(false) => 202,
            _ => 200,
        };
        let outcome = match self.delete_object(&old, &shown, &name, &options)? {
            Fate::Gone(last) if strategy::delete_returns_object(&self.kind) => {
                Outcome::object(200, self.present(&last)?)
            }
            Fate::Gone(last) => {
                let status = status::deleted(&resource, &name, meta(&last, "uid"));
                Outcome::object(200, Arc::new(status))
            }
            Fate::Waits(object) => Outcome::object(code, self.present(&object)?),
        };
        Ok(outcome)
    }

    pub(super) fn delete_collection(&mut self) -> Result<Outcome, Refusal> {
        options::check_numbers(self.request)?;
        let options = self.delete_options()?;
        self.warn_of_pods(&options);
        let scope = Scope::read(self.kind.clone(), self.route, self.request)?;
        let root = self.live.world.store.root().clone();
        let (keys, selected): (Vec<_>, Vec<_>) =
            self.found(&scope, &root, Bound::Unbounded)?.unzip();
        let revision = self.live.world.revision();
        let mut items = self.present_stored(selected)?;
        // What is marked, not removed, is what is stored, also where a selector has looked at it in another version.
        let found: Vec<(&ObjectKey, &Arc<Value>)> =
            keys.into_iter().filter_map(|key| Some((key, root.get(key)?))).collect();
        // All webhooks first: what was deleted could not be asked about again. One that refuses ends it there.
        let (mut allowed, mut refused) = (found.len(), Ok(()));
        for (index, ((key, object), shown)) in found.iter().zip(&items).enumerate() {
            let shown = shown.object();
            refused = self.approve_deletion(object, shown, &options).and_then(|()| {
                self.each(key, |one| one.foresee_deletion(object, shown, &key.name, &options))
            });
            if self.calls.is_wanting() {
                return Err(Calls::stopped());
            }
            if refused.is_err() {
                allowed = index;
                break;
            }
        }
        items.truncate(allowed);
        for ((key, object), shown) in found.iter().zip(&items) {
            self.each(key, |one| one.delete_object(object, shown.object(), &key.name, &options))?;
        }
        refused?;
        let metadata = self.list_metadata(revision);
        let payload = Payload::List(List { items, metadata });
        Ok(Outcome { code: 200, payload, warnings: Vec::new() })
    }

    /// Does to one object of a collection what is done to one alone.
    fn each<T>(&mut self, key: &ObjectKey, act: impl FnOnce(&mut Work<'_>) -> T) -> T {
        let route = crate::route::Route {
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            ..self.route.clone()
        };
        let kind = self.kind.clone();
        act(&mut Work::new(self.live, self.request, &route, kind, self.calls))
    }

    /// Asks webhooks about a delete. Errors: what they refuse with.
    fn approve_deletion(
        &mut self,
        old: &Arc<Value>,
        shown: &Value,
        options: &DeleteOptions,
    ) -> Result<(), Refusal> {
        if !self.meets_any_hook() {
            return Ok(());
        }
        let grace = self.is_pod().then(|| self.grace_seconds(old, options));
        self.approve_delete(shown, options.shown(grace), options.dry_run)
    }

    /// Asks what has to be converted for a delete: as upstream, an object that waits for its finalizers is marked in
    /// the request's version, and stored anew.
    fn foresee_deletion(
        &mut self,
        old: &Arc<Value>,
        shown: &Arc<Value>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), Refusal> {
        if !self.kind.needs_webhook(old) && !self.kind.stores_by_webhook() {
            return Ok(());
        }
        let trial = DeleteOptions { dry_run: true, ..options.clone() };
        let fate = self.delete_object(old, shown, name, &trial)?;
        if let Fate::Waits(object) = fate {
            self.foresee(&object)?;
        }
        Ok(())
    }

    /// Before anything is looked at (`pkg/registry/batch/job/storage`).
    fn warn_of_pods(&mut self, options: &DeleteOptions) {
        let unsaid = options.propagation.is_none() && options.orphan_dependents.is_none();
        if unsaid && self.kind.served() == trace::GroupResource::new("batch", "jobs") {
            self.warnings.push(PODS_OF_JOBS.to_owned());
        }
    }

    fn delete_options(&self) -> Result<DeleteOptions, Refusal> {
        let body = self.read_delete_options()?;
        let text =
            |field: &str| body.as_ref().map_or("", |body| body[field].as_str().unwrap_or(""));
        // Of options in the version of any group there is but one form.
        if !matches!(text("kind"), "" | "DeleteOptions") {
            let why = identity::unregistered(text("apiVersion"), text("kind"));
            return Err(Refusal::bad_request(why));
        }
        DeleteOptions::read(self.request, body.as_ref())
    }

    /// Deletes an object, of which `shown` is what the request's version shows.
    pub(super) fn delete_object(
        &mut self,
        old: &Arc<Value>,
        shown: &Arc<Value>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Fate, Refusal> {
        self.admit_delete(name)?;
        self.check_delete_preconditions(old, name, options)?;
        // Versions of built-in types don't hold all of an object here.
        let mut new = if self.kind.is_custom() { (**shown).clone() } else { (**old).clone() };
        if self.kind.storage == world::namespaces() {
            return self.delete_namespace(old, new, options);
        }
        if self.is_pod() && is_pending(old, options) {
            return Ok(Fate::Waits(old.clone()));
        }
        set_propagation(&mut new, options, strategy::orphans_by_default(&self.kind));
        if self.kind.storage == world::crds() {
            return self.delete_crd(old, new, options);
        }
        let grace = self.grace_seconds(&new, options);
        let waits = grace > 0 || !object::finalizers(&new).is_empty();
        let mut last = old.clone();
        // How long a pod gets is written down even where that is no time at all: watches see it change, and then go
        // (`updateForGracefulDeletionAndFinalizers`).
        if waits || self.is_pod() {
            self.mark(&mut new, grace);
            last = self.keep(old, new, options)?;
        }
        if waits {
            return Ok(Fate::Waits(last));
        }
        if !options.dry_run {
            last = self.remove(self.key(name)).unwrap_or(last);
        }
        Ok(Fate::Gone(last))
    }

    pub(super) fn check_delete_preconditions(
        &self,
        old: &Value,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), Refusal> {
        let checks = [
            ("UID", "uid", &options.uid, "deleted and then recreated"),
            ("ResourceVersion", "resourceVersion", &options.revision, "modified"),
        ];
        for (label, field, wanted, what) in checks {
            let found = meta(old, field);
            let Some(wanted) = wanted.as_ref().filter(|wanted| *wanted != found) else { continue };
            let mut resource = self.kind.served();
            let why = if self.kind.storage == world::namespaces() {
                // Their own registry checks it, in its own words.
                format!(
                    "Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {found}"
                )
            } else {
                // Of the kind, not the resource: the check stands below the registry.
                resource.resource = self.kind.row().kind.as_str().into();
                format!(
                    "the {label} in the precondition ({wanted}) does not match the {label} in record \
                     ({found}). The object might have been {what}"
                )
            };
            return Err(Refusal::conflict(&resource, name, &why));
        }
        Ok(())
    }

    fn is_pod(&self) -> bool {
        self.kind.storage == trace::GroupResource::new("", "pods")
    }

    /// Seconds that the object is given: only pods that run on a node have any.
    fn grace_seconds(&self, object: &Value, options: &DeleteOptions) -> i64 {
        if !self.is_pod() {
            return 0;
        }
        let field = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or("");
        let phase = field("/status/phase");
        if field("/spec/nodeName").is_empty() || matches!(phase, "Failed" | "Succeeded") {
            return 0;
        }
        let own = object.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
        options.grace_seconds.or(own).unwrap_or(30)
    }

    /// Marks an object as being deleted (`markAsDeleting`, `BeforeDelete`). A second delete can only
    /// shorten the time that is left.
    fn mark(&self, new: &mut Value, grace: i64) {
        let now = self.calls.began();
        let before = new.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
        if object::is_terminating(new) && before.is_some_and(|before| grace >= before) {
            return;
        }
        if !object::is_terminating(new) && object::generation(new) > 0 {
            new["metadata"]["generation"] = json!(object::generation(new) + 1);
        }
        let (mut at, mut grace) = (now.plus(Duration::from_secs(grace.unsigned_abs())), grace);
        // Shortened, the time counts from when the delete was first asked for. What has passed by then is over, and whoever
        // ends the object gets a last second.
        if let (Some(before), Some(end)) =
            (before, Time::parse_rfc3339(meta(new, "deletionTimestamp")))
        {
            at = Time(end.0 - (before - grace) * NANOS_A_SECOND);
            if at < now {
                (at, grace) = (now, grace.min(1));
            }
        }
        new["metadata"]["deletionTimestamp"] = json!(at.rfc3339());
        new["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
    }

    fn keep(
        &mut self,
        old: &Arc<Value>,
        new: Value,
        options: &DeleteOptions,
    ) -> Result<Arc<Value>, Refusal> {
        let new = if self.kind.is_custom() { self.store_form(new)? } else { new };
        if **old == new {
            return Ok(old.clone());
        }
        if options.dry_run {
            return Ok(Arc::new(new));
        }
        let key = self.key(meta(old, "name"));
        Ok(self.live.put(&self.request.author, key, new).object.clone())
    }

    fn delete_namespace(
        &mut self,
        old: &Arc<Value>,
        mut new: Value,
        options: &DeleteOptions,
    ) -> Result<Fate, Refusal> {
        let spec = new.pointer("/spec/finalizers").and_then(Value::as_array);
        let done = spec.is_none_or(Vec::is_empty) && object::finalizers(&new).is_empty();
        if object::is_terminating(old) && done {
            if !options.dry_run {
                let key = self.key(meta(old, "name"));
                self.remove(key);
            }
            return Ok(Fate::Gone(old.clone()));
        }
        if !object::is_terminating(old) {
            set_propagation(&mut new, options, false);
            new["metadata"]["deletionTimestamp"] = json!(self.now_text());
            new["status"]["phase"] = json!("Terminating");
        }
        Ok(Fate::Waits(self.keep(old, new, options)?))
    }

    /// A CRD goes after its objects.
    fn delete_crd(
        &mut self,
        old: &Arc<Value>,
        mut new: Value,
        options: &DeleteOptions,
    ) -> Result<Fate, Refusal> {
        let now = self.now_text();
        if !object::is_terminating(old) {
            let mut finalizers: Vec<Value> =
                object::finalizers(&new).into_iter().map(Value::from).collect();
            finalizers.push(json!(CRD_CLEANUP));
            new["metadata"]["finalizers"] = Value::Array(finalizers);
            // Upstream writes it past what marks all others (`customresourcedefinition/etcd.go`): no generation, no grace.
            new["metadata"]["deletionTimestamp"] = json!(now);
            let mut conditions = new
                .pointer("/status/conditions")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            let (reason, message) = (
                "InstanceDeletionPending",
                "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            );
            crd::set_condition(&mut conditions, "Terminating", "True", reason, message, &now);
            new["status"]["conditions"] = Value::Array(conditions);
        }
        let kept = self.keep(old, new, options)?;
        if options.dry_run {
            return Ok(Fate::Waits(kept));
        }
        self.delete_instances(&kept);
        let key = self.key(meta(old, "name"));
        // Also of one that was never established, whose type is not known by now.
        finish_crd(self.live, &defined(&kept));
        match self.live.world.store.get(&key) {
            Some(now) => Ok(Fate::Waits(now.clone())),
            None => Ok(Fate::Waits(kept)),
        }
    }

    fn delete_instances(&mut self, definition: &Value) {
        let resource = defined(definition);
        let found: Vec<(ObjectKey, Arc<Value>)> = self
            .live
            .world
            .store
            .root()
            .scan(&resource, "", Bound::Unbounded)
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        let author = finalizer();
        for (key, object) in found {
            if object::finalizers(&object).is_empty() {
                self.live.remove(&author, key);
            } else if !object::is_terminating(&object) {
                let mut new = (*object).clone();
                self.mark(&mut new, 0);
                self.live.put(&author, key, new);
            }
        }
    }

    /// Removes an object, and what was only waiting for that. Gives back its last state.
    pub(super) fn remove(&mut self, key: ObjectKey) -> Option<Arc<Value>> {
        let custom = self.kind.is_custom();
        let logged = self.live.remove(&self.request.author, key);
        if custom {
            finish_crds(self.live);
        }
        logged.map(|logged| logged.object.clone())
    }
}

/// The part of the apiserver that finalizes CRDs: it runs in the server's own process, not as a
/// controller that a plan could hold back.
fn finalizer() -> Author {
    Author { actor: Actor::Environment("crd-finalizer".into()), call: None }
}

/// The type that a CRD is of.
fn defined(definition: &Value) -> GroupResource {
    let text = |path: &str| definition.pointer(path).and_then(Value::as_str).unwrap_or("");
    GroupResource::new(text("/spec/group"), text("/spec/names/plural"))
}

/// Lets go of every terminating CRD that has no objects left.
fn finish_crds(live: &mut Live) {
    let terminating = live.world.customs.values().filter(|custom| custom.terminating);
    let all: Vec<GroupResource> = terminating.map(|custom| custom.resource.clone()).collect();
    all.iter().for_each(|resource| finish_crd(live, resource));
}

/// Lets go of the terminating CRD of a type, if that has no objects left.
fn finish_crd(live: &mut Live, resource: &GroupResource) {
    let key = ObjectKey::new(world::crds(), "", &resource.to_string());
    let Some(definition) = live.world.store.get(&key).cloned() else { return };
    if live.world.store.root().count(resource) > 0 {
        return;
    }
    let left: Vec<&str> =
        object::finalizers(&definition).into_iter().filter(|name| *name != CRD_CLEANUP).collect();
    if left.is_empty() {
        live.remove(&finalizer(), key);
        live.watchers.end_type(resource);
    } else if left.len() < object::finalizers(&definition).len() {
        let mut new = (*definition).clone();
        new["metadata"]["finalizers"] = json!(left);
        live.put(&finalizer(), key, new);
    }
}

/// Whether a pod is going already, and is not asked to go sooner (`BeforeDelete`).
fn is_pending(pod: &Value, options: &DeleteOptions) -> bool {
    let left = pod.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
    let sooner = |left: i64| options.grace_seconds.is_some_and(|asked| asked < left);
    object::is_terminating(pod) && left.is_some_and(|left| left > 0 && !sooner(left))
}

/// Sets the finalizers through which the garbage collector is told what to do with dependents
/// (`deletionFinalizersForGarbageCollection`).
fn set_propagation(new: &mut Value, options: &DeleteOptions, orphans_by_default: bool) {
    let before: Vec<String> = object::finalizers(new).into_iter().map(str::to_owned).collect();
    let has = |name: &str| before.iter().any(|finalizer| finalizer == name);
    let orphan = match (options.orphan_dependents, options.propagation) {
        (Some(orphan), _) => orphan,
        (None, Some(policy)) => policy == Propagation::Orphan,
        (None, None) => has(ORPHAN) || (orphans_by_default && !has(FOREGROUND)),
    };
    let foreground = match (options.orphan_dependents, options.propagation) {
        (Some(_), _) => false,
        (None, Some(policy)) => policy == Propagation::Foreground,
        (None, None) => has(FOREGROUND),
    };
    let mut after: Vec<String> =
        before.iter().filter(|name| *name != ORPHAN && *name != FOREGROUND).cloned().collect();
    after.extend(orphan.then(|| ORPHAN.to_owned()));
    after.extend(foreground.then(|| FOREGROUND.to_owned()));
    let same = after.len() == before.len() && after.iter().all(|name| before.contains(name));
    if !same {
        new["metadata"]["finalizers"] = json!(after);
    }
}
