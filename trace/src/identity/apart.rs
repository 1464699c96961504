//! Which fields keep worlds apart: for people whose campaign has more worlds than they expect.
//!
//! A field is asked how many worlds would be left if it did not count. The one that leaves fewest is told first, and the
//! next is asked without it; among equal ones the one with most values. Relations between objects (which uid stands
//! where) are not looked at.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use serde_json::Value;

/// A field, and how many of the worlds looked at would differ without it and those told before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    /// `services/default/db .metadata.annotations.stamp`, drawn names as `*`; or `the workload's position`.
    pub field: String,
    /// Worlds that differ in something else.
    pub left: usize,
}

/// The first so many fields that keep these canonical worlds apart.
///
/// Costs one pass over the worlds, and a set of numbers for each of their fields.
pub fn keep_apart(worlds: &[Value], at_most: usize) -> Vec<Apart> {
    let mut fields: BTreeMap<String, Vec<(usize, u64)>> = BTreeMap::new();
    let mut sums = vec![0_u64; worlds.len()];
    for (at, world) in worlds.iter().enumerate() {
        let mut parts: BTreeMap<String, u64> = BTreeMap::new();
        parts_of(world, &mut parts);
        for (field, value) in parts {
            sums[at] = sums[at].wrapping_add(value);
            fields.entry(field).or_default().push((at, value));
        }
    }
    let mut told = vec![];
    let mut left = different(&sums);
    while told.len() < at_most && left > 1 {
        let best = fields.iter().map(|(field, values)| {
            (different(&without(&sums, values)), Reverse(kinds(values, worlds.len())), field)
        });
        // Where fields go together (a name that is drawn, and all that holds it), none alone keeps worlds apart.
        let Some((fewer, Reverse(kinds), field)) = best.min() else { break };
        if kinds < 2 {
            break;
        }
        let field = field.clone();
        sums = without(&sums, &fields[&field]);
        fields.remove(&field);
        told.push(Apart { field, left: fewer });
        left = fewer;
    }
    told
}

fn different(sums: &[u64]) -> usize {
    sums.iter().collect::<HashSet<_>>().len()
}

/// In how many ways a field stands in so many worlds; not to be there is one.
fn kinds(values: &[(usize, u64)], worlds: usize) -> usize {
    let kinds = values.iter().map(|(_, value)| value).collect::<HashSet<_>>().len();
    kinds + usize::from(values.len() < worlds)
}

fn without(sums: &[u64], values: &[(usize, u64)]) -> Vec<u64> {
    let mut sums = sums.to_vec();
    for (at, value) in values {
        sums[*at] = sums[*at].wrapping_sub(*value);
    }
    sums
}

/// Each field's value as a number. Objects that share a folded key are added up.
fn parts_of(world: &Value, parts: &mut BTreeMap<String, u64>) {
    let mut add = |field: String, value: &str| {
        let mut hasher = DefaultHasher::new();
        (&field, value).hash(&mut hasher);
        let part = parts.entry(field).or_default();
        *part = part.wrapping_add(hasher.finish());
    };
    add("the workload's position".to_owned(), &world["cursor"].to_string());
    add("since when the workload is there".to_owned(), &world["extra"].to_string());
    for object in world["objects"].as_array().into_iter().flatten() {
        let key = folded(object[0].as_str().unwrap_or_default());
        add(format!("{key} (there or not)"), "");
        leaves(&object[1], String::new(), &mut |path, value| add(format!("{key} {path}"), value));
    }
}

fn leaves(value: &Value, path: String, found: &mut dyn FnMut(String, &str)) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                leaves(inner, format!("{path}.{}", folded(name)), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let part = item["type"].as_str().or(item["name"].as_str());
                let part = part.map_or_else(|| at.to_string(), folded);
                leaves(item, format!("{path}[{part}]"), found);
            }
        }
        scalar => found(path, &folded(&scalar.to_string())),
    }
}

/// A text without the numbers of its tokens; ages stay.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('‹') {
        let Some((inside, after)) = after.split_once('›') else { break };
        out.push_str(before);
        if inside.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push('*');
        } else {
            out.push_str(inside);
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_field_without_which_fewest_differ_comes_first() {
        let world = |stamp: u32, pod: &str, ready: bool| {
            json!({"cursor": "1", "extra": null, "objects": [
                ["configmaps/a/b", {"data": {"stamp": stamp, "ready": ready}}],
                [format!("pods/a/web-‹{pod}›"), {"status": {"conditions": [{"type": "Ready"}]}}],
            ]})
        };
        let worlds = [
            world(1, "1", true),
            world(2, "7", true),
            world(3, "1", true),
            world(1, "1", false),
            world(4, "1", false),
        ];
        let told = keep_apart(&worlds, 5);
        let fields = [("configmaps/a/b .data.stamp", 2), ("configmaps/a/b .data.ready", 1)];
        let expect = fields.map(|(field, left)| Apart { field: field.to_owned(), left });
        assert_eq!(told, expect);
        assert_eq!(keep_apart(&worlds[..1], 5), []);
    }
}
