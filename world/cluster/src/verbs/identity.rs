//! What a body says it is, and what it should be: type, name and namespace
//! (`k8s.io/apiserver/pkg/endpoints/handlers`).

use serde_json::{Map, Value, json};

use super::Work;
use crate::{encoding, facts, status::Refusal, world::meta};

impl Work<'_> {
    /// Checks that a body is an object of this type; fills in type and namespace where they may be absent.
    pub(super) fn check_identity(&mut self, object: &mut Value) -> Result<(), Refusal> {
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
            true => {
                self.check_custom_type(fields)?;
                // Of another kind it is invalid, not unreadable: that is told when it is judged.
                if given("kind") != row.kind {
                    self.misnamed = Some(given("kind").to_owned());
                }
            }
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
        for field in ["kind", "apiVersion"] {
            if let Some(found) = fields.get(field).and_then(json_type) {
                return Err(Refusal::bad_request(self.mistyped(field, found)));
            }
            if given(field).is_empty() {
                let text = Value::Object(fields.clone()).to_string();
                return Err(Refusal::bad_request(self.untyped(field, &text)));
            }
        }
        if given("apiVersion") != row.api_version() {
            return Err(self.other_version(given("apiVersion")));
        }
        Ok(())
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

    /// What is said of a custom object whose `apiVersion` or `kind` is no text.
    fn mistyped(&self, field: &str, found: &str) -> String {
        let body = self.request.body().map(|body| super::body::summary(body)).unwrap_or_default();
        format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: \
             json: cannot unmarshal {found} into Go struct field .{field} of type string ({body})",
            self.kind.row().kind
        )
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
}

/// What upstream says of a type that it has no Go type for (`runtime.NewNotRegisteredErrForKind`).
pub(super) fn unregistered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )
}

/// How Go's decoder calls what is no text; none for texts and null, which it takes.
fn json_type(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null | Value::String(_) => None,
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::Array(_) => Some("array"),
        Value::Object(_) => Some("object"),
    }
}
