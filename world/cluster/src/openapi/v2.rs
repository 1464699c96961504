//! The OpenAPI v2 document with custom resources added. v2 knows no `nullable`, no `anyOf` and their
//! like: such members are left out, as upstream does.

use serde_json::{Map, Value, json};

use super::{
    CustomResource,
    custom::{self, Endpoint, META},
    documents, older,
};

const DEFINITIONS: &str = "#/definitions/";

/// Builds the document; `olders` are groups and versions. Costs a parse of the built-in one (1 MB, some 10 ms), and as
/// much for each old version.
pub(super) fn document(customs: &[CustomResource<'_>], olders: &[(&str, &str)]) -> Value {
    let mut document: Value = serde_json::from_str(documents::V2).unwrap_or_default();
    let parts: Vec<older::Parts> = olders
        .iter()
        .map(|(group, version)| older::parts(&document, older::V2, group, version))
        .collect();
    for older::Parts { paths, definitions } in parts {
        for (field, added) in [("paths", paths), ("definitions", definitions)] {
            if let Some(all) = document[field].as_object_mut() {
                all.extend(added);
            }
        }
    }
    for custom in customs {
        for (name, mut definition) in custom::definitions(custom, DEFINITIONS) {
            simplify(&mut definition);
            document["definitions"][name] = definition;
        }
        for endpoint in custom::paths_of(custom.resource) {
            document["paths"][&endpoint.path] = item(custom, &endpoint);
        }
    }
    document
}

/// Leaves out what v2 can't say.
fn simplify(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for name in
        ["nullable", "anyOf", "oneOf", "allOf", "not", "default", "x-kubernetes-validations"]
    {
        fields.remove(name);
    }
    // A field of two types, or with unknown fields, is of no type: clients then don't check it.
    let flag =
        |fields: &Map<String, Value>, name: &str| fields.get(name) == Some(&Value::Bool(true));
    if flag(fields, "x-kubernetes-int-or-string") {
        fields.remove("type");
    }
    if flag(fields, "x-kubernetes-preserve-unknown-fields") {
        fields.remove("items");
        if !flag(fields, "x-kubernetes-embedded-resource")
            && !fields.contains_key("x-kubernetes-group-version-kind")
        {
            fields.remove("properties");
            fields.remove("type");
        }
    }
    for (name, below) in fields.iter_mut() {
        match (name.as_str(), below) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(simplify),
            ("items" | "additionalProperties", below) => simplify(below),
            _ => {}
        }
    }
}

fn item(custom: &CustomResource<'_>, endpoint: &Endpoint) -> Value {
    let mut item = Map::new();
    for (method, action) in &endpoint.operations {
        item.insert((*method).to_owned(), operation(custom, endpoint, action));
    }
    let parameters: Vec<Value> = endpoint
        .parameters
        .iter()
        .map(|name| {
            json!({"in": "path", "name": name, "required": true, "type": "string", "uniqueItems": true})
        })
        .collect();
    item.insert("parameters".to_owned(), Value::Array(parameters));
    Value::Object(item)
}

fn operation(custom: &CustomResource<'_>, endpoint: &Endpoint, action: &str) -> Value {
    let resource = custom.resource;
    let name = |kind: &str| custom::definition_name(resource, kind);
    let reference = |name: String| json!({"$ref": format!("{DEFINITIONS}{name}")});
    let answer = match action {
        "list" => name(custom.list_kind),
        "delete" | "deletecollection" => format!("{META}.Status"),
        _ => name(&resource.kind),
    };
    let body = match action {
        "post" | "put" => Some(name(&resource.kind)),
        "patch" => Some(format!("{META}.Patch")),
        "delete" => Some(format!("{META}.DeleteOptions")),
        _ => None,
    };
    let mut parameters: Vec<Value> = custom::query(action)
        .iter()
        .map(|(name, kind)| json!({"in": "query", "name": name, "type": kind, "uniqueItems": true}))
        .collect();
    parameters.extend(body.map(|body| {
        json!({"in": "body", "name": "body", "required": action != "delete", "schema": reference(body)})
    }));
    let consumes = match action {
        "patch" => json!([
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml"
        ]),
        _ => json!(["application/json", "application/yaml"]),
    };
    json!({
        "operationId": custom::operation_id(resource, endpoint, action),
        "consumes": consumes,
        "produces": ["application/json", "application/yaml"],
        "schemes": ["https"],
        "parameters": parameters,
        "responses": {
            "200": {"description": "OK", "schema": reference(answer)},
            "401": {"description": "Unauthorized"},
        },
        "tags": [custom::tag(resource)],
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": resource.group, "version": resource.version, "kind": resource.kind},
    })
}
