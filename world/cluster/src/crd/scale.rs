//! Counts and the selector that a custom type's `scale` subresource reads (`ValidateScaleSpec`, `ValidateScaleStatus`).

use serde_json::Value;

use super::text;
use crate::{
    patch::go_text,
    schema::{FieldError, FieldErrorKind},
};

/// What is wrong with them in an object; `status`: only its status is written.
pub(crate) fn errors(scale: &Value, object: &Value, status: bool) -> Vec<FieldError> {
    let paths = [("specReplicasPath", !status), ("statusReplicasPath", true)];
    let looked_at = paths.into_iter().filter(|(_, looked_at)| *looked_at);
    let mut errors: Vec<FieldError> =
        looked_at.filter_map(|(field, _)| count(text(scale, field), object)).collect();
    errors.extend(label_selector(text(scale, "labelSelectorPath"), object));
    errors
}

/// What stands at a path; None if nothing does. Errors: what is on the way is no map (`NestedFieldNoCopy`).
fn find<'a>(path: &str, object: &'a Value) -> Result<Option<&'a Value>, String> {
    let (mut value, mut so_far) = (object, String::new());
    for part in path.trim_start_matches('.').split('.') {
        so_far.push('.');
        so_far.push_str(part);
        match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(part) {
                Some(found) => value = found,
                None => return Ok(None),
            },
            other => return Err(mistyped(&so_far, other, "map[string]interface{}")),
        }
    }
    Ok(Some(value))
}

/// `x accessor error: 1 is of the type int64, expected string`
fn mistyped(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, found) = (go_text(value), go_type(value));
    format!("{path} accessor error: {shown} is of the type {found}, expected {wanted}")
}

fn count(path: &str, object: &Value) -> Option<FieldError> {
    let invalid = |count: i64, detail: String| {
        Some(FieldError::with_value(path, FieldErrorKind::Invalid, &Value::from(count), detail))
    };
    let value = match find(path, object) {
        Ok(found) => found?,
        Err(why) => return invalid(0, why),
    };
    let Some(count) = value.as_i64() else {
        return invalid(0, mistyped(&dotted(path), value, "int64"));
    };
    let detail = match count {
        ..0 => "should be a non-negative integer",
        0x8000_0000.. => "should be less than or equal to 2147483647",
        _ => return None,
    };
    invalid(count, detail.to_owned())
}

fn label_selector(path: &str, object: &Value) -> Option<FieldError> {
    if path.is_empty() {
        return None;
    }
    let why = match find(path, object) {
        Ok(None | Some(Value::String(_))) => return None,
        Ok(Some(value)) => mistyped(&dotted(path), value, "string"),
        Err(why) => why,
    };
    Some(FieldError::with_value(path, FieldErrorKind::Invalid, &Value::from(""), why))
}

fn dotted(path: &str) -> String {
    format!(".{}", path.trim_start_matches('.'))
}

/// The type of a decoded value, as Go prints it.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
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

    #[test]
    fn what_is_of_another_type_is_told_where_it_stands() {
        let scale = json!({"specReplicasPath": ".spec.a.n", "statusReplicasPath": ".status.n",
            "labelSelectorPath": ".status.s"});
        let check = |object: Value, expect: &[&str]| {
            let found = errors(&scale, &object, false);
            assert_eq!(found.iter().map(|error| error.detail.as_str()).collect::<Vec<_>>(), expect);
        };
        check(json!({"spec": {"a": null}, "status": {"s": "a=b"}}), &[]);
        check(
            json!({"spec": [], "status": {"n": {}, "s": 1}}),
            &[
                ".spec.a accessor error: [] is of the type []interface {}, expected map[string]interface{}",
                ".status.n accessor error: map[] is of the type map[string]interface {}, expected int64",
                ".status.s accessor error: 1 is of the type int64, expected string",
            ],
        );
    }
}
