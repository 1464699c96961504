//! Which writes of the subject were under way together, and so could have reached the store in another order or not at
//! all; and what had come to it before each.
//!
//! A write *happened before* another if its answer had left before the other was received, or if both came
//! on one HTTP/1.1 connection (RFC 9112 §9.3: answers come in order). Two writes without that order were
//! concurrent: a crash may leave the later one committed and the earlier one not. The order is learnt from
//! one history and therefore errs on the side of more order, never less: a subject that could send two writes
//! together but did not in this run shows it only in a run in which it does. Nothing here makes it: the report's
//! claim says so.

use std::{collections::HashMap, ops::Range};

use trace::{Actor, Call, CallId, Event, History, ProcessHappening, Revision};

use super::{Delivered, Observed, Written, changes::Changes};
use crate::moment::CallMatch;

/// A write of the subject that made a revision.
#[derive(Debug, Clone)]
pub struct Write {
    /// The call.
    pub call: Call,
    /// The revision that it made. A call that made several (deletecollection) is listed by its last.
    pub revision: Revision,
    /// Record at which it had been received.
    pub received: u64,
    /// Record at which its answer had been handed over; `None` if it never was.
    pub answered: Option<u64>,
}

impl Write {
    /// Whether this write's effect was known to the sender when it sent `later`, or precedes it on the wire.
    pub fn happened_before(&self, later: &Write) -> bool {
        self.call.connection == later.call.connection && self.received < later.received
            || self.answered.is_some_and(|answered| answered < later.received)
    }
}

/// The subject's writes in commit order, without bookkeeping.
pub fn writes(history: &History) -> Vec<Write> {
    let mut received: HashMap<CallId, (u64, &Call)> = HashMap::new();
    let mut answered: HashMap<CallId, u64> = HashMap::new();
    let mut committed: Vec<(CallId, Revision)> = Vec::new();
    for record in &history.records {
        match &record.event {
            Event::Call(call) if call.actor.is_subject() => {
                received.insert(call.id, (record.sequence, call));
            }
            Event::Answer(answer) => {
                answered.insert(answer.call, record.sequence);
            }
            Event::Commit(commit) if !commit.is_bookkeeping() && commit.actor.is_subject() => {
                let Some(call) = commit.call else { continue };
                match committed.last_mut() {
                    Some((last, revision)) if *last == call => *revision = commit.revision,
                    _ => committed.push((call, commit.revision)),
                }
            }
            _ => {}
        }
    }
    let write = |(id, revision): (CallId, Revision)| {
        let (received, call) = received.get(&id)?;
        let answered = answered.get(&id).copied();
        Some(Write { call: (*call).clone(), revision, received: *received, answered })
    };
    committed.into_iter().filter_map(write).collect()
}

/// The subject's writes as the model has them, in commit order.
pub(super) fn written(
    run: &Observed<'_>,
    changes: &Changes<'_>,
    deliveries: &[Delivered],
) -> Vec<Written> {
    let starts = starts(run.history);
    let known = |write: &Write| -> Range<usize> {
        let start = starts.get(&(&write.call.actor, write.call.incarnation));
        let come_before = |at: u64| deliveries.partition_point(|delivery| delivery.at < at);
        come_before(start.copied().unwrap_or(0))..come_before(write.received)
    };
    let named = |write: Write| Some((CallMatch::of(&write.call, run.generated)?, write));
    let writes: Vec<(CallMatch, Write)> =
        writes(run.history).into_iter().filter_map(named).collect();
    let concurrent = |later: usize| {
        let together = |&earlier: &usize| !writes[earlier].1.happened_before(&writes[later].1);
        (0..later).filter(together).collect()
    };
    let written = writes.iter().enumerate().map(|(index, (call, write))| Written {
        call: call.clone(),
        changes: changes.by_call.get(&write.call.id).cloned().unwrap_or_default(),
        sent: write.received,
        answered: write.answered,
        known: known(write),
        concurrent: concurrent(index),
    });
    written.collect()
}

