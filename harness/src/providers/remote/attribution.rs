//! Who made the commits that were observed on a remote cluster.
//!
//! The API server does not tell. A commit is the subject's if one of its write calls was answered with that very
//! revision; a deletion, whose answer carries none, if the subject's delete of that object succeeded. The user's are told
//! in the same way. What is left is the cluster's own work, as the [managed fields](super::writer) show it.

use std::collections::HashMap;

use trace::{Call, CallId, Change, Event, History, ObjectKey, Revision, Verb};

use super::made::Made;

/// Writes actor and call into the commits of a finished history.
pub fn attribute(history: &mut History, made: &Made) {
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
        let deleted = commit.change == Change::Deleted;
        let deletion = || deletions.get_mut(&commit.key).filter(|_| deleted).and_then(Vec::pop);
        let call = by_revision.get(&commit.revision).copied().or_else(deletion);
        let by = call.and_then(|id| calls.get(&id)).map(|call| call.actor.clone());
        let deleter = || made.deleter(&commit.key).filter(|_| deleted);
        commit.call = call.filter(|_| by.is_some());
        if let Some(actor) = by.or_else(|| made.writer(commit.revision)).or_else(deleter) {
            commit.actor = actor;
        }
    }
}
