//! update: PUT of an object, of its `status`, of a namespace's `finalize`; and what a patch ends in.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::Revision;

use super::{Outcome, Work, object, options, strategy};
use crate::{
    schema::{FieldError, FieldErrorKind},
    status::Refusal,
    webhooks::Change,
    world::{self, meta},
};

impl Work<'_> {
    pub(super) fn update(&mut self) -> Result<Outcome, Refusal> {
        let mut body = self.read_object()?;
        let dry_run = self.request.dry_run();
        self.check_identity(&mut body)?;
        self.shape(&mut body)?;
        self.check_path_name(&mut body)?;
        let old = match self.stored() {
            Ok(old) => old,
            Err(_)
                if strategy::created_by_update(&self.kind) && self.route.subresource.is_empty() =>
            {
                // Whatever revision it names, as long as it is one.
                let revision = meta(&body, "resourceVersion");
                if !revision.is_empty() {
                    options::parse(revision).map_err(Refusal::unclassified)?;
                }
                object::remove_meta(&mut body, "resourceVersion");
                return self.create_object(body, dry_run);
            }
            Err(missing) => return Err(missing),
        };
        if meta(&body, "resourceVersion").is_empty() && strategy::needs_revision(&self.kind) {
            let error = FieldError {
                field: "metadata.resourceVersion".to_owned(),
                kind: FieldErrorKind::Invalid,
                value: Some("0".to_owned()),
                detail: "must be specified for an update".to_owned(),
            };
            let row = self.kind.row();
            return Err(Refusal::invalid(&row.group, &row.resource, &self.route.name, &[error]));
        }
        self.replace(&old, body, dry_run)
    }

    /// Replaces `old` (as stored) by `new` (shaped, in this type's version), as far as the subresource may.
    pub(super) fn replace(
        &mut self,
        old: &Arc<Value>,
        mut new: Value,
        dry_run: bool,
    ) -> Result<Outcome, Refusal> {
        let shown = self.present(old)?;
        self.check_preconditions(&shown, &new)?;
        let trackable = self.is_trackable(Some(&shown), &new);
        let main = self.route.subresource.is_empty();
        let sent = if main { self.as_sent(&new) } else { None };
        self.keep_system_fields(&shown, &mut new);
        self.keep_other_parts(&shown, &mut new);
        self.track_if(trackable, Some(&shown), &mut new)?;
        strategy::count_template(&self.kind, &shown, &mut new);
        let change = Change { old: Some(&shown), dry_run, sent: sent.as_ref() };
        if self.admit_all(change, &mut new)? {
            // What a request can't write, its webhooks can't either.
            self.keep_system_fields(&shown, &mut new);
            self.keep_other_parts(&shown, &mut new);
        }
        self.check_escalation(Some(&shown), &new)?;
        self.prepare(Some(&shown), &mut new, dry_run)?;
        self.bump_generation(&shown, &mut new);
        if self.kind.storage == world::crds() && self.route.subresource.is_empty() {
            self.establish(&mut new)?;
        }
        self.validate(&new, Some(&shown))?;
        self.warn(Some(&shown), &new);
        self.secure(Some(&shown), &new)?;
        if self.route.subresource != "scale" {
            self.approve(change, &new)?;
            self.prune_patched(&mut new);
        }
        let same = object::same_but_times(&shown, &new);
        let short = same && !dry_run && self.is_stored_short(&shown);
        if same && !short && !self.kind.is_custom() {
            return Ok(Outcome::object(200, shown));
        }
        if !same {
            self.admit_valid(Some(&shown), &new, dry_run)?;
        }
        let key = self.key(&self.route.name);
        if !same && self.ends_life(&shown, &new) {
            // Watchers see the state before, as etcd's delete event carries it; the caller what it asked for.
            if !dry_run {
                self.remove(key);
            }
            return Ok(Outcome::object(200, Arc::new(new)));
        }
        let stored = self.store_form(if same { (*shown).clone() } else { new })?;
        // What is the same in the request's version may still be stored in another.
        if same && !short && stored == **old {
            return Ok(Outcome::object(200, shown));
        }
        if dry_run {
            return Ok(Outcome::object(200, self.present(&Arc::new(stored))?));
        }
        let stored = self.fit(&self.route.name, stored)?;
        self.foresee(&stored)?;
        let logged = self.live.put(&self.request.author, key, stored);
        Ok(Outcome::object(200, self.present(&logged.object)?))
    }

    /// Whether an object is still stored as it was created, without what every read fills in: a write that changes
    /// nothing then fills it in (`GuaranteedUpdate` compares with the bytes that are stored).
    fn is_stored_short(&self, shown: &Value) -> bool {
        let Ok(Revision(revision)) = options::parse(meta(shown, "resourceVersion")) else {
            return false;
        };
        if !strategy::is_created_short(&self.kind) {
            return false;
        }
        let before = Revision(revision.saturating_sub(1));
        let log = self.live.world.store.log_after(&self.kind.storage, before);
        let last = log.ok().and_then(|mut log| log.next());
        last.is_some_and(|write| {
            write.revision.0 == revision && matches!(write.change, trace::Change::Created)
        })
    }

    fn check_preconditions(&self, old: &Value, new: &Value) -> Result<(), Refusal> {
        let (resource, name) = (self.kind.served(), &self.route.name);
        // A patch names no precondition: another uid is an invalid change.
        if self.request.method != http::Method::PATCH {
            self.check_uid(old, new)?;
        }
        let revision = meta(new, "resourceVersion");
        let parse = |text: &str| options::parse(text).map_err(Refusal::unclassified);
        if revision.is_empty() || parse(revision)? == parse(meta(old, "resourceVersion"))? {
            return Ok(());
        }
        Err(Refusal::modified(&resource, name))
    }

    /// Whether an object is the one that is meant, where `new` says which. Errors: 409.
    pub(super) fn check_uid(&self, old: &Value, new: &Value) -> Result<(), Refusal> {
        let uid = meta(new, "uid");
        if uid.is_empty() || uid == meta(old, "uid") {
            return Ok(());
        }
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
             failed: UID in precondition: {uid}, UID in object meta: {}",
            self.storage_key(&self.route.name),
            meta(old, "uid")
        );
        Err(Refusal::conflict(&self.kind.served(), &self.route.name, &why))
    }

    /// Where upstream keeps the object of this name in etcd.
    pub(super) fn storage_key(&self, name: &str) -> String {
        let storage = &self.kind.storage;
        let prefix = match self.kind.is_custom() {
            true => format!("{}/{}", storage.group, storage.resource),
            false => storage.resource.to_string(),
        };
        let key = format!("/registry/{prefix}/{}/{name}", self.route.namespace);
        key.replace("//", "/")
    }

    fn keep_system_fields(&self, old: &Value, new: &mut Value) {
        if meta(new, "uid").is_empty() {
            object::copy_meta(new, old, "uid");
        }
        object::copy_meta(new, old, "creationTimestamp");
        // An object can never lose its deletion, and gains one only by a delete.
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "generation"] {
            object::copy_meta(new, old, field);
        }
        object::remove_meta(new, "selfLink");
        object::copy_meta(new, old, "resourceVersion");
    }

    /// A subresource writes its own part only, and the object's endpoint leaves `status` alone.
    fn keep_other_parts(&self, old: &Value, new: &mut Value) {
        match self.route.subresource.as_str() {
            "" if self.kind.has_status() => object::copy_field(new, old, "status"),
            "status" => self.keep_all_but_status(old, new),
            "finalize" => {
                let finalizers = new.pointer("/spec/finalizers").cloned().unwrap_or(json!([]));
                let metadata = new["metadata"].clone();
                *new = old.clone();
                new["metadata"] = metadata;
                match finalizers.as_array().is_some_and(|list| !list.is_empty()) {
                    true => new["spec"]["finalizers"] = finalizers,
                    false => new["spec"] = json!({}),
                }
            }
            _ => {}
        }
    }

    fn keep_all_but_status(&self, old: &Value, new: &mut Value) {
        let status = new.get("status").cloned();
        let metadata = new["metadata"].clone();
        *new = old.clone();
        match status {
            Some(status) => new["status"] = status,
            None => {
                new.as_object_mut().map(|fields| fields.remove("status"));
            }
        }
        if self.kind.is_custom() {
            // Custom resources: nothing of the metadata but who manages what.
            let managed = json!({"metadata": metadata});
            object::copy_meta(new, &managed, "managedFields");
            return;
        }
        // Built-in types let metadata through, the workloads without labels.
        let labels = new.pointer("/metadata/labels").cloned();
        new["metadata"] = metadata;
        if self.kind.row().group == "apps" {
            let kept = json!({"metadata": {"labels": labels}});
            match labels {
                Some(_) => object::copy_meta(new, &kept, "labels"),
                None => object::remove_meta(new, "labels"),
            }
        }
    }

    fn bump_generation(&self, old: &Value, new: &mut Value) {
        let writes_spec = matches!(
            self.route.subresource.as_str(),
            "" | "scale" | "resize" | "ephemeralcontainers"
        );
        if writes_spec
            && strategy::counts_generation(&self.kind)
            && strategy::desire_changed(&self.kind, old, new)
        {
            new["metadata"]["generation"] = json!(object::generation(old) + 1);
        }
    }

    /// Whether this write takes the last thing that kept a deleted object (`ShouldDeleteDuringUpdate`).
    fn ends_life(&self, old: &Value, new: &Value) -> bool {
        if !object::is_terminating(old) || !object::finalizers(new).is_empty() {
            return false;
        }
        if self.kind.storage == world::namespaces() {
            let left = new.pointer("/spec/finalizers").and_then(Value::as_array);
            return left.is_none_or(Vec::is_empty);
        }
        let grace = old.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
        grace == Some(0)
    }
}
