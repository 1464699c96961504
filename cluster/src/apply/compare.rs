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
            for element in elements {
                let (old, new) = (old.get(element).copied(), new.get(element).copied());
                path.push(element.clone());
                walk(place::items(place), old, new, path, found);
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

fn names(object: Option<&Value>) -> impl Iterator<Item = &String> {
    object.and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys())
}

fn get<'a>(object: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    object.and_then(|object| object.get(name))
}

/// Items by what they are called; of duplicates the last counts.
pub(super) fn by_element<'a>(
    place: Place<'_>,
    list: Option<&'a Value>,
) -> BTreeMap<PathElement, &'a Value> {
    let items = list.and_then(Value::as_array).into_iter().flatten().enumerate();
    items.map(|(index, item)| (place::element(place, index, item), item)).collect()
}
