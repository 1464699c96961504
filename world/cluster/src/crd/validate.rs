//! What is wrong with a CustomResourceDefinition (`apiextensions/validation`): the rules that decide
//! whether its type can be served.

use serde_json::{Value, json};

use super::{
    approval,
    demands::{Demands, has_defaults},
    is_shared, list, schemas, text, versions,
};
use crate::{
    schema::{
        FieldError, FieldErrorKind,
        keywords::{invalid, required},
    },
    validation::Asked,
    verbs::{dns_1035_problem, subdomain_problem},
};

/// Errors of a CRD, in order of path; `old` is what it replaces.
///
/// That `v1beta1` refused defaults is not here: a definition written so would have failed long ago.
pub(crate) fn errors(crd: &Value, old: Option<&Value>, asked: Asked) -> Vec<FieldError> {
    let spec = &crd["spec"];
    let mut errors = Vec::new();
    // An update may not change a part of it, which is told below.
    let expected = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    if old.is_none() && crd["metadata"]["name"] != json!(expected) {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(invalid("metadata.name", &crd["metadata"]["name"], detail));
    }
    group(spec, &mut errors);
    names(&spec["names"], &mut errors);
    match text(spec, "scope") {
        "Namespaced" | "Cluster" => {}
        "" => errors.push(FieldError::required("spec.scope")),
        other => {
            let detail = r#"supported values: "Cluster", "Namespaced""#;
            let kind = FieldErrorKind::NotSupported;
            errors.push(FieldError::with_value("spec.scope", kind, &Value::from(other), detail));
        }
    }
    if let Some(old) = old {
        immutable(spec, old, &mut errors);
    }
    let old_spec = old.map(|old| &old["spec"]);
    versions::name_errors(spec, &mut errors);
    errors.extend(versions::part_errors(spec, old_spec));
    errors.extend(super::conversion::errors(spec));
    if crd["status"]["storedVersions"].as_array().is_none_or(Vec::is_empty) {
        let detail = "must have at least one stored version";
        errors.push(invalid("status.storedVersions", &Value::Null, detail));
    }
    stored_versions(crd, &mut errors);
    schema_errors(spec, Demands::of(spec, old_spec, asked), &mut errors);
    errors.extend(approval::error(crd, old).filter(|_| asked == Asked::Now));
    if keeps(spec) && has_defaults(spec) {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(invalid("spec.preserveUnknownFields", &json!(true), detail));
    }
    let kept = old.is_some_and(|old| keeps(&old["spec"]));
    if asked == Asked::Now && keeps(spec) && !kept {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(invalid("spec.preserveUnknownFields", &json!(true), detail));
    }
    errors
}

/// What names objects in the store never changes; what they are, not once there may be any
/// (`validateCustomResourceDefinitionSpecUpdate`).
fn immutable(spec: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let established = super::conditions(old).any(|condition| {
        text(condition, "type") == "Established" && text(condition, "status") == "True"
    });
    let fields: &[&str] = match established {
        true => &["scope", "names.kind", "group", "names.plural"],
        false => &["group", "names.plural"],
    };
    for field in fields {
        let of = |spec: &Value| {
            let path = format!("/{}", field.replace('.', "/"));
            spec.pointer(&path).cloned().unwrap_or_else(|| json!(""))
        };
        if of(spec) != of(&old["spec"]) {
            errors.push(invalid(&format!("spec.{field}"), &of(spec), "field is immutable"));
        }
    }
}

fn keeps(spec: &Value) -> bool {
    spec["preserveUnknownFields"] == json!(true)
}

/// That a version goes only when nothing is stored in it any more (`ValidateCustomResourceDefinitionStoredVersions`).
fn stored_versions(crd: &Value, errors: &mut Vec<FieldError>) {
    let stored = crd["status"]["storedVersions"].as_array().into_iter().flatten();
    for (index, name) in stored.enumerate() {
        if list(&crd["spec"]).iter().any(|version| version["name"] == *name) {
            continue;
        }
        let shown = name.as_str().unwrap_or_default();
        let detail = format!(
            "missing from spec.versions; {shown} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {shown} and removes {shown} from \
             status.storedVersions"
        );
        errors.push(invalid(&format!("status.storedVersions[{index}]"), name, &detail));
    }
}

fn group(spec: &Value, errors: &mut Vec<FieldError>) {
    let group = text(spec, "group");
    let field = "spec.group";
    if group.is_empty() {
        errors.push(FieldError::required(field));
    } else if let Some(why) = subdomain_problem(group) {
        errors.push(invalid(field, &json!(group), &why));
    } else if !group.contains('.') {
        errors.push(invalid(field, &json!(group), "should be a domain with at least one dot"));
    }
}

/// `ValidateCustomResourceDefinitionNames`
fn names(names: &Value, errors: &mut Vec<FieldError>) {
    for (name, mixed) in
        [("plural", false), ("singular", false), ("kind", true), ("listKind", true)]
    {
        let (value, field) = (text(names, name), format!("spec.names.{name}"));
        let checked = if mixed { value.to_lowercase() } else { value.to_owned() };
        if value.is_empty() {
            errors.push(FieldError::required(&field));
        } else if let Some(why) = dns_1035_problem(&checked) {
            let mixed =
                if mixed { "may have mixed case, but should otherwise match: " } else { "" };
            errors.push(invalid(&field, &json!(value), &format!("{mixed}{why}")));
        }
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(invalid("spec.names.listKind", &json!(kind), detail));
    }
    for list in ["shortNames", "categories"] {
        for (index, name) in names[list].as_array().into_iter().flatten().enumerate() {
            if let Some(why) = dns_1035_problem(name.as_str().unwrap_or("")) {
                errors.push(invalid(&format!("spec.names.{list}[{index}]"), name, why));
            }
        }
    }
}

fn schema_errors(spec: &Value, demands: Demands, errors: &mut Vec<FieldError>) {
    let versions = list(spec);
    // A schema that all versions have is upstream's `spec.validation`.
    let has = |version: &Value| version.pointer("/schema/openAPIV3Schema").is_some();
    let shared = versions.first().is_some_and(has) && is_shared(versions, "schema");
    let any_status = versions.iter().any(has_status);
    for (index, version) in versions.iter().enumerate() {
        let (path, status) = match shared {
            true => ("spec.validation.openAPIV3Schema".to_owned(), any_status),
            false => {
                (format!("spec.versions[{index}].schema.openAPIV3Schema"), has_status(version))
            }
        };
        if shared && index > 0 {
            break;
        }
        match version.pointer("/schema/openAPIV3Schema") {
            Some(schema) => errors.extend(schemas::errors(schema, &path, status, demands)),
            None if demands.schema => errors.push(FieldError::required(&path)),
            None if !keeps(spec) && version["served"] == true => {
                let detail = "because otherwise all fields are pruned";
                errors.push(required(&path, detail));
            }
            None => {}
        }
    }
}

/// Whether a version's status is written by itself.
fn has_status(version: &Value) -> bool {
    !version["subresources"]["status"].is_null()
}
