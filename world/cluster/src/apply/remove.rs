//! Removal by omission: what the manager said last time, says no more, and nobody else owns.

use serde_json::Value;

use super::{
    Versions,
    fields::{FieldSet, PathElement},
    managers::Managers,
    place::{self, Place, Shape},
    root, set,
};
use crate::schema::Schema;

/// Removes from the merged object, which has version `own`, what `last` (the manager's former set, with the version in
/// which it was written) held and the managers, with the new set among them, hold no more. Errors: the object can't be
/// had in the version of some manager.
pub(super) fn prune(
    (schema, merged): (&Schema, Value),
    managers: &Managers,
    last: Option<&(String, FieldSet)>,
    own: &str,
    versions: &mut dyn Versions,
) -> Result<Value, String> {
    let Some((version, last)) = last.filter(|(_, last)| !last.is_empty()) else {
        return Ok(merged);
    };
    let seen = if version == own {
        None
    } else {
        versions.at(&merged, version) .map_err(|why| {
        format!("failed to prune fields: failed to convert merged object to last applied version: {why}")
    })?
    };
    let Some((merged, schema)) = seen else {
        return prune_in(own, (schema, &merged), managers, last, versions);
    };
    let pruned = prune_in(version, (&schema, &merged), managers, last, versions)?;
    back(&pruned, own, versions)
}

/// The same in the version in which the manager wrote last.
fn prune_in(
    version: &str,
    (schema, merged): (&Schema, &Value),
    managers: &Managers,
    last: &FieldSet,
    versions: &mut dyn Versions,
) -> Result<Value, String> {
    let place = root(schema);
    let last = set::with_named_fields(place, last);
    let pruned = items(place, merged, &last);

    // Put back what somebody owns, in the version of each.
    let mut owned = managers.by_version();
    let mut owned_here = owned.remove(version).unwrap_or_default();
    let mut elsewhere = Vec::new();
    for (version, fields) in owned {
        match versions.at(merged, &version).map_err(|why| unowned("merged", &version, &why))? {
            Some(seen) => elsewhere.push((version, fields, seen)),
            None => owned_here = owned_here.union(&fields),
        }
    }
    let mut pruned = put_back(place, merged, &pruned, &owned_here);
    for (version, fields, (merged, schema)) in &elsewhere {
        let seen = versions.at(&pruned, version);
        let seen = seen.map_err(|why| unowned("pruned", version, &why))?;
        if let Some((seen, _)) = seen {
            pruned = put_back(root(schema), merged, &seen, fields);
        }
    }
    if !elsewhere.is_empty() {
        pruned = back(&pruned, version, versions)?;
    }

    // Put back what only went because it stood below something that went.
    let gone = missing(place, merged, &pruned).intersection(&last);
    Ok(items(place, merged, &gone))
}

/// An object in the version from which one has come.
fn back(object: &Value, version: &str, versions: &mut dyn Versions) -> Result<Value, String> {
    let seen = versions.at(object, version);
    let seen = seen.map_err(|why| format!("failed to prune fields: {why}"))?;
    Ok(seen.map_or_else(|| object.clone(), |(object, _)| object))
}

fn unowned(what: &str, version: &str, why: &str) -> String {
    format!(
        "failed to prune fields: failed add back owned items: failed to convert {what} object at version {version}: \
         {why}"
    )
}

/// What of the merged object is not in the pruned one.
fn missing(place: Place<'_>, merged: &Value, pruned: &Value) -> FieldSet {
    let named = |value: &Value| set::with_named_fields(place, &set::of(place, value));
    named(merged).difference(&named(pruned))
}

/// The pruned object with all of the merged one that somebody owns.
fn put_back(place: Place<'_>, merged: &Value, pruned: &Value, owned: &FieldSet) -> Value {
    let owned = set::with_named_fields(place, owned);
    items(place, merged, &missing(place, merged, pruned).difference(&owned))
}

/// The value without the members of `gone`. A map or list that loses its last item stays, empty, unless
/// it is a member itself. (Upstream leaves null there, which decoding turns into nothing or, in custom
/// resources, into a null that nobody asked for.)
fn items(place: Place<'_>, value: &Value, gone: &FieldSet) -> Value {
    let keep = |element: &PathElement, value: &Value| {
        let below = place::below(place, element);
        (!gone.members.contains(element)).then(|| match gone.children.get(element) {
            Some(child) => items(below, value, child),
            None => value.clone(),
        })
    };
    match (place::shape(place, value), value) {
        (Shape::Map, Value::Object(fields)) => Value::Object(
            fields
                .iter()
                .filter_map(|(name, value)| {
                    keep(&PathElement::Field(name.clone()), value).map(|kept| (name.clone(), kept))
                })
                .collect(),
        ),
        (Shape::List, Value::Array(list)) => Value::Array(
            list.iter()
                .enumerate()
                .filter_map(|(index, item)| keep(&place::element(place, index, item), item))
                .collect(),
        ),
        _ => value.clone(),
    }
}
