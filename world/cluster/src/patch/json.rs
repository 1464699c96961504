//! RFC 6902, with upstream's habits.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use super::PatchError;

/// Upstream's limit on operations in one patch.
pub const OPERATIONS_MAX: usize = 10_000;

/// Applies a JSON patch.
pub(super) fn apply(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let mut patch = patch.clone();
    let is_list = patch.is_array();
    if let Some(operations) = patch.as_array_mut() {
        if operations.len() > OPERATIONS_MAX {
            return Err(PatchError::Unprocessable(format!(
                "The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}",
                operations.len()
            )));
        }
        if let Some(unknown) = operations.iter().find_map(unknown_kind) {
            return Err(PatchError::Unprocessable(format!("Unexpected kind: {unknown}")));
        }
        operations.iter_mut().for_each(fill_in_value);
    }
    let Patch(operations) = serde_json::from_value(patch).map_err(|error| match is_list {
        true => PatchError::Unprocessable(error.to_string()),
        false => PatchError::BadRequest(
            "error decoding patch: json: cannot unmarshal object into Go value of type \
                 []handlers.jsonPatchOp"
                .to_owned(),
        ),
    })?;
    let mut object = live.clone();
    for operation in &operations {
        add_missing_list(&mut object, operation);
        let operation = &added(&object, operation);
        json_patch::patch(&mut object, std::slice::from_ref(operation)).map_err(|error| {
            PatchError::Unprocessable(
                complaint(&object, operation).unwrap_or_else(|| error.kind.to_string()),
            )
        })?;
    }
    Ok(object)
}

/// What an operation is called that nobody knows.
fn unknown_kind(operation: &Value) -> Option<&str> {
    const KNOWN: [&str; 6] = ["add", "copy", "move", "remove", "replace", "test"];
    operation["op"].as_str().filter(|kind| !KNOWN.contains(kind))
}

/// What upstream's library (`evanphx/json-patch`) says of an operation that can't be applied.
fn complaint(object: &Value, operation: &PatchOperation) -> Option<String> {
    let is_there = |path: &str| {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        object.pointer(parent).is_some_and(|parent| parent.is_object() || parent.is_array())
    };
    let path = operation.path().as_str();
    let last = path.rsplit('/').next().unwrap_or("");
    let index = last.parse::<i64>().ok();
    let beyond = index
        .map(|index| format!("Unable to access invalid index: {index}: invalid index referenced"));
    Some(match operation {
        PatchOperation::Add(_) if !is_there(path) => {
            format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
        }
        PatchOperation::Add(_) => format!("error in add for path: '{path}': {}", beyond?),
        PatchOperation::Remove(_) if !is_there(path) => {
            format!(
                "remove operation does not apply: doc is missing path: \"{path}\": missing value"
            )
        }
        PatchOperation::Remove(_) => {
            let why = beyond
                .unwrap_or(format!("Unable to remove nonexistent key: {last}: missing value"));
            format!("error in remove for path: '{path}': {why}")
        }
        PatchOperation::Replace(_) if !is_there(path) => {
            format!("replace operation does not apply: doc is missing path: {path}: missing value")
        }
        PatchOperation::Replace(_) => {
            format!("replace operation does not apply: doc is missing key: {path}: missing value")
        }
        PatchOperation::Test(_) if !is_there(path) => {
            format!("test operation does not apply: is missing path: {path}: missing value")
        }
        PatchOperation::Test(_) => format!("testing value {path} failed: test failed"),
        PatchOperation::Move(it) if !is_there(it.from.as_str()) => {
            format!(
                "move operation does not apply: doc is missing from path: {}: missing value",
                it.from
            )
        }
        PatchOperation::Copy(it) if !is_there(it.from.as_str()) => {
            format!(
                "copy operation does not apply: doc is missing from path: {}: missing value",
                it.from
            )
        }
        PatchOperation::Move(_) | PatchOperation::Copy(_) => return None,
    })
}

/// `{"op": "test", "path": "/a"}` without a value means null to upstream's library.
fn fill_in_value(operation: &mut Value) {
    let Some(fields) = operation.as_object_mut() else { return };
    let takes_value =
        matches!(fields.get("op").and_then(Value::as_str), Some("test" | "add" | "replace"));
    if takes_value && !fields.contains_key("value") {
        fields.insert("value".to_owned(), Value::Null);
    }
}

/// Upstream's library replaces what a map does not have by adding it.
fn added(object: &Value, operation: &PatchOperation) -> PatchOperation {
    if let PatchOperation::Replace(replace) = operation
        && object.pointer(replace.path.as_str()).is_none()
        && let Some((parent, _)) = replace.path.as_str().rsplit_once('/')
        && object.pointer(parent).is_some_and(Value::is_object)
    {
        return PatchOperation::Add(json_patch::AddOperation {
            path: replace.path.clone(),
            value: replace.value.clone(),
        });
    }
    operation.clone()
}

/// Upstream's library answers a test for null on a missing path with success.
fn add_missing_list(object: &mut Value, operation: &PatchOperation) {
    if let PatchOperation::Test(test) = operation
        && test.value.is_null()
        && object.pointer(test.path.as_str()).is_none()
        && let Some((parent, name)) = test.path.as_str().rsplit_once('/')
        && let Some(Value::Object(fields)) = object.pointer_mut(parent)
    {
        // Nulls are dropped from objects before they are stored, so this one never shows.
        fields.insert(name.replace("~1", "/").replace("~0", "~"), Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_apply_in_order() {
        let check = |patch: Value, expect: Value| {
            let live = json!({"metadata": {"resourceVersion": "5"}, "list": [1, 2]});
            assert_eq!(apply(&live, &patch).unwrap(), expect);
        };
        check(
            json!([{"op": "test", "path": "/metadata/resourceVersion", "value": "5"},
                {"op": "add", "path": "/list/-", "value": 3},
                {"op": "remove", "path": "/list/0"},
                {"op": "replace", "path": "/metadata/resourceVersion", "value": "6"}]),
            json!({"metadata": {"resourceVersion": "6"}, "list": [2, 3]}),
        );
    }

    #[test]
    fn misfits_have_their_codes() {
        let check = |patch: Value, code: u16| {
            assert_eq!(apply(&json!({"a": 1}), &patch).unwrap_err().code(), code, "{patch}");
        };
        check(json!([{"op": "test", "path": "/a", "value": 2}]), 422);
        check(json!([{"op": "remove", "path": "/b"}]), 422);
        check(json!({"op": "remove"}), 400);
        check(json!([{"op": "jump", "path": "/a"}]), 422);
        let one = json!({"op": "test", "path": "/a", "value": 1});
        check(Value::Array(vec![one; OPERATIONS_MAX + 1]), 422);
    }
}
