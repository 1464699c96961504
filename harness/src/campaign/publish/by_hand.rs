//! What of a finding a person needs to see it again by hand.

use std::path::PathBuf;

use oracles::Evidence;
use plans::{Crash, Moment, Perturbation, StaleRead, UnobservedState, moment::MomentCounter};
use trace::{Cursor, Event, History, StepState};

use crate::{
    campaign::{confirm, setup::Setup},
    report::{
        by_hand::{self, Behind, ByHand, Deployed, Runs, Unseen},
        model,
    },
    trial::RunEnd,
};

/// The steps; none for a plan that disturbs nothing.
pub fn steps(setup: &Setup, found: &confirm::Finding, diff: &[model::ObjectDiff]) -> Vec<String> {
    let spec = &setup.campaign.file.spec;
    let manifests = shown(&spec.manifests);
    let writes: Vec<String> = found.verdict.restart_writes().map(ToString::to_string).collect();
    let common = ByHand {
        manifests: &manifests,
        runs: runs(setup),
        replicas: spec.subject.replicas,
        writes: &writes,
        diff,
        ..ByHand::default()
    };
    let history = &found.shown.history;
    let failed = matches!(found.shown.end, RunEnd::StepFailed(_)).then(|| failed_step(history));
    let common = ByHand { fails: failed.flatten(), ..common };
    if found.plan.perturbations.len() > 1 {
        let several = found.plan.perturbations.len();
        return vec![format!(
            "The plan disturbs the controller {several} times, each at its moment: let the replay file do it."
        )];
    }
    let last = last_difference(found);
    match found.plan.perturbations.last() {
        Some(Perturbation::Crash(crash)) => killed(history, crash, None, last, common),
        Some(Perturbation::StaleState(stale)) => {
            let (caches, until) = (stale.behind.to_string(), stale.catch_up.to_string());
            let read = StaleRead::shown_by(history, &stale.behind);
            let legal = read.legal_on(&stale.behind);
            let behind = Behind { caches: &caches, until: &until, read, servers: &legal.servers };
            killed(history, &stale.crash, Some(behind), last, common)
        }
        Some(Perturbation::UnobservedState(unobserved)) => {
            unseen(history, unobserved, last, common)
        }
        None => vec![],
    }
}

/// How the subject was run.
fn runs(setup: &Setup) -> Runs {
    let subject = &setup.campaign.file.spec.subject;
    match (&subject.deployment, setup.ground.deployment()) {
        (Some(spec), Some(found)) => Runs::Pods(Deployed {
            manifests: shown(&spec.manifests),
            images: spec.images.clone(),
            namespace: found.namespace.clone(),
            name: found.name.clone(),
            container: found.container.clone(),
            replicas: found.replicas,
        }),
        _ => Runs::Process(subject.command.join(" ")),
    }
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn killed(
    history: &History,
    crash: &Crash,
    behind: Option<Behind<'_>>,
    until: Cursor,
    common: ByHand<'_>,
) -> Vec<String> {
    let records = &history.records;
    let disturbed = |event: &Event| matches!(event, Event::Perturbed { .. });
    let split = records.iter().rposition(|record| disturbed(&record.event));
    let (before, after) = records.split_at(split.unwrap_or(records.len()));
    let watched = match &crash.at {
        Moment::Committed { call, .. } => Some(call.resource.to_string()),
        Moment::Request { request, .. } => Some(request.resource.to_string()),
        Moment::Environment { write, .. } => Some(write.resource.to_string()),
        Moment::Step { .. } | Moment::Delivery { .. } | Moment::Settled => None,
    };
    by_hand::steps(&ByHand {
        killed: crash.member,
        before: &done(before, until),
        moment: &crash.at.to_string(),
        watched: watched.as_deref(),
        at_rest: crash.at == Moment::Settled,
        restart: crash.restart.to_string().trim_start_matches("started again "),
        behind,
        after: &done(after, until),
        ..common
    })
}

fn unseen(
    history: &History,
    unobserved: &UnobservedState,
    last_shown: Cursor,
    common: ByHand<'_>,
) -> Vec<String> {
    let end = history.records.len();
    let from = happened(history, &unobserved.from).unwrap_or(end);
    let last = Moment::Delivery { event: unobserved.until.clone() };
    let last = happened(history, &last).unwrap_or(end);
    // The step that makes the last event is done after it.
    let ended = |event: &Event| matches!(event, Event::Step(step) if step.state == StepState::Done);
    let rest = history.records.iter().skip(last);
    let until =
        rest.clone().position(|record| ended(&record.event)).map_or(end, |at| last + at + 1);
    let until = until.max(from);
    by_hand::steps(&ByHand {
        before: &done(&history.records[..from], last_shown),
        watched: Some(&unobserved.until.change.resource.to_string()),
        unseen: Some(Unseen {
            from: &unobserved.from.to_string(),
            until: &unobserved.until.to_string(),
            between: &done(&history.records[from..until], last_shown),
            relist: unobserved.release == plans::Release::Relist,
        }),
        after: &done(&history.records[until..], last_shown),
        ..common
    })
}

/// At which record something happened, counted from the last start of the controller on, as the plan does.
fn happened(history: &History, moment: &Moment) -> Option<usize> {
    let mut counter = MomentCounter::new(moment.clone());
    let started = history.last_start();
    let found = history.records[started..].iter().position(|record| match &record.event {
        Event::Commit(commit) => counter.committed(commit),
        _ => false,
    });
    found.map(|at| started + at)
}

/// The last step that failed, and why.
fn failed_step(history: &History) -> Option<(&str, &str)> {
    history.records.iter().rev().find_map(|record| match &record.event {
        Event::Step(step) => match &step.state {
            StepState::Failed { message, .. } => Some((step.title.as_str(), message.as_str())),
            _ => None,
        },
        _ => None,
    })
}

/// The last settle at which something differs: what comes after it may hide that again.
fn last_difference(found: &confirm::Finding) -> Cursor {
    let cursors = found.verdict.evidence.iter().filter_map(|evidence| match evidence {
        Evidence::Count { cursor, .. } | Evidence::Field { cursor, .. } => Some(*cursor),
        _ => None,
    });
    cursors.max().unwrap_or(Cursor { operation: u32::MAX, document: 0 })
}

/// Titles of the user's steps that were done in these records, up to this place.
fn done(records: &[trace::Record], until: Cursor) -> Vec<String> {
    let titles = records.iter().filter_map(|record| match &record.event {
        Event::Step(step) if step.state == StepState::Done && step.cursor <= until => {
            Some(step.title.clone())
        }
        _ => None,
    });
    titles.collect()
}
