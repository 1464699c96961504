//! Plans that keep the subject from seeing what is true for a while only, by what happened in an undisturbed run.

use plans::Plan;
use serde_json::Value;
use trace::ObjectKey;

use crate::{
    campaign::{judge, reached::Lens},
    trial::TrialRun,
};

/// One for each interval of this run and each way to end it; the shortest first.
pub fn plans(lens: &Lens, run: &TrialRun) -> Vec<Plan> {
    let view = judge::run_view(run);
    let names = view.generated_names();
    let generated = |name: &str| judge::generated_from(&names, name);
    let sees = |key: &ObjectKey, object: &Value| lens.footprint.covers(key, object);
    let intervals = plans::unobserved_intervals(&run.history, &run.before, &sees, &generated);
    intervals.into_iter().map(|interval| Plan::undisturbed().and(interval)).collect()
}
