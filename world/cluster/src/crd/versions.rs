//! What is wrong with the versions of a definition, but for their schemas (`validateCustomResourceDefinitionVersion`):
//! their names, which of them is stored, their columns, scales and warnings, and the fields that lists are selected by.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{is_shared, list, selectable, text};
use crate::{
    schema::{
        FieldError,
        keywords::{invalid, required},
        unconvertible,
    },
    verbs::dns_1035_problem,
};

/// Types of columns.
const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
/// Formats of columns.
const FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// The names of versions, and which of them is stored.
pub(super) fn name_errors(spec: &Value, errors: &mut Vec<FieldError>) {
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

/// The rest of what versions have; `old` is the spec that is replaced. What all versions have alike is the spec's, in
/// upstream's own form.
pub(super) fn part_errors(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let (versions, mut errors) = (list(spec), Vec::new());
    for (index, version) in versions.iter().enumerate() {
        let at = |field: &str| match is_shared(versions, field) {
            true => format!("spec.{field}"),
            false => format!("spec.versions[{index}].{field}"),
        };
        let told = |field: &str| index == 0 || !is_shared(versions, field);
        let warning = format!("spec.versions[{index}].deprecationWarning");
        errors.extend(warning_errors(version, &warning));
        if told("subresources") {
            errors.extend(scale_errors(&version["subresources"]["scale"], &at("subresources")));
        }
        let columns = version["additionalPrinterColumns"].as_array().into_iter().flatten();
        for (number, column) in columns.enumerate().filter(|_| told("additionalPrinterColumns")) {
            let at = format!("{}[{number}]", at("additionalPrinterColumns"));
            errors.extend(column_errors(column, &at));
        }
        if told("selectableFields") {
            errors.extend(selectable_errors(versions, version, old, &at("selectableFields")));
        }
    }
    errors
}

/// `validateDeprecationWarning`
fn warning_errors(version: &Value, at: &str) -> Vec<FieldError> {
    let Some(warning) = version["deprecationWarning"].as_str() else { return Vec::new() };
    let mut wrong = Vec::new();
    if version["deprecated"] != true {
        wrong.push("can only be set for deprecated versions".to_owned());
    } else {
        if warning.len() > 256 {
            wrong.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            wrong.push("must not be an empty string".to_owned());
        }
        let hidden =
            |letter: char| letter != ' ' && (letter.is_control() || letter.is_whitespace());
        wrong.extend(warning.find(hidden).map(|at| {
            format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {at}"
            )
        }));
    }
    let told = wrong.iter().map(|detail| invalid(at, &Value::from(warning), detail));
    told.collect()
}

/// `ValidateCustomResourceDefinitionSubresources`; `at` is where the subresources are.
fn scale_errors(scale: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !scale.is_object() {
        return errors;
    }
    let paths = [
        ("specReplicasPath", &[".spec."][..], "should be a json path under .spec"),
        ("statusReplicasPath", &[".status."], "should be a json path under .status"),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "should be a json path under either .spec or .status",
        ),
    ];
    for (name, roots, detail) in paths {
        let (path, field) = (text(scale, name), format!("{at}.scale.{name}"));
        if path.is_empty() {
            errors.extend((name != "labelSelectorPath").then(|| FieldError::required(&field)));
        } else if let Some(why) = path_problem(path) {
            errors.push(invalid(&field, &json!(path), why));
        } else if !roots.iter().any(|root| path.starts_with(root)) {
            errors.push(invalid(&field, &json!(path), detail));
        }
    }
    errors
}

/// `ValidateCustomResourceColumnDefinition`
fn column_errors(column: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(&format!("{at}.name")));
    }
    let (field, kind) = (format!("{at}.type"), text(column, "type"));
    let known = format!("must be one of {}", TYPES.join(","));
    if kind.is_empty() {
        errors.push(required(&field, known));
    } else if !TYPES.contains(&kind) {
        errors.push(invalid(&field, &json!(kind), &known));
    }
    let format = text(column, "format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let known = format!("must be one of {}", FORMATS.join(","));
        errors.push(invalid(&format!("{at}.format"), &json!(format), &known));
    }
    let (field, path) = (format!("{at}.JSONPath"), text(column, "jsonPath"));
    if path.is_empty() {
        errors.push(FieldError::required(&field));
    } else if let Some(why) = path_problem(path) {
        errors.push(invalid(&field, &json!(path), why));
    }
    errors
}

/// `validateSimpleJSONPath` of one that is not empty.
fn path_problem(path: &str) -> Option<&'static str> {
    (!path.starts_with('.')).then_some("must be a simple json path starting with .")
}

