//! What of a finding a person needs to see it again by hand.

use plans::{Moment, Perturbation};
use trace::Event;

use crate::{
    campaign::{confirm, setup::Setup},
    report::{by_hand, model},
};

/// The steps; none for families that have no recipe for two hands yet.
pub fn steps(setup: &Setup, found: &confirm::Finding, diff: &[model::ObjectDiff]) -> Vec<String> {
    let spec = &setup.campaign.file.spec;
    let manifests: Vec<String> =
        spec.manifests.iter().map(|path| path.display().to_string()).collect();
    let mut titles = Vec::new();
    let mut split = None;
    for record in &found.shown.history.records {
        match &record.event {
            Event::Step(step) if step.state == trace::StepState::Done => {
                titles.push(step.title.clone());
            }
            Event::Perturbed { .. } => split = Some(titles.len()),
            _ => {}
        }
    }
    let (before, after) = titles.split_at(split.unwrap_or(titles.len()));
    let last = found.plan.perturbations.last();
    let Some(Perturbation::Crash(crash)) = last else { return vec![] };
    let watched = match &crash.at {
        Moment::Committed { call, .. } => Some(call.resource.to_string()),
        Moment::Environment { write, .. } => Some(write.resource.to_string()),
        Moment::Step { .. } | Moment::Delivery { .. } | Moment::Settled => None,
    };
    let writes: Vec<String> = found.verdict.restart_writes().map(ToString::to_string).collect();
    by_hand::steps(&by_hand::ByHand {
        manifests: &manifests,
        command: &spec.subject.command.join(" "),
        replicas: spec.subject.replicas,
        killed: crash.member,
        before,
        moment: &crash.at.to_string(),
        watched: watched.as_deref(),
        at_rest: crash.at == Moment::Settled,
        writes: &writes,
        restart: crash.restart.to_string().trim_start_matches("started again "),
        after,
        diff,
    })
}
