//! Every pair of events of one object of which the later cancels the earlier: what was true between them for a while only
//! may never be seen.
//!
//! An event is cancelled by a later one of the same object that takes away what it brought: a creation by a deletion or
//! by an update of what was created, a deletion by another creation, an update by one that changes one of the same fields
//! again, or by a deletion.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use trace::{Change, GroupResource, History, ObjectKey, Verb};

use crate::{
    moment::{ChangeMatch, Moment, Occurred},
    perturbation::{Release, UnobservedState},
};

/// Types of which the subject opened a watch, without bookkeeping.
pub fn watched(history: &History) -> BTreeSet<GroupResource> {
    let watches =
        history.calls().filter(|call| call.actor.is_subject() && call.verb == Verb::Watch);
    let types = watches.filter_map(|call| call.resource.clone());
    types.filter(|resource| !resource.is_bookkeeping()).collect()
}

/// Every such pair in a run from the beginning, with each way to release what was held: shortest first. `before` are the
/// objects at its start; `sees` and `generated` as in [`crate::stale_views()`].
pub fn unobserved_intervals(
    history: &History,
    before: &[(ObjectKey, Arc<Value>)],
    sees: &dyn Fn(&ObjectKey, &Value) -> bool,
    generated: &dyn Fn(&str) -> Option<String>,
) -> Vec<UnobservedState> {
    let watched = watched(history);
    let mut objects: BTreeMap<&ObjectKey, &Arc<Value>> =
        before.iter().map(|(key, object)| (key, object)).collect();
    let mut seen: BTreeMap<ChangeMatch, u32> = BTreeMap::new();
    let mut lives: BTreeMap<&ObjectKey, Vec<Happened>> = BTreeMap::new();
    for commit in history.commits().filter(|commit| !commit.is_bookkeeping()) {
        let change = ChangeMatch::of(commit.change, &commit.key, generated).by(&commit.actor);
        let occurrence = seen.entry(change.clone()).or_default();
        *occurrence += 1;
        let occurred = Occurred { change, occurrence: *occurrence };
        let (old, key) = (objects.get(&commit.key).copied(), &commit.key);
        let shown = sees(key, &commit.object) || old.is_some_and(|old| sees(key, old));
        let changed = changed(old.map(|old| &**old), &commit.object);
        match commit.change {
            Change::Deleted => objects.remove(key),
            _ => objects.insert(key, &commit.object),
        };
        if shown && watched.contains(&key.resource) {
            lives.entry(key).or_default().push(Happened { occurred, changed });
        }
    }
    let mut intervals: Vec<(usize, UnobservedState)> = Vec::new();
    for life in lives.values() {
        for (at, first) in life.iter().enumerate() {
            let later = life[at + 1..].iter().enumerate();
            for (between, last) in later.filter(|(_, last)| last.cancels(first)) {
                intervals.extend(releases(first, last).map(|interval| (between, interval)));
            }
        }
    }
    intervals.sort_by_key(|(between, _)| *between);
    intervals.into_iter().map(|(_, interval)| interval).collect()
}

fn releases(first: &Happened, last: &Happened) -> impl Iterator<Item = UnobservedState> {
    [Release::Relist, Release::Burst].into_iter().map(|release| UnobservedState {
        from: Moment::Delivery { event: first.occurred.clone() },
        until: last.occurred.clone(),
        release,
    })
}

/// One event of an object.
struct Happened {
    occurred: Occurred,
    /// Fields that it set, by path.
    changed: BTreeSet<String>,
}

impl Happened {
    fn cancels(&self, earlier: &Happened) -> bool {
        use Change::{Created, Deleted, Updated};
        match (earlier.occurred.change.change, self.occurred.change.change) {
            (Created | Updated, Deleted) | (Deleted, Created) => true,
            (Created | Updated, Updated) => !self.changed.is_disjoint(&earlier.changed),
            (Created | Updated, Created) | (Deleted, _) => false,
        }
    }
}

/// The fields in which an object differs from what it was; counters and who wrote what apart.
fn changed(old: Option<&Value>, new: &Value) -> BTreeSet<String> {
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

    fn check(earlier: (Change, Value, Value), later: (Change, Value, Value), expect: bool) {
        let happened = |(change, old, new): (Change, Value, Value)| {
            let key = ObjectKey::new(GroupResource::new("", "foos"), "default", "a");
            let change = ChangeMatch::of(change, &key, &|_| None);
            let changed = changed((!old.is_null()).then_some(&old), &new);
            Happened { occurred: Occurred { change, occurrence: 1 }, changed }
        };
        assert_eq!(happened(later).cancels(&happened(earlier)), expect);
    }

    #[test]
    fn an_event_is_cancelled_by_what_takes_away_what_it_brought() {
        use Change::{Created, Deleted, Updated};
        let of = |x: u32, y: u32| json!({"spec": {"x": x, "y": y}});
        check((Created, Value::Null, of(1, 1)), (Deleted, of(1, 1), of(1, 1)), true);
        check((Created, Value::Null, of(1, 1)), (Updated, of(1, 1), of(2, 1)), true);
        check((Updated, of(1, 1), of(3, 1)), (Updated, of(3, 1), of(2, 1)), true);
        check((Updated, of(1, 1), of(3, 1)), (Updated, of(3, 1), of(3, 2)), false);
        check((Updated, of(1, 1), of(3, 1)), (Deleted, of(3, 1), of(3, 1)), true);
        check((Deleted, of(1, 1), of(1, 1)), (Created, Value::Null, of(1, 1)), true);
    }

    #[test]
    fn counters_are_no_news() {
        let of = |revision: u32| json!({"metadata": {"resourceVersion": revision.to_string()}});
        assert!(changed(Some(&of(1)), &of(2)).is_empty());
    }
}