/// The fields of one version, or of all. Upstream looks for the schema where the fields are: of all, or of the version.
fn selectable_errors(
    versions: &[Value],
    version: &Value,
    old: Option<&Value>,
    at: &str,
) -> Vec<FieldError> {
    let of = |version: &Value| version["selectableFields"].as_array().cloned().unwrap_or_default();
    let fields = of(version);
    if fields.is_empty() {
        return Vec::new();
    }
    let shared = is_shared(versions, "selectableFields");
    let schema = version.pointer("/schema/openAPIV3Schema");
    let Some(schema) = schema.filter(|_| is_shared(versions, "schema") == shared) else {
        let detail = match shared {
            true => "may only be set when validations.schema is included",
            false => "may only be set when `version.schema.openAPIV3Schema` is not included",
        };
        return vec![invalid(at, &json!(""), detail)];
    };
    if let Some(why) = unconvertible(schema) {
        let field = at.replace("selectableFields", "schema.openAPIV3Schema");
        return vec![invalid(&field, &json!(""), &why)];
    }
    let name = text(version, "name");
    let before = old.into_iter().flat_map(list).find(|old| text(old, "name") == name).map(of);
    let too_many = before.is_some_and(|old| selectable::are_too_many(&old) && old == fields);
    selectable::errors(&fields, schema, at, too_many)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(versions: Value, expect: &[&str]) {
        let found = part_errors(&json!({"versions": versions}), None);
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn columns_scales_and_warnings_are_whole() {
        check(
            json!([{"name": "v1", "additionalPrinterColumns": [{"name": "a", "type": "date", "jsonPath": ".a[0]"},
                {"type": "foo", "jsonPath": "a", "format": "zz"}, {"name": "a"}]}]),
            &[
                "spec.additionalPrinterColumns[1].name: Required value",
                "spec.additionalPrinterColumns[1].type: Invalid value: \"foo\": must be one of \
                    boolean,date,integer,number,string",
                "spec.additionalPrinterColumns[1].format: Invalid value: \"zz\": must be one of \
                    byte,date,date-time,double,float,int32,int64,password",
                "spec.additionalPrinterColumns[1].JSONPath: Invalid value: \"a\": must be a simple json path \
                    starting with .",
                "spec.additionalPrinterColumns[2].type: Required value: must be one of \
                    boolean,date,integer,number,string",
                "spec.additionalPrinterColumns[2].JSONPath: Required value",
            ],
        );
        check(
            json!([{"name": "v1", "subresources": {"scale": {"specReplicasPath": ".foo", "statusReplicasPath": "",
                "labelSelectorPath": "x"}}}, {"name": "v2"}]),
            &[
                "spec.versions[0].subresources.scale.specReplicasPath: Invalid value: \".foo\": should be a json \
                    path under .spec",
                "spec.versions[0].subresources.scale.statusReplicasPath: Required value",
                "spec.versions[0].subresources.scale.labelSelectorPath: Invalid value: \"x\": must be a simple \
                    json path starting with .",
            ],
        );
        check(
            json!([{"name": "v1", "deprecationWarning": "x"}, {"name": "v2", "deprecated": true,
                "deprecationWarning": ""}, {"name": "v3", "deprecated": true, "deprecationWarning": "a\tb"}]),
            &[
                "spec.versions[0].deprecationWarning: Invalid value: \"x\": can only be set for deprecated versions",
                "spec.versions[1].deprecationWarning: Invalid value: \"\": must not be an empty string",
                "spec.versions[2].deprecationWarning: Invalid value: \"a\\tb\": must only contain printable UTF-8 \
                    characters; non-printable character found at index 1",
            ],
        );
    }

    #[test]
    fn selected_fields_and_their_schema_are_of_one_place() {
        let schema = |kind: &str| {
            let field = json!({"type": "object", "properties": {"a": {"type": kind}}});
            json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": field}}})
        };
        let fields = json!([{"jsonPath": ".spec.a"}]);
        check(json!([{"name": "v1", "schema": schema("string"), "selectableFields": fields}]), &[]);
        check(
            json!([{"name": "v1", "schema": schema("string"), "selectableFields": fields},
                {"name": "v2", "schema": schema("integer"), "selectableFields": fields}]),
            &[
                "spec.selectableFields: Invalid value: \"\": may only be set when validations.schema is included",
            ],
        );
        check(
            json!([{"name": "v1", "schema": schema("string"), "selectableFields": fields},
                {"name": "v2", "schema": schema("string")}]),
            &["spec.versions[0].selectableFields: Invalid value: \"\": may only be set when \
                `version.schema.openAPIV3Schema` is not included"],
        );
    }
}
