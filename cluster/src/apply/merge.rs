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

fn order(place: Place<'_>, list: Option<&Value>) -> Vec<PathElement> {
    let items = list.and_then(Value::as_array).into_iter().flatten().enumerate();
    items.map(|(index, item)| place::element(place, index, item)).collect()
}

/// Live items that the configuration doesn't name stay where they are relative to the next shared item.
fn lists(place: Place<'_>, live: Option<&Value>, config: Option<&Value>) -> Vec<Value> {
    let (live_items, config_items) = (by_element(place, live), by_element(place, config));
    let (live_order, config_order) = (order(place, live), order(place, config));
    let mut shared =
        config_order.iter().filter(|element| live_items.contains_key(*element)).peekable();
    let mut merged = Vec::new();
    let (mut at_live, mut at_config) = (0, 0);
    let item = |element: &PathElement| {
        let (live, config) = (live_items.get(element), config_items.get(element));
        both(place::items(place), live.copied(), config.copied())
    };
    while at_live < live_order.len() || at_config < config_order.len() {
        if let (Some(live), Some(config)) = (live_order.get(at_live), config_order.get(at_config)) {
            if live == config {
                merged.extend(item(live));
                (at_live, at_config) = (at_live + 1, at_config + 1);
                shared.next_if(|next| *next == live);
                continue;
            }
            if config_items.contains_key(live) && shared.peek().is_none_or(|next| **next != *live) {
                // Shared, but its turn in the configuration's order has not come (or is over).
                at_live += 1;
                continue;
            }
        }
        if let Some(live) = live_order.get(at_live) {
            if !config_items.contains_key(live) {
                merged.extend(item(live));
                at_live += 1;
                continue;
            }
            if at_config >= config_order.len() {
                // Already merged at its place in the configuration.
                at_live += 1;
                continue;
            }
        }
        if let Some(config) = config_order.get(at_config) {
            merged.extend(item(config));
            at_config += 1;
            shared.next_if(|next| *next == config);
        }
    }
    merged
}
