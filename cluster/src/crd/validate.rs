//! What is wrong with a CustomResourceDefinition (`apiextensions/validation`): the rules that decide
//! whether its type can be served.

use serde_json::{Value, json};

use super::{definition::rule_errors, text};
use crate::schema::{FieldError, FieldErrorKind, Gvk, Schema, structural_errors};

/// Errors of a CRD, in order of path.
pub(crate) fn errors(crd: &Value) -> Vec<FieldError> {
    let spec = &crd["spec"];
    let mut errors = Vec::new();
    let expected = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    if crd["metadata"]["name"] != json!(expected) {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        let kind = FieldErrorKind::Invalid;
        errors.push(FieldError::with_value(
            "metadata.name",
            kind,
            &crd["metadata"]["name"],
            detail,
        ));
    }
    for (path, value) in [
        ("spec.group", text(spec, "group")),
        ("spec.names.plural", text(&spec["names"], "plural")),
        ("spec.names.kind", text(&spec["names"], "kind")),
    ] {
        if value.is_empty() {
            errors.push(FieldError::required(path));
        }
    }
    match text(spec, "scope") {
        "Namespaced" | "Cluster" => {}
        "" => errors.push(FieldError::required("spec.scope")),
        other => {
            let detail = r#"supported values: "Cluster", "Namespaced""#;
            let kind = FieldErrorKind::NotSupported;
            errors.push(FieldError::with_value("spec.scope", kind, &Value::from(other), detail));
        }
    }
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    let storage = versions.iter().filter(|version| version["storage"] == json!(true)).count();
    if storage != 1 {
        let detail = "must have exactly one version marked as storage version";
        let kind = FieldErrorKind::Invalid;
        errors.push(FieldError::with_value("spec.versions", kind, &spec["versions"], detail));
    }
    // A schema that all versions have is upstream's `spec.validation`.
    let schema = |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned();
    let shared = versions.first().is_some_and(|first| {
        schema(first).is_some() && versions.iter().all(|other| schema(other) == schema(first))
    });
    for (index, version) in versions.iter().enumerate() {
        let path = match shared {
            true => "spec.validation.openAPIV3Schema".to_owned(),
            false => format!("spec.versions[{index}].schema.openAPIV3Schema"),
        };
        if shared && index > 0 {
            break;
        }
        match version.pointer("/schema/openAPIV3Schema") {
            Some(schema) => {
                let shape = structural_errors(schema, &path);
                if shape.is_empty() {
                    let name =
                        Gvk { group: String::new(), version: String::new(), kind: String::new() };
                    let read = Schema::custom(&name, Some(schema));
                    errors.extend(read.iter().flat_map(|schema| rule_errors(schema, &path)));
                }
                errors.extend(shape);
            }
            None => {
                errors.push(FieldError::required(&path));
            }
        }
    }
    errors
}
