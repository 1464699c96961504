//! The schedule model: what a run of the subject consists of, and what of it could have come in another order, late, or
//! never.
//!
//! Plain data: positions, no references, nothing that needs a history or a cluster beside it. It is learnt from
//! undisturbed runs; a trace of a formal model can say the same, and what it does not know stays empty. Families of
//! perturbations take from it what is possible for a subject.
//!
//! **One run is the model.** Changes, writes, deliveries and everything that points at them are those of one history:
//! positions of two runs mean nothing to each other, and that runs come to the same is the baseline's business. Of other
//! undisturbed runs only what the subject reads is added ([`Schedule::add_reads`]): which caches it has, and which of
//! them can be behind, holds for every run, and a type that only some runs read can be behind in those.
//!
//! **Two orders.** `at` is the one order in which all was recorded. The causal order is smaller: before each write had
//! come what [`Written::known`] says, and only the writes in [`Written::concurrent`] were under way together with it.
//! What somebody else did and of which no event had come may as well have come after it, unless a list or get of before
//! showed it: answers to reads are no part of the causal order yet.

pub mod cancellation;
pub mod causality;
mod changes;
mod deliveries;
mod reads;
mod reconciles;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Cursor, DeliveryKind, Event, GroupResource, History, ObjectKey, ProcessHappening};

pub use self::{
    cancellation::Cancellation,
    reads::{FirstRead, Reading, Scope, is_streamed_list},
};
use crate::{
    moment::{CallMatch, Occurred},
    stale_views::Part,
};

/// What can be interleaved. See the module's documentation; every position is one in the list that its field names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Schedule {
    /// How the subject looks at each type that it lists or watches, without bookkeeping.
    pub types: BTreeMap<GroupResource, Reading>,
    /// When the subject was started.
    pub starts: Vec<u64>,
    /// When all was quiet: nothing happens any more by itself before time passes or the user acts.
    pub quiet: Vec<u64>,
    /// What happened to objects, by anybody, without bookkeeping.
    pub changes: Vec<Changed>,
    /// The subject's writes that changed something, in the order in which they were committed.
    pub writes: Vec<Written>,
    /// The subject's gets, lists and watches, without bookkeeping.
    pub reads: Vec<Asked>,
    /// Events that came to the subject's watches, without bookmarks and bookkeeping.
    pub deliveries: Vec<Delivered>,
    /// Inferred; nothing relies on them.
    pub reconciles: Vec<Reconcile>,
    /// Which changes take back which, as far as the subject watches them: fewest changes between them first.
    pub cancellations: Vec<Cancellation>,
}

/// A change of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Changed {
    /// Its place in the one order.
    pub at: u64,
    /// What happened, by whom, and which time.
    pub what: Occurred,
    /// What an update changes: see [`Part`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// How far the workload was.
    pub cursor: Cursor,
    /// Whether the subject can tell the state after it from the one before: it sees the object in one of them, and they
    /// say different things. Older states that differ in other changes only are one state to it.
    pub apart: bool,
}

/// A write of the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Written {
    /// The request.
    pub call: CallMatch,
    /// What it changed, in `changes`: one object, or all those of a deletecollection.
    pub changes: Vec<usize>,
    /// When the request had been received.
    pub sent: u64,
    /// When its answer had been handed over; none if it never was.
    pub answered: Option<u64>,
    /// What had been delivered to its sender since that was started, in `deliveries`.
    pub known: Range<usize>,
    /// Writes committed earlier that were under way together with it, in `writes`: they may come later, or not at all.
    pub concurrent: Vec<usize>,
}

/// A get, list or watch of the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    /// When the request had been received.
    pub at: u64,
    /// The request.
    pub call: CallMatch,
}

/// A watch event that came to the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delivered {
    /// When it came.
    pub at: u64,
    /// What it says.
    pub kind: DeliveryKind,
    /// Of which type its object is.
    pub resource: GroupResource,
    /// `namespace/name` or `name` of its object, generated names by what they begin with.
    pub object: String,
    /// The change that made the state which it shows, in `changes`; none if that was there before the run, or changed
    /// bookkeeping only.
    pub change: Option<usize>,
}

/// What looks like one reconcile; the rule stands in the module [`reconciles`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reconcile {
    /// Its first request.
    pub from: u64,
    /// Its last one.
    pub to: u64,
    /// What had come since the first request of the one before, in `deliveries`: its cause is one of these, or time.
    pub told: Range<usize>,
    /// What it asked for, in `reads`.
    pub reads: Range<usize>,
    /// What it wrote, in `writes`, in the order in which it was sent.
    pub writes: Vec<usize>,
}

/// A run that a model is learnt from.
#[derive(Clone, Copy)]
pub struct Observed<'r> {
    /// All that happened.
    pub history: &'r History,
    /// The objects at its start.
    pub before: &'r [(ObjectKey, Arc<Value>)],
    /// How far the workload was at its start.
    pub cursor: Cursor,
    /// Whether the subject sees an object that looks like this.
    pub sees: &'r dyn Fn(&ObjectKey, &Value) -> bool,
    /// The `generateName` prefix of a generated name.
    pub generated: &'r dyn Fn(&str) -> Option<String>,
}

impl Schedule {
    /// The model that this run is.
    pub fn learn(run: &Observed<'_>) -> Schedule {
        let types = reads::readings(run.history, run.generated);
        let changes = changes::changes(run);
        let cancellations = cancellation::cancellations(&changes.lives, &types);
        let deliveries = deliveries::deliveries(run, &changes);
        let mut schedule = Schedule {
            starts: starts(run.history),
            quiet: quiet(run.history),
            writes: causality::written(run, &changes, &deliveries),
            reads: reads::reads(run.history, run.generated),
            changes: changes.all,
            types,
            deliveries,
            cancellations,
            reconciles: vec![],
        };
        schedule.reconciles = reconciles::reconciles(&schedule);
        schedule
    }

    /// Adds what the subject reads in another undisturbed run. The most that any run allows counts.
    pub fn add_reads(&mut self, other: &Observed<'_>) {
        for (resource, reading) in reads::readings(other.history, other.generated) {
            self.types.entry(resource).or_default().add(&reading);
        }
    }
}

fn starts(history: &History) -> Vec<u64> {
    let started = history.records.iter().filter(|record| match &record.event {
        Event::Process(process) => {
            process.actor.is_subject() && matches!(process.what, ProcessHappening::Started { .. })
        }
        _ => false,
    });
    started.map(|record| record.sequence).collect()
}

/// The clock jumps, and a state counts as settled, only when all is quiet. Of several such moments with nothing in
/// between the first.
fn quiet(history: &History) -> Vec<u64> {
    let mut quiet = Vec::new();
    let mut stirred = true;
    for record in &history.records {
        match &record.event {
            Event::Clock { .. } | Event::Settled(_) if std::mem::take(&mut stirred) => {
                quiet.push(record.sequence);
            }
            Event::Call(_) | Event::Commit(_) | Event::Delivery(_) | Event::Process(_) => {
                stirred = true;
            }
            _ => {}
        }
    }
    quiet
}

#[cfg(test)]
mod tests;
