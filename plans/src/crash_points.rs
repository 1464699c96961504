//! Every place in a history at which the subject can be killed.
//!
//! Candidates are all gaps between two consecutive calls of the subject and all moments of the workload.
//! A gap without a commit is the gap before it ([`Rule::NoWriteBetween`]): a restarted subject remembers
//! nothing, so only the world counts. Bookkeeping commits (Leases, Events) make no candidate of their own.

use std::{collections::HashMap, time::Duration};

use trace::{Actor, CallId, Cursor, Event, History, ProcessHappening, Revision, StepState, Time};

use crate::{
    moment::{CallMatch, CommitMatch, Moment},
    perturbation::DroppedCall,
    prune::{Pruned, Rule},
    schedule::causality::{self, Write},
};

/// A place at which the subject can be killed.
#[derive(Debug, Clone)]
pub struct CrashPoint {
    /// When, in words that hold in every run.
    pub at: Moment,
    /// The revision of the world that the crash leaves (a cache of where it was in this history).
    pub revision: Revision,
    /// The world's time then.
    pub time: Time,
    /// How far the workload is then.
    pub cursor: Cursor,
    /// For how long the operation at the cursor had been under way, by the world's clock; none if it had not begun.
    pub begun: Option<Duration>,
    /// Writes under way that never reached the store; empty for the plain crash.
    pub dropped: Vec<DroppedCall>,
    /// With `dropped`: the writes that did commit after the first dropped one, in order.
    pub kept: Vec<Write>,
}

/// Where a history begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StartPoint {
    /// The world's revision.
    pub revision: Revision,
    /// The world's time.
    pub time: Time,
    /// How far the workload is.
    pub cursor: Cursor,
    /// For how long the operation at the cursor had been under way; none if it had not begun.
    pub begun: Option<Duration>,
}

/// What [`crash_points`] found.
#[derive(Debug, Clone, Default)]
pub struct CrashPoints {
    /// In the order of the history.
    pub points: Vec<CrashPoint>,
    /// Candidates that are no place of their own, by rule.
    pub pruned: Pruned,
    /// Commits to Leases and Events: counted apart.
    pub bookkeeping: u64,
    /// Where the workload stood at each write of the user: a place of its own only if the workload can stop there.
    pub user_writes: Vec<Cursor>,
    /// Revisions within one call (a deletecollection, a pod that goes without grace), at which a real server could
    /// stop and ours does not.
    pub within_calls: u64,
    /// Subsets of concurrent writes beyond the limit per write: not covered.
    pub left_out: u64,
}

/// At most this many subsets of concurrent writes are tried per write.
pub const SUBSETS_PER_WRITE: usize = 32;

/// All crash points of `history`, whose world and workload stood at `start` when it began.
/// `generated` tells the `generateName` prefix of a generated name.
pub fn crash_points(
    history: &History,
    start: StartPoint,
    generated: &dyn Fn(&str) -> Option<String>,
) -> CrashPoints {
    let mut found = CrashPoints::default();
    let mut scan = Scan {
        revision: start.revision,
        cursor: start.cursor,
        began: start.begun.map(|begun| Time(start.time.0 - begun.as_nanos() as i64)),
        ..Scan::default()
    };
    let calls: HashMap<CallId, &trace::Call> =
        history.calls().map(|call| (call.id, call)).collect();
    let mut moments: HashMap<CallId, (Moment, Time, Cursor, Option<Duration>)> = HashMap::new();
    for record in &history.records {
        match &record.event {
            Event::Perturbed { .. } => {
                // What lies before was a place to crash in the trial without this perturbation, and occurrences
                // count from here.
                found.points.clear();
                found.user_writes.clear();
                moments.clear();
                scan.occurrences.clear();
                scan.reactions.clear();
                scan.calls_since_commit = 0;
            }
            Event::Process(process) => match process.what {
                ProcessHappening::Started { .. } => scan.up += 1,
                ProcessHappening::Killed | ProcessHappening::Exited { .. } => {
                    scan.up = scan.up.saturating_sub(1);
                }
                _ => {}
            },
            Event::Call(call) if call.actor.is_subject() => scan.calls_since_commit += 1,
            Event::Commit(commit) if commit.is_bookkeeping() => found.bookkeeping += 1,
            Event::Commit(commit) => {
                found.pruned.count(Rule::NoWriteBetween, scan.calls_since_commit.saturating_sub(1));
                scan.calls_since_commit = 0;
                scan.revision = commit.revision;
                if commit.actor == Actor::User && !commit.precedes_removal() {
                    found.user_writes.push(scan.cursor);
                    scan.users.push(commit.revision);
                }
                match scan.reaction(commit, generated) {
                    Reaction::Point(write) => {
                        let (at, began) = (record.at, scan.begun(record.at));
                        found.points.push(CrashPoint {
                            at: write,
                            revision: commit.revision,
                            time: at,
                            cursor: scan.cursor,
                            begun: began,
                            dropped: vec![],
                            kept: vec![],
                        });
                    }
                    Reaction::WithinCall => found.within_calls += 1,
                    Reaction::None => {}
                }
                let call = commit.call.and_then(|id| calls.get(&id).copied());
                let Some(call) = call.filter(|_| matches!(commit.actor, Actor::Subject(_))) else {
                    continue; // the user's writes are points when their step says so
                };
                let Some(action) = CallMatch::of(call, generated) else { continue };
                let occurrence = scan.occurrence(&action, call.id);
                let at = Moment::Committed { call: action, occurrence };
                found.within_calls += u64::from(moments.contains_key(&call.id));
                moments
                    .insert(call.id, (at.clone(), record.at, scan.cursor, scan.begun(record.at)));
                found.points.retain(|point: &CrashPoint| point.at != at);
                found.points.push(CrashPoint {
                    at,
                    revision: commit.revision,
                    time: record.at,
                    cursor: scan.cursor,
                    begun: scan.begun(record.at),
                    dropped: vec![],
                    kept: vec![],
                });
            }
            Event::Step(step) if step.state == StepState::Started => {
                scan.began.get_or_insert(record.at);
            }
            Event::Step(step) if step.state == StepState::Done && step.cursor > scan.cursor => {
                scan.cursor = step.cursor;
                scan.began = None;
                // Killed before it saw the user's write: what it did about it meanwhile is no part of that world.
                let revision = match scan.users[..] {
                    [written] => written,
                    _ => scan.revision,
                };
                scan.users.clear();
                scan.calls_since_commit = 0;
                found.points.push(CrashPoint {
                    at: Moment::Step { cursor: step.cursor, after: step.title.clone() },
                    revision,
                    time: record.at,
                    cursor: step.cursor,
                    begun: None,
                    dropped: vec![],
                    kept: vec![],
                });
            }
            _ => {}
        }
    }
    let writes = causality::writes(history);
    let (subsets, left_out) = causality::skippable(&writes, SUBSETS_PER_WRITE);
    found.left_out = left_out;
    for (last, missing) in subsets {
        let Some((at, time, cursor, begun)) = moments.get(&writes[last].call.id).cloned() else {
            continue;
        };
        // Somebody else wrote in between: that world can't be rebuilt from the subject's writes alone.
        let between = writes[missing[0]].revision.0..=writes[last].revision.0;
        let foreign = |commit: &&trace::Commit| {
            between.contains(&commit.revision.0) && !commit.actor.is_subject()
        };
        if history.commits().any(|commit| foreign(&commit)) {
            found.left_out += 1;
            continue;
        }
        let kept = (missing[0]..=last).filter(|index| !missing.contains(index));
        found.points.push(CrashPoint {
            at,
            revision: Revision(writes[missing[0]].revision.0 - 1),
            time,
            cursor,
            begun,
            kept: kept.map(|index| writes[index].clone()).collect(),
            dropped: missing
                .iter()
                .filter_map(|&index| dropped(history, &writes[index], generated))
                .collect(),
        });
    }
    found
}

