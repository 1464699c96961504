//! RFC 6902, with upstream's habits.

use json_patch::{Patch, PatchOperation, RemoveOperation, jsonptr::PointerBuf};
use serde_json::Value;

use super::PatchError;

/// Upstream's limit on operations in one patch.
pub const OPERATIONS_MAX: usize = 10_000;

/// What all copies of one patch may add, as JSON (`JSONPatchMaxCopyBytes`).
const COPIES_MOST_BYTES: usize = 3 * 1024 * 1024;

/// Applies a JSON patch.
pub(super) fn apply(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let mut patch = patch.clone();
    let is_list = patch.is_array();
    if let Some(operations) = patch.as_array_mut() {
        if operations.len() > OPERATIONS_MAX {
            return Err(PatchError::TooLarge(format!(
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
    let mut copied = 0;
    for operation in &operations {
        let operation = &added(&object, &counted_all(&object, operation));
        copied += copied_bytes(&object, operation);
        if copied > COPIES_MOST_BYTES {
            return Err(PatchError::Unprocessable(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                 {COPIES_MOST_BYTES}"
            )));
        }
        if finds_nothing(&object, operation) {
            continue;
        }
        json_patch::patch(&mut object, std::slice::from_ref(operation)).map_err(|error| {
            PatchError::Unprocessable(
                complaint(&object, operation).unwrap_or_else(|| error.kind.to_string()),
            )
        })?;
    }
    Ok(object)
}

/// What an operation copies, in bytes of JSON.
fn copied_bytes(object: &Value, operation: &PatchOperation) -> usize {
    let PatchOperation::Copy(copy) = operation else { return 0 };
    object.pointer(copy.from.as_str()).map_or(0, |value| value.to_string().len())
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
    let is_list = || {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        object.pointer(parent).is_some_and(Value::is_array)
    };
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
        PatchOperation::Test(_) if is_list() && object.pointer(path).is_none() => {
            format!("error in test for path: '{path}': {}", beyond?)
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

/// Upstream's library reads an index as Go does (`strconv.Atoi`), and counts from a list's end where it is below zero
/// (`SupportNegativeIndices`).
fn counted_all(object: &Value, operation: &PatchOperation) -> PatchOperation {
    let mut operation = operation.clone();
    match &mut operation {
        PatchOperation::Add(it) => counted(object, &mut it.path, true),
        PatchOperation::Remove(it) => counted(object, &mut it.path, false),
        PatchOperation::Replace(it) => counted(object, &mut it.path, false),
        PatchOperation::Test(it) => counted(object, &mut it.path, false),
        PatchOperation::Copy(it) => {
            counted(object, &mut it.from, false);
            counted(object, &mut it.path, true);
        }
        PatchOperation::Move(it) => {
            counted(object, &mut it.from, false);
            // What is moved is no part of the list any more when its new place is looked for.
            let mut without = object.clone();
            let remove = PatchOperation::Remove(RemoveOperation { path: it.from.clone() });
            if json_patch::patch(&mut without, &[remove]).is_ok() {
                counted(&without, &mut it.path, true);
            }
        }
    }
    operation
}

/// A path with its indices counted; `adds` if its last part is to be a new place. One that is too low stays, and is found
/// by nobody.
fn counted(object: &Value, path: &mut PointerBuf, adds: bool) {
    let mut at = Some(object);
    let parts = path.count();
    let counted = path.tokens().enumerate().map(|(number, token)| {
        let name = token.decoded();
        let index = name.parse::<isize>().ok();
        let place = at.and_then(Value::as_array).zip(index).and_then(|(list, index)| {
            let places = list.len() + usize::from(adds && number + 1 == parts);
            if index < 0 { places.checked_add_signed(index) } else { usize::try_from(index).ok() }
        });
        let name = place.map_or(name.into_owned(), |place| place.to_string());
        at = at.and_then(|at| match at {
            Value::Array(list) => list.get(name.parse::<usize>().ok()?),
            other => other.get(&name),
        });
        name
    });
    *path = PointerBuf::from_tokens(counted.collect::<Vec<_>>());
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

/// Whether it is a test for null of what a map does not have, which upstream's library answers with success.
fn finds_nothing(object: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else { return false };
    let path = test.path.as_str();
    let parent = path.rsplit_once('/').map(|(parent, _)| parent);
    test.value.is_null()
        && object.pointer(path).is_none()
        && parent.and_then(|parent| object.pointer(parent)).is_some_and(Value::is_object)
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
    fn indices_below_zero_count_from_the_end() {
        let check = |patch: Value, expect: Value| {
            let live = json!({"list": [{"n": 1}, {"n": 2}, {"n": 3}], "-1": 0});
            let patched = apply(&live, &json!([patch])).map(|patched| patched["list"].clone());
            assert_eq!(patched.unwrap_or(Value::Null), expect, "{patch}");
        };
        let of = |numbers: &[i64]| numbers.iter().map(|n| json!({"n": n})).collect::<Value>();
        check(json!({"op": "replace", "path": "/list/-1/n", "value": 9}), of(&[1, 2, 9]));
        check(json!({"op": "add", "path": "/list/-1", "value": {"n": 9}}), of(&[1, 2, 3, 9]));
        check(json!({"op": "add", "path": "/list/-4", "value": {"n": 9}}), of(&[9, 1, 2, 3]));
        check(json!({"op": "remove", "path": "/list/-3"}), of(&[2, 3]));
        check(json!({"op": "move", "from": "/list/-3", "path": "/list/-1"}), of(&[2, 3, 1]));
        check(json!({"op": "copy", "from": "/list/-3", "path": "/list/-2"}), of(&[1, 2, 1, 3]));
        check(json!({"op": "test", "path": "/list/-2/n", "value": 2}), of(&[1, 2, 3]));
        check(json!({"op": "remove", "path": "/-1"}), of(&[1, 2, 3]));
        check(json!({"op": "remove", "path": "/list/-4"}), Value::Null);
        check(json!({"op": "replace", "path": "/list/01/n", "value": 9}), of(&[1, 9, 3]));
    }

    #[test]
    fn a_test_changes_nothing() {
        let check = |path: &str, expect: Option<u16>| {
            let live = json!({"a": {"b": null}, "list": [1]});
            let patched = apply(&live, &json!([{"op": "test", "path": path, "value": null}]));
            match expect {
                None => assert_eq!(patched, Ok(live), "{path}"),
                Some(code) => assert_eq!(patched.unwrap_err().code(), code, "{path}"),
            }
        };
        check("/a/b", None);
        check("/a/c", None);
        check("/c", None);
        check("/c/d", Some(422));
        check("/list/0", Some(422));
        check("/list/1", Some(422));
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
        check(Value::Array(vec![one; OPERATIONS_MAX + 1]), 413);
    }
}
