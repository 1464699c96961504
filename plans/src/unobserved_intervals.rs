//! Every pair of changes of one object of which the later cancels the earlier: what was true between them for a while only
//! may never be seen. Which they are, the model says ([`crate::schedule::cancellation`]).

use trace::Cursor;

use crate::{
    moment::Moment,
    perturbation::{Release, UnobservedState},
    schedule::Schedule,
};

/// What may never be seen, and where in the workload it is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnobservedInterval {
    /// From which event to which, and how the subject learns of it then.
    pub unobserved: UnobservedState,
    /// How far the workload was at the earlier event.
    pub earlier: Cursor,
    /// How far it was at the later one.
    pub later: Cursor,
}

/// Every such pair of a run from its beginning, with each way to release what was held: fewest changes between them first.
pub fn unobserved_intervals(schedule: &Schedule) -> Vec<UnobservedInterval> {
    let changed = |change: usize| schedule.changes.get(change);
    let pairs = schedule.cancellations.iter();
    let intervals = pairs.filter_map(|pair| {
        let (from, until) = (changed(pair.earlier)?, changed(pair.later)?);
        Some([Release::Relist, Release::Burst].map(|release| UnobservedInterval {
            unobserved: UnobservedState {
                from: Moment::Delivery { event: from.what.clone() },
                until: until.what.clone(),
                release,
            },
            earlier: from.cursor,
            later: until.cursor,
        }))
    });
    intervals.flatten().collect()
}
