//! Errors that a controller still met when all had settled: it waits for its next try, and what it writes of its state is
//! left as it was.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Commit, Cursor, Event, ObjectKey, ProcessHappening, Settled, StepState};

use super::log;
use crate::{role::starred, run::Run};

/// How often it must have failed in the run so far, in whatever way: once or twice may be a race that the next try mends. The
/// waits between tries grow, so that between two settles there may be no more than one.
const FAILURES_MIN: u32 = 3;

/// What clients say of a conflict (409): the next try is with a newer object.
const CONFLICT: &str = "the object has been modified";

/// At a settle the controller went on failing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failing {
    /// At which settle.
    pub cursor: Cursor,
    /// The step before it, in words; empty if there was none.
    pub step: String,
    /// Which error it logged since its last write, and how often in the run so far.
    pub error: log::LoggedError,
    /// Custom resources in whose status it had written, by folded key.
    pub statuses: BTreeSet<String>,
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log::LoggedError { line, count } = &self.error;
        let after =
            if self.step.is_empty() { String::new() } else { format!(" after {}", self.step) };
        write!(
            f,
            "when all had settled{after}, the controller still failed ({count} times by then): {line}"
        )?;
        if !self.statuses.is_empty() {
            let statuses: Vec<String> = self.statuses.iter().map(|key| starred(key)).collect();
            write!(f, "; the status of {} is not judged there", statuses.join(", "))?;
        }
        Ok(())
    }
}

/// The settles of a run at which its controller went on failing; of each cursor the last one.
pub fn failing(run: &Run) -> Vec<Failing> {
    let (step, before, lines) = Default::default();
    let mut seen = Seen { step, before, lines, statuses: Statuses::of(run) };
    let mut found: BTreeMap<Cursor, Option<Failing>> = BTreeMap::new();
    for record in &run.history.records {
        match &record.event {
            Event::Process(process) if process.actor.is_subject() => {
                if let ProcessHappening::Line { text } = &process.what
                    && !text.contains(CONFLICT)
                {
                    seen.lines.push(text);
                }
            }
            Event::Commit(commit) if !commit.is_bookkeeping() => seen.commit(commit),
            Event::Step(step) if step.state == StepState::Done => seen.step.clone_from(&step.title),
            Event::Settled(settled) => drop(found.insert(settled.cursor, seen.at(run, settled))),
            _ => {}
        }
    }
    found.into_values().flatten().collect()
}

/// What came before a settle.
struct Seen<'r> {
    step: String,
    /// Lines of the controller before its last write.
    before: Vec<&'r str>,
    /// Those since.
    lines: Vec<&'r str>,
    statuses: Statuses<'r>,
}

impl<'r> Seen<'r> {
    fn commit(&mut self, commit: &'r Commit) {
        if commit.actor.is_subject() {
            self.before.append(&mut self.lines);
        }
        self.statuses.commit(commit);
    }

    fn at(&self, run: &Run, settled: &Settled) -> Option<Failing> {
        let last = log::errors(self.lines.iter().copied());
        let all = log::errors(self.before.iter().chain(&self.lines).copied());
        if all.iter().map(|error| error.count).sum::<u32>() < FAILURES_MIN {
            return None;
        }
        let mut still = all.into_iter().filter(|error| last.iter().any(|one| one.is_like(error)));
        let first = still.next()?;
        let error =
            still.fold(first, |one, other| if other.count > one.count { other } else { one });
        let folder = run.folder();
        let statuses = self.statuses.written.iter().map(|key| folder.key(key)).collect();
        Some(Failing { cursor: settled.cursor, step: self.step.clone(), error, statuses })
    }
}

/// Custom resources whose status the controller wrote.
struct Statuses<'r> {
    last: BTreeMap<&'r ObjectKey, &'r Value>,
    written: BTreeSet<&'r ObjectKey>,
}

impl<'r> Statuses<'r> {
    fn of(run: &'r Run) -> Statuses<'r> {
        let last = run.start.iter().map(|(key, object)| (key, &object["status"])).collect();
        Statuses { last, written: BTreeSet::new() }
    }

    fn commit(&mut self, commit: &'r Commit) {
        let status = &commit.object["status"];
        let before = self.last.insert(&commit.key, status).unwrap_or(&Value::Null);
        let is_custom = !commit.key.resource.is_built_in();
        if commit.actor.is_subject() && is_custom && before != status {
            self.written.insert(&commit.key);
        }
    }
}
