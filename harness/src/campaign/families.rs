//! What each family can do to a subject, worked out while a campaign explores: a file a family below this one, and the
//! list of them here.

pub mod intermediate_state;
pub mod stale_state;
pub mod unobserved_state;

use plans::{Family, Heuristics, Plan};

use crate::config::HeuristicsSpec;

use super::{frontier::Frontier, order::Score, reference::References, schedule, setup::Setup};

/// Takes in what the model of the undisturbed runs tells of the families that are asked for. Gives the plans that are
/// carried out from the beginning.
pub fn learn(
    setup: &Setup,
    references: &References,
    frontier: &mut Frontier,
) -> Vec<(Plan, Score)> {
    let mut plans = Vec::new();
    let schedule = schedule::of_references(&frontier.lens.footprint, &references.runs);
    let asked = &setup.campaign.file.spec.families;
    let only = setup.campaign.file.spec.heuristics == HeuristicsSpec::Sieve;
    frontier.suggest(Heuristics::learn(&schedule), only);
    for family in Family::ALL.iter().filter(|family| asked.contains(family)) {
        match family {
            Family::IntermediateState => {
                plans.extend(intermediate_state::learn(setup, references, frontier));
            }
            Family::StaleState => {
                stale_state::learn(&schedule, frontier);
                plans.extend(stale_state::from_beginning(setup, references, frontier));
            }
            Family::UnobservedState => {
                plans.extend(unobserved_state::learn(setup, &schedule, frontier));
            }
        }
    }
    plans
}