/// Names a write by how often its like had been received by then.
fn dropped(
    history: &History,
    write: &Write,
    generated: &dyn Fn(&str) -> Option<String>,
) -> Option<DroppedCall> {
    let call = CallMatch::of(&write.call, generated)?;
    let earlier = history.calls().take_while(|other| other.id != write.call.id);
    let alike = earlier.filter(|other| other.actor.is_subject() && call.matches(other)).count();
    Some(DroppedCall { call, occurrence: alike as u32 + 1 })
}

#[derive(Default)]
struct Scan {
    cursor: Cursor,
    /// When the operation at the cursor began.
    began: Option<Time>,
    revision: Revision,
    /// Revisions that the user made in the step under way.
    users: Vec<Revision>,
    calls_since_commit: u64,
    occurrences: HashMap<CallMatch, (u32, Option<CallId>)>,
    /// How many of the subject's replicas run.
    up: u32,
    /// How often each kind of write of a built-in controller was seen while it ran.
    reactions: HashMap<CommitMatch, u32>,
}

/// What a write of a built-in controller is for crashes.
enum Reaction {
    /// No write of one, or one while the subject was down.
    None,
    /// The subject ran: a place to kill it.
    Point(Moment),
    /// One of several revisions of one call.
    WithinCall,
}

impl Scan {
    fn reaction(
        &mut self,
        commit: &trace::Commit,
        generated: &dyn Fn(&str) -> Option<String>,
    ) -> Reaction {
        let Some(write) = CommitMatch::of(commit, generated) else { return Reaction::None };
        match write.by.as_str() {
            // It writes inside the request of somebody else.
            "crd-finalizer" => Reaction::None,
            // It empties namespaces by deletecollection.
            "namespace-controller" if *write.resource.resource != *"namespaces" => {
                Reaction::WithinCall
            }
            _ if self.up == 0 => Reaction::None,
            _ => {
                let seen = self.reactions.entry(write.clone()).or_default();
                *seen += 1;
                if commit.precedes_removal() {
                    return Reaction::WithinCall;
                }
                Reaction::Point(Moment::Environment { write, occurrence: *seen })
            }
        }
    }
}

impl Scan {
    /// For how long the operation at the cursor has been under way.
    fn begun(&self, now: Time) -> Option<Duration> {
        self.began.map(|began| now.since(began))
    }

    /// Counts calls, not commits: a call that makes several revisions is one occurrence.
    fn occurrence(&mut self, action: &CallMatch, call: CallId) -> u32 {
        let (count, last) = self.occurrences.entry(action.clone()).or_default();
        if *last != Some(call) {
            *count += 1;
            *last = Some(call);
        }
        *count
    }
}

#[cfg(test)]
mod tests;
