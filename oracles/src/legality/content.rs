//! What an object says, beside what the store has of it.

use std::collections::BTreeSet;

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Revision};

use super::{Problem, Rule, Store, selector::Scope};

/// No part of what an object says: who wrote what may be left out, and its revision says which state is meant.
const APART: [&str; 3] = ["managedFields", "resourceVersion", "selfLink"];

/// How much of objects an answer shows.
#[derive(Clone, Copy)]
struct Form {
    /// All; else metadata only.
    whole: bool,
    /// In the version in which they are stored: conversions may change labels and annotations.
    as_stored: bool,
}

impl Form {
    /// Of an object, which perhaps is an item of a list: those of typed lists don't name their type.
    fn of(scope: &Scope, shown: &Value, list: Option<&Value>, stored: &Value) -> Form {
        let as_stored = stored["apiVersion"] == *scope.api_version;
        let kind = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
        let stored_kind = kind(stored);
        let whole = match (kind(shown), list.map(kind)) {
            (kind, Some(list)) if kind.is_empty() => list == format!("{stored_kind}List"),
            (kind, _) => kind == stored_kind && shown["apiVersion"] == stored["apiVersion"],
        };
        Form { whole: whole && as_stored, as_stored }
    }
}

/// Whether an object says otherwise than what was stored at its revision; of another version or form only its metadata is
/// compared. `list`: that it is an item of.
pub fn differs(
    store: &Store,
    scope: &Scope,
    shown: &Value,
    list: Option<&Value>,
) -> Option<Problem> {
    let key = key(scope.resource.as_ref()?, shown);
    let stored = store.at(&key, revision(shown)?)?;
    if revision(stored) != revision(shown) {
        return None; // told where it is looked for
    }
    let field = other_field(Form::of(scope, shown, list, stored), shown, stored)?;
    let text = format!("{field} of {key} is not what was stored at {}", revision_text(shown));
    Some((Rule::Content, text))
}

/// Whether an object that goes, or leaves a selector, says otherwise than what was stored before that.
pub fn differs_from_last(store: &Store, scope: &Scope, shown: &Value) -> Option<Problem> {
    let key = key(scope.resource.as_ref()?, shown);
    let went = revision(shown)?;
    let last = store.at(&key, Revision(went.0.checked_sub(1)?))?;
    let field = other_field(Form::of(scope, shown, None, last), shown, last)?;
    let text = format!("{field} of {key} is not what was stored until {}", went.0);
    Some((Rule::Content, text))
}

fn other_field(form: Form, shown: &Value, stored: &Value) -> Option<String> {
    let converted = |field: &str| !form.as_stored && matches!(field, "labels" | "annotations");
    let apart = |field: &str| APART.contains(&field) || converted(field);
    let metadata = other_member(&shown["metadata"], &stored["metadata"], apart);
    let metadata = metadata.map(|field| format!("metadata.{field}"));
    let typed = |field: &str| matches!(field, "apiVersion" | "kind" | "metadata");
    metadata.or_else(|| form.whole.then(|| other_member(shown, stored, typed)).flatten())
}

/// The first member that two objects don't have alike.
fn other_member(some: &Value, other: &Value, apart: impl Fn(&str) -> bool) -> Option<String> {
    let names = |object: &Value| -> Vec<String> {
        object.as_object().into_iter().flat_map(|object| object.keys().cloned()).collect()
    };
    let all: BTreeSet<String> = names(some).into_iter().chain(names(other)).collect();
    all.into_iter().filter(|name| !apart(name)).find_map(|name| {
        let below = unlike(&some[&name], &other[&name])?;
        Some(format!("{name}{below}"))
    })
}

/// Where two values don't say the same, whatever the encoding: protobuf has no difference between what is empty and what is
/// not there, and no type names of objects within objects (kubernetes-api.md §1.4).
fn unlike(some: &Value, other: &Value) -> Option<String> {
    match (some, other) {
        (Value::Object(one), Value::Object(two)) => {
            let names: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            names.into_iter().find_map(|name| {
                let (one, two) = (one.get(name), two.get(name));
                let lost = one.is_none() || two.is_none();
                if lost && matches!(name.as_str(), "kind" | "apiVersion") {
                    return None;
                }
                let below = unlike(one.unwrap_or(&Value::Null), two.unwrap_or(&Value::Null))?;
                Some(format!(".{name}{below}"))
            })
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let mut both = one.iter().zip(two).enumerate();
            both.find_map(|(at, (one, two))| Some(format!("[{at}]{}", unlike(one, two)?)))
        }
        _ => {
            let same = some == other || (is_empty(some) && is_empty(other));
            (!same).then(String::new)
        }
    }
}

/// Whether it says no more than if it were left out.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
    }
}

/// `metadata.resourceVersion`.
pub fn revision(object: &Value) -> Option<Revision> {
    Revision::parse(object["metadata"]["resourceVersion"].as_str()?)
}

pub fn revision_text(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

pub fn key(resource: &GroupResource, object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    ObjectKey::new(resource.clone(), &text("namespace"), &text("name"))
}