/// When each process of the subject was started.
fn starts(history: &History) -> HashMap<(&Actor, u32), u64> {
    let started = history.records.iter().filter_map(|record| match &record.event {
        Event::Process(process) if matches!(process.what, ProcessHappening::Started { .. }) => {
            Some(((&process.actor, process.incarnation), record.sequence))
        }
        _ => None,
    });
    started.collect()
}

/// Among how many writes under way together the sets are looked for.
const WINDOW: usize = 8;

/// For each write, the earlier-committed ones that were concurrent with it and could be missing although it
/// committed: sets closed under *happened before*. Sets are listed smallest first, at most `limit` per write;
/// the second value counts those left out by the limit.
pub fn skippable(writes: &[Write], limit: usize) -> (Vec<(usize, Vec<usize>)>, u64) {
    let mut found = Vec::new();
    let mut left_out = 0;
    for later in 0..writes.len() {
        let concurrent: Vec<usize> = (0..later)
            .filter(|&earlier| !writes[earlier].happened_before(&writes[later]))
            .filter(|&earlier| writes[earlier].revision < writes[later].revision)
            .collect();
        // Many writes at once have too many sets: take those among the last few.
        let window = &concurrent[concurrent.len().saturating_sub(WINDOW)..];
        left_out += (concurrent.len() - window.len()) as u64;
        let mut sets: Vec<Vec<usize>> = (1u32..1 << window.len())
            .map(|bits| -> Vec<usize> {
                let chosen = |i: &usize| bits & (1 << *i) != 0;
                (0..window.len()).filter(chosen).map(|i| window[i]).collect()
            })
            .filter(|set| is_closed(writes, later, set))
            .collect();
        sets.sort_by_key(|set: &Vec<usize>| (set.len(), set.clone()));
        left_out += sets.len().saturating_sub(limit) as u64;
        found.extend(sets.into_iter().take(limit).map(|set| (later, set)));
    }
    (found, left_out)
}

/// If a write is missing, everything up to `later` that came after it must be missing too.
fn is_closed(writes: &[Write], later: usize, missing: &[usize]) -> bool {
    let depends = |&earlier: &usize| {
        (earlier + 1..=later)
            .filter(|between| !missing.contains(between))
            .all(|between| !writes[earlier].happened_before(&writes[between]))
    };
    missing.iter().all(depends)
}

#[cfg(test)]
mod tests {
    use trace::Verb;

    use super::*;
    use crate::fixture;

    /// `(connection, received, answered)` in commit order.
    fn check(calls: &[(u64, u64, u64)], expect: &[(usize, Vec<usize>)]) {
        let write = |(index, &(connection, received, answered)): (usize, &(u64, u64, u64))| Write {
            call: fixture::call(index as u64 + 1, Verb::Create, "foos", connection),
            revision: Revision(index as u64 + 1),
            received,
            answered: Some(answered),
        };
        let writes: Vec<Write> = calls.iter().enumerate().map(write).collect();
        assert_eq!(skippable(&writes, 100).0, expect);
    }

    #[test]
    fn sequential_writes_are_never_skipped() {
        check(&[(1, 0, 1), (1, 2, 3), (2, 4, 5)], &[]);
    }

    #[test]
    fn the_second_of_two_concurrent_writes_may_be_alone() {
        check(&[(1, 0, 4), (2, 1, 5)], &[(1, vec![0])]);
    }

    #[test]
    fn one_connection_keeps_its_order() {
        check(&[(1, 0, 4), (1, 1, 5)], &[]);
    }

    #[test]
    fn a_missing_write_takes_along_what_followed_from_it() {
        // 0 and 2 are concurrent; 1 followed from 0, so 2 without 0 is also without 1.
        check(&[(1, 0, 2), (1, 3, 9), (2, 1, 10)], &[(2, vec![1]), (2, vec![0, 1])]);
    }
}
