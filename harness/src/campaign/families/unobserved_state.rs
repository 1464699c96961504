//! Plans that keep the subject from seeing what is true for a while only, by what happened in an undisturbed run from the
//! beginning, or after a restart.

use plans::{Family, Heuristics, Perturbation, Plan, Schedule, UnobservedState};

use crate::{
    campaign::{frontier::Frontier, reached::Lens, schedule},
    trial::TrialRun,
};

/// The plans that are carried out from the beginning.
pub fn learn(schedule: &Schedule, frontier: &mut Frontier) -> Vec<Plan> {
    let (all, left_out) = suggested(&frontier.lens, schedule, &frontier.lens.heuristics);
    frontier.families.of(Family::UnobservedState).enumerated += all.len() as u64;
    frontier.leave_to_chance(Family::UnobservedState, left_out);
    all.into_iter().map(|interval| Plan::undisturbed().and(interval)).collect()
}

/// One for each interval of this run and each way to end it, and how many were left out because nothing suggests them.
pub fn intervals(lens: &Lens, run: &TrialRun) -> (Vec<Perturbation>, u64) {
    let schedule = schedule::of_run(&lens.footprint, run);
    let (all, left_out) = suggested(lens, &schedule, &Heuristics::learn(&schedule));
    (all.into_iter().map(Perturbation::from).collect(), left_out)
}

/// Those that are likely to matter first; of both the shortest first.
fn suggested(
    lens: &Lens,
    schedule: &Schedule,
    heuristics: &Heuristics,
) -> (Vec<UnobservedState>, u64) {
    let mut all = plans::unobserved_intervals(schedule);
    let suggested = |interval: &UnobservedState| heuristics.suggests_unobserved(interval);
    all.sort_by_key(|interval| !suggested(interval));
    let before = all.len();
    if lens.only_suggested {
        all.retain(suggested);
    }
    let left_out = (before - all.len()) as u64;
    (all, left_out)
}
