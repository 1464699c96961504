//! Who made the commits that were observed on a remote cluster.
//!
//! The API server does not tell. A commit is the subject's if one of its write calls was answered with that very
//! revision; a deletion, whose answer carries none, if the subject's delete of that object succeeded. What is
//! left was done by the user or by something that runs in the cluster.

use std::collections::HashMap;

use trace::{Actor, Call, CallId, Change, Event, History, ObjectKey, Revision, Verb};

/// Writes actor and call into the commits of a finished history.
pub fn attribute(history: &mut History) {
    let calls: HashMap<CallId, Call> = history
        .calls()
        .filter(|call| call.is_write())
        .map(|call| (call.id, call.clone()))
        .collect();
    let mut by_revision: HashMap<Revision, CallId> = HashMap::new();
    let mut deletions: HashMap<ObjectKey, Vec<CallId>> = HashMap::new();
    for record in &history.records {
        let Event::Answer(answer) = &record.event else { continue };
        let Some(call) = calls.get(&answer.call).filter(|_| answer.succeeded()) else { continue };
        if let Some(revision) = answer.revision {
            by_revision.entry(revision).or_insert(call.id);
        }
        if let (Verb::Delete, Some(key)) = (call.verb, call.object_key()) {
            deletions.entry(key).or_default().push(call.id);
        }
    }
    for record in &mut history.records {
        let Event::Commit(commit) = &mut record.event else { continue };
        let deletion = || match commit.change {
            Change::Deleted => deletions.get_mut(&commit.key).and_then(Vec::pop),
            _ => None,
        };
        let call = by_revision.get(&commit.revision).copied().or_else(deletion);
        let by = call.and_then(|id| calls.get(&id));
        commit.actor = by.map_or(Actor::User, |call| call.actor.clone());
        commit.call = call.filter(|_| by.is_some());
    }
}
