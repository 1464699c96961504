//! How two end states differ, object by object, as the lines of a YAML diff.

use std::collections::BTreeMap;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::{
    model::{ObjectChange, ObjectDiff},
    timeline::object_yaml,
};

/// Equal lines kept around a change.
const CONTEXT_LINES: usize = 4;

/// The objects that differ, in key order. Both sides map a name that means the same on both (a canonical key)
/// to the object as it is to be shown. A Secret's values are masked; two that differ only there are told to
/// differ without showing how.
pub fn end_states(
    baseline: &BTreeMap<String, Value>,
    trial: &BTreeMap<String, Value>,
) -> Vec<ObjectDiff> {
    let mut names: Vec<&String> = baseline.keys().chain(trial.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differs = |name: &&&String| baseline.get(**name) != trial.get(**name);
    names
        .iter()
        .filter(differs)
        .map(|name| object(name, baseline.get(*name), trial.get(*name)))
        .collect()
}

fn object(name: &str, baseline: Option<&Value>, trial: Option<&Value>) -> ObjectDiff {
    let change = match (baseline, trial) {
        (Some(_), None) => ObjectChange::Missing,
        (None, _) => ObjectChange::Extra,
        (Some(_), Some(_)) => ObjectChange::Changed,
    };
    let text = |value: Option<&Value>| value.map(object_yaml).unwrap_or_default();
    ObjectDiff { object: name.to_owned(), change, lines: lines(&text(baseline), &text(trial)) }
}

fn lines(old: &str, new: &str) -> Vec<String> {
    if old == new {
        return vec![" (the difference is in masked values)".to_owned()];
    }
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for (index, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        if index > 0 {
            lines.push(" …".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(format!("{sign}{}", change.value().trim_end_matches('\n')));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(objects: &[(&str, Value)]) -> BTreeMap<String, Value> {
        objects.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn objects_that_differ_are_shown() {
        let left = state(&[
            ("bars/a", json!({"spec": {"size": 1}})),
            ("foos/gone", json!({"a": 1})),
            ("foos/same", json!({"a": 1})),
        ]);
        let right = state(&[
            ("bars/a", json!({"spec": {"size": 2}})),
            ("foos/new", json!({"a": 1})),
            ("foos/same", json!({"a": 1})),
        ]);
        let told: Vec<(String, ObjectChange, Vec<String>)> =
            end_states(&left, &right).into_iter().map(|d| (d.object, d.change, d.lines)).collect();
        let lines =
            |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            told,
            [
                (
                    "bars/a".to_owned(),
                    ObjectChange::Changed,
                    lines(&[" spec:", "-  size: 1", "+  size: 2"])
                ),
                ("foos/gone".to_owned(), ObjectChange::Missing, lines(&["-a: 1"])),
                ("foos/new".to_owned(), ObjectChange::Extra, lines(&["+a: 1"])),
            ]
        );
    }

    #[test]
    fn masked_values_differ_without_being_shown() {
        let secret = |value: &str| json!({"kind": "Secret", "data": {"p": value}});
        let found = end_states(&state(&[("s", secret("x"))]), &state(&[("s", secret("y"))]));
        assert_eq!(found[0].lines, [" (the difference is in masked values)"]);
    }
}
