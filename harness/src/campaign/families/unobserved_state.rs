//! Plans that keep the subject from seeing what is true for a while only, by what happened in an undisturbed run from the
//! beginning, or after a restart.

use plans::{Family, Heuristics, Perturbation, Plan, Rule, Schedule, UnobservedInterval};
use trace::Cursor;

use crate::{
    campaign::{frontier::Frontier, lens::Lens, order::Score, schedule, setup::Setup},
    trial::TrialRun,
};

/// The plans that are carried out from the beginning.
pub fn learn(setup: &Setup, schedule: &Schedule, frontier: &mut Frontier) -> Vec<(Plan, Score)> {
    let heuristics = frontier.lens.heuristics.clone();
    let found = possible(setup, &frontier.lens, schedule, &heuristics);
    frontier.families.of(Family::UnobservedState).enumerated += found.intervals.len() as u64;
    frontier.families.prune(Family::UnobservedState, Rule::UserWaits, found.across_waits);
    frontier.leave_to_chance(Family::UnobservedState, found.not_suggested);
    let plan = |(interval, cursor): (Perturbation, Cursor)| {
        let plan = Plan::undisturbed().and(interval);
        let score = Score::of(&plan, cursor, &heuristics);
        (plan, score)
    };
    found.intervals.into_iter().map(plan).collect()
}

/// What the subject may never see.
#[derive(Default)]
pub struct Intervals {
    /// One for each interval of a run and each way to end it, and how far the workload is where it begins.
    pub intervals: Vec<(Perturbation, Cursor)>,
    /// Those that can't be had, because the user waits for the subject in between.
    pub across_waits: u64,
    /// Those that were left out because nothing suggests them.
    pub not_suggested: u64,
}

/// In this run.
pub fn intervals(setup: &Setup, lens: &Lens, run: &TrialRun) -> Intervals {
    let schedule = schedule::of_run(&lens.footprint, run);
    possible(setup, lens, &schedule, &Heuristics::learn(&schedule))
}

fn possible(setup: &Setup, lens: &Lens, schedule: &Schedule, heuristics: &Heuristics) -> Intervals {
    let mut all = plans::unobserved_intervals(schedule);
    let before = all.len();
    all.retain(|one| !setup.workload.settles_between(one.earlier, one.later));
    let across_waits = (before - all.len()) as u64;
    let before = all.len();
    let suggested = |one: &UnobservedInterval| heuristics.suggests_unobserved(&one.unobserved);
    if lens.only_suggested {
        all.retain(suggested);
    }
    let not_suggested = (before - all.len()) as u64;
    let intervals = all.into_iter().map(|one| (one.unobserved.into(), one.earlier)).collect();
    Intervals { intervals, across_waits, not_suggested }
}
