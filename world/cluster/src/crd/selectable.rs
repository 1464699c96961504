//! What is wrong with the fields of a version by which lists are selected (`ValidateCustomResourceSelectableFields`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::schema::{FieldError, FieldErrorKind};

/// `MaxSelectableFields`
const MOST: usize = 8;

/// Errors of `selectableFields` at `at`; `too_many` if there may be more than upstream allows, because there were.
pub(super) fn errors(
    fields: &[Value],
    schema: &Value,
    at: &str,
    too_many: bool,
) -> Vec<FieldError> {
    let (mut errors, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, field) in fields.iter().enumerate() {
        let (at, path) = (format!("{at}[{index}].jsonPath"), super::text(field, "jsonPath"));
        let shown = Value::from(path);
        let mut wrong = |kind, detail: &str| {
            errors.push(FieldError::with_value(&at, kind, &shown, detail));
        };
        if path.is_empty() {
            errors.push(FieldError::required(&at));
            continue;
        }
        let (path, found) = match find(schema, path) {
            Ok(found) => found,
            Err(why) => {
                wrong(FieldErrorKind::Invalid, &format!("is an invalid path: {why}"));
                continue;
            }
        };
        if path.first().is_some_and(|first| first == "metadata") {
            wrong(FieldErrorKind::Invalid, "must not point to fields in metadata");
        }
        if !matches!(super::text(found, "type"), "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
            wrong(FieldErrorKind::Invalid, detail);
        }
        if !seen.insert(path) {
            wrong(FieldErrorKind::Duplicate, "");
        }
    }
    if seen.len() > MOST && !too_many {
        let (kind, count) = (FieldErrorKind::TooMany, Value::from(seen.len()));
        let detail = format!("must have at most {MOST} items");
        errors.push(FieldError::with_value(at, kind, &count, detail));
    }
    errors
}

/// Whether there are more of them than upstream allows.
pub(super) fn are_too_many(fields: &[Value]) -> bool {
    fields.len() > MOST
}

/// What a path leads to, and its parts (`ValidFieldPath`, without brackets).
fn find<'a>(schema: &'a Value, path: &str) -> Result<(Vec<String>, &'a Value), String> {
    let (mut found, mut rest, mut parts) = (schema, path, Vec::new());
    while !rest.is_empty() {
        let (dot, after) = token(rest);
        match dot {
            "." => {}
            "[" => return Err("array notation is not allowed".to_owned()),
            other => return Err(format!("expected [ or . but got: {other}")),
        }
        if after.is_empty() {
            return Err("unexpected end of JSON path".to_owned());
        }
        let (name, after) = token(after);
        let named = found["properties"].as_object().filter(|all| !all.is_empty());
        let below = match named {
            Some(properties) => properties.get(name),
            None => found.get("additionalProperties"),
        };
        found = below.ok_or("does not refer to a valid field")?;
        parts.push(if named.is_some() { name.to_owned() } else { format!("[{name}]") });
        rest = after;
    }
    Ok((parts, found))
}

/// The first sign or name of a path, and what is behind it.
fn token(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[', ']']).unwrap_or(path.len());
    path.split_at(end.max(1).min(path.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_single_values() {
        let schema = json!({"type": "object", "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "number"},
                "m": {"type": "object", "additionalProperties": {"type": "integer"}}}}}});
        let check = |paths: &[&str], expect: &[&str]| {
            let fields: Vec<Value> = paths.iter().map(|path| json!({"jsonPath": path})).collect();
            let found = errors(&fields, &schema, "s", false);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expect, "{paths:?}");
        };
        let invalid =
            |path: &str, why: &str| format!("s[0].jsonPath: Invalid value: {path:?}: {why}");
        check(&[".spec.a", ".spec.m.x"], &[]);
        check(&[""], &["s[0].jsonPath: Required value"]);
        for (path, why) in [
            (".metadata.name", "must not point to fields in metadata"),
            (".spec.z", "is an invalid path: does not refer to a valid field"),
            (".spec.a.b", "is an invalid path: does not refer to a valid field"),
            (".spec['a']", "is an invalid path: array notation is not allowed"),
            ("spec.a", "is an invalid path: expected [ or . but got: spec"),
            (".spec.", "is an invalid path: unexpected end of JSON path"),
            (
                ".spec.n",
                "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                 formats are allowed.",
            ),
        ] {
            check(&[path], &[&invalid(path, why)]);
        }
        check(&[".spec.a", ".spec.a"], &["s[1].jsonPath: Duplicate value: \".spec.a\""]);
        let many: Vec<String> = (0..9).map(|number| format!(".spec.m.{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&many, &["s: Too many: 9: must have at most 8 items"]);
    }
}
