//! Merging an applied configuration into the live object: what the configuration says wins, lists keep
//! the configuration's order with the others in between.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    compare::by_element,
    fields::PathElement,
    place::{self, Place, Shape},
};

/// Merges `config` over `live`.
pub(super) fn merge(place: Place<'_>, live: &Value, config: &Value) -> Value {
    both(place, Some(live), Some(config)).unwrap_or(Value::Null)
}

fn both(place: Place<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    match place::common_shape(place, live, config) {
        Shape::Leaf => config.or(live).cloned(),
        Shape::Map => {
            let empty = Map::new();
            let live = live.and_then(Value::as_object).unwrap_or(&empty);
            let config = config.and_then(Value::as_object).unwrap_or(&empty);
            let names: BTreeSet<&String> = live.keys().chain(config.keys()).collect();
            let merged = names.into_iter().filter_map(|name| {
                let value = both(place::field(place, name), live.get(name), config.get(name))?;
                Some((name.clone(), value))
            });
            Some(Value::Object(merged.collect()))
        }
        Shape::List => Some(Value::Array(lists(place, live, config))),
    }
}

/// Items with what they are called, in order.
fn named<'a>(place: Place<'_>, list: Option<&'a Value>) -> Vec<(PathElement, &'a Value)> {
    let items = list.and_then(Value::as_array).into_iter().flatten().enumerate();
    items.map(|(index, item)| (place::element(place, index, item), item)).collect()
}

/// Live items that the configuration doesn't name stay where they are relative to the next shared item. Of live items
/// that are named alike all stay, or all give way to the configuration's, which takes nothing from them
/// (`mergingWalker.visitListItems`).
fn lists(place: Place<'_>, live: Option<&Value>, config: Option<&Value>) -> Vec<Value> {
    let (there, said) = (by_element(place, live), by_element(place, config));
    let (live, config) = (named(place, live), named(place, config));
    let below = place::items(place);
    let merge = |name: &PathElement, item: &Value| {
        let live = match there.get(name).map(Vec::as_slice) {
            Some([only]) => Some(*only),
            _ => None,
        };
        both(below, live, Some(item))
    };
    let mut shared =
        config.iter().map(|(name, _)| name).filter(|name| there.contains_key(*name)).peekable();
    let (mut merged, mut done) = (Vec::new(), BTreeSet::new());
    let (mut at_live, mut at_config) = (0, 0);
    while at_live < live.len() || at_config < config.len() {
        if let (Some((name, _)), Some((next, item))) = (live.get(at_live), config.get(at_config)) {
            if name == next {
                merged.extend(merge(name, item));
                done.insert(name);
                shared.next();
                (at_live, at_config) = (at_live + 1, at_config + 1);
                continue;
            }
            if said.contains_key(name) && shared.peek().is_some_and(|next| *next != name) {
                // Shared, but its turn in the configuration's order has not come (or is over).
                at_live += 1;
                continue;
            }
        }
        if let Some((name, item)) = live.get(at_live) {
            if !said.contains_key(name) {
                merged.extend(both(below, Some(*item), None));
                at_live += 1;
                continue;
            }
            if done.contains(name) {
                // Already merged at its place in the configuration.
                at_live += 1;
            }
        }
        if let Some((name, item)) = config.get(at_config) {
            merged.extend(merge(name, item));
            done.insert(name);
            at_config += 1;
            shared.next_if(|next| *next == name);
        }
    }
    merged
}
