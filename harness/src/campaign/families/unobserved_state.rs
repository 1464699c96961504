//! Plans that keep the subject from seeing what is true for a while only, by what happened in an undisturbed run from the
//! beginning, or after a restart.

use plans::{Family, Perturbation, Plan, Schedule};

use crate::{
    campaign::{frontier::Frontier, reached::Lens, schedule},
    trial::TrialRun,
};

/// The plans that are carried out from the beginning.
pub fn learn(schedule: &Schedule, frontier: &mut Frontier) -> Vec<Plan> {
    let all = plans::unobserved_intervals(schedule);
    frontier.families.of(Family::UnobservedState).enumerated += all.len() as u64;
    all.into_iter().map(|interval| Plan::undisturbed().and(interval)).collect()
}

/// One for each interval of this run and each way to end it; the shortest first.
pub fn intervals(lens: &Lens, run: &TrialRun) -> Vec<Perturbation> {
    let schedule = schedule::of_run(&lens.footprint, run);
    plans::unobserved_intervals(&schedule).into_iter().map(Perturbation::from).collect()
}
