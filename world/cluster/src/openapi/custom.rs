//! The OpenAPI v3 document of a group-version of custom resources.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{CustomResource, documents};
use crate::facts::Resource;

pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const SCHEMAS: &str = "#/components/schemas/";

/// Builds the document.
pub(super) fn document(customs: &[CustomResource<'_>]) -> Value {
    let mut schemas = shared_schemas();
    let mut paths = Map::new();
    for custom in customs {
        schemas.extend(definitions(custom, SCHEMAS));
        for path in paths_of(custom.resource) {
            paths.insert(path.path.clone(), item(custom, &path));
        }
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

/// The definitions of apimachinery (ObjectMeta, ListMeta, DeleteOptions, Patch, Status …), taken from a
/// built-in document: they only refer to each other.
fn shared_schemas() -> Map<String, Value> {
    let text = documents::v3("scheduling.k8s.io", "v1").unwrap_or("{}");
    let mut document: Value = serde_json::from_str(text).unwrap_or_default();
    let schemas = document.pointer_mut("/components/schemas").map(Value::take);
    let Some(Value::Object(schemas)) = schemas else { return Map::new() };
    schemas.into_iter().filter(|(name, _)| name.starts_with("io.k8s.apimachinery.")).collect()
}

/// `com.example.v1.Foo`.
pub(super) fn definition_name(resource: &Resource, kind: &str) -> String {
    let mut labels: Vec<&str> = resource.group.split('.').collect();
    labels.reverse();
    format!("{}.{}.{kind}", labels.join("."), resource.version)
}

/// The definitions of the kind and of its list; `prefix` is where references lead.
pub(super) fn definitions(custom: &CustomResource<'_>, prefix: &str) -> BTreeMap<String, Value> {
    let resource = custom.resource;
    let name = definition_name(resource, &resource.kind);
    let kinds =
        |kind: &str| json!([{"group": resource.group, "version": resource.version, "kind": kind}]);
    let mut object = custom
        .schema
        .cloned()
        .unwrap_or_else(|| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    embedded(&mut object, prefix, true);
    object["x-kubernetes-group-version-kind"] = kinds(&resource.kind);
    let list = json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": reference(prefix, &format!("{META}.ListMeta")),
            "items": {"type": "array", "items": reference(prefix, &name)},
        },
        "x-kubernetes-group-version-kind": kinds(custom.list_kind),
    });
    [(name, object), (definition_name(resource, custom.list_kind), list)].into()
}

fn reference(prefix: &str, name: &str) -> Value {
    json!({"$ref": format!("{prefix}{name}")})
}

/// Adds `apiVersion`, `kind`, `metadata` to the root and to embedded resources.
fn embedded(schema: &mut Value, prefix: &str, is_root: bool) {
    let Some(fields) = schema.as_object_mut() else { return };
    for (name, below) in fields.iter_mut() {
        match (name.as_str(), below) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| embedded(property, prefix, false));
            }
            ("items" | "additionalProperties", below) => embedded(below, prefix, false),
            _ => {}
        }
    }
    let is_embedded = fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    if !is_root && !is_embedded {
        return;
    }
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    for name in ["apiVersion", "kind"] {
        properties[name] = json!({"type": "string"});
    }
    properties["metadata"] = reference(prefix, &format!("{META}.ObjectMeta"));
}

/// One path of a resource.
pub(super) struct Endpoint {
    pub(super) path: String,
    /// Its path parameters.
    pub(super) parameters: Vec<&'static str>,
    /// HTTP method, `x-kubernetes-action`.
    pub(super) operations: Vec<(&'static str, &'static str)>,
    /// For operation ids: `NamespacedFooStatus`.
    suffix: String,
}

/// All paths of a resource.
pub(super) fn paths_of(resource: &Resource) -> Vec<Endpoint> {
    let base = format!("/apis/{}/{}", resource.group, resource.version);
    let plural = &resource.resource;
    let (scoped, parameters, scope) = if resource.namespaced {
        (format!("{base}/namespaces/{{namespace}}/{plural}"), vec!["namespace"], "Namespaced")
    } else {
        (format!("{base}/{plural}"), Vec::new(), "")
    };
    let named: Vec<&str> = [vec!["name"], parameters.clone()].concat();
    let suffix = |extra: &str| format!("{scope}{}{extra}", resource.kind);
    let mut all = vec![
        Endpoint {
            path: scoped.clone(),
            parameters,
            operations: vec![("get", "list"), ("post", "post"), ("delete", "deletecollection")],
            suffix: suffix(""),
        },
        Endpoint {
            path: format!("{scoped}/{{name}}"),
            parameters: named.clone(),
            operations: vec![
                ("get", "get"),
                ("put", "put"),
                ("patch", "patch"),
                ("delete", "delete"),
            ],
            suffix: suffix(""),
        },
    ];
    if resource.namespaced {
        all.push(Endpoint {
            path: format!("{base}/{plural}"),
            parameters: Vec::new(),
            operations: vec![("get", "list")],
            suffix: format!("{}ForAllNamespaces", resource.kind),
        });
    }
    for subresource in &resource.subresources {
        let mut letters = subresource.name.chars();
        let title: String = letters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(letters)
            .collect();
        all.push(Endpoint {
            path: format!("{scoped}/{{name}}/{}", subresource.name),
            parameters: named.clone(),
            operations: vec![("get", "get"), ("put", "put"), ("patch", "patch")],
            suffix: suffix(&title),
        });
    }
    all
}

