//! Fields that the controller changes and changes back: the raw material of rollbacks.

use std::collections::BTreeMap;

use serde_json::Value;
use trace::{
    Actor, Change, Commit, Event, ObjectKey, Path, Record, Time, comparison::Segment, diff,
};

/// A field that the subject gave another value, and later the one from before again.
#[derive(Debug, Clone)]
pub(crate) struct Flip<'r> {
    pub path: Path,
    /// The value from before and afterwards.
    pub from: Value,
    /// The value meanwhile.
    pub to: Value,
    /// Took it away, and when.
    pub away: (&'r Commit, Time),
    /// Gave it again.
    pub back: (&'r Commit, Time),
}

/// Flips in these records, on objects as they were before them. Status is left out: it says what is, and may change as
/// often as that. So are the server's own fields.
pub(crate) fn flips<'r>(
    before: impl Iterator<Item = (&'r ObjectKey, &'r Value)>,
    records: &'r [Record],
) -> Vec<Flip<'r>> {
    let mut now: BTreeMap<&ObjectKey, &Value> = before.collect();
    // Fields that the subject changed: the value from before, and the commit that took it away.
    let mut gone: BTreeMap<(&ObjectKey, String), (Value, &Commit, Time)> = BTreeMap::new();
    let mut found = Vec::new();
    for record in records {
        let Event::Commit(commit) = &record.event else { continue };
        if commit.is_bookkeeping() {
            continue;
        }
        if commit.actor == Actor::User {
            // What the user asks for anew is no rollback.
            gone.clear();
        }
        let old = now.insert(&commit.key, &commit.object);
        let Some(old) = old.filter(|_| commit.change == Change::Updated) else {
            gone.retain(|(key, _), _| *key != &commit.key);
            continue;
        };
        for one in diff::object_differences("", old, &commit.object) {
            if !is_asked_for(&one.path) {
                continue;
            }
            let place = (&commit.key, one.path.to_string());
            let (left, right) = (one.left.unwrap_or_default(), one.right.unwrap_or_default());
            match gone.remove(&place) {
                Some((from, away, since)) if from == right && commit.actor.is_subject() => {
                    let (away, back) = ((away, since), (commit, record.at));
                    found.push(Flip { path: one.path, from, to: left, away, back });
                }
                // On its way through more values.
                Some(first) => drop(gone.insert(place, first)),
                None if commit.actor.is_subject() => {
                    gone.insert(place, (left, commit, record.at));
                }
                None => {}
            }
        }
    }
    // What was taken away again is none that came back.
    found.retain(|flip| !gone.contains_key(&(&flip.away.0.key, flip.path.to_string())));
    found
}

/// Whether a field is one that somebody asks for.
fn is_asked_for(path: &Path) -> bool {
    let key = |at: usize| match path.0.get(at) {
        Some(Segment::Key(key)) => key.as_str(),
        _ => "",
    };
    match key(0) {
        "status" => false,
        "metadata" => matches!(key(1), "labels" | "annotations" | "finalizers" | "ownerReferences"),
        _ => true,
    }
}
