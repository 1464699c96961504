//! Server-side apply, and the record of who set which fields.

use serde_json::{Value, json};

use super::{Outcome, Work};
use crate::{
    apply::{self, ApplyError, Ignores, Write},
    schema::{FieldError, FieldErrorKind, unknown_field_message},
    server::request::FieldValidation,
    status::Refusal,
    world::meta,
};

impl Work<'_> {
    /// Writes down who set which fields; an apply has done that itself.
    pub(super) fn track(&mut self, old: Option<&Value>, new: &mut Value) -> Result<(), Refusal> {
        if self.applied {
            return Ok(());
        }
        let Some(schema) = self.kind.schema() else { return Ok(()) };
        let manager = self.request.field_manager()?;
        let (api_version, now) = (self.kind.api_version(), self.now_text());
        apply::track(old, new, &schema, &self.write(&manager, &api_version, &now));
        Ok(())
    }

    fn write<'a>(&'a self, manager: &'a str, api_version: &'a str, now: &'a str) -> Write<'a> {
        let subresource = &self.route.subresource;
        let ignores = match subresource.as_str() {
            "" if self.kind.has_status() => Ignores::Status,
            "status" => Ignores::AllButStatus,
            _ => Ignores::Nothing,
        };
        Write { manager, api_version, subresource, now, ignores }
    }

    /// An apply patch: creates the object if it is missing. Errors: 400, 409 with the conflicting fields,
    /// 422 without a manager.
    pub(super) fn apply(&mut self) -> Result<Outcome, Refusal> {
        if self.request.query("fieldManager").is_empty() {
            let detail = "is required for apply patch";
            let error = FieldError::bare("fieldManager", FieldErrorKind::Required, detail);
            return Err(Refusal::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
        }
        let dry_run = self.request.dry_run()?;
        let mut config = self.read_patch()?;
        self.check_applied_type(&config)?;
        self.check_identity(&mut config)?;
        self.check_path_name(&mut config)?;
        let old = self.stored().ok();
        let shown = old.as_ref().map(|old| self.kind.present(old)).transpose()?;
        if shown.is_none() {
            self.check_applied_uid(&config)?;
            if !self.route.subresource.is_empty() {
                return Err(Refusal::not_found(&self.kind.served(), &self.route.name));
            }
        }
        let revision = meta(&config, "resourceVersion").to_owned();
        if let Some(shown) = &shown
            && !revision.is_empty()
            && revision != meta(shown, "resourceVersion")
        {
            return Err(Refusal::modified(&self.kind.served(), &self.route.name));
        }
        self.prune_applied(&mut config)?;
        let mut merged = self.merge_applied(shown.as_deref(), &config)?;
        self.applied = true;
        match old {
            None => {
                super::object::remove_meta(&mut merged, "resourceVersion");
                self.create_object(merged, dry_run)
            }
            Some(old) => {
                self.shape(&mut merged)?;
                self.replace(&old, merged, dry_run)
            }
        }
    }

    fn check_applied_type(&self, config: &Value) -> Result<(), Refusal> {
        let missing =
            |field: &str| config.get(field).and_then(Value::as_str).unwrap_or("").is_empty();
        if missing("apiVersion") || missing("kind") {
            let message = "invalid object type: /, Kind=: apiVersion and kind must be set in an applied \
                           configuration";
            return Err(Refusal::bad_request(message));
        }
        Ok(())
    }

    /// Drops what the schema doesn't know from an applied configuration, and tells of it.
    fn prune_applied(&mut self, config: &mut Value) -> Result<(), Refusal> {
        let Some(schema) = self.kind.schema() else { return Ok(()) };
        let messages: Vec<String> =
            schema.prune(config).iter().map(|path| unknown_field_message(path)).collect();
        if messages.is_empty() {
            return Ok(());
        }
        match self.request.field_validation()? {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => self.warnings.extend(messages),
            FieldValidation::Strict => {
                let error = format!("strict decoding error: {}", messages.join(", "));
                return Err(Refusal::bad_request(error));
            }
        }
        Ok(())
    }

    fn merge_applied(&self, live: Option<&Value>, config: &Value) -> Result<Value, Refusal> {
        let Some(schema) = self.kind.schema() else { return Err(Refusal::method_not_allowed()) };
        let manager = self.request.field_manager()?;
        let (api_version, now) = (self.kind.api_version(), self.now_text());
        let write = self.write(&manager, &api_version, &now);
        let force = self.request.flag("force");
        apply::apply(live, config, &schema, &write, force).map_err(|error| match &error {
            ApplyError::BadRequest(message) => Refusal::bad_request(message.clone()),
            ApplyError::Conflicts(conflicts) => {
                let mut refusal = Refusal::new(409, "Conflict", error.to_string());
                let causes: Vec<Value> = conflicts.iter().map(apply::Conflict::cause).collect();
                refusal.details.insert("causes".to_owned(), json!(causes));
                refusal
            }
        })
    }
}
