//! Reconciles, inferred from what comes and goes.
//!
//! A reconcile is a longest run of the subject's gets and writes between two boundaries. A boundary is a moment at which
//! all was quiet, a start of the subject, or the delivery of a change that somebody else made (or of which that is not
//! known). Deliveries of the subject's own writes are none: they come back in the middle of a reconcile. Lists and
//! watches are mostly those of caches: they belong to a reconcile where they lie between its other requests, and make
//! none. Requests that changed nothing, and are no reads, count for nothing.
//!
//! This is a guess, because nothing in the traffic names a reconcile. Several workers, or several keys in a queue with
//! nothing in between, are one here; a reconcile that sleeps, or in whose middle somebody else's change comes, is two.
//! So it is shown, and nothing is left out because of it.

use trace::Verb;

use super::{Reconcile, Schedule};
use crate::moment::By;

/// Something that matters here, and its place in the list of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Boundary,
    Delivery(usize),
    Read(usize),
    Write(usize),
}

/// In order of their first request.
pub(super) fn reconciles(schedule: &Schedule) -> Vec<Reconcile> {
    let mut found: Vec<Reconcile> = Vec::new();
    let mut open = false;
    let (mut told, mut delivered, mut asked) = (0, 0, 0);
    for (at, mark) in marks(schedule) {
        match mark {
            Mark::Boundary => open = false,
            Mark::Delivery(index) => {
                delivered = index + 1;
                open &= is_own(schedule, index);
            }
            Mark::Read(index) if schedule.reads[index].call.verb != Verb::Get => asked = index + 1,
            Mark::Read(_) | Mark::Write(_) => {
                let first = asked;
                if let Mark::Read(index) = mark {
                    asked = index + 1;
                }
                if !std::mem::replace(&mut open, true) {
                    let told = std::mem::replace(&mut told, delivered)..delivered;
                    let (reads, writes) = (first..first, vec![]);
                    found.push(Reconcile { from: at, to: at, told, reads, writes });
                }
                let Some(last) = found.last_mut() else { continue };
                last.to = at;
                match mark {
                    Mark::Write(index) => last.writes.push(index),
                    _ => last.reads.end = asked,
                }
            }
        }
    }
    found
}

fn marks(schedule: &Schedule) -> Vec<(u64, Mark)> {
    let boundaries = schedule.quiet.iter().chain(&schedule.starts);
    let deliveries = schedule.deliveries.iter().map(|delivery| delivery.at).enumerate();
    let reads = schedule.reads.iter().map(|read| read.at).enumerate();
    let writes = schedule.writes.iter().map(|write| write.sent).enumerate();
    let mut marks: Vec<(u64, Mark)> = boundaries.map(|at| (*at, Mark::Boundary)).collect();
    marks.extend(deliveries.map(|(index, at)| (at, Mark::Delivery(index))));
    marks.extend(reads.map(|(index, at)| (at, Mark::Read(index))));
    marks.extend(writes.map(|(index, at)| (at, Mark::Write(index))));
    marks.sort();
    marks
}

/// Whether a delivery shows what the subject did.
fn is_own(schedule: &Schedule, delivery: usize) -> bool {
    let change = schedule.deliveries[delivery].change.and_then(|at| schedule.changes.get(at));
    change.is_some_and(|change| change.what.change.by == Some(By::Subject))
}
