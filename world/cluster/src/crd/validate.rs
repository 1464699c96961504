//! What is wrong with a CustomResourceDefinition (`apiextensions/validation`): the rules that decide
//! whether its type can be served.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    defaults::{default_errors, has_unknown_fields},
    definition::rule_errors,
    text,
};
use crate::{
    schema::{FieldError, FieldErrorKind, Gvk, Schema, structural_errors},
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
    versions(spec, &mut errors);
    errors.extend(super::conversion::errors(spec));
    if crd["status"]["storedVersions"].as_array().is_none_or(Vec::is_empty) {
        let detail = "must have at least one stored version";
        errors.push(invalid("status.storedVersions", &Value::Null, detail));
    }
    schemas(spec, Demands::of(spec, old.map(|old| &old["spec"]), asked), &mut errors);
    let keeps = |spec: &Value| spec["preserveUnknownFields"] == json!(true);
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

/// What is asked of schemas: what is stored with less stays as it is (`requireOpenAPISchema`,
/// `requireStructuralSchema`).
#[derive(Debug, Clone, Copy)]
struct Demands {
    schema: bool,
    structure: bool,
    /// That no default has fields that its schema does not know (`requirePrunedDefaults`).
    pruned: bool,
}

impl Demands {
    fn of(spec: &Value, old: Option<&Value>, asked: Asked) -> Demands {
        let all = |judge: &dyn Fn(Option<&Value>) -> bool| {
            let versions = old.map_or(&[][..], list);
            versions.iter().all(|version| judge(version.pointer("/schema/openAPIV3Schema")))
        };
        let structural = |schema: Option<&Value>| {
            schema.is_none_or(|schema| structural_errors(schema, "").is_empty())
        };
        let pruned = |schema: Option<&Value>| {
            let read = schema.and_then(|schema| Schema::custom(&nobody(), Some(schema)).ok());
            read.is_none_or(|schema| !has_unknown_fields(&schema))
        };
        let now = asked == Asked::Now;
        let preserves = spec["preserveUnknownFields"] == json!(true);
        Demands {
            schema: now && all(&|schema| schema.is_some()),
            structure: !preserves || (now && all(&structural)),
            pruned: all(&pruned),
        }
    }
}

/// The name of a type that is only looked at.
fn nobody() -> Gvk {
    Gvk { group: String::new(), version: String::new(), kind: String::new() }
}

fn invalid(field: &str, value: &Value, detail: &str) -> FieldError {
    FieldError::with_value(field, FieldErrorKind::Invalid, value, detail)
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

/// The names of versions, and which of them is stored.
fn versions(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(spec);
    for (index, version) in versions.iter().enumerate() {
        let Some(why) = dns_1035_problem(text(version, "name")) else { continue };
        let name = json!(text(version, "name"));
        errors.push(invalid(&format!("spec.versions[{index}].name"), &name, why));
        // Upstream's own form still has the first as *the* version.
        errors.extend((index == 0).then(|| invalid("spec.version", &name, why)));
    }
    let mut wrong = |detail: &str| {
        errors.push(FieldError {
            value: Some(go_versions(versions)),
            ..invalid("spec.versions", &Value::Null, detail)
        });
    };
    let names: BTreeSet<&str> = versions.iter().map(|version| text(version, "name")).collect();
    if names.len() < versions.len() {
        wrong("must contain unique version names");
    }
    if versions.iter().filter(|version| version["storage"] == json!(true)).count() != 1 {
        wrong("must have exactly one version marked as storage version");
    }
}

fn list(spec: &Value) -> &[Value] {
    spec["versions"].as_array().map_or(&[][..], Vec::as_slice)
}

/// Whether all versions have the same of something, which upstream's own form has once then.
fn is_shared(versions: &[Value], field: &str) -> bool {
    let first = versions.first().map(|first| &first[field]);
    versions.iter().all(|version| Some(&version[field]) == first)
}

/// Versions as Go prints them.
fn go_versions(versions: &[Value]) -> String {
    if versions.is_empty() {
        return "null".to_owned();
    }
    let shown = versions.iter().map(|version| {
        let flag = |field: &str| version[field] == json!(true);
        let part = |field: &str| match is_shared(versions, field) {
            true => Value::Null,
            false => version[field].clone(),
        };
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\
             \"Schema\":{},\"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            json!(text(version, "name")),
            flag("served"),
            flag("storage"),
            flag("deprecated"),
            version["deprecationWarning"],
            part("schema"),
            part("subresources"),
            part("additionalPrinterColumns"),
            part("selectableFields"),
        )
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(","))
}

fn schemas(spec: &Value, demands: Demands, errors: &mut Vec<FieldError>) {
    let versions = list(spec);
    // A schema that all versions have is upstream's `spec.validation`.
    let has = |version: &Value| version.pointer("/schema/openAPIV3Schema").is_some();
    let shared = versions.first().is_some_and(has) && is_shared(versions, "schema");
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
                    let read = Schema::custom(&nobody(), Some(schema));
                    if let Ok(schema) = &read {
                        errors.extend(default_errors(schema, &path, demands.pruned));
                        errors.extend(rule_errors(schema, &path));
                    }
                }
                errors.extend(shape.into_iter().filter(|_| demands.structure));
            }
            None if demands.schema => {
                errors.push(FieldError::required(&path));
            }
            None => {}
        }
    }
}