/// Query parameters of an action.
pub(super) fn query(action: &str) -> &'static [(&'static str, &'static str)] {
    const LIST: &[(&str, &str)] = &[
        ("allowWatchBookmarks", "boolean"),
        ("continue", "string"),
        ("fieldSelector", "string"),
        ("labelSelector", "string"),
        ("limit", "integer"),
        ("resourceVersion", "string"),
        ("resourceVersionMatch", "string"),
        ("sendInitialEvents", "boolean"),
        ("timeoutSeconds", "integer"),
        ("watch", "boolean"),
    ];
    match action {
        "list" | "deletecollection" => LIST,
        "get" => &[("resourceVersion", "string")],
        "delete" => &[
            ("dryRun", "string"),
            ("gracePeriodSeconds", "integer"),
            ("orphanDependents", "boolean"),
            ("propagationPolicy", "string"),
        ],
        "patch" => &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
            ("force", "boolean"),
        ],
        _ => &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")],
    }
}

/// `createExampleComV1NamespacedFoo`.
pub(super) fn operation_id(resource: &Resource, endpoint: &Endpoint, action: &str) -> String {
    let verb = match action {
        "list" => "list",
        "post" => "create",
        "put" => "replace",
        "patch" => "patch",
        "delete" => "delete",
        "deletecollection" => "deleteCollection",
        _ => "read",
    };
    let title = |text: &str| {
        text.split(['.', '-', '/'])
            .flat_map(|part| {
                let mut letters = part.chars();
                letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters)
            })
            .collect::<String>()
    };
    format!("{verb}{}{}{}", title(&resource.group), title(&resource.version), endpoint.suffix)
}

fn item(custom: &CustomResource<'_>, endpoint: &Endpoint) -> Value {
    let mut item = Map::new();
    for (method, action) in &endpoint.operations {
        item.insert((*method).to_owned(), operation(custom, endpoint, action));
    }
    let path_parameter = |name: &&str| {
        json!({"in": "path", "name": name, "required": true,
            "schema": {"type": "string", "uniqueItems": true}})
    };
    let mut parameters: Vec<Value> = endpoint.parameters.iter().map(path_parameter).collect();
    parameters.push(json!({"in": "query", "name": "pretty",
        "schema": {"type": "string", "uniqueItems": true}}));
    item.insert("parameters".to_owned(), Value::Array(parameters));
    Value::Object(item)
}

fn operation(custom: &CustomResource<'_>, endpoint: &Endpoint, action: &str) -> Value {
    let resource = custom.resource;
    let object = definition_name(resource, &resource.kind);
    let answer = match action {
        "list" => definition_name(resource, custom.list_kind),
        "delete" | "deletecollection" => format!("{META}.Status"),
        _ => object.clone(),
    };
    let body = match action {
        "post" | "put" => Some((object, "*/*")),
        "patch" => Some((format!("{META}.Patch"), "application/merge-patch+json")),
        "delete" => Some((format!("{META}.DeleteOptions"), "*/*")),
        _ => None,
    };
    let parameter = |(name, kind): &(&str, &str)| json!({"in": "query", "name": name, "schema": {"type": kind, "uniqueItems": true}});
    let content = |name: &str| json!({"schema": reference(SCHEMAS, name)});
    let mut operation = json!({
        "operationId": operation_id(resource, endpoint, action),
        "parameters": query(action).iter().map(parameter).collect::<Vec<_>>(),
        "responses": {
            "200": {"description": "OK", "content": {
                "application/json": content(&answer), "application/yaml": content(&answer)}},
            "401": {"description": "Unauthorized"},
        },
        "tags": [tag(resource)],
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": resource.group, "version": resource.version, "kind": resource.kind},
    });
    if let Some((name, kind)) = body {
        operation["requestBody"] =
            json!({"content": {kind: content(&name)}, "required": action != "delete"});
        if action == "patch" {
            let kinds = ["application/apply-patch+yaml", "application/json-patch+json"];
            for kind in kinds {
                operation["requestBody"]["content"][kind] = content(&name);
            }
        }
    }
    operation
}

/// `exampleCom_v1`.
pub(super) fn tag(resource: &Resource) -> String {
    let mut labels = resource.group.split(['.', '-']);
    let mut name = labels.next().unwrap_or("").to_owned();
    for label in labels {
        let mut letters = label.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.extend(letters);
    }
    format!("{name}_{}", resource.version)
}
