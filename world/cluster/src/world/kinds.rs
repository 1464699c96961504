//! The registry: which types are served, built in or custom, and what the verbs must know of one.

use std::sync::Arc;

use serde_json::Value;
use trace::GroupResource;

use crate::{
    crd::{CustomType, CustomVersion},
    encoding,
    facts::{self, Release, Resource, older},
    schema::Schema,
    status::Refusal,
    world::World,
};

/// A served type in one version.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    source: Source,
    /// Under which name its objects are stored.
    pub(crate) storage: GroupResource,
    /// In which `apiVersion` its objects are stored.
    pub(crate) storage_api_version: String,
}

#[derive(Debug, Clone)]
enum Source {
    BuiltIn(&'static Resource),
    /// A type and the index of the version.
    Custom(Arc<CustomType>, usize),
}

impl World {
    /// The type at a path, if it is served.
    pub(crate) fn kind(&self, group: &str, version: &str, resource: &str) -> Option<Kind> {
        if let Some(row) = facts::resource(group, version, resource) {
            return Some(Kind::built_in(row));
        }
        let older = older::find(group, version, resource);
        if let Some(older) = older.filter(|older| older.is_served(self.release)) {
            return Some(Kind::built_in(&older.row));
        }
        let custom = self.customs.get(&GroupResource::new(group, resource))?;
        let index = custom.versions.iter().position(|served| served.row.version == version)?;
        Some(Kind {
            storage: custom.resource.clone(),
            storage_api_version: custom.storage_api_version(),
            source: Source::Custom(custom.clone(), index),
        })
    }
}

impl Kind {
    fn built_in(row: &'static Resource) -> Kind {
        let stored_in = facts::storage_api_version(&row.group, &row.resource);
        Kind {
            storage: facts::storage(&row.group, &row.resource),
            storage_api_version: stored_in.unwrap_or_else(|| row.api_version()),
            source: Source::BuiltIn(row),
        }
    }

    /// Its row in discovery.
    pub(crate) fn row(&self) -> &Resource {
        match &self.source {
            Source::BuiltIn(row) => row,
            Source::Custom(custom, index) => &custom.versions[*index].row,
        }
    }

    /// The version that replaced it, if it is an old one ([`older`]).
    pub(crate) fn successor(&self) -> Option<Kind> {
        let row = self.row();
        let older = older::find(&row.group, &row.version, &row.resource)?;
        let (group, version) = older.current;
        facts::resource(group, version, &row.resource).map(Kind::built_in)
    }

    /// What is warned of when it is used in a world of this release.
    pub(crate) fn warning(&self, release: Release) -> Option<String> {
        let row = self.row();
        older::find(&row.group, &row.version, &row.resource)?.warning(release)
    }

    /// Its custom version, if it is custom.
    pub(crate) fn custom(&self) -> Option<&CustomVersion> {
        match &self.source {
            Source::BuiltIn(_) => None,
            Source::Custom(custom, index) => Some(&custom.versions[*index]),
        }
    }

    /// Its custom type, if it is custom.
    pub(crate) fn custom_type(&self) -> Option<&CustomType> {
        match &self.source {
            Source::BuiltIn(_) => None,
            Source::Custom(custom, _) => Some(custom),
        }
    }

    /// Whether objects of it are kept; the others are only answered.
    pub(crate) fn is_stored(&self) -> bool {
        self.row().is_stored()
    }

    /// Whether a CustomResourceDefinition made it.
    pub(crate) fn is_custom(&self) -> bool {
        self.custom().is_some()
    }

    /// `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        self.row().api_version()
    }

    /// Group and plural name as served, for messages.
    pub(crate) fn served(&self) -> GroupResource {
        GroupResource::new(&self.row().group, &self.row().resource)
    }

    /// The Go type that upstream holds an object of it in, for messages: `core.Pod`.
    pub(crate) fn go_type(&self) -> String {
        if self.is_custom() {
            return "unstructured.Unstructured".to_owned();
        }
        let package = match self.storage.group.split('.').next().unwrap_or("") {
            "" => "core",
            "internal" => "apiserverinternal",
            name => name,
        };
        format!("{package}.{}", self.row().kind)
    }

    /// `FooList`.
    pub(crate) fn list_kind(&self) -> String {
        match self.custom_type() {
            Some(custom) => custom.list_kind.clone(),
            None => format!("{}List", self.row().kind),
        }
    }

    /// Its schema; `None` for built-in types without one (reviews and the like).
    pub(crate) fn schema(&self) -> Option<Schema> {
        match self.custom() {
            Some(custom) => Some(custom.schema.clone()),
            None => Schema::builtin(&self.row().group, &self.row().version, &self.row().kind),
        }
    }

    /// Whether `status` can only be written at `/status`.
    pub(crate) fn has_status(&self) -> bool {
        self.row().subresource("status").is_some()
    }

    /// Whether a webhook converts between its versions.
    pub(crate) fn has_converter(&self) -> bool {
        self.custom_type().is_some_and(|custom| custom.converter.is_some())
    }

    /// Whether an object has this version.
    pub(crate) fn has_version_of(&self, object: &Value) -> bool {
        object.get("apiVersion").and_then(Value::as_str) == Some(&self.api_version())
    }

