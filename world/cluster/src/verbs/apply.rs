//! Server-side apply, and the record of who set which fields.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Outcome, Work};
use crate::{
    apply::{self, ApplyError, BuiltIn, Ignores, Versions, Write},
    route::Route,
    schema::Schema,
    status::Refusal,
    webhooks::{Asking, Calls},
    world::{kinds::Kind, meta},
};

impl Work<'_> {
    /// Writes down who set which fields; an apply has done that itself.
    pub(super) fn track(&mut self, old: Option<&Value>, new: &mut Value) -> Result<(), Refusal> {
        if self.applied {
            return Ok(());
        }
        let Some(schema) = self.kind.schema() else { return Ok(()) };
        let manager = self.request.field_manager();
        let (api_version, now) = (self.kind.api_version(), self.now_text());
        self.set_emptied(new, &Value::Null, &json!([]));
        let write = write(&self.kind, self.route, (&manager, &api_version, &now));
        let asking = Asking { live: &mut *self.live, calls: &mut *self.calls };
        let versions = &mut OtherVersions { kind: &self.kind, asking };
        apply::track(old, new, &schema, &write, versions);
        if self.calls.is_wanting() {
            return Err(Calls::stopped());
        }
        self.set_emptied(new, &json!([]), &Value::Null);
        if self.route.subresource == "scale" {
            forget_time(new);
        }
        Ok(())
    }

    /// The same, where managers can be told; otherwise nobody manages anything (`FieldManager.UpdateNoErrors`).
    pub(super) fn track_if(
        &mut self,
        trackable: bool,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<(), Refusal> {
        if trackable {
            return self.track(old, new);
        }
        super::object::remove_meta(new, "managedFields");
        Ok(())
    }

    /// Whether managers can be told from an object as it was sent: its status counts, which the write will not store. All
    /// else that is mistyped is refused later.
    pub(super) fn is_trackable(&self, old: Option<&Value>, sent: &Value) -> bool {
        if !self.kind.is_custom() || !self.kind.has_status() || !self.route.subresource.is_empty() {
            return true;
        }
        let status = &sent["status"];
        let brought = !status.is_null() && old.is_none_or(|old| old["status"] != *status);
        let typed = |schema: Schema| {
            let part = schema.root().properties.get("status").map(|&id| schema.part(id));
            part.is_none_or(|part| apply::is_typed(&part, status))
        };
        !brought || self.kind.schema().is_none_or(typed)
    }

    /// Where a list was sent without items, unless something else stands there by now: the status of a CRD, say, which
    /// is the server's affair whatever was sent.
    fn set_emptied(&self, object: &mut Value, from: &Value, to: &Value) {
        for pointer in &self.emptied {
            if let Some(place) = object.pointer_mut(pointer).filter(|place| *place == from) {
                *place = to.clone();
            }
        }
    }

    /// The same of the body of a subresource that has a type of its own.
    pub(crate) fn track_body(&self, body: &mut Value) -> Result<(), Refusal> {
        let row = self.kind.row();
        let Some(below) = row.subresource(&self.route.subresource) else { return Ok(()) };
        let schema = Schema::builtin(&below.group, &below.version, &below.kind);
        let Some(schema) = schema else { return Ok(()) };
        let manager = self.request.field_manager();
        let api_version = crate::facts::api_version(&below.group, &below.version);
        let now = self.now_text();
        let write = write(&self.kind, self.route, (&manager, &api_version, &now));
        apply::track(None, body, &schema, &write, &mut BuiltIn);
        Ok(())
    }

    /// An apply patch: creates the object if it is missing. Errors: 400, 409 with the conflicting fields.
    pub(super) fn apply(&mut self) -> Result<Outcome, Refusal> {
        let dry_run = self.request.dry_run();
        let mut config = self.read_patch()?;
        self.check_applied_type(&config)?;
        if self.route.subresource == "scale" {
            return self.apply_scale(&config, dry_run);
        }
        let given = config.clone();
        self.check_identity(&mut config)?;
        self.check_path_name(&mut config)?;
        let old = self.stored().ok();
        let shown = old.as_ref().map(|old| self.present(old)).transpose()?;
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
        self.check_applied_fields(&given)?;
        let mut merged = self.merge_applied(shown.as_deref(), &config)?;
        self.applied = true;
        // What an apply leaves as it is gets no defaults: those of a version that is not stored may be missing each time.
        let same = |shown: &Value| self.kind.is_custom() && same_but_managers(shown, &merged);
        if !shown.as_deref().is_some_and(same) {
            self.shape(&mut merged).map_err(|refusal| self.unconvertible(refusal, &given))?;
        }
        match old {
            None => {
                super::object::remove_meta(&mut merged, "resourceVersion");
                self.create_object(merged, dry_run)
            }
            Some(old) => self.replace(&old, merged, dry_run),
        }
    }

    /// What fits the schema and is no object of the type all the same: a time that can't be read
    /// (`structuredMergeManager.Apply`).
    fn unconvertible(&self, refusal: Refusal, config: &Value) -> Refusal {
        let kind = &self.kind.row().kind;
        let wrapped = format!("cannot be handled as a {kind}: ");
        let Some((_, why)) = refusal.message.split_once(&wrapped) else { return refusal };
        if refusal.code != 400 || why.starts_with("strict decoding error") {
            return refusal;
        }
        let version = go_version(&self.kind.api_version());
        Refusal::unclassified(format!(
            "failed to convert new object ({}/{}; {version}, Kind={kind}) to proper version: unable to convert \
             unstructured object to {version}, Kind={kind}: {why}",
            meta(config, "namespace"),
            meta(config, "name"),
        ))
    }

    /// An apply of a Scale is one of the field that it shows.
    fn apply_scale(&mut self, scale: &Value, dry_run: bool) -> Result<Outcome, Refusal> {
        const SCALE: &str = "autoscaling/v1";
        if self.kind.is_custom() {
            return Err(Refusal::unclassified(format!(
                "failed to convert new object ({}/{}; {SCALE}, Kind=Scale) to proper version: request to convert CR \
                 to an invalid group/version: {SCALE}",
                meta(scale, "namespace"),
                meta(scale, "name")
            )));
        }
        let old = self.stored()?;
        let shown = self.present(&old)?;
        let mut config = json!({
            "apiVersion": self.kind.api_version(), "kind": self.kind.row().kind,
            "metadata": {"name": self.route.name, "namespace": self.route.namespace},
        });
        if let Some(replicas) = scale.pointer("/spec/replicas") {
            config["spec"] = json!({"replicas": replicas});
        }
        let merged = self.merge_applied(Some(&*shown), &config);
        let mut merged =
            merged.map_err(|refusal| as_scale(refusal, &self.kind.api_version(), SCALE))?;
        forget_time(&mut merged);
        self.applied = true;
        self.shape(&mut merged)?;
        let outcome = self.replace(&old, merged, dry_run)?;
        Ok(self.show_scale(outcome))
    }

    /// Errors: 400 for any type but this one.
    fn check_applied_type(&self, config: &Value) -> Result<(), Refusal> {
        let text = |field: &str| config.get(field).and_then(Value::as_str).unwrap_or("");
        let row = self.kind.row();
        let expected = match self.route.subresource.as_str() {
            "scale" => ("autoscaling/v1".to_owned(), "Scale"),
            _ => (row.api_version(), row.kind.as_str()),
        };
        if (text("apiVersion"), text("kind")) == (expected.0.as_str(), expected.1) {
            return Ok(());
        }
        let (version, kind) = (go_version(text("apiVersion")), text("kind"));
        Err(Refusal::bad_request(format!("invalid object type: {version}, Kind={kind}")))
    }

    /// Errors: 500 for what the schema doesn't know or has another type for, whatever `fieldValidation` says: it has no
    /// owner.
    fn check_applied_fields(&self, config: &Value) -> Result<(), Refusal> {
        let Some(schema) = self.kind.schema() else { return Ok(()) };
        let Some(text) = apply::untyped(&schema, config) else { return Ok(()) };
        Err(Refusal::unclassified(format!(
            "failed to create typed patch object ({}/{}; {}, Kind={}): {text}",
            meta(config, "namespace"),
            meta(config, "name"),
            go_version(config["apiVersion"].as_str().unwrap_or("")),
            self.kind.row().kind
        )))
    }

    fn merge_applied(&mut self, live: Option<&Value>, config: &Value) -> Result<Value, Refusal> {
        let Some(schema) = self.kind.schema() else { return Err(Refusal::method_not_allowed()) };
        let manager = self.request.field_manager();
        let (api_version, now) = (self.kind.api_version(), self.now_text());
        let write = write(&self.kind, self.route, (&manager, &api_version, &now));
        let force = self.request.flag("force");
        let asking = Asking { live: &mut *self.live, calls: &mut *self.calls };
        let versions = &mut OtherVersions { kind: &self.kind, asking };
        apply::apply(live, config, &schema, &write, force, versions).map_err(|error| match &error {
            ApplyError::BadRequest(message) => Refusal::bad_request(message.clone()),
            ApplyError::Unconverted(message) => Refusal::unclassified(message.clone()),
            ApplyError::Conflicts(conflicts) => {
                let mut refusal = Refusal::new(409, "Conflict", error.to_string());
                let causes: Vec<Value> = conflicts.iter().map(apply::Conflict::cause).collect();
                refusal.details.insert("causes".to_owned(), json!(causes));
                refusal
            }
        })
    }
}

