//! The OpenAPI documents that clients ask for: v3 by group-version, v2 as one document; built-in types
//! from the data of this crate, custom resources generated.
//!
//! Documents of groups without custom resources are served as they stand in the binary. The v2 document
//! comes as JSON or, for old clients, as gnostic's protobuf. Old versions that a world's release serves have documents
//! made from those of the versions that replaced them ([`older`]).

mod custom;
pub(crate) mod documents;
mod gnostic;
pub(crate) mod older;
mod v2;

use std::{collections::BTreeMap, sync::OnceLock};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::facts::{self, Release, Resource};

/// A custom resource version, as its documents need it.
#[derive(Debug, Clone, Copy)]
pub struct CustomResource<'a> {
    /// Group, version, names, scope, subresources.
    pub resource: &'a Resource,
    /// Kind of its lists.
    pub list_kind: &'a str,
    /// `openAPIV3Schema` as written in the CRD.
    pub schema: Option<&'a Value>,
}

/// One document and its hash (the entity tag, and `hash=` in the index).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// JSON text.
    pub body: Bytes,
    /// Changes when the body changes.
    pub hash: String,
}

impl Document {
    fn of(body: Bytes) -> Document {
        // Half of a BLAKE3 is plenty to tell documents apart.
        let hash = blake3::hash(&body).to_hex()[..32].to_uppercase();
        Document { body, hash }
    }

    fn generated(value: &Value) -> Document {
        Document::of(Bytes::from(value.to_string()))
    }
}

/// The built-in v3 documents by path, hashed once.
fn built_in() -> &'static BTreeMap<&'static str, Document> {
    static DOCUMENTS: OnceLock<BTreeMap<&'static str, Document>> = OnceLock::new();
    DOCUMENTS.get_or_init(|| {
        let document = |text: &'static str| Document::of(Bytes::from_static(text.as_bytes()));
        documents::V3.iter().map(|(path, text)| (*path, document(text))).collect()
    })
}

fn path_of(resource: &Resource) -> String {
    format!("apis/{}/{}", resource.group, resource.version)
}

/// The document of an old version at this path, if a server of this release serves it.
fn older_v3(path: &str, release: Release) -> Option<Document> {
    let mut served = facts::older::served(release).map(|older| &older.row);
    let row = served.find(|row| path_of(row) == path)?;
    let text = older::v3(&row.group, &row.version)?;
    Some(Document::of(Bytes::from_static(text.as_bytes())))
}

/// `/openapi/v3`: where each document is, with its hash.
pub fn v3_index<'a>(
    release: Release,
    customs: impl IntoIterator<Item = CustomResource<'a>>,
) -> Value {
    let mut hashes: BTreeMap<String, String> = built_in()
        .iter()
        .map(|(path, document)| ((*path).to_owned(), document.hash.clone()))
        .collect();
    let mut groups: BTreeMap<String, Vec<CustomResource<'a>>> = BTreeMap::new();
    for custom in customs {
        groups.entry(path_of(custom.resource)).or_default().push(custom);
    }
    for (path, customs) in groups {
        if let Some(document) = v3(&path, release, customs) {
            hashes.insert(path, document.hash);
        }
    }
    for older in facts::older::served(release) {
        let path = path_of(&older.row);
        if let Some(document) = older_v3(&path, release) {
            hashes.insert(path, document.hash);
        }
    }
    let url = |(path, hash): (String, String)| {
        let url = format!("/openapi/v3/{path}?hash={hash}");
        (path, json!({"serverRelativeURL": url}))
    };
    json!({"paths": hashes.into_iter().map(url).collect::<Map<String, Value>>()})
}

/// `/openapi/v3/PATH` (`api/v1`, `apis/apps/v1`); `customs` may hold all custom resources, those of other
/// groups are passed over. `None` if there is no such document.
pub fn v3<'a>(
    path: &str,
    release: Release,
    customs: impl IntoIterator<Item = CustomResource<'a>>,
) -> Option<Document> {
    if let Some(document) = built_in().get(path) {
        return Some(document.clone());
    }
    if let Some(document) = older_v3(path, release) {
        return Some(document);
    }
    let customs: Vec<CustomResource<'a>> =
        customs.into_iter().filter(|custom| path_of(custom.resource) == path).collect();
    (!customs.is_empty()).then(|| Document::generated(&custom::document(&customs)))
}

/// `/openapi/v2` in JSON.
pub fn v2<'a>(release: Release, customs: impl IntoIterator<Item = CustomResource<'a>>) -> Document {
    static BUILT_IN: OnceLock<Document> = OnceLock::new();
    let built_in =
        BUILT_IN.get_or_init(|| Document::of(Bytes::from_static(documents::V2.as_bytes())));
    let customs: Vec<CustomResource<'a>> = customs.into_iter().collect();
    let mut olders: Vec<(&str, &str)> = facts::older::served(release)
        .map(|older| (older.row.group.as_str(), older.row.version.as_str()))
        .collect();
    olders.dedup();
    if customs.is_empty() && olders.is_empty() {
        return built_in.clone();
    }
    Document::generated(&v2::document(&customs, &olders))
}

/// The media type of [`v2_protobuf`]; both spellings of the separator are in use.
pub const V2_PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

