//! What every write does to an object before it is stored: pruning, defaulting, validation
//! (`k8s.io/apiserver/pkg/registry/rest`).

use std::sync::Arc;

use serde_json::{Map, Value, json};
use trace::ObjectKey;

use super::{
    Work,
    metadata::{immutable_errors, metadata_errors},
    strategy,
};
use crate::{
    crd, encoding,
    schema::{FieldError, FieldErrorKind, unknown_field_message},
    server::request::FieldValidation,
    status::Refusal,
    validation::Asked,
    world::{crds, meta, namespaces},
};

/// Where the labels stand of pods that an object makes.
const LABELS_OF_PODS: &str = "/spec/template/metadata/labels";

impl Work<'_> {
    /// Errors of fields of an object of this type. 422.
    pub(super) fn invalid(&self, name: &str, errors: &[FieldError]) -> Refusal {
        // The group is that of upstream's internal type, which the types that share storage share too.
        Refusal::invalid(&self.kind.storage.group, &self.kind.row().kind, name, errors)
    }

    /// Prunes what the schema doesn't know and fills in its defaults. Unknown fields are told as
    /// `fieldValidation` says. Errors: values of a wrong type (built-in types), unknown fields (Strict): 400.
    pub(super) fn shape(&mut self, object: &mut Value) -> Result<(), Refusal> {
        let Some(schema) = self.kind.schema() else { return Ok(()) };
        let row = self.kind.row();
        let wrapped = |error: String| {
            let (kind, version) = (&row.kind, &row.version);
            Refusal::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
            ))
        };
        if let Some(error) = schema.decode_error(object) {
            return Err(wrapped(error));
        }
        // What is of another kind has no schema here, and no defaults.
        if self.misnamed.is_some() {
            return Ok(());
        }
        let labels = object.pointer(LABELS_OF_PODS).and_then(Value::as_object);
        self.bare_labels = labels.is_some_and(Map::is_empty);
        let unknown = schema.prune(object);
        let mut messages = std::mem::take(&mut self.strict);
        messages.extend(unknown.iter().map(|path| unknown_field_message(path)));
        if !messages.is_empty() {
            match self.request.field_validation() {
                FieldValidation::Ignore => {}
                FieldValidation::Warn => self.warnings.extend(messages),
                FieldValidation::Strict => {
                    let error = format!("strict decoding error: {}", messages.join(", "));
                    return Err(wrapped(error));
                }
            }
        }
        schema.default(object);
        schema.internalize(object);
        let given = empties(object);
        // What Go's structs make of it.
        encoding::canonical(object).map_err(|error| wrapped(error.to_string()))?;
        if self.kind.is_custom() {
            drop_empty_metadata(object);
        }
        for (at, empty) in given {
            if empty.is_array() && is_null(object, &at) {
                self.emptied.push(at.clone());
            }
            self.unstored.push((at, empty));
        }
        strategy::name_templates(&self.kind, object);
        strategy::begin_count(&self.kind, object);
        Ok(())
    }

    /// Checks an object that is about to be stored. Errors: 422.
    ///
    /// One of an old version is judged as what it is stored as, as upstream judges its internal types; some rules are
    /// not asked of old versions.
    pub(super) fn validate(&mut self, object: &Value, old: Option<&Value>) -> Result<(), Refusal> {
        if let Some(given) = self.misnamed.take() {
            return Err(self.misnamed(&given, object, old));
        }
        if self.bare_labels && object.pointer(LABELS_OF_PODS).is_none() {
            let mut sent = object.clone();
            if let Some(template) = sent.pointer_mut("/spec/template").filter(|one| one.is_object())
            {
                template["metadata"]["labels"] = json!({});
            }
            self.bare_labels = false;
            return self.validate(&sent, old);
        }
        let Some(successor) = self.kind.successor() else {
            return self.validate_by(object, old, Asked::Now);
        };
        let current = |object: &Value| successor.present(&Arc::new(object.clone()));
        let (object, old) = (current(object)?, old.map(current).transpose()?);
        let own = std::mem::replace(&mut self.kind, successor);
        let verdict = self.validate_by(&object, old.as_deref(), Asked::Then);
        self.kind = own;
        verdict
    }

    /// What is said of a custom object of another kind: that, and what its type's rules say
    /// (`customResourceValidator.ValidateTypeMeta`).
    fn misnamed(&self, given: &str, object: &Value, old: Option<&Value>) -> Refusal {
        let row = self.kind.row();
        let (kind, detail) = (FieldErrorKind::Invalid, format!("must be {}", row.kind));
        let mut errors = vec![FieldError::with_value("kind", kind, &Value::from(given), detail)];
        let own = self.kind.custom().and_then(|own| Some((&own.schema, own.rules()?)));
        errors.extend(
            own.into_iter().flat_map(|(schema, rules)| rules.judge(schema, object, old).errors),
        );
        Refusal::invalid(&row.group, given, meta(object, "name"), &errors)
    }

    fn validate_by(
        &mut self,
        object: &Value,
        old: Option<&Value>,
        asked: Asked,
    ) -> Result<(), Refusal> {
        let mut errors = metadata_errors(object, !self.kind.is_custom());
        if let Some(old) = old {
            errors.extend(immutable_errors(object, old));
            if !self.kind.is_custom() {
                // Upstream checks them twice: for every update, and in each built-in type's validation.
                errors.extend(immutable_errors(object, old));
                crate::validation::update(
                    self.kind.row(),
                    &self.route.subresource,
                    old,
                    object,
                    &mut errors,
                );
            }
        } else {
            let prefix = meta(object, "generateName");
            if !prefix.is_empty() {
                let field = "metadata.generateName";
                errors.extend(strategy::check_name(&self.kind, field, prefix, true));
            }
            let name = meta(object, "name");
            errors.extend(strategy::check_name(&self.kind, "metadata.name", name, false));
        }
        let status = self.route.subresource == "status";
        if let Some(schema) = self.kind.schema() {
            let found = schema.validate(object, old);
            match self.kind.is_custom() && status {
                true => errors.extend(found.into_iter().map(FieldError::within_status)),
                false => errors.extend(found),
            }
        }
        if let Some(own) = self.kind.custom() {
            let judged_by = own.judged_by.iter();
            errors.extend(judged_by.flat_map(|schema| schema.validate(object, old)));
            let scale = own.scale.iter();
            errors.extend(scale.flat_map(|scale| crd::scale::errors(scale, object, status)));
            if !status {
                errors.extend(crd::embedded::errors(&own.schema, object, false));
            }
        }
        if let Some((schema, rules)) =
            self.kind.custom().and_then(|own| Some((&own.schema, own.rules()?)))
        {
            match unchecked_rules(&errors) {
                Some(unchecked) => errors.push(unchecked),
                None => {
                    let found = rules.judge(schema, object, old);
                    errors.extend(found.errors);
                    self.warnings.extend(found.warnings);
                }
            }
        }
        if !self.kind.is_custom() {
            crate::validation::object(self.kind.row(), old, object, asked, &mut errors);
        }
        if self.kind.storage == crds() {
            errors.extend(crd::validate::errors(object, old, asked));
        }
        if errors.is_empty() {
            return Ok(());
        }
        self.show_empties(&mut errors);
        Err(self.invalid(meta(object, "name"), &errors))
    }

    /// Go tells an empty map or list from none, and shows which of them it refuses. A `spec` is neither: what is shown of
    /// it is a part of it.
    fn show_empties(&self, errors: &mut [FieldError]) {
        let none = |error: &&mut FieldError| error.value.as_deref() == Some("null");
        for error in errors.iter_mut().filter(none).filter(|error| error.field != "spec") {
            let at = format!("/{}", error.field.replace(['.', '['], "/").replace(']', ""));
            let empty = self.unstored.iter().find(|(given, _)| *given == at);
            if let Some((_, empty)) = empty {
                error.value = Some(empty.to_string());
            }
        }
    }

    /// The namespace of the path must exist and not be going away. Errors: 404, 403.
    pub(super) fn check_namespace_lives(&self, name: &str) -> Result<(), Refusal> {
        let namespace = &self.route.namespace;
        if namespace.is_empty() {
            return Ok(());
        }
        let key = ObjectKey::new(namespaces(), "", namespace);
        let Some(found) = self.live.world.store.get(&key) else {
            return Err(Refusal::not_found(&namespaces(), namespace));
        };
        match found.pointer("/metadata/deletionTimestamp") {
            Some(_) => Err(Refusal::terminating(&self.kind.served(), name, namespace)),
            None => Ok(()),
        }
    }

    /// The moment of this request.
    pub(super) fn now_text(&self) -> String {
        self.calls.began().rfc3339()
    }
}

