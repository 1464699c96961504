//! What a patch makes of an object: JSON patches (RFC 6902) and merge patches (RFC 7396), written from the RFCs and apart
//! from those of the embedded API server, so that neither can be wrong alone.

use serde_json::{Map, Value};

/// Why a JSON patch can't be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed {
    /// A test finds something else there.
    Test(String),
    /// A place is missing, or is named in a way that the RFC does not have.
    Place,
}

/// What the steps of a JSON patch make of an object.
pub fn json_patch(object: &Value, steps: &[Value]) -> Result<Value, Failed> {
    let mut patched = object.clone();
    for step in steps {
        apply(&mut patched, step)?;
    }
    Ok(patched)
}

fn apply(object: &mut Value, step: &Value) -> Result<(), Failed> {
    let place = |name: &str| step[name].as_str().ok_or(Failed::Place);
    let path = place("path")?;
    let value = || step.get("value").cloned().unwrap_or_default();
    match place("op")? {
        "add" => add(object, path, value()),
        "remove" => take(object, path).map(drop),
        "replace" => {
            *object.pointer_mut(path).ok_or(Failed::Place)? = value();
            Ok(())
        }
        "move" => {
            let moved = take(object, place("from")?)?;
            add(object, path, moved)
        }
        "copy" => {
            let copied = object.pointer(place("from")?).cloned().ok_or(Failed::Place)?;
            add(object, path, copied)
        }
        "test" => match object.pointer(path) {
            Some(found) if *found == value() => Ok(()),
            // Null stands for what is not there, in the library that apiserver uses.
            None if value().is_null() => Ok(()),
            _ => Err(Failed::Test(path.to_owned())),
        },
        _ => Err(Failed::Place),
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), Failed> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    let (parent, name) = parent(object, path)?;
    match parent {
        Value::Object(members) => drop(members.insert(name, value)),
        Value::Array(items) => {
            let at = if name == "-" { Some(items.len()) } else { index(&name) };
            let at = at.filter(|at| *at <= items.len()).ok_or(Failed::Place)?;
            items.insert(at, value);
        }
        _ => return Err(Failed::Place),
    }
    Ok(())
}

fn take(object: &mut Value, path: &str) -> Result<Value, Failed> {
    let (parent, name) = parent(object, path)?;
    match parent {
        Value::Object(members) => members.remove(&name).ok_or(Failed::Place),
        Value::Array(items) => {
            let at = index(&name).filter(|at| *at < items.len()).ok_or(Failed::Place)?;
            Ok(items.remove(at))
        }
        _ => Err(Failed::Place),
    }
}

/// Where a pointer leads to, and the last name of it.
fn parent<'o>(object: &'o mut Value, path: &str) -> Result<(&'o mut Value, String), Failed> {
    let (parent, name) = path.rsplit_once('/').ok_or(Failed::Place)?;
    let parent = object.pointer_mut(parent).ok_or(Failed::Place)?;
    Ok((parent, name.replace("~1", "/").replace("~0", "~")))
}

fn index(name: &str) -> Option<usize> {
    let canonical = name == "0" || !name.starts_with(['0', '+', '-']);
    name.parse().ok().filter(|_| canonical)
}

/// What a merge patch makes of a value.
pub fn merge_patch(value: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut merged = value.as_object().cloned().unwrap_or_else(Map::new);
    for (name, patch) in patch {
        if patch.is_null() {
            merged.remove(name);
            continue;
        }
        let below = merge_patch(merged.get(name).unwrap_or(&Value::Null), patch);
        merged.insert(name.clone(), below);
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Rows of RFC 6902, appendix A, and what apiserver's library has of its own.
    #[test]
    fn json_patches_follow_the_rfc() {
        let check = |object: Value, step: Value, expect: Result<Value, Failed>| {
            assert_eq!(json_patch(&object, std::slice::from_ref(&step)), expect, "{step}");
        };
        let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
        check(json!({"a": 1}), add("/b", json!(2)), Ok(json!({"a": 1, "b": 2})));
        check(json!({"a": [1, 3]}), add("/a/1", json!(2)), Ok(json!({"a": [1, 2, 3]})));
        check(json!({"a": [1]}), add("/a/-", json!(2)), Ok(json!({"a": [1, 2]})));
        check(json!({"a": [1]}), add("/a/2", json!(2)), Err(Failed::Place));
        check(json!({}), add("/a/b", json!(2)), Err(Failed::Place));
        check(json!({}), add("/a~1b~0", json!(2)), Ok(json!({"a/b~": 2})));
        check(json!({}), add("", json!(2)), Ok(json!(2)));
        let remove = |path: &str| json!({"op": "remove", "path": path});
        check(json!({"a": [1, 2]}), remove("/a/0"), Ok(json!({"a": [2]})));
        check(json!({"a": 1}), remove("/a"), Ok(json!({})));
        check(json!({}), remove("/a"), Err(Failed::Place));
        let replace = |path: &str| json!({"op": "replace", "path": path, "value": 2});
        check(json!({"a": 1}), replace("/a"), Ok(json!({"a": 2})));
        check(json!({}), replace("/a"), Err(Failed::Place));
        let moved = json!({"op": "move", "from": "/a", "path": "/b"});
        check(json!({"a": 1}), moved, Ok(json!({"b": 1})));
        let copied = json!({"op": "copy", "from": "/a", "path": "/b"});
        check(json!({"a": 1}), copied, Ok(json!({"a": 1, "b": 1})));
        let test = |path: &str, value: Value| json!({"op": "test", "path": path, "value": value});
        check(json!({"a": 1}), test("/a", json!(1)), Ok(json!({"a": 1})));
        check(json!({"a": 1}), test("/a", json!(2)), Err(Failed::Test("/a".into())));
        check(json!({"a": 1}), test("/b", Value::Null), Ok(json!({"a": 1})));
    }

    /// Rows of RFC 7396, appendix A.
    #[test]
    fn merge_patches_follow_the_rfc() {
        let check = |object: Value, patch: Value, expect: Value| {
            assert_eq!(merge_patch(&object, &patch), expect, "{patch}");
        };
        check(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}));
        check(json!({"a": ["b"]}), json!({"a": ["c", "d"]}), json!({"a": ["c", "d"]}));
        check(
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        );
        check(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}));
        check(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}));
    }
}
