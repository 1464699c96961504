//! Documents of old versions ([`crate::facts::older`]): those of the version that replaced them under other names, with
//! what was otherwise then (`data/older-definitions.json`, merge patches of definitions, written after the types of
//! Kubernetes 1.24 and 1.21).
//!
//! Descriptions and operations are those of 1.36. What the schema says beyond shape (which fields are required) counts
//! for clients that read it, not for the server: it judges objects as what they are stored as.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, OnceLock, PoisonError},
};

use serde_json::{Map, Value};

use crate::{
    encoding,
    facts::{Resource, api_version, older},
};

const CHANGES: &str = include_str!("../../data/older-definitions.json");

/// Where an OpenAPI document has its definitions, and how references to them begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) definitions: &'static str,
    pub(super) prefix: &'static str,
}

pub(super) const V2: Form = Form { definitions: "/definitions", prefix: "#/definitions/" };
const V3: Form = Form { definitions: "/components/schemas", prefix: "#/components/schemas/" };

/// Paths and definitions of a version, to stand in a document of this form.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) paths: Map<String, Value>,
    pub(super) definitions: Map<String, Value>,
}

/// The OpenAPI v3 document of an old group and version; `None` if there is none. Made on first use.
pub(crate) fn v3(group: &str, version: &str) -> Option<&'static str> {
    static KNOWN: Mutex<BTreeMap<(String, String), &'static str>> = Mutex::new(BTreeMap::new());
    let names = Names::of(group, version)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = known.entry((group.to_owned(), version.to_owned())).or_insert_with(|| {
        let newer = super::documents::v3(names.current.0, names.current.1);
        let mut document: Value =
            serde_json::from_str(newer.unwrap_or("{}")).expect("the data is well formed");
        let parts = names.parts(&document, V3);
        document["paths"] = Value::Object(parts.paths);
        document["components"]["schemas"] = Value::Object(parts.definitions);
        // There are as many as there are old versions.
        &*document.to_string().leak()
    });
    Some(*text)
}

/// What a whole document of this form has of the old version, if it has its successor.
pub(super) fn parts(document: &Value, form: Form, group: &str, version: &str) -> Parts {
    Names::of(group, version).map(|names| names.parts(document, form)).unwrap_or_default()
}

/// How an old version and its successor are called in documents.
struct Names {
    rows: Vec<&'static Resource>,
    old: (String, String),
    current: (&'static str, &'static str),
}

impl Names {
    fn of(group: &str, version: &str) -> Option<Names> {
        let olders = older::of_version(group, version);
        Some(Names {
            current: olders.first()?.current,
            rows: olders.iter().map(|older| &older.row).collect(),
            old: (group.to_owned(), version.to_owned()),
        })
    }

    fn parts(&self, document: &Value, form: Form) -> Parts {
        let empty = Map::new();
        let paths = document["paths"].as_object().unwrap_or(&empty);
        let mut kept: Map<String, Value> = paths
            .iter()
            .filter_map(|(path, item)| Some((self.path(path)?, self.renamed(item))))
            .collect();
        let all = document.pointer(form.definitions).and_then(Value::as_object);
        let mut all: Map<String, Value> = all
            .unwrap_or(&empty)
            .iter()
            .map(|(name, definition)| (self.definition(name), self.renamed(definition)))
            .collect();
        for (name, change) in changes() {
            if let Some(definition) = all.get_mut(name) {
                json_patch::merge(definition, &with_prefix(change, form.prefix));
            }
        }
        kept.values_mut().for_each(|item| self.name_operations(item));
        let definitions = reached(&kept, all, form.prefix);
        Parts { paths: kept, definitions }
    }

    /// A path of the successor as the old version has it; `None` for those that it has not.
    fn path(&self, path: &str) -> Option<String> {
        let root = |group: &str, version: &str| format!("/apis/{}/", api_version(group, version));
        let rest = path.strip_prefix(&root(self.current.0, self.current.1))?;
        let names = |row: &&&Resource| rest.split('/').any(|step| step == row.resource);
        let row = self.rows.iter().find(names);
        let below = rest.rsplit_once("{name}/").map(|(_, below)| below);
        let has = row.is_some_and(|row| below.is_none_or(|name| row.subresource(name).is_some()));
        (rest.is_empty() || has).then(|| root(&self.old.0, &self.old.1) + rest)
    }

    /// A definition's name; types that the old version had not keep theirs.
    fn definition(&self, name: &str) -> String {
        let Some((package, kind)) = name.rsplit_once('.') else { return name.to_owned() };
        let Some(base) = package.strip_suffix(&format!(".{}", self.current.1)) else {
            return name.to_owned();
        };
        let base = match base {
            "io.k8s.api.networking" if self.old.0 == "extensions" => "io.k8s.api.extensions",
            base => base,
        };
        // A group's types are in the package of its first label.
        if base.rsplit('.').next() != self.old.0.split('.').next() {
            return name.to_owned();
        }
        let renamed = format!("{base}.{}.{kind}", self.old.1);
        // Go's package is the document's, from the other end.
        let message = renamed.replacen("io.k8s.", "k8s.io.", 1).replace('-', "_");
        if encoding::has_message(&message) { renamed } else { name.to_owned() }
    }

