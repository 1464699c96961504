//! Differences between two worlds in comparison form: as a list of places, and as a text for people.

mod yaml;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::comparison::{MASKED, Path, WorldForm};

/// One place where two worlds differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Canonical key of the object.
    pub object: String,
    /// Where in it; empty if one side has no such object.
    pub path: Path,
    /// What the left world has there, if anything.
    pub left: Option<Value>,
    /// What the right world has there, if anything.
    pub right: Option<Value>,
}

/// All places where two worlds differ, in order of key and path.
///
/// An object, list or map that only one side has is one difference, as are two lists of different length.
pub fn differences(left: &WorldForm, right: &WorldForm) -> Vec<Difference> {
    let mut found = Vec::new();
    for (object, left, right) in left.beside(right) {
        at(object, &Path::default(), left, right, &mut found);
    }
    found
}

/// The same within one object, which is called so.
pub fn object_differences(object: &str, left: &Value, right: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    at(object, &Path::default(), Some(left), Some(right), &mut found);
    found
}

/// Differences within two objects, reported for `object`.
fn at(
    object: &str,
    path: &Path,
    left: Option<&Value>,
    right: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (left, right) {
        _ if left == right => {}
        (Some(Value::Object(map)), Some(Value::Object(other))) => {
            for (key, left, right) in joined(map, other) {
                at(object, &path.key(key), left, right, found);
            }
        }
        (Some(Value::Array(items)), Some(Value::Array(others))) if items.len() == others.len() => {
            for (index, (item, other)) in items.iter().zip(others).enumerate() {
                at(object, &path.index(index), Some(item), Some(other), found);
            }
        }
        _ => found.push(Difference {
            object: object.to_owned(),
            path: path.clone(),
            left: left.cloned(),
            right: right.cloned(),
        }),
    }
}

type Entry<'v> = (&'v str, Option<&'v Value>, Option<&'v Value>);

/// The entries of two maps, joined by key, in order.
fn joined<'v>(
    left: impl IntoIterator<Item = (&'v String, &'v Value)>,
    right: impl IntoIterator<Item = (&'v String, &'v Value)>,
) -> Vec<Entry<'v>> {
    let mut joined: BTreeMap<&str, (Option<&Value>, Option<&Value>)> = BTreeMap::new();
    for (key, value) in left {
        joined.entry(key).or_default().0 = Some(value);
    }
    for (key, value) in right {
        joined.entry(key).or_default().1 = Some(value);
    }
    joined.into_iter().map(|(key, (left, right))| (key, left, right)).collect()
}

/// One object's unified diff in the look of `kubectl diff`; `None` where a side does not have it. Empty if nothing shown
/// differs.
///
/// `names` are what the two sides are called in the head lines: `references` and `trial`. `managedFields` are hidden and
/// payloads of Secrets masked, also in objects that are not in comparison form.
pub fn unified_object(
    object: &str,
    left: Option<&Value>,
    right: Option<&Value>,
    names: (&str, &str),
) -> String {
    const CONTEXT_LINES: usize = 3;
    let secret = object.starts_with("secrets/");
    let text = |side: Option<&Value>, other, when| {
        side.map(|side| yaml(&shown(side, other, secret.then_some(when)))).unwrap_or_default()
    };
    let (left, right) = (text(left, right, "before"), text(right, left, "after"));
    let diff = similar::TextDiff::from_lines(&left, &right);
    diff.unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(&format!("{}/{object}", names.0), &format!("{}/{object}", names.1))
        .to_string()
}

/// An object as YAML, for people.
pub fn yaml(value: &Value) -> String {
    let mut out = String::new();
    yaml::block(&mut out, value, 0);
    out
}

/// The object without managed fields. Of a Secret (`when` says which side) payloads are masked as `kubectl
/// diff` does: equal ones as `***`, different ones as `*** (before)` and `*** (after)`.
fn shown(side: &Value, other: Option<&Value>, when: Option<&str>) -> Value {
    let mut shown = side.clone();
    if let Some(metadata) = shown.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let Some(when) = when else { return shown };
    for field in ["data", "stringData"] {
        let payloads = shown.get_mut(field).and_then(Value::as_object_mut);
        for (key, payload) in payloads.into_iter().flatten() {
            // Comparison form has labels there already, which tell more.
            if payload.as_str().is_some_and(|text| text.starts_with('‹') || text == MASKED) {
                continue;
            }
            let theirs = other.and_then(|other| other.get(field)?.get(key));
            *payload = match theirs {
                Some(theirs) if theirs != payload => Value::from(format!("*** ({when})")),
                _ => Value::from("***"),
            };
        }
    }
    shown
}

#[cfg(test)]
mod tests;