/// Also the metadata of custom objects are one of Go's structs, without what is empty (`objectmeta.SetObjectMeta`).
fn drop_empty_metadata(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|_, value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    });
}

fn is_null(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).is_some_and(Value::is_null)
}

/// Where an object has lists and maps with nothing in them.
fn empties(object: &Value) -> Vec<(String, Value)> {
    /// Paths are written on the way back, as nearly no object has any.
    fn walk(value: &Value, found: &mut Vec<(String, Value)>) {
        let mut below = |step: &dyn Fn() -> String, value: &Value| {
            let from = found.len();
            walk(value, found);
            for (path, _) in &mut found[from..] {
                path.insert_str(0, &format!("/{}", step()));
            }
        };
        match value {
            Value::Array(items) if items.is_empty() => found.push((String::new(), value.clone())),
            Value::Object(fields) if fields.is_empty() => {
                found.push((String::new(), value.clone()));
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    below(&|| index.to_string(), item);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    below(&|| name.replace('~', "~0").replace('/', "~1"), value);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(object, &mut found);
    found
}

/// Removes a field of `metadata`.
pub(super) fn remove_meta(object: &mut Value, field: &str) {
    if let Some(fields) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        fields.remove(field);
    }
}

/// Copies a field of `metadata`, or its absence.
pub(super) fn copy_meta(object: &mut Value, from: &Value, field: &str) {
    match from.get("metadata").and_then(|metadata| metadata.get(field)) {
        Some(value) => object["metadata"][field] = value.clone(),
        None => remove_meta(object, field),
    }
}

/// Copies a top-level field, or its absence.
pub(super) fn copy_field(object: &mut Value, from: &Value, field: &str) {
    match from.get(field) {
        Some(value) => object[field] = value.clone(),
        None => {
            if let Some(fields) = object.as_object_mut() {
                fields.remove(field);
            }
        }
    }
}

/// The finalizers of an object.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// `metadata.generation`, 0 if absent.
pub(super) fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0)
}

