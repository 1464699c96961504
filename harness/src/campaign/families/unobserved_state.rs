//! Plans that keep the subject from seeing what is true for a while only, by what happened in an undisturbed run from the
//! beginning, or after a restart.

use plans::{Family, Perturbation, Plan};
use serde_json::Value;
use trace::ObjectKey;

use crate::{
    campaign::{frontier::Frontier, judge, reached::Lens, reference::References},
    trial::TrialRun,
};

/// The plans that are carried out from the beginning.
pub fn learn(references: &References, frontier: &mut Frontier) -> Vec<Plan> {
    let Some(first) = references.runs.first() else { return vec![] };
    let all = intervals(&frontier.lens, first);
    frontier.families.of(Family::UnobservedState).enumerated += all.len() as u64;
    all.into_iter().map(|interval| Plan::undisturbed().and(interval)).collect()
}

/// One for each interval of this run and each way to end it; the shortest first.
pub fn intervals(lens: &Lens, run: &TrialRun) -> Vec<Perturbation> {
    let view = judge::run_view(run);
    let names = view.generated_names();
    let generated = |name: &str| judge::generated_from(&names, name);
    let sees = |key: &ObjectKey, object: &Value| lens.footprint.covers(key, object);
    let intervals = plans::unobserved_intervals(&run.history, &run.before, &sees, &generated);
    intervals.into_iter().map(Perturbation::from).collect()
}
