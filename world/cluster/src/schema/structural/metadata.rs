//! What a structural schema may say of the fields that every resource has.

use serde_json::Value;

use super::{FieldError, forbidden, invalid, keyword, schemas, text};

/// The types of `apiVersion`, `kind` and `metadata` of a resource, if its schema names them.
pub(super) fn type_errors(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(properties) = schemas(schema, "properties") else { return };
    for (name, wanted) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let Some(property) = properties.get(name) else { continue };
        let given = text(property, "type");
        if given != wanted {
            let field = format!("{at}.properties[{name}].type");
            errors.push(invalid(&field, &Value::from(given), &format!("must be {wanted}")));
        }
    }
}

/// At the root nothing may be said of `metadata` but of names (`validateStructuralMetadataInvariants`). A default is told
/// elsewhere.
pub(super) fn root_errors(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(metadata) = schemas(schema, "properties").and_then(|all| all.get("metadata")) else {
        return;
    };
    let names = schemas(metadata, "properties").into_iter().flatten().map(|(name, _)| name);
    let others = names.filter(|name| !matches!(name.as_str(), "name" | "generateName")).count();
    if others > 0 || metadata.as_object().into_iter().flatten().any(|(key, _)| says(metadata, key))
    {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                      specified";
        errors.push(forbidden(&format!("{at}.properties[metadata]"), detail));
    }
}

/// Whether a keyword of `metadata` says something beside its type and names: upstream compares with the empty schema.
fn says(metadata: &Value, key: &str) -> bool {
    let list = matches!(key, "enum" | "allOf" | "anyOf" | "oneOf" | "x-kubernetes-validations");
    match keyword(metadata, key) {
        _ if matches!(key, "type" | "default" | "properties") => false,
        None | Some(Value::Bool(false)) => {
            key == "additionalProperties" && keyword(metadata, key).is_some()
        }
        Some(Value::String(text)) => !text.is_empty() || key.starts_with("x-"),
        Some(Value::Array(items)) => !list || !items.is_empty(),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_are_restricted_in_names_only() {
        let check = |metadata: Value, expect: &[&str]| {
            let schema = json!({"type": "object", "properties": {"metadata": metadata}});
            let mut errors = Vec::new();
            type_errors(&schema, "s", &mut errors);
            root_errors(&schema, "s", &mut errors);
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
        };
        let more = "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, \
                    but metadata is implicitly specified";
        let name = json!({"type": "string", "maxLength": 5});
        check(json!({"type": "object"}), &[]);
        check(json!({"type": "object", "default": {}, "nullable": false, "enum": []}), &[]);
        check(json!({"type": "object", "properties": {"name": name, "generateName": name}}), &[]);
        check(json!({"type": "object", "properties": {"name": name, "labels": {}}}), &[more]);
        check(json!({"type": "object", "description": "x"}), &[more]);
        check(json!({"type": "object", "required": ["name"]}), &[more]);
        check(json!({"type": "object", "additionalProperties": false}), &[more]);
        check(json!({}), &["s.properties[metadata].type: Invalid value: \"\": must be object"]);
    }
}
