//! CustomResourceDefinitions of `apiextensions.k8s.io/v1beta1` (`apiextensions/v1beta1` and `v1/conversion.go`): what
//! all versions of a type share stands once at the top, `version` is the first of `versions`, and a column's path is
//! spelled `JSONPath`.

use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// What stands at the top where all versions have the same: its name there, and in a version.
const SHARED: [(&str, &str); 4] = [
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

pub(super) fn up(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let version = spec.remove("version").filter(|version| *version != "");
    let unlisted = versions(spec).is_empty();
    if let Some(name) = version.filter(|_| unlisted) {
        let only = json!([{"name": name, "served": true, "storage": true}]);
        spec.insert("versions".to_owned(), only);
    }
    for (top, below) in SHARED {
        let Some(shared) = spec.remove(top).filter(|shared| !shared.is_null()) else { continue };
        for version in versions(spec) {
            version.insert(below.to_owned(), shared.clone());
        }
    }
    columns(spec, "JSONPath", "jsonPath");
    if spec.get("preserveUnknownFields") != Some(&Value::Bool(true)) {
        spec.remove("preserveUnknownFields");
    }
    if let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_object_mut) {
        conversion_up(conversion);
    }
}

pub(super) fn down(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    columns(spec, "jsonPath", "JSONPath");
    let first = versions(spec).first().and_then(|version| version.get("name")).cloned();
    if let Some(first) = first {
        spec.insert("version".to_owned(), first);
    }
    for (top, below) in SHARED {
        let shared = share(&mut versions(spec), below);
        if let Some(shared) = shared {
            spec.insert(top.to_owned(), shared);
        }
    }
    spec.entry("preserveUnknownFields").or_insert(Value::Bool(false));
    if let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_object_mut) {
        conversion_down(conversion);
    }
}

fn versions(spec: &mut Fields) -> Vec<&mut Fields> {
    let list = spec.get_mut("versions").and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut).collect()
}

/// Takes what all versions have under this name, if they have the same.
fn share(versions: &mut [&mut Fields], name: &str) -> Option<Value> {
    let first = versions.first()?.get(name).cloned();
    if versions.iter().any(|version| version.get(name) != first.as_ref()) {
        return None;
    }
    for version in versions {
        version.remove(name);
    }
    first
}

fn columns(spec: &mut Fields, from: &str, to: &str) {
    let rename = |holder: &mut Fields| {
        let list = holder.get_mut("additionalPrinterColumns").and_then(Value::as_array_mut);
        for column in list.into_iter().flatten().filter_map(Value::as_object_mut) {
            if let Some(path) = column.remove(from) {
                column.insert(to.to_owned(), path);
            }
        }
    };
    rename(spec);
    versions(spec).into_iter().for_each(rename);
}

fn conversion_up(conversion: &mut Fields) {
    let client = conversion.remove("webhookClientConfig").filter(|client| !client.is_null());
    let reviews = conversion.remove("conversionReviewVersions").filter(|list| !list.is_null());
    if client.is_none() && reviews.is_none() {
        return;
    }
    let mut webhook = json!({"conversionReviewVersions": reviews});
    if let Some(client) = client {
        webhook["clientConfig"] = client;
    }
    conversion.insert("webhook".to_owned(), webhook);
}

fn conversion_down(conversion: &mut Fields) {
    let Some(Value::Object(mut webhook)) = conversion.remove("webhook") else { return };
    for (from, to) in [
        ("clientConfig", "webhookClientConfig"),
        ("conversionReviewVersions", "conversionReviewVersions"),
    ] {
        if let Some(value) = webhook.remove(from).filter(|value| !value.is_null()) {
            conversion.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::convert::check, *};

    const KIND: &str = "CustomResourceDefinition";

    fn object(spec: Value) -> Value {
        json!({"metadata": {"name": "foos.example.com"}, "spec": spec})
    }

    #[test]
    fn what_versions_share_is_at_the_top_of_old_definitions() {
        let column = |path: &str| json!([{"name": "A", "type": "string", path: ".spec.a"}]);
        let versions = ["v1", "v2"].map(|name| {
            json!({
                "name": name, "served": true, "storage": name == "v1",
                "schema": {"openAPIV3Schema": {"type": "object"}},
                "subresources": {"status": {}},
                "additionalPrinterColumns": column("jsonPath"),
            })
        });
        check(
            KIND,
            "v1beta1",
            &object(json!({
                "group": "example.com", "version": "v1", "preserveUnknownFields": true,
                "versions": [
                    {"name": "v1", "served": true, "storage": true},
                    {"name": "v2", "served": true, "storage": false},
                ],
                "validation": {"openAPIV3Schema": {"type": "object"}},
                "subresources": {"status": {}},
                "additionalPrinterColumns": column("JSONPath"),
                "conversion": {"strategy": "Webhook", "conversionReviewVersions": ["v1beta1"],
                    "webhookClientConfig": {"url": "https://127.0.0.1"}},
            })),
            &object(json!({
                "group": "example.com", "preserveUnknownFields": true,
                "versions": versions,
                "conversion": {"strategy": "Webhook", "webhook": {
                    "conversionReviewVersions": ["v1beta1"],
                    "clientConfig": {"url": "https://127.0.0.1"}}},
            })),
        );
    }

    #[test]
    fn what_versions_have_of_their_own_stays_with_them() {
        let schema = |kind: &str| json!({"openAPIV3Schema": {"type": kind}});
        let columns = |path: &str| json!([{"name": "A", "type": "string", path: ".a"}]);
        let versions = |path: &str| {
            json!([
                {"name": "v1", "schema": schema("object"), "additionalPrinterColumns": columns(path)},
                {"name": "v2", "schema": schema("string")},
            ])
        };
        check(
            KIND,
            "v1beta1",
            &object(json!({"version": "v1", "versions": versions("JSONPath"),
                "preserveUnknownFields": false})),
            &object(json!({"versions": versions("jsonPath")})),
        );
    }

    #[test]
    fn a_definition_with_one_version_may_name_it_at_the_top_only() {
        let mut definition = object(json!({"version": "v1"}));
        up(&mut definition);
        let only = json!([{"name": "v1", "served": true, "storage": true}]);
        assert_eq!(definition, object(json!({"versions": only})));
    }
}