    /// Whether only a webhook knows what an object looks like in this version.
    pub(crate) fn needs_webhook(&self, object: &Value) -> bool {
        self.has_converter() && !self.has_version_of(object)
    }

    /// Whether a webhook has a say in how objects of this version are stored.
    pub(crate) fn stores_by_webhook(&self) -> bool {
        self.has_converter() && self.api_version() != self.storage_api_version
    }

    /// A stored object as this version shows it, where no webhook has to be asked; else
    /// [`webhooks::Asking`](crate::webhooks::Asking) does it.
    pub(crate) fn present(&self, object: &Arc<Value>) -> Result<Arc<Value>, Refusal> {
        if self.has_version_of(object) {
            return Ok(object.clone());
        }
        if self.has_converter() {
            return Err(Refusal::internal("nobody has asked the webhook that converts it"));
        }
        let mut shown = (**object).clone();
        if self.is_custom() {
            // `conversion: None` changes nothing but the version.
            shown["apiVersion"] = Value::from(self.api_version());
            shown = self.fit(shown);
        } else {
            convert_built_in(&mut shown, &self.api_version())?;
        }
        Ok(Arc::new(shown))
    }

    /// A custom object that was converted to this version, without what this version doesn't know.
    pub(crate) fn fit(&self, mut object: Value) -> Value {
        if let Some(custom) = self.custom() {
            custom.schema.prune(&mut object);
            custom.schema.drop_nulls(&mut object);
        }
        object
    }

    /// A custom object of the stored version, as it is stored: without what that version doesn't know, and with its
    /// defaults.
    pub(crate) fn fit_stored(&self, mut object: Value) -> Value {
        let stored = self.custom_type().and_then(|own| own.version(&self.storage_api_version));
        if let Some(stored) = stored {
            stored.schema.prune(&mut object);
            stored.schema.default(&mut object);
        }
        whole_numbers(&mut object);
        object
    }

    /// Why objects can't be selected by a field, in upstream's words: types with fields of their own have a
    /// converter of their own.
    pub(crate) fn no_selector(&self, field: &str) -> String {
        if self.is_custom() || !self.own_fields().is_empty() {
            return match (&*self.row().group, &*self.row().kind) {
                ("batch", "Job") => format!("field label {field:?} not supported for Job"),
                _ => format!("field label not supported: {field}"),
            };
        }
        format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        )
    }

    /// Whether objects can be selected by this field.
    pub(crate) fn selects_by(&self, field: &str) -> bool {
        if field == "metadata.name" || (field == "metadata.namespace" && self.row().namespaced) {
            return true;
        }
        if let Some(custom) = self.custom() {
            return custom.selectable.iter().any(|selectable| selectable == field);
        }
        self.own_fields().contains(&field)
    }

    /// Fields beyond metadata by which a built-in type can be selected.
    fn own_fields(&self) -> &'static [&'static str] {
        match (&*self.row().group, &*self.row().resource) {
            ("", "pods") => &[
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "spec.hostNetwork",
                "status.phase",
                "status.podIP",
                "status.podIPs",
                "status.nominatedNodeName",
            ],
            ("", "events") => &[
                "involvedObject.kind",
                "involvedObject.namespace",
                "involvedObject.name",
                "involvedObject.uid",
                "involvedObject.apiVersion",
                "involvedObject.resourceVersion",
                "involvedObject.fieldPath",
                "reason",
                "reportingComponent",
                "source",
                "type",
            ],
            ("events.k8s.io", "events") => &[
                "regarding.kind",
                "regarding.namespace",
                "regarding.name",
                "regarding.uid",
                "regarding.apiVersion",
                "regarding.resourceVersion",
                "regarding.fieldPath",
                "reason",
                "reportingController",
                "type",
            ],
            ("", "secrets") => &["type"],
            ("", "namespaces") => &["status.phase"],
            ("", "nodes") => &["spec.unschedulable"],
            ("", "services") => &["spec.clusterIP", "spec.type"],
            ("", "replicationcontrollers") => &["status.replicas"],
            ("batch", "jobs") => &["status.successful"],
            ("certificates.k8s.io", "certificatesigningrequests") => &["spec.signerName"],
            ("resource.k8s.io", "resourceslices") => &["spec.driver", "spec.nodeName"],
            _ => &[],
        }
    }
}

/// Makes an object of a built-in type one of another version of it. Errors: 500, the versions do not convert.
pub(crate) fn convert_built_in(object: &mut Value, to: &str) -> Result<(), Refusal> {
    let text = |field: &str| object[field].as_str().unwrap_or("");
    let (from, kind) = (text("apiVersion"), text("kind"));
    let old = [from, to].iter().any(|version| older::by_kind(version, kind).is_some());
    facts::convert(object, to).map_err(Refusal::internal)?;
    if old {
        // What is always shown in one version may be left out in the other.
        encoding::canonical(object).map_err(Refusal::internal)?;
    }
    Ok(())
}

/// Numbers as Go writes them: a fraction of nothing is left out, and the number is an integer when it is read again.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e18);
            if let Some(whole) = whole {
                *value = Value::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
