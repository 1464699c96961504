//! How an older state is called: by what happened.
//!
//! A controller writes its status as often as it likes, so "as of its 14th update" means another state in each run, or
//! none. Creations, deletions and changes of what is asked for come as often as the user and the plan make them. A state
//! next to one of those is called by it: just after it, or just before it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Change, ObjectKey};

use crate::moment::{ChangeMatch, Occurred};

/// What an update changes, as far as it decides more than how far somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// The object was marked to be deleted: `metadata.deletionTimestamp` appeared.
    DeletionMark,
    /// What is asked for: anything but `metadata` and `status`.
    Spec,
}

impl Part {
    /// Of this change; none if it is no update of either.
    pub fn of(change: Change, previous: Option<&Value>, object: &Value) -> Option<Part> {
        let previous = previous.filter(|_| change == Change::Updated)?;
        let marked = |object: &Value| object["metadata"].get("deletionTimestamp").is_some();
        if marked(object) && !marked(previous) {
            return Some(Part::DeletionMark);
        }
        (!asked(previous).eq(asked(object))).then_some(Part::Spec)
    }
}

fn asked(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| !["metadata", "status", "apiVersion", "kind"].contains(&name.as_str()))
}

/// Counts changes as states are called by them.
#[derive(Debug, Default)]
pub struct Names {
    seen: BTreeMap<ChangeMatch, u32>,
}

impl Names {
    /// The next change of a run, counted by what it did, without asking who made it. `generated` as in
    /// [`ChangeMatch::of`].
    pub fn next(
        &mut self,
        change: Change,
        key: &ObjectKey,
        part: Option<Part>,
        generated: &dyn Fn(&str) -> Option<String>,
    ) -> Occurred {
        self.count(&ChangeMatch::of(change, key, generated), part)
    }

    /// The same of a change that is told without its object.
    pub fn count(&mut self, change: &ChangeMatch, part: Option<Part>) -> Occurred {
        let mut one = |part| {
            let change = ChangeMatch { by: None, part, ..change.clone() };
            let occurrence = self.seen.entry(change.clone()).or_default();
            *occurrence += 1;
            Occurred { change, occurrence: *occurrence }
        };
        // Those that are called by a part count among all updates as well.
        let plain = one(None);
        if part.is_some() { one(part) } else { plain }
    }
}

/// Whether states next to this change are called by it.
pub fn is_landmark(what: &Occurred) -> bool {
    what.change.change != Change::Updated || what.change.part.is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trace::GroupResource;

    use super::*;

    #[test]
    fn status_and_metadata_are_nothing_that_is_asked_for() {
        let check = |previous: Value, object: Value, expect: Option<Part>| {
            assert_eq!(Part::of(Change::Updated, Some(&previous), &object), expect, "{object}");
        };
        let of = |spec: u32, status: u32, marked: bool| {
            let mut object = json!({"metadata": {}, "spec": spec, "status": status});
            if marked {
                object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            object
        };
        check(of(1, 1, false), of(1, 2, false), None);
        check(of(1, 1, false), of(2, 2, false), Some(Part::Spec));
        check(of(1, 1, false), of(1, 1, true), Some(Part::DeletionMark));
        check(of(1, 1, true), of(1, 2, true), None);
        check(json!({"data": 1}), json!({"data": 2}), Some(Part::Spec));
        assert_eq!(Part::of(Change::Created, None, &of(1, 1, false)), None);
    }

    #[test]
    fn updates_by_part_are_counted_apart() {
        let key = ObjectKey::new(GroupResource::new("", "foos"), "default", "a");
        let mut names = Names::default();
        let mut next = |part| names.next(Change::Updated, &key, part, &|_| None).occurrence;
        let counts = [None, Some(Part::Spec), None, Some(Part::Spec)].map(&mut next);
        assert_eq!(counts, [1, 1, 3, 2]);
    }
}
