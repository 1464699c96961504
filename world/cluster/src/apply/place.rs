//! Where in a schema a value stands, and how it is merged there.

use serde_json::Value;

use super::fields::PathElement;
use crate::schema::{ListType, Node, Schema, keys_of};

/// A node of a schema; `None` where the schema says nothing. There maps are granular and lists atomic.
pub(super) type Place<'a> = Option<(&'a Schema, &'a Node)>;

/// How a value is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// As a whole: scalars, atomic lists and maps, null.
    Leaf,
    /// Field by field.
    Map,
    /// Item by item.
    List,
}

/// The shape of a value at a place.
pub(super) fn shape(place: Place<'_>, value: &Value) -> Shape {
    match (value, place) {
        (Value::Object(_), Some((_, node))) if node.atomic_map || node.is_raw() => Shape::Leaf,
        (Value::Object(_), _) => Shape::Map,
        (Value::Array(_), Some((_, node))) if node.list_type != ListType::Atomic => Shape::List,
        _ => Shape::Leaf,
    }
}

/// The shape of two values that are merged or compared. Both empty (or null) are leaves, which keeps
/// empty and null apart.
pub(super) fn common_shape(place: Place<'_>, left: Option<&Value>, right: Option<&Value>) -> Shape {
    let of = |side: Option<&Value>| {
        side.filter(|value| !value.is_null()).map(|value| shape(place, value))
    };
    let empty = |side: Option<&Value>| match side {
        None | Some(Value::Null) => true,
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    };
    match (of(left), of(right)) {
        _ if empty(left) && empty(right) => Shape::Leaf,
        (Some(left), Some(right)) if left != right => Shape::Leaf,
        (Some(shape), _) | (None, Some(shape)) => shape,
        (None, None) => Shape::Leaf,
    }
}

/// The place of a field.
pub(super) fn field<'a>(place: Place<'a>, name: &str) -> Place<'a> {
    let (schema, node) = place?;
    schema.field(node, name).map(|field| (schema, field))
}

/// The place of the items of a list.
pub(super) fn items(place: Place<'_>) -> Place<'_> {
    let (schema, node) = place?;
    schema.items(node).map(|items| (schema, items))
}

/// The place below a path element.
pub(super) fn below<'a>(place: Place<'a>, element: &PathElement) -> Place<'a> {
    match element {
        PathElement::Field(name) => field(place, name),
        _ => items(place),
    }
}

/// Whether the schema names this field of a struct (and not of a map).
pub(super) fn is_named_field(place: Place<'_>, name: &str) -> bool {
    place.is_some_and(|(_, node)| node.properties.contains_key(name))
}

/// What an item of a set or map list is called.
pub(super) fn element(place: Place<'_>, index: usize, item: &Value) -> PathElement {
    match place {
        Some((_, node)) if node.list_type == ListType::Set => PathElement::Value(item.to_string()),
        Some((schema, node)) if node.list_type == ListType::Map && item.is_object() => {
            PathElement::Key(keys_of(schema, node, item).to_string())
        }
        _ => PathElement::Index(index as u64),
    }
}
