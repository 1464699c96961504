//! Removal by omission: what the manager said last time, says no more, and nobody else owns.

use serde_json::Value;

use super::{
    fields::{FieldSet, PathElement},
    managers::Managers,
    place::{self, Place, Shape},
    set,
};

/// Removes from the merged object what `last` (the manager's former set) held and the managers, with the
/// new set among them, hold no more.
pub(super) fn prune(
    place: Place<'_>,
    merged: Value,
    managers: &Managers,
    last: Option<&FieldSet>,
) -> Value {
    let Some(last) = last.filter(|last| !last.is_empty()) else { return merged };
    let named = |set: &FieldSet| set::with_named_fields(place, set);
    let all = named(&set::of(place, &merged));
    let last = named(last);
    let pruned = items(place, &merged, &last);

    // Put back what somebody owns.
    let owned = named(&managers.all_fields());
    let kept = named(&set::of(place, &pruned));
    let gone = all.difference(&kept.union(&owned));
    let pruned = items(place, &merged, &gone);

    // Put back what only went because it stood below something that went.
    let kept = named(&set::of(place, &pruned));
    let gone = all.difference(&kept).intersection(&last);
    items(place, &merged, &gone)
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