/// `/openapi/v2` in gnostic's protobuf.
pub fn v2_protobuf<'a>(
    release: Release,
    customs: impl IntoIterator<Item = CustomResource<'a>>,
) -> Document {
    let value: Value = serde_json::from_slice(&v2(release, customs).body).unwrap_or_default();
    Document::of(Bytes::from(gnostic::encode(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Subresource;

    const NOW: Release = Release::CURRENT;

    fn foo() -> Resource {
        let status = Subresource {
            name: "status".into(),
            group: "example.com".into(),
            version: "v1".into(),
            kind: "Foo".into(),
            verbs: vec!["get".into(), "patch".into(), "update".into()],
        };
        Resource {
            group: "example.com".into(),
            version: "v1".into(),
            resource: "foos".into(),
            singular: "foo".into(),
            kind: "Foo".into(),
            namespaced: true,
            verbs: Vec::new(),
            short_names: Vec::new(),
            categories: Vec::new(),
            subresources: vec![status],
        }
    }

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"x": {"x-kubernetes-int-or-string": true,
                "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "n": {"type": "string", "nullable": true}}},
            "metadata": {"type": "object"}}})
    }

    fn parse(document: &Document) -> Value {
        serde_json::from_slice(&document.body).unwrap()
    }

    /// Every reference of a document leads somewhere.
    fn check_references(document: &Value, value: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                    let pointer = target.trim_start_matches('#');
                    assert!(document.pointer(pointer).is_some(), "{target} leads nowhere");
                }
                fields.values().for_each(|value| check_references(document, value));
            }
            Value::Array(items) => items.iter().for_each(|item| check_references(document, item)),
            _ => {}
        }
    }

    #[test]
    fn custom_resources_have_documents() {
        let (resource, schema) = (foo(), schema());
        let custom =
            CustomResource { resource: &resource, list_kind: "FooList", schema: Some(&schema) };
        let document = v3("apis/example.com/v1", NOW, [custom]).unwrap();
        let value = parse(&document);
        let foo = &value["components"]["schemas"]["com.example.v1.Foo"];
        assert_eq!(foo["properties"]["apiVersion"]["type"], "string");
        assert_eq!(
            foo["x-kubernetes-group-version-kind"],
            json!([{"group": "example.com", "kind": "Foo", "version": "v1"}])
        );
        assert_eq!(foo["properties"]["spec"]["properties"]["n"]["nullable"], true);
        let item = &value["paths"]["/apis/example.com/v1/namespaces/{namespace}/foos/{name}"];
        let names: Vec<&str> = item["patch"]["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"fieldValidation") && names.contains(&"dryRun"), "{names:?}");
        assert!(value["paths"].get("/apis/example.com/v1/foos").is_some());
        assert!(
            value["paths"]
                .get("/apis/example.com/v1/namespaces/{namespace}/foos/{name}/status")
                .is_some()
        );
        check_references(&value, &value);

        let index = v3_index(NOW, [custom]);
        let url = index["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().unwrap();
        let expect = format!("/openapi/v3/apis/example.com/v1?hash={}", document.hash);
        assert_eq!(url, expect);
        assert!(index["paths"].get("api/v1").is_some());
        assert!(v3("apis/other.example/v1", NOW, [custom]).is_none());
        assert!(v3("apis/apps/v1", NOW, []).is_some());

        let value = parse(&v2(NOW, [custom]));
        let foo = &value["definitions"]["com.example.v1.Foo"];
        assert_eq!(foo["properties"]["spec"]["properties"]["n"].get("nullable"), None);
        assert_eq!(foo["properties"]["spec"]["properties"]["x"].get("anyOf"), None);
        check_references(&value, &value["definitions"]);
        let path = "/apis/example.com/v1/namespaces/{namespace}/foos/{name}";
        assert_eq!(value["paths"][path]["patch"]["x-kubernetes-group-version-kind"]["kind"], "Foo");
        assert_ne!(v2(NOW, [custom]).hash, v2(NOW, []).hash);
    }

    #[test]
    fn old_versions_have_documents_in_their_releases() {
        let then: Release = "1.21".parse().unwrap();
        let path = "apis/extensions/v1beta1";
        assert!(v3(path, NOW, []).is_none());
        let value = parse(&v3(path, then, []).unwrap());
        check_references(&value, &value);
        assert!(v3_index(then, [])["paths"].get(path).is_some());
        assert!(v3_index(NOW, [])["paths"].get(path).is_none());

        let value = parse(&v2(then, []));
        check_references(&value, &value["definitions"]);
        check_references(&value, &value["paths"]);
        let backend = &value["definitions"]["io.k8s.api.extensions.v1beta1.IngressBackend"];
        assert!(backend["properties"].get("servicePort").is_some());
        let path = "/apis/policy/v1beta1/namespaces/{namespace}/poddisruptionbudgets/{name}";
        let gvk = &value["paths"][path]["get"]["x-kubernetes-group-version-kind"];
        assert_eq!(gvk["version"], "v1beta1");
    }

    #[test]
    fn documents_without_schema_are_open_objects() {
        let resource = foo();
        let custom = CustomResource { resource: &resource, list_kind: "FooList", schema: None };
        let value = parse(&v3("apis/example.com/v1", NOW, [custom]).unwrap());
        let foo = &value["components"]["schemas"]["com.example.v1.Foo"];
        assert_eq!(foo["x-kubernetes-preserve-unknown-fields"], true);
        check_references(&value, &value);
    }
}
