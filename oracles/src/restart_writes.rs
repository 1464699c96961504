//! What a subject writes when it is started again on a world that has settled.
//!
//! A world that has settled is a fixed point of a sound controller: one that is started on it finds nothing to do. What
//! undisturbed runs write there all the same (a time in a status) is learnt and allowed; so only worlds that were reached
//! through perturbations are judged by it.
//!
//! Writes are known by what is changed, to which object, at which places; never by values. A place is compared as it is
//! stored, without masks: what varies by itself is written again undisturbed as well. Leases, Events and heartbeats don't
//! count.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Change, Folder, ObjectKey, Path, comparison::Segment, diff::object_differences};

use crate::{heartbeats::uncounted, run::Run};

/// Writes of one kind to objects of one folded key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartWrite {
    /// What it did.
    pub change: Change,
    /// Folded canonical key: `foos.example.com/default/foo-‹*›`.
    pub object: String,
    /// Of an update: places that changed, in any element of lists; one below which all changed stands for those.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub paths: BTreeSet<String>,
}

impl RestartWrite {
    /// What of `other` this does not allow: nothing, some of its places, or all of it.
    fn rest_of(&self, other: &RestartWrite) -> Option<RestartWrite> {
        if (self.change, &self.object) != (other.change, &other.object) {
            return Some(other.clone());
        }
        let covers = |path: &str, known: &String| {
            let below = path.strip_prefix(known.as_str());
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let is_new = |path: &&String| !self.paths.iter().any(|known| covers(path, known));
        let paths: BTreeSet<String> = other.paths.iter().filter(is_new).cloned().collect();
        (!paths.is_empty()).then(|| RestartWrite { paths, ..other.clone() })
    }
}

/// `updates foos.example.com/default/foo-‹*› (.status.seen)`.
impl fmt::Display for RestartWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let did = match self.change {
            Change::Created => "creates",
            Change::Updated => "updates",
            Change::Deleted => "deletes",
        };
        write!(f, "{did} {}", self.object)?;
        if self.paths.is_empty() {
            return Ok(());
        }
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        write!(f, " ({})", paths.join(", "))
    }
}

/// What undisturbed runs write when they are started again on the world on which they settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartWrites {
    /// All of it: allowed.
    pub allowed: Vec<RestartWrite>,
    /// Whether they write different things from one to the next: then nothing can be said of others.
    pub unsteady: bool,
    /// Whether one of them did not come to rest again: the same.
    #[serde(default)]
    pub restless: bool,
}

impl RestartWrites {
    /// Of restarts on worlds that settled alike, and of those on worlds that were waited for longer. Each run ends with
    /// such a restart.
    pub fn learn(alike: &[Run], longer: &[Run]) -> RestartWrites {
        let of_each: Vec<Vec<RestartWrite>> = alike.iter().map(restart_writes).collect();
        let kinds = |writes: &Vec<RestartWrite>| -> BTreeSet<(Change, String)> {
            writes.iter().map(|write| (write.change, write.object.clone())).collect()
        };
        let unsteady = of_each.windows(2).any(|pair| kinds(&pair[0]) != kinds(&pair[1]));
        let mut allowed = Vec::new();
        for write in of_each.into_iter().chain(longer.iter().map(restart_writes)).flatten() {
            merge(&mut allowed, write);
        }
        RestartWrites { allowed, unsteady, restless: false }
    }

    /// Whether others can be judged by it.
    pub fn is_known(&self) -> bool {
        !self.unsteady && !self.restless
    }

    /// What of these writes is not allowed.
    pub fn beyond(&self, writes: Vec<RestartWrite>) -> Vec<RestartWrite> {
        let beyond = |write: RestartWrite| {
            self.allowed.iter().try_fold(write, |rest, known| known.rest_of(&rest))
        };
        writes.into_iter().filter_map(beyond).collect()
    }

    /// What the author of the subject may want to know: one sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let again = |write: &RestartWrite| {
            format!("restarted when all had settled, it writes again: it {write}")
        };
        let unknown = |what: &str| {
            format!("restarted when all had settled, it {what}, so restart-writes judges nothing")
        };
        let restless = self.restless.then(|| unknown("does not come to rest again"));
        let unsteady = self.unsteady && !self.restless;
        let unsteady =
            unsteady.then(|| unknown("writes different things from one time to the next"));
        self.allowed.iter().map(again).chain(restless).chain(unsteady).collect()
    }
}

fn merge(all: &mut Vec<RestartWrite>, write: RestartWrite) {
    let same =
        |known: &&mut RestartWrite| (known.change, &known.object) == (write.change, &write.object);
    match all.iter_mut().find(same) {
        Some(known) => known.paths.extend(write.paths),
        None => all.push(write),
    }
}

