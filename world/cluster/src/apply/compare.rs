//! What changed between two objects, as field sets.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Ignores,
    fields::{FieldSet, PathElement},
    managers,
    place::{self, Place, Shape},
};

/// Added, removed and modified fields.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
}

impl Comparison {
    /// Whether nothing changed.
    pub(super) fn is_same(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.modified.is_empty()
    }

    /// Added and modified fields.
    pub(super) fn changed(&self) -> FieldSet {
        self.modified.union(&self.added)
    }

    /// What is left of fields that others own.
    pub(super) fn left_of(&self, fields: &FieldSet) -> FieldSet {
        fields.difference(&self.changed()).difference(&self.removed)
    }

    /// Without the fields that an endpoint ignores.
    pub(super) fn without(self, ignores: Ignores) -> Comparison {
        Comparison {
            added: managers::without(self.added, ignores),
            removed: managers::without(self.removed, ignores),
            modified: managers::without(self.modified, ignores),
        }
    }
}

/// Compares two objects.
pub(super) fn compare(place: Place<'_>, old: &Value, new: &Value) -> Comparison {
    let mut comparison = Comparison::default();
    walk(place, Some(old), Some(new), &mut Vec::new(), &mut comparison);
    comparison
}

fn walk(
    place: Place<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<PathElement>,
    found: &mut Comparison,
) {
    match place::common_shape(place, old, new) {
        Shape::Leaf => {
            match (old, new) {
                (None, Some(_)) => found.added.insert(path),
                (Some(_), None) => found.removed.insert(path),
                (Some(old), Some(new)) if old != new => found.modified.insert(path),
                _ => {}
            }
            return;
        }
        Shape::Map => {
            let names: BTreeSet<&String> = names(old).chain(names(new)).collect();
            for name in names {
                let (old, new) = (get(old, name), get(new, name));
                path.push(PathElement::Field(name.clone()));
                walk(place::field(place, name), old, new, path, found);
                path.pop();
            }
        }
        Shape::List => {
            let (old, new) = (by_element(place, old), by_element(place, new));
            let elements: BTreeSet<&PathElement> = old.keys().chain(new.keys()).collect();
            let below = place::items(place);
            for element in elements {
                path.push(element.clone());
                items(below, named(&old, element), named(&new, element), path, found);
                path.pop();
            }
        }
    }
    match (old, new) {
        (None, Some(_)) => found.added.insert(path),
        (Some(_), None) => found.removed.insert(path),
        _ => {}
    }
}

/// What became of the items of one name. Several of a name are one leaf: nothing in them is told apart, and what
/// becomes one of several is new, as is what becomes several (`compareWalker.visitListItems`).
fn items(
    place: Place<'_>,
    old: &[&Value],
    new: &[&Value],
    path: &mut Vec<PathElement>,
    found: &mut Comparison,
) {
    match (old, new) {
        ([] | [_], [] | [_]) => {
            walk(place, old.first().copied(), new.first().copied(), path, found);
        }
        ([_, _, ..], [_, _, ..]) => {
            if old != new {
                found.modified.insert(path);
            }
        }
        ([_, _, ..], _) => {
            if let [only] = new {
                walk(place, None, Some(*only), path, found);
            }
            found.removed.insert(path);
        }
        _ => {
            if let [only] = old {
                walk(place, Some(*only), None, path, found);
            }
            found.added.insert(path);
        }
    }
}

fn names(object: Option<&Value>) -> impl Iterator<Item = &String> {
    object.and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys())
}

fn get<'a>(object: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    object.and_then(|object| object.get(name))
}

fn named<'a, 'b>(list: &'b Named<'a>, element: &PathElement) -> &'b [&'a Value] {
    list.get(element).map_or(&[], Vec::as_slice)
}

/// Items by what they are called, which several may share.
pub(super) type Named<'a> = BTreeMap<PathElement, Vec<&'a Value>>;

/// The items of a list by what they are called.
pub(super) fn by_element<'a>(place: Place<'_>, list: Option<&'a Value>) -> Named<'a> {
    let mut named = Named::new();
    for (index, item) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
        named.entry(place::element(place, index, item)).or_default().push(item);
    }
    named
}
