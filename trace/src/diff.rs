//! Differences between two worlds in comparison form: as a list of places, and as a text for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::comparison::Path;

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

/// All places where two worlds (canonical key → object) differ, in order of key and path.
///
/// An object, list or map that only one side has is one difference, as are two lists of different length.
pub fn differences(left: &Value, right: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    for (object, left, right) in entries(left, right) {
        at(object, &Path::default(), left, right, &mut found);
    }
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
        (Some(Value::Object(_)), Some(Value::Object(_))) => {
            for (key, inner_left, inner_right) in
                entries(left.unwrap_or(&Value::Null), right.unwrap_or(&Value::Null))
            {
                at(object, &path.key(key), inner_left, inner_right, found);
            }
        }
        (Some(Value::Array(items)), Some(Value::Array(others))) if items.len() == others.len() => {
            for (index, (item, other)) in items.iter().zip(others).enumerate() {
                at(object, &path.index(index), Some(item), Some(other), found);
            }
        }
        _ if left == right => {}
        _ => found.push(Difference {
            object: object.to_owned(),
            path: path.clone(),
            left: left.cloned(),
            right: right.cloned(),
        }),
    }
}

/// The entries of two maps, joined by key, in order.
fn entries<'v>(
    left: &'v Value,
    right: &'v Value,
) -> Vec<(&'v str, Option<&'v Value>, Option<&'v Value>)> {
    let mut joined: std::collections::BTreeMap<&str, (Option<&Value>, Option<&Value>)> =
        std::collections::BTreeMap::new();
    for (key, value) in left.as_object().into_iter().flatten() {
        joined.entry(key).or_default().0 = Some(value);
    }
    for (key, value) in right.as_object().into_iter().flatten() {
        joined.entry(key).or_default().1 = Some(value);
    }
    joined.into_iter().map(|(key, (left, right))| (key, left, right)).collect()
}