    /// A part of a document with references and types of the old version.
    fn renamed(&self, value: &Value) -> Value {
        match value {
            Value::Object(fields) if self.is_kind(fields) => {
                let mut fields = fields.clone();
                fields.insert("group".to_owned(), Value::from(&*self.old.0));
                fields.insert("version".to_owned(), Value::from(&*self.old.1));
                Value::Object(fields)
            }
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.renamed(value))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.renamed(item)).collect(),
            Value::String(text) if text.starts_with("#/") => {
                let (place, name) = text.rsplit_once('/').unwrap_or(("", text));
                Value::from(format!("{place}/{}", self.definition(name)))
            }
            other => other.clone(),
        }
    }

    /// Whether it names a kind of the successor that the old version has too.
    fn is_kind(&self, fields: &Map<String, Value>) -> bool {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        (text("group"), text("version")) == (Some(self.current.0), Some(self.current.1))
            && text("kind").is_some()
    }

    /// Identifiers and tags of operations name the version too.
    fn name_operations(&self, item: &mut Value) {
        let tag = |group: &str, version: &str| {
            let row = Resource {
                group: group.trim_end_matches(".k8s.io").to_owned(),
                version: version.to_owned(),
                ..self.rows[0].clone()
            };
            super::custom::tag(&row)
        };
        let (from, to) = (tag(self.current.0, self.current.1), tag(&self.old.0, &self.old.1));
        let title = |tag: &str| {
            let parts = tag.split('_').map(|part| part[..1].to_uppercase() + &part[1..]);
            parts.collect::<String>()
        };
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            if let Some(id) = operation.get("operationId").and_then(Value::as_str) {
                operation["operationId"] = id.replacen(&title(&from), &title(&to), 1).into();
            }
            for tag in operation.get_mut("tags").and_then(Value::as_array_mut).into_iter().flatten()
            {
                if *tag == from {
                    *tag = Value::from(&*to);
                }
            }
        }
    }
}

fn changes() -> &'static BTreeMap<String, Value> {
    static ALL: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
    ALL.get_or_init(|| {
        serde_json::from_str(CHANGES).expect("the data of this crate is well formed")
    })
}

/// A change with its references in this form.
fn with_prefix(value: &Value, prefix: &str) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), with_prefix(value, prefix))).collect()
        }
        Value::Array(items) => items.iter().map(|item| with_prefix(item, prefix)).collect(),
        Value::String(text) => Value::from(text.replacen(V3.prefix, prefix, 1)),
        other => other.clone(),
    }
}

/// The definitions to which references of the paths lead, and on from there.
fn reached(
    paths: &Map<String, Value>,
    mut all: Map<String, Value>,
    prefix: &str,
) -> Map<String, Value> {
    let mut found = Map::new();
    let mut wanted = BTreeSet::new();
    paths.values().for_each(|item| references(item, prefix, &mut wanted));
    while let Some(name) = wanted.pop_first() {
        if let Some(definition) = all.remove(&name) {
            references(&definition, prefix, &mut wanted);
            found.insert(name, definition);
        }
    }
    found
}

fn references(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str);
            found.extend(target.and_then(|text| text.strip_prefix(prefix)).map(str::to_owned));
            fields.values().for_each(|value| references(value, prefix, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, prefix, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(group: &str, version: &str) -> Value {
        serde_json::from_str(v3(group, version).expect("an old version")).unwrap()
    }

    #[test]
    fn every_change_is_of_a_definition_that_is_there() {
        let mut all = BTreeSet::new();
        for older in older::served("1.21".parse().unwrap()) {
            let document = document(&older.row.group, &older.row.version);
            let schemas = document["components"]["schemas"].as_object().unwrap();
            all.extend(schemas.keys().cloned());
            let kind = schemas.values().any(|schema| {
                schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|kinds| {
                    kinds.iter().any(|kind| {
                        kind["kind"] == *older.row.kind
                            && kind["group"] == *older.row.group
                            && kind["version"] == *older.row.version
                    })
                })
            });
            assert!(kind, "{}", older.row.kind);
        }
        for name in changes().keys() {
            assert!(all.contains(name), "{name}");
        }
    }

    #[test]
    fn documents_have_what_the_version_had() {
        let ingress = document("extensions", "v1beta1");
        let paths: Vec<&String> = ingress["paths"].as_object().unwrap().keys().collect();
        assert!(paths.iter().all(|path| path.starts_with("/apis/extensions/v1beta1/")));
        assert!(paths.iter().any(|path| path.ends_with("/ingresses/{name}/status")));
        assert!(!paths.iter().any(|path| path.contains("networkpolicies")));
        let schemas = &ingress["components"]["schemas"];
        let backend = &schemas["io.k8s.api.extensions.v1beta1.IngressBackend"]["properties"];
        assert_eq!(backend["serviceName"]["type"], "string");
        assert!(backend.get("service").is_none());
        assert!(schemas.get("io.k8s.api.networking.v1.NetworkPolicy").is_none());
        let item = "/apis/extensions/v1beta1/namespaces/{namespace}/ingresses/{name}";
        let read = &ingress["paths"][item]["get"];
        assert_eq!(read["operationId"], "readExtensionsV1beta1NamespacedIngress");
        assert_eq!(read["tags"][0], "extensions_v1beta1");
        let attachments = document("storage.k8s.io", "v1beta1");
        let status = "/apis/storage.k8s.io/v1beta1/volumeattachments/{name}/status";
        assert!(attachments["paths"].get(status).is_none(), "written with the object then");
        // A job's specification is the one of `batch/v1`.
        let jobs = document("batch", "v1beta1");
        let template = "io.k8s.api.batch.v1beta1.JobTemplateSpec";
        let spec = jobs["components"]["schemas"][template]["properties"]["spec"].to_string();
        assert!(spec.contains("io.k8s.api.batch.v1.JobSpec"), "{spec}");
        assert!(v3("policy", "v1").is_none());
    }
}
