//! What every write does to an object before it is stored: reading, pruning, defaulting, validation, and
//! the rules of `metadata` (`k8s.io/apiserver/pkg/registry/rest`, `apimachinery/pkg/api/validation`).

use serde_json::{Map, Value, json};
use trace::ObjectKey;

use super::{Work, strategy};
use crate::{
    crd, encoding, facts,
    schema::{FieldError, FieldErrorKind, unknown_field_message},
    server::request::FieldValidation,
    status::Refusal,
    world::{crds, meta, namespaces},
};

/// Finalizers of built-in types that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Longest total of annotations in bytes.
const ANNOTATIONS_LIMIT_BYTES: usize = 256 * 1024;

impl Work<'_> {
    /// Errors of fields of an object of this type. 422.
    pub(super) fn invalid(&self, name: &str, errors: &[FieldError]) -> Refusal {
        // The group is that of upstream's internal type, which the types that share storage share too.
        Refusal::invalid(&self.kind.storage.group, &self.kind.row().kind, name, errors)
    }

    /// Checks that a body is an object of this type; fills in type and namespace where they may be absent.
    pub(super) fn check_identity(&self, object: &mut Value) -> Result<(), Refusal> {
        let row = self.kind.row();
        let Some(fields) = object.as_object_mut() else {
            return Err(Refusal::bad_request(
                "couldn't get version/kind; json parse error: json: cannot \
                unmarshal into Go value of type struct",
            ));
        };
        let api_version = row.api_version();
        let given = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or("");
        match self.kind.is_custom() {
            true => self.check_custom_type(fields)?,
            false => {
                let or = |given: &str, own: &str| {
                    if given.is_empty() { own.to_owned() } else { given.to_owned() }
                };
                let given = (or(given("apiVersion"), &api_version), or(given("kind"), &row.kind));
                self.check_built_in_type(&given.0, &given.1)?;
            }
        }
        fields.insert("apiVersion".to_owned(), json!(api_version));
        fields.insert("kind".to_owned(), json!(row.kind));
        let metadata = fields.entry("metadata").or_insert(Value::Null);
        if metadata.is_null() {
            *metadata = json!({});
        }
        // What is no object will not decode.
        if metadata.is_object() { self.check_namespace(object) } else { Ok(()) }
    }

    fn check_custom_type(&self, fields: &Map<String, Value>) -> Result<(), Refusal> {
        let row = self.kind.row();
        let given = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or("");
        for field in ["apiVersion", "kind"] {
            if given(field).is_empty() {
                let text = Value::Object(fields.clone()).to_string();
                return Err(Refusal::bad_request(self.untyped(field, &text)));
            }
        }
        if given("apiVersion") != row.api_version() {
            return Err(self.other_version(given("apiVersion")));
        }
        match given("kind") == row.kind {
            true => Ok(()),
            false => Err(self.other_kind(given("kind"), fields)),
        }
    }

    /// A built-in object is decoded as what it says it is, and then converted to what it should be.
    fn check_built_in_type(&self, api_version: &str, kind: &str) -> Result<(), Refusal> {
        let row = self.kind.row();
        if (api_version, kind) == (row.api_version().as_str(), row.kind.as_str()) {
            return Ok(());
        }
        let known = encoding::has_protobuf(api_version, kind);
        let mut object = json!({"apiVersion": api_version, "kind": kind});
        if known && kind == row.kind && facts::convert(&mut object, &row.api_version()).is_ok() {
            return Err(self.other_version(api_version));
        }
        let (_, version) = facts::split_api_version(api_version);
        let why = match known {
            true => format!(
                "converting ({version}.{kind}) to ({}): unknown conversion",
                self.kind.go_type()
            ),
            false => unregistered(api_version, kind),
        };
        Err(Refusal::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: {why}",
            row.kind
        )))
    }

    fn other_version(&self, given: &str) -> Refusal {
        let expected = self.kind.api_version();
        Refusal::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({expected})"
        ))
    }

    /// What is said of a custom object without `apiVersion` or `kind`.
    fn untyped(&self, field: &str, text: &str) -> String {
        let row = self.kind.row();
        if field == "apiVersion" {
            let expected = row.api_version();
            return format!(
                "the API version in the data () does not match the expected API version ({expected})"
            );
        }
        let body = self.request.body().ok().and_then(|body| std::str::from_utf8(body).ok());
        let text = body.unwrap_or(text);
        format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{text}' ({})",
            row.kind,
            super::body::summary(text.as_bytes())
        )
    }

    /// A custom object of another kind is invalid, not unreadable.
    fn other_kind(&self, given: &str, fields: &Map<String, Value>) -> Refusal {
        let row = self.kind.row();
        let name =
            fields.get("metadata").map_or("", |metadata| metadata["name"].as_str().unwrap_or(""));
        let (kind, value) = (FieldErrorKind::Invalid, Value::from(given));
        let error = FieldError::with_value("kind", kind, &value, format!("must be {}", row.kind));
        Refusal::invalid(&row.group, given, name, &[error])
    }

    fn check_namespace(&self, object: &mut Value) -> Result<(), Refusal> {
        let namespace = meta(object, "namespace").to_owned();
        let expected = &self.route.namespace;
        if !self.kind.row().namespaced {
            if let Some(fields) = object["metadata"].as_object_mut() {
                fields.remove("namespace");
            }
            return Ok(());
        }
        if !namespace.is_empty() && namespace != *expected {
            let message = "the namespace of the provided object does not match the namespace sent on the \
                           request";
            return Err(Refusal::bad_request(message));
        }
        object["metadata"]["namespace"] = json!(expected);
        Ok(())
    }

    /// Checks that the body's name is the path's.
    pub(super) fn check_path_name(&self, object: &mut Value) -> Result<(), Refusal> {
        let name = meta(object, "name").to_owned();
        if name.is_empty() {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                self.route.name
            )));
        } else if name != self.route.name {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                self.route.name
            )));
        }
        Ok(())
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
        let unknown = schema.prune(object);
        let mut messages = std::mem::take(&mut self.strict);
        messages.extend(unknown.iter().map(|path| unknown_field_message(path)));
        if !messages.is_empty() {
            match self.request.field_validation()? {
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
        let given = empty_lists(object);
        // What Go's structs make of it.
        encoding::canonical(object).map_err(|error| wrapped(error.to_string()))?;
        self.emptied.extend(given.into_iter().filter(|at| is_null(object, at)));
        strategy::name_templates(&self.kind, object);
        Ok(())
    }

    /// Checks an object that is about to be stored. Errors: 422.
    pub(super) fn validate(&mut self, object: &Value, old: Option<&Value>) -> Result<(), Refusal> {
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
        if let Some(schema) = self.kind.schema() {
            errors.extend(schema.validate(object, old));
        }
        if let Some(scale) = self.kind.custom().and_then(|own| own.scale.as_ref()) {
            let status = self.route.subresource == "status";
            errors.extend(crd::scale::errors(scale, object, status));
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
            crate::validation::object(self.kind.row(), old, object, &mut errors);
        }
        if self.kind.storage == crds() {
            errors.extend(crd::validate::errors(object));
        }
        match &errors[..] {
            [] => Ok(()),
            errors => Err(self.invalid(meta(object, "name"), errors)),
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

fn is_null(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).is_some_and(Value::is_null)
}

/// Where an object has lists without items.
fn empty_lists(object: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
        let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
        match value {
            Value::Array(items) if items.is_empty() => found.push(at.to_owned()),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate().filter(|(_, item)| item.is_object()) {
                    walk(item, &format!("{at}/{index}"), found);
                }
            }
            Value::Object(fields) => {
                let deep = |value: &Value| value.is_object() || value.is_array();
                for (name, value) in fields.iter().filter(|(_, value)| deep(value)) {
                    walk(value, &format!("{at}/{}", escaped(name)), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(object, "", &mut found);
    found
}

/// What upstream says of a type that it has no Go type for (`runtime.NewNotRegisteredErrForKind`).
pub(super) fn unregistered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )
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

fn metadata_errors(object: &Value, built_in: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let metadata = &object["metadata"];
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        errors.extend(qualified_name_problem(key).map(|why| label_error(key, &why)));
        if let Some(why) = value.as_str().and_then(label_value_problem) {
            errors.push(label_error(value.as_str().unwrap_or(""), &why));
        }
    }
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        if let Some(why) = qualified_name_problem(&key.to_lowercase()) {
            let kind = FieldErrorKind::Invalid;
            let value = Value::from(key.as_str());
            errors.push(FieldError::with_value("metadata.annotations", kind, &value, why));
        }
    }
    if size > ANNOTATIONS_LIMIT_BYTES {
        let detail = format!("may not be more than {ANNOTATIONS_LIMIT_BYTES} bytes");
        errors.push(FieldError::bare("metadata.annotations", FieldErrorKind::TooLong, detail));
    }
    for owner in metadata["ownerReferences"].as_array().into_iter().flatten() {
        let empty = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or("").is_empty();
        for field in ["apiVersion", "kind", "name", "uid"].into_iter().filter(|field| empty(field))
        {
            let path = format!("metadata.ownerReferences.{field}");
            let detail = if field == "apiVersion" {
                "version must not be empty"
            } else {
                "must not be empty"
            };
            let kind = FieldErrorKind::Invalid;
            errors.push(FieldError::with_value(&path, kind, &Value::from(""), detail));
        }
        if owner["kind"] == "Event" && owner["apiVersion"] == "v1" {
            errors.push(FieldError {
                field: "metadata.ownerReferences".to_owned(),
                kind: FieldErrorKind::Invalid,
                value: Some(shown_owner(owner)),
                detail: "/v1, Kind=Event is disallowed from being an owner".to_owned(),
            });
        }
    }
    let controllers = metadata["ownerReferences"].as_array().into_iter().flatten();
    let controllers: Vec<String> = controllers
        .filter(|owner| owner["controller"] == json!(true))
        .map(|owner| {
            let text = |field: &str| owner[field].as_str().unwrap_or("");
            format!("{}/{}", text("kind"), text("name"))
        })
        .collect();
    if let [first, second, ..] = &controllers[..] {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
             and {second}"
        );
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        errors.push(FieldError {
            field: "metadata.ownerReferences".to_owned(),
            kind: FieldErrorKind::Invalid,
            value: Some(format!("[{}]", owners.map(shown_owner).collect::<Vec<_>>().join(","))),
            detail,
        });
    }
    for (index, finalizer) in finalizers(object).into_iter().enumerate() {
        if built_in && !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let field = format!("metadata.finalizers[{index}]");
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            let kind = FieldErrorKind::Invalid;
            errors.push(FieldError::with_value(&field, kind, &Value::from(finalizer), detail));
        }
        if let Some(why) = qualified_name_problem(finalizer) {
            let value = Value::from(finalizer);
            let kind = FieldErrorKind::Invalid;
            errors.push(FieldError::with_value("metadata.finalizers", kind, &value, why));
        }
    }
    errors
}

