//! create.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::{ObjectKey, Revision};

use super::{Outcome, Work, object, options, strategy};
use crate::{
    crd,
    schema::{FieldError, FieldErrorKind},
    status::Refusal,
    webhooks::Change,
    world::{self, meta},
};

/// How often a generated name that is taken is replaced by another (`RetryGenerateName`).
const NAME_ATTEMPTS: usize = 8;

impl Work<'_> {
    pub(super) fn create(&mut self) -> Result<Outcome, Refusal> {
        let body = self.read_object()?;
        let dry_run = self.request.dry_run();
        self.create_object(body, dry_run)
    }

    /// Creates an object that has been read: also what an update or an apply of a missing object does.
    pub(super) fn create_object(
        &mut self,
        mut new: Value,
        dry_run: bool,
    ) -> Result<Outcome, Refusal> {
        self.check_identity(&mut new)?;
        self.shape(&mut new)?;
        let generate = meta(&new, "generateName").to_owned();
        let mut name = meta(&new, "name").to_owned();
        self.check_namespace_lives(&name)?;
        if name.is_empty() && generate.is_empty() {
            let detail = "name or generateName is required";
            let error = FieldError::bare("metadata.name", FieldErrorKind::Required, detail);
            return Err(self.invalid("", &[error]));
        }
        if self.kind.custom_type().is_some_and(|custom| custom.terminating) {
            let message = "create not allowed while custom resource definition is terminating";
            return Err(Refusal::new(405, "MethodNotAllowed", message));
        }
        self.check_escalation(None, &new)?;
        let trackable = self.is_trackable(None, &new);
        let generated = name.is_empty();
        let sent = self.as_sent(&new);
        if generated {
            name = self.generate_name(&generate, dry_run);
            new["metadata"]["name"] = json!(name);
        }
        self.begin_life(&mut new, dry_run)?;
        self.track_if(trackable, None, &mut new)?;
        let change = Change { old: None, dry_run, sent: sent.as_ref() };
        self.admit_all(change, &mut new)?;
        name = meta(&new, "name").to_owned();
        self.prepare(None, &mut new, dry_run)?;
        self.validate(&new, None)?;
        self.warn(None, &new);
        self.secure(None, &new)?;
        self.approve(change, &new)?;
        self.prune_patched(&mut new);
        strategy::read_back(&self.kind, &mut new);
        self.admit_valid(None, &new, dry_run)?;
        // What is no revision is no reason to refuse (`etcd3.store.Create`). A dry run does not come so far, and shows what
        // it was given (`DryRunnableStorage.Create`).
        if !dry_run
            && options::parse(meta(&new, "resourceVersion"))
                .is_ok_and(|Revision(number)| number != 0)
        {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Refusal::unclassified(message));
        }
        if !dry_run {
            object::remove_meta(&mut new, "resourceVersion");
        }
        let stored = self.store_form(new)?;
        let key = self.key(&name);
        if let Some(old) = self.live.world.store.get(&key) {
            let mut refusal = Refusal::already_exists(&self.kind.served(), &name);
            if object::is_terminating(old) {
                refusal.message = format!("object is being deleted: {}", refusal.message);
            }
            return Err(refusal);
        }
        if dry_run {
            return Ok(Outcome::object(201, self.present(&Arc::new(stored))?));
        }
        let stored = self.fit(&name, stored)?;
        self.foresee(&stored)?;
        let logged = self.live.put(&self.request.author, key, stored);
        Ok(Outcome::object(201, self.present(&logged.object)?))
    }

    pub(crate) fn generate_name(&mut self, base: &str, dry_run: bool) -> String {
        let (live, kind, namespace) = (&mut *self.live, &self.kind, &self.route.namespace);
        self.calls.draw(|| {
            // A dry run must leave no trace, so it draws from a copy.
            let mut names = live.world.names.clone();
            let mut name = String::new();
            for _ in 0..NAME_ATTEMPTS {
                name = names.generate(base).to_string();
                let key = ObjectKey::new(kind.storage.clone(), namespace, &name);
                if live.world.store.get(&key).is_none() {
                    break;
                }
            }
            if !dry_run {
                live.world.names = names;
            }
            name
        })
    }

    /// System fields of a new object (`rest.BeforeCreate`, `PrepareForCreate`). Errors: of a definition.
    fn begin_life(&mut self, new: &mut Value, dry_run: bool) -> Result<(), Refusal> {
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            object::remove_meta(new, field);
        }
        let now = self.now_text();
        new["metadata"]["uid"] = json!(self.calls.draw(|| self.live.world.names.uid()));
        new["metadata"]["creationTimestamp"] = json!(now);
        // Types that don't count generations keep what they are given.
        if strategy::has_generation(&self.kind) {
            new["metadata"]["generation"] = json!(1);
        }
        match strategy::initial_status(&self.kind) {
            Some(Value::Null) => {
                new.as_object_mut().map(|fields| fields.remove("status"));
            }
            Some(status) => new["status"] = status,
            None => {}
        }
        if (&*self.kind.row().group, &*self.kind.row().resource) == ("apps", "daemonsets") {
            new["metadata"]["annotations"][strategy::TEMPLATE_GENERATION] = json!("1");
        }
        if self.kind.storage == world::crds() {
            new.as_object_mut().map(|fields| fields.remove("status"));
            self.establish(new)?;
            if dry_run {
                // Nobody accepts the names of what is not there.
                new["status"]["acceptedNames"] = json!({"plural": "", "kind": ""});
                new["status"]["conditions"] = Value::Null;
            }
        }
        Ok(())
    }

    /// What upstream's naming and establishing controllers make of a definition, whatever version it was written in.
    /// Errors: it can't be converted.
    pub(super) fn establish(&mut self, new: &mut Value) -> Result<(), Refusal> {
        let mut definition = self.store_form(new.take())?;
        crd::default_spec(&mut definition);
        let beside = self.types_beside(&definition);
        crd::establish(&mut definition, &beside, &self.now_text());
        *new = Arc::unwrap_or_clone(self.present(&Arc::new(definition))?);
        Ok(())
    }

    /// Custom types of the same group as a CRD, without its own.
    fn types_beside(&self, definition: &Value) -> Vec<Arc<crd::CustomType>> {
        let group = definition.pointer("/spec/group").and_then(Value::as_str).unwrap_or("");
        let plural = definition.pointer("/spec/names/plural").and_then(Value::as_str).unwrap_or("");
        let customs = self.live.world.customs.iter();
        customs
            .filter(|(resource, _)| *resource.group == *group && *resource.resource != *plural)
            .map(|(_, custom)| custom.clone())
            .collect()
    }
}
