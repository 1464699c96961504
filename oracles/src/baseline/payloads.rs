//! Which payloads of Secrets are drawn at random.
//!
//! A controller that generates a password makes another one in every run. Were its content part of a world's
//! identity, each trial would lead to new worlds for ever; were no content part of it, a controller that keeps its
//! state in a Secret would be explored wrongly. References tell the two apart: random is what never came up twice.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trace::{Change, ObjectKey};

use crate::run::Run;

/// Payloads that no two references share, as folded key and field: `secrets/default/db password`.
#[derive(Default)]
pub(super) struct Random {
    /// Those that no run ever changed.
    pub constant: BTreeSet<String>,
    /// Those that a run changed: such a change says something besides being random, though the values don't.
    pub changing: BTreeSet<String>,
}

pub(super) fn random(runs: &[Run]) -> Random {
    let seen: Vec<BTreeMap<String, Payload>> = runs.iter().map(payloads).collect();
    let fields: BTreeSet<&String> = seen.iter().flat_map(BTreeMap::keys).collect();
    let mut random = Random::default();
    for field in fields {
        let payloads: Vec<&Payload> = seen.iter().filter_map(|run| run.get(field)).collect();
        let mut pairs = (0..payloads.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let disjoint =
            pairs.all(|(one, other)| payloads[one].values.is_disjoint(&payloads[other].values));
        if payloads.len() > 1 && disjoint {
            let changes = payloads.iter().any(|payload| payload.changes);
            let list = if changes { &mut random.changing } else { &mut random.constant };
            list.insert(field.clone());
        }
    }
    random
}

/// What a run had in a field of a Secret.
#[derive(Default)]
struct Payload {
    values: BTreeSet<String>,
    /// Whether an object had one after another.
    changes: bool,
}

/// Every value that each payload had while the subject wrote, by folded key and field.
fn payloads(run: &Run) -> BTreeMap<String, Payload> {
    let folder = run.folder();
    let mut found: BTreeMap<String, Payload> = BTreeMap::new();
    let mut first: BTreeMap<(&ObjectKey, &str), &str> = BTreeMap::new();
    for commit in run.history.commits() {
        if commit.change == Change::Deleted || !is_secret(&commit.key) {
            continue;
        }
        let key = folder.key(&commit.key);
        let data = commit.object.get("data").and_then(Value::as_object);
        for (field, value) in data.into_iter().flatten() {
            let text = value.as_str().unwrap_or_default();
            let payload = found.entry(format!("{key} {field}")).or_default();
            payload.changes |= *first.entry((&commit.key, field)).or_insert(text) != text;
            payload.values.insert(text.to_owned());
        }
    }
    found
}

fn is_secret(key: &ObjectKey) -> bool {
    key.resource.group.is_empty() && &*key.resource.resource == "secrets"
}