/// What the subject wrote after the last perturbation, in order of first occurrence.
pub fn restart_writes(run: &Run) -> Vec<RestartWrite> {
    let folder = run.folder();
    let after = run.history.after_last_perturbation();
    let mut before: BTreeMap<&ObjectKey, &Arc<Value>> =
        run.start.iter().map(|(key, object)| (key, object)).collect();
    let mut writes = Vec::new();
    for (at, record) in run.history.records.iter().enumerate() {
        let trace::Event::Commit(commit) = &record.event else { continue };
        let old = match commit.change {
            Change::Deleted => before.remove(&commit.key),
            _ => before.insert(&commit.key, &commit.object),
        };
        if at < after || commit.is_bookkeeping() || !commit.actor.is_subject() {
            continue;
        }
        let paths = match (commit.change, old) {
            (Change::Updated, Some(old)) => changed(&folder, old, &commit.object),
            _ => BTreeSet::new(),
        };
        merge(
            &mut writes,
            RestartWrite { change: commit.change, object: folder.key(&commit.key), paths },
        );
    }
    writes
}

/// Where two versions of an object differ, with its names folded. Never nothing: a write that changes nothing but what
/// the API server counts is one to `.metadata`.
fn changed(folder: &Folder, old: &Value, new: &Value) -> BTreeSet<String> {
    let all = object_differences("", &uncounted(old), &uncounted(new));
    let fold = |segment: &Segment| match segment {
        Segment::Key(key) => Segment::Key(folder.text(key)),
        other => other.clone(),
    };
    let places = all.into_iter().map(|difference| {
        Path(difference.path.any_index().0.iter().map(fold).collect()).to_string()
    });
    let mut paths: BTreeSet<String> = places.collect();
    if paths.is_empty() {
        paths.insert(".metadata".to_owned());
    }
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trace::Actor;

    use super::*;
    use crate::fixture::{Builder, SUBJECT};

    const NOTE: &str = "configmaps/default/note";

    /// A restart on a world with one object, and what it writes to it.
    fn restarted(writes: &[Value]) -> Run {
        let world = Builder::new().put(SUBJECT, NOTE, json!({"data": {"a": "1"}}));
        let run = Builder::fork_of(&world, 1).crash("it be killed when all had settled");
        writes.iter().fold(run, |run, object| run.put(SUBJECT, NOTE, object.clone())).run()
    }

    fn texts(writes: &[RestartWrite]) -> Vec<String> {
        writes.iter().map(RestartWrite::to_string).collect()
    }

    #[test]
    fn writes_are_told_by_their_places() {
        let check = |run: &Run, expect: &[&str]| assert_eq!(texts(&restart_writes(run)), expect);
        check(&restarted(&[]), &[]);
        check(
            &restarted(&[json!({"data": {"a": "1"}})]),
            &[&format!("updates {NOTE} (.metadata)")],
        );
        let twice = [json!({"data": {"a": "2"}}), json!({"data": {"a": "2", "b": "1"}})];
        check(&restarted(&twice), &[&format!("updates {NOTE} (.data.a, .data.b)")]);
        let others = Builder::new()
            .put(SUBJECT, NOTE, json!({}))
            .crash("it be killed")
            .put(Actor::User, NOTE, json!({"data": {}}))
            .put(SUBJECT, "configmaps/default/more", json!({}))
            .delete(SUBJECT, NOTE);
        let expect = ["creates configmaps/default/more", "deletes configmaps/default/note"];
        check(&others.run(), &expect);
    }

    #[test]
    fn what_undisturbed_restarts_write_is_allowed() {
        let stamp = |a: &str| restarted(&[json!({"data": {"a": a}})]);
        let learnt = RestartWrites::learn(&[stamp("2"), stamp("3")], &[]);
        assert!(!learnt.unsteady);
        assert_eq!(learnt.beyond(restart_writes(&stamp("4"))), []);
        let more = restarted(&[json!({"data": {"a": "2", "b": "1"}})]);
        let beyond = learnt.beyond(restart_writes(&more));
        assert_eq!(texts(&beyond), [format!("updates {NOTE} (.data.b)")]);
        assert!(RestartWrites::learn(&[stamp("2"), restarted(&[])], &[]).unsteady);
        let later = RestartWrites::learn(&[restarted(&[]), restarted(&[])], &[stamp("2")]);
        assert!(!later.unsteady && later.beyond(restart_writes(&stamp("4"))).is_empty());
    }
}
