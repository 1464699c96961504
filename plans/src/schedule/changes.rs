//! What happened to objects, and which of it the subject can tell from nothing.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde_json::Value;
use trace::{CallId, Change, Event, ObjectKey, Revision, StepState};

use super::{Changed, Observed};
use crate::{
    moment::{ChangeMatch, Occurred},
    stale_views::{Part, said},
};

/// The changes of a run, and what is needed to find them again.
pub(super) struct Changes<'r> {
    /// In commit order.
    pub all: Vec<Changed>,
    /// Positions in `all`, by the revision that each made.
    pub by_revision: HashMap<Revision, usize>,
    /// Positions in `all`, by the call that made them.
    pub by_call: HashMap<CallId, Vec<usize>>,
    /// What happened to each object that the subject sees before or after it.
    pub lives: BTreeMap<&'r ObjectKey, Vec<Lived>>,
}

/// One change in the life of an object.
pub(super) struct Lived {
    /// Its position.
    pub change: usize,
    /// What kind of change it is.
    pub kind: Change,
    /// Fields that it set, by path.
    pub fields: BTreeSet<String>,
}

pub(super) fn changes<'r>(run: &Observed<'r>) -> Changes<'r> {
    let mut objects: BTreeMap<&ObjectKey, &Arc<Value>> =
        run.before.iter().map(|(key, object)| (key, object)).collect();
    let mut seen: BTreeMap<ChangeMatch, u32> = BTreeMap::new();
    let mut cursor = run.cursor;
    let (all, by_revision, by_call, lives) = Default::default();
    let mut found = Changes { all, by_revision, by_call, lives };
    for record in &run.history.records {
        let commit = match &record.event {
            Event::Commit(commit) if !commit.is_bookkeeping() => commit,
            Event::Step(step) if step.state == StepState::Done => {
                cursor = cursor.max(step.cursor);
                continue;
            }
            _ => continue,
        };
        let key = &commit.key;
        let change = ChangeMatch::of(commit.change, key, run.generated).by(&commit.actor);
        let occurrence = seen.entry(change.clone()).or_default();
        *occurrence += 1;
        let old = objects.get(key).copied();
        let shown = (run.sees)(key, &commit.object) || old.is_some_and(|old| (run.sees)(key, old));
        let position = found.all.len();
        found.all.push(Changed {
            at: record.sequence,
            what: Occurred { change, occurrence: *occurrence },
            part: Part::of(commit.change, old.map(|old| &**old), &commit.object),
            cursor,
            apart: shown && differ(commit.change, old, &commit.object),
        });
        found.by_revision.insert(commit.revision, position);
        if let Some(call) = commit.call {
            found.by_call.entry(call).or_default().push(position);
        }
        if shown {
            let fields = fields(old.map(|old| &**old), &commit.object);
            let lived = Lived { change: position, kind: commit.change, fields };
            found.lives.entry(key).or_default().push(lived);
        }
        match commit.change {
            Change::Deleted => objects.remove(key),
            _ => objects.insert(key, &commit.object),
        };
    }
    found
}

/// Whether the states say different things, revisions and who wrote what apart.
fn differ(change: Change, old: Option<&Arc<Value>>, new: &Arc<Value>) -> bool {
    change != Change::Updated || old.is_none_or(|old| said(old) != said(new))
}

/// The fields in which an object differs from what it was; counters and who wrote what apart.
pub(super) fn fields(old: Option<&Value>, new: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    compare(old, Some(new), "", &mut paths);
    paths
}

/// Changed by every write.
const ALWAYS: [&str; 3] =
    [".metadata.resourceVersion", ".metadata.managedFields", ".metadata.generation"];

fn compare(old: Option<&Value>, new: Option<&Value>, path: &str, paths: &mut BTreeSet<String>) {
    if old == new || ALWAYS.contains(&path) {
        return;
    }
    match (old, new) {
        (Some(Value::Object(_)), Some(Value::Object(_)))
        | (None, Some(Value::Object(_)))
        | (Some(Value::Object(_)), None) => {
            let fields = |value: Option<&Value>| -> Vec<String> {
                let map = value.and_then(Value::as_object).into_iter().flatten();
                map.map(|(name, _)| name.clone()).collect()
            };
            let names: BTreeSet<String> = fields(old).into_iter().chain(fields(new)).collect();
            for name in names {
                let of =
                    |value: Option<&'_ Value>| value.and_then(|value| value.get(&name)).cloned();
                compare(of(old).as_ref(), of(new).as_ref(), &format!("{path}.{name}"), paths);
            }
        }
        _ => {
            paths.insert(path.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counters_are_no_news() {
        let of = |revision: u32| json!({"metadata": {"resourceVersion": revision.to_string()}});
        assert!(fields(Some(&of(1)), &of(2)).is_empty());
    }

    #[test]
    fn fields_are_told_by_path() {
        let check = |old: Value, new: Value, expect: &[&str]| {
            let found = fields((!old.is_null()).then_some(&old), &new);
            assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expect);
        };
        check(Value::Null, json!({"spec": {"x": 1, "y": 1}}), &[".spec.x", ".spec.y"]);
        check(json!({"spec": {"x": 1, "y": 1}}), json!({"spec": {"x": 1}}), &[".spec.y"]);
        check(json!({"spec": {"x": [1]}}), json!({"spec": {"x": [1, 2]}}), &[".spec.x"]);
    }
}
