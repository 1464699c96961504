//! RFC 7396, as the library does it that upstream uses (`evanphx/json-patch`): nulls inside of lists go too.

use serde_json::Value;

use super::PatchError;

/// Applies a JSON merge patch; the patch must be an object.
pub(super) fn apply(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    if !patch.is_object() {
        let why = match patch {
            Value::Null => "Invalid JSON Patch",
            _ => "error decoding patch: a merge patch must be an object",
        };
        return Err(PatchError::BadRequest(why.to_owned()));
    }
    let mut object = live.clone();
    merge(&mut object, patch);
    Ok(object)
}

fn merge(live: &mut Value, patch: &Value) {
    let (Value::Object(fields), Value::Object(changes)) = (&mut *live, patch) else {
        // Of what takes a map's place nothing is taken away.
        *live = if live.is_object() { patch.clone() } else { without_nulls(patch) };
        return;
    };
    for (name, change) in changes {
        match fields.get_mut(name) {
            _ if change.is_null() => {
                fields.remove(name);
            }
            Some(found) if !found.is_null() => merge(found, change),
            _ => {
                fields.insert(name.clone(), without_nulls(change));
            }
        }
    }
}

/// Without the fields that are null, anywhere inside (`pruneNulls`, and `discardNullValuesFromPatch` of strategic merge
/// patches); items of lists stay.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn nulls_remove_and_lists_are_replaced() {
        let live = json!({"a": {"b": 1, "c": [1, 2]}, "d": 1});
        let patch = json!({"a": {"b": null, "c": [3]}, "e": {"f": null, "g": 1}});
        let expect = json!({"a": {"c": [3]}, "d": 1, "e": {"g": 1}});
        assert_eq!(apply(&live, &patch).unwrap(), expect);
        let inside = json!({"a": {"c": [{"x": null, "y": 1}, null]}, "e": [[{"z": null}]]});
        let expect = json!({"a": {"b": 1, "c": [{"y": 1}, null]}, "d": 1, "e": [[{}]]});
        assert_eq!(apply(&live, &inside).unwrap(), expect);
        assert_eq!(apply(&live, &json!([])).unwrap_err().code(), 400);
    }

    /// Small objects, nulls included.
    fn any_object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), (0..3i64).prop_map(Value::from)];
        let value = leaf.prop_recursive(3, 16, 3, |inner| {
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect()))
        });
        prop::collection::btree_map("[a-c]", value, 0..4)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn twice_is_once(live in any_object(), patch in any_object()) {
            let once = apply(&live, &patch).unwrap();
            prop_assert_eq!(apply(&once, &patch).unwrap(), once);
        }
    }
}
