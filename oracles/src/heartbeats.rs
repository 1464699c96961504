//! Which fields look like heartbeats: told to the user of a run that never settled, and never acted upon.
//!
//! What goes on and off is no heartbeat but somebody who undoes what another did; so no value may come twice. A counter
//! that a controller drives up because it does not recognise its own work looks the same as one that beats, which is
//! why the user decides.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trace::{
    Accepted, Change, Commit, Event, History, ObjectKey, Path, ProcessHappening,
    diff::{Difference, object_differences},
};

/// So many of the last writes of an object have to look like beats.
pub const WRITES: usize = 10;

/// Fields whose changes are all that the last writes of the subject did, an object each; empty if they did more.
pub fn likely(history: &History) -> Vec<Accepted> {
    let disturbs = |event: &Event| match event {
        Event::Step(_) => true,
        Event::Process(process) => !matches!(process.what, ProcessHappening::Line { .. }),
        _ => false,
    };
    let since = history.records.iter().rposition(|record| disturbs(&record.event)).unwrap_or(0);
    let mut of_objects: BTreeMap<&ObjectKey, Vec<&Commit>> = BTreeMap::new();
    for record in &history.records[since..] {
        match &record.event {
            Event::Commit(commit) if !commit.is_bookkeeping() => {
                of_objects.entry(&commit.key).or_default().push(commit);
            }
            _ => {}
        }
    }
    let fields = of_objects.values().map(|commits| beating(commits)).collect::<Option<Vec<_>>>();
    fields.unwrap_or_default().into_iter().flatten().collect()
}

/// The fields of one object that beat; none if something else changes.
fn beating(commits: &[&Commit]) -> Option<Vec<Accepted>> {
    let last = &commits[commits.len().checked_sub(WRITES + 1)?..];
    if last.iter().any(|commit| commit.change != Change::Updated || !commit.actor.is_subject()) {
        return None;
    }
    let mut seen: BTreeMap<Path, BTreeSet<String>> = BTreeMap::new();
    for pair in last.windows(2) {
        let (left, right) = (uncounted(&pair[0].object), uncounted(&pair[1].object));
        for Difference { path, right, .. } in object_differences("", &left, &right) {
            let value = right.filter(|value| !value.is_array() && !value.is_object())?;
            if !seen.entry(path).or_default().insert(value.to_string()) {
                return None;
            }
        }
    }
    let object = last[0].key.to_string();
    let field = |path: Path| Accepted { object: object.clone(), path };
    Some(seen.into_keys().map(field).collect())
}

/// The object without what changes with each write.
pub(crate) fn uncounted(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        for field in ["resourceVersion", "managedFields", "generation"] {
            metadata.remove(field);
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::{Builder, SUBJECT};

    /// A lock that is written so often; what is written is this of the number of the write.
    fn locked(writes: i64, object: impl Fn(i64) -> Value) -> Vec<String> {
        let mut run = Builder::new().started();
        for number in 0..writes {
            run = run.put(SUBJECT, "configmaps/default/lock", object(number));
        }
        likely(&run.run().history).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_never_comes_twice_may_be_a_heartbeat() {
        let beat =
            |number: i64| json!({"metadata": {"annotations": {"a.b/c": number.to_string()}}});
        let field = r#"configmaps/default/lock .metadata.annotations["a.b/c"]"#;
        assert_eq!(locked(20, beat), [field]);
        assert_eq!(locked(5, beat), [""; 0], "too few to tell");
        let flaps = |number: i64| json!({"metadata": {}, "data": {"switch": number % 2}});
        assert_eq!(locked(20, flaps), [""; 0]);
        let grows = |number: i64| {
            let list: Vec<i64> = (0..number).collect();
            json!({"metadata": {}, "data": list})
        };
        assert_eq!(locked(20, grows), [""; 0]);
    }
}
