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

    /// A stored object as this version shows it.
    pub(crate) fn present(&self, object: &Arc<Value>) -> Result<Arc<Value>, Refusal> {
        let api_version = self.api_version();
        if object.get("apiVersion").and_then(Value::as_str) == Some(&api_version) {
            return Ok(object.clone());
        }
        self.convert((**object).clone(), &api_version).map(Arc::new)
    }

    /// An object of this version as it is stored.
    pub(crate) fn to_storage(&self, object: Value) -> Result<Value, Refusal> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(&self.storage_api_version) {
            return Ok(object);
        }
        self.convert(object, &self.storage_api_version)
    }

    fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, Refusal> {
        if let Some(custom) = self.custom_type() {
            if custom.converted_elsewhere {
                let (from, kind) = (object["apiVersion"].as_str().unwrap_or(""), &self.row().kind);
                return Err(Refusal::unclassified(format!(
                    "conversion webhook for {from}, Kind={kind} failed: this server calls no conversion webhooks; \
                     read and write {}",
                    self.storage_api_version
                )));
            }
            // `conversion: None` changes nothing but the version.
            object["apiVersion"] = Value::from(api_version);
            return Ok(object);
        }
        let kind = &self.row().kind;
        let from = object["apiVersion"].as_str().unwrap_or("");
        let old = [from, api_version].iter().any(|it| older::by_kind(it, kind).is_some());
        facts::convert(&mut object, api_version).map_err(Refusal::internal)?;
        if old {
            // What is always shown in one version may be left out in the other.
            encoding::canonical(&mut object).map_err(Refusal::internal)?;
        }
        Ok(object)
    }

    /// Why objects can't be selected by a field, in upstream's words: types with fields of their own have a
    /// converter of their own.
    pub(crate) fn no_selector(&self, field: &str) -> String {
        match self.is_custom() || self.own_fields().is_empty() {
            false => format!("field label not supported: {field}"),
            true if self.custom().is_some_and(|custom| !custom.selectable.is_empty()) => {
                format!("field label not supported: {field}")
            }
            true => format!(
                "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ),
        }
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
