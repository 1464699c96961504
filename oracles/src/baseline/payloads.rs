//! Which payloads of Secrets are drawn at random.
//!
//! A controller that generates a password makes another one in every run. Were its content part of a world's
//! identity, each trial would lead to new worlds for ever; were no content part of it, a controller that keeps its
//! state in a Secret would be explored wrongly. References tell the two apart: random is what never came up twice.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trace::{Change, ObjectKey};

use crate::run::Run;

/// `secrets/default/db password`: the folded key and the field of each payload that no two references share, and that
/// no run ever changed: what changes says something besides being random.
pub(super) fn random(runs: &[Run]) -> BTreeSet<String> {
    let seen: Vec<BTreeMap<String, BTreeSet<String>>> = runs.iter().map(payloads).collect();
    let fields: BTreeSet<&String> = seen.iter().flat_map(BTreeMap::keys).collect();
    let is_random = |field: &&&String| {
        let values: Vec<_> = seen.iter().filter_map(|run| run.get(**field)).collect();
        let mut pairs = (0..values.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let constant = values.iter().all(|values| !values.contains(CHANGED));
        let disjoint = pairs.all(|(one, other)| values[one].is_disjoint(values[other]));
        values.len() > 1 && constant && disjoint
    };
    fields.iter().filter(is_random).map(|field| (*field).clone()).collect()
}

/// In place of a value that is not an object's first: all runs share it, so it is never random. (No base64.)
const CHANGED: &str = "‹changed›";

/// Every value that each payload had while the subject wrote, by folded key and field.
fn payloads(run: &Run) -> BTreeMap<String, BTreeSet<String>> {
    let folder = run.folder();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut first: BTreeMap<(&ObjectKey, &str), &str> = BTreeMap::new();
    for commit in run.history.commits() {
        if commit.change == Change::Deleted || !is_secret(&commit.key) {
            continue;
        }
        let key = folder.key(&commit.key);
        let data = commit.object.get("data").and_then(Value::as_object);
        for (field, value) in data.into_iter().flatten() {
            let text = value.as_str().unwrap_or_default();
            let changed = *first.entry((&commit.key, field)).or_insert(text) != text;
            let values = found.entry(format!("{key} {field}")).or_default();
            values.insert(if changed { CHANGED.to_owned() } else { text.to_owned() });
        }
    }
    found
}

fn is_secret(key: &ObjectKey) -> bool {
    key.resource.group.is_empty() && &*key.resource.resource == "secrets"
}
