//! The set of fields that a configuration says.

use serde_json::Value;

use super::{
    compare::by_element,
    fields::{FieldSet, PathElement},
    place::{self, Place, Shape},
};

/// The fields of a value, relative to it. Of items that are named alike none is anybody's in parts: the set says only
/// that there are some (`toFieldSetWalker.visitListItems`).
pub(super) fn of(place: Place<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    match (place::shape(place, value), value) {
        (Shape::Map, Value::Object(fields)) => {
            for (name, value) in fields {
                let below = place::field(place, name);
                let element = PathElement::Field(name.clone());
                let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
                let leaf = place::shape(below, value) == Shape::Leaf;
                if leaf || empty || !place::is_named_field(place, name) {
                    set.members.insert(element.clone());
                }
                set.put_child(element, of(below, value));
            }
        }
        (Shape::List, value) => {
            for (element, items) in by_element(place, Some(value)) {
                set.members.insert(element.clone());
                if let [only] = items[..] {
                    set.put_child(element, of(place::items(place), only));
                }
            }
        }
        _ => {}
    }
    set
}

/// The set with every named struct field on the way to a member made a member too: what must go when
/// all below it goes.
pub(super) fn with_named_fields(place: Place<'_>, set: &FieldSet) -> FieldSet {
    let mut result = FieldSet { members: set.members.clone(), children: Default::default() };
    for (element, child) in &set.children {
        if let PathElement::Field(name) = element
            && place::is_named_field(place, name)
        {
            result.members.insert(element.clone());
        }
        let below = place::below(place, element);
        result.put_child(element.clone(), with_named_fields(below, child));
    }
    result
}
