//! Every pair of changes of one object of which the later cancels the earlier: what was true between them for a while only
//! may never be seen. Which they are, the model says ([`crate::schedule::cancellation`]).

use crate::{
    moment::Moment,
    perturbation::{Release, UnobservedState},
    schedule::Schedule,
};

/// Every such pair of a run from its beginning, with each way to release what was held: fewest changes between them first.
pub fn unobserved_intervals(schedule: &Schedule) -> Vec<UnobservedState> {
    let event = |change: usize| schedule.changes.get(change).map(|change| change.what.clone());
    let pairs = schedule.cancellations.iter();
    let intervals = pairs.filter_map(|pair| {
        let (from, until) = (event(pair.earlier)?, event(pair.later)?);
        Some([Release::Relist, Release::Burst].map(|release| UnobservedState {
            from: Moment::Delivery { event: from.clone() },
            until: until.clone(),
            release,
        }))
    });
    intervals.flatten().collect()
}