/// An owner as Go prints it: its fields in the struct's order.
fn shown_owner(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let shown: Vec<String> = fields
        .iter()
        .filter_map(|field| Some(format!("{:?}:{}", field, owner.get(field)?)))
        .collect();
    format!("{{{}}}", shown.join(","))
}

fn label_error(value: &str, why: &str) -> FieldError {
    let value = Value::from(value);
    FieldError::with_value("metadata.labels", FieldErrorKind::Invalid, &value, why)
}

/// `validation.IsQualifiedName`.
pub(crate) fn qualified_name_problem(text: &str) -> Option<String> {
    let (prefix, name) = match text.rsplit_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            return Some("prefix part must be non-empty".to_owned());
        }
        if let Some(why) = strategy::subdomain_problem(prefix) {
            return Some(format!("prefix part {why}"));
        }
    }
    if name.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 characters".to_owned());
    }
    (!is_name_like(name)).then(|| {
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            .to_owned()
    })
}

pub(crate) fn label_value_problem(text: &str) -> Option<String> {
    if text.len() > 63 {
        return Some("must be no more than 63 characters".to_owned());
    }
    (!text.is_empty() && !is_name_like(text)).then(|| {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
         must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
         regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            .to_owned()
    })
}

fn is_name_like(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn immutable_errors(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let fixed = [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ];
    for field in fixed {
        let (before, after) = (&old["metadata"][field], &object["metadata"][field]);
        if before != after {
            let path = format!("metadata.{field}");
            let kind = FieldErrorKind::Invalid;
            errors.push(FieldError::with_value(&path, kind, after, "field is immutable"));
        }
    }
    if is_terminating(old) {
        let before = finalizers(old);
        let new: Vec<&str> =
            finalizers(object).into_iter().filter(|name| !before.contains(name)).collect();
        if !new.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers \
                 []string{{{}}}",
                new.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
            );
            let kind = FieldErrorKind::Forbidden;
            errors.push(FieldError::bare("metadata.finalizers", kind, detail));
        }
    }
    errors
}
