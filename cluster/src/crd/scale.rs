//! Counts that a custom type's `scale` subresource reads (`ValidateScaleSpec`, `ValidateScaleStatus`).

use serde_json::Value;

use super::text;
use crate::schema::{FieldError, FieldErrorKind};

/// What is wrong with the counts of an object; `status`: only its status is written.
pub(crate) fn errors(scale: &Value, object: &Value, status: bool) -> Vec<FieldError> {
    let paths = [("specReplicasPath", !status), ("statusReplicasPath", true)];
    let looked_at = paths.into_iter().filter(|(_, looked_at)| *looked_at);
    looked_at.filter_map(|(field, _)| count(text(scale, field), object)).collect()
}

fn count(path: &str, object: &Value) -> Option<FieldError> {
    let invalid = |count: i64, detail: String| {
        Some(FieldError::with_value(path, FieldErrorKind::Invalid, &Value::from(count), detail))
    };
    let mistyped = |value: &Value, wanted: &str| {
        let dotted = path.trim_start_matches('.');
        let (shown, found) = go_value(value)?;
        invalid(
            0,
            format!(".{dotted} accessor error: {shown} is of the type {found}, expected {wanted}"),
        )
    };
    let mut value = object;
    for part in path.trim_start_matches('.').split('.') {
        let Some(fields) = value.as_object() else {
            return mistyped(value, "map[string]interface{}");
        };
        value = fields.get(part)?;
    }
    let Some(count) = value.as_i64() else { return mistyped(value, "int64") };
    let detail = match count {
        ..0 => "should be a non-negative integer",
        0x8000_0000.. => "should be less than or equal to 2147483647",
        _ => return None,
    };
    invalid(count, detail.to_owned())
}

/// A scalar and its type, as Go prints them.
fn go_value(value: &Value) -> Option<(String, &'static str)> {
    match value {
        Value::String(text) => Some((text.clone(), "string")),
        Value::Bool(value) => Some((value.to_string(), "bool")),
        Value::Number(number) if number.is_i64() => Some((number.to_string(), "int64")),
        Value::Number(number) => Some((number.to_string(), "float64")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_neither_negative_nor_huge() {
        let scale = json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"});
        let check = |object: Value, status: bool, expect: &[&str]| {
            let found = errors(&scale, &object, status);
            assert_eq!(found.iter().map(|error| error.field.as_str()).collect::<Vec<_>>(), expect);
        };
        check(json!({}), false, &[]);
        check(json!({"spec": "x"}), false, &[".spec.n"]);
        check(json!({"spec": {"n": -1}, "status": {"n": -1}}), false, &[".spec.n", ".status.n"]);
        check(json!({"spec": {"n": -1}, "status": {"n": 5_000_000_000_i64}}), true, &[".status.n"]);
    }
}