/// One write of a request, as the field managers see it: by whom, in which version, when.
fn write<'a>(
    kind: &Kind,
    route: &'a Route,
    (manager, api_version, now): (&'a str, &'a str, &'a str),
) -> Write<'a> {
    let subresource = &route.subresource;
    let ignores = match subresource.as_str() {
        "" if kind.has_status() => Ignores::Status,
        "status" if kind.is_custom() => Ignores::AllButStatus,
        "status" if kind.row().group == "apps" => Ignores::SpecAndLabels,
        "status" => Ignores::Spec,
        _ => Ignores::Nothing,
    };
    Write { manager, api_version, subresource, now, ignores }
}

/// Whether two states differ in nothing but who manages them.
fn same_but_managers(old: &Value, new: &Value) -> bool {
    let bare = |object: &Value| {
        let mut object = object.clone();
        super::object::remove_meta(&mut object, "managedFields");
        object
    };
    bare(old) == bare(new)
}

/// The versions of a request's type, for those who manage fields in others than the request's.
struct OtherVersions<'a> {
    kind: &'a Kind,
    asking: Asking<'a>,
}

impl Versions for OtherVersions<'_> {
    fn at(&mut self, object: &Value, api_version: &str) -> Result<Option<(Value, Schema)>, String> {
        let Some(custom) = self.kind.custom_type() else { return BuiltIn.at(object, api_version) };
        let object = [Arc::new(object.clone())];
        let converted = self.asking.convert(self.kind, &object, api_version);
        let converted = converted.map_err(|refusal| refusal.message)?.into_iter().next();
        let schema = custom.version(api_version).map(|version| version.schema.clone());
        let found = converted.map(Arc::unwrap_or_clone).zip(schema);
        // Nothing is taken out here that the version doesn't know: nobody can own it.
        match found.as_ref().and_then(|(object, schema)| apply::untyped(schema, object)) {
            None => Ok(found),
            Some(why) => Err(why),
        }
    }
}

/// A version as Go prints it inside a `GroupVersionKind`: the core group is empty.
fn go_version(api_version: &str) -> String {
    match api_version.contains('/') {
        true => api_version.to_owned(),
        false => format!("/{api_version}"),
    }
}

/// The same refusal, of managers as one sees them at the subresource.
fn as_scale(mut refusal: Refusal, from: &str, to: &str) -> Refusal {
    let using = |text: &str| text.replace(&format!(" using {from}"), &format!(" using {to}"));
    refusal.message = using(&refusal.message);
    let causes = refusal.details.get_mut("causes").and_then(Value::as_array_mut);
    for cause in causes.into_iter().flatten() {
        cause["message"] = json!(using(cause["message"].as_str().unwrap_or("")));
    }
    refusal
}

/// Upstream keeps no time of what was written through a Scale: it is lost between the two types.
fn forget_time(object: &mut Value) {
    let entries = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        if entry["subresource"] == "scale" {
            entry.as_object_mut().map(|entry| entry.remove("time"));
        }
    }
}