/// Whether it is being deleted.
pub(super) fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|value| !value.is_null())
}

/// Whether two states differ only in when fields were last written: such a write changes nothing
/// (`ignoreManagedFieldsTimestampsTransformer`).
pub(super) fn same_but_times(old: &Value, new: &Value) -> bool {
    let (Some(a), Some(b)) = (old.as_object(), new.as_object()) else { return old == new };
    if a.len() != b.len() {
        return false;
    }
    a.iter().all(|(key, value)| match (key.as_str(), b.get(key)) {
        (_, None) => false,
        ("metadata", Some(other)) => same_metadata(value, other),
        (_, Some(other)) => value == other,
    })
}

fn same_metadata(old: &Value, new: &Value) -> bool {
    let strip = |metadata: &Value| -> (Map<String, Value>, Vec<Value>) {
        let mut fields = metadata.as_object().cloned().unwrap_or_default();
        fields.remove("resourceVersion");
        let managed = fields.remove("managedFields");
        let entries = managed.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
        let entries = entries.into_iter().map(|mut entry| {
            entry.as_object_mut().map(|entry| entry.remove("time"));
            entry
        });
        (fields, entries.collect())
    };
    strip(old) == strip(new)
}

/// What is said of rules (`x-kubernetes-validations`) that can't be looked at, because the object has not the shape
/// that they expect (`hasBlockingErr`).
fn unchecked_rules(errors: &[FieldError]) -> Option<FieldError> {
    use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    let blocks = [NotSupported, Required, TooLong, TooMany, TypeInvalid];
    errors.iter().any(|error| blocks.contains(&error.kind)).then(|| FieldError {
        field: "<nil>".to_owned(),
        kind: FieldErrorKind::Invalid,
        value: Some("null".to_owned()),
        detail: "some validation rules were not checked because the object was invalid; correct the existing errors \
                 to complete validation"
            .to_owned(),
    })
}
