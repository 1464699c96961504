//! Whether a replay file's plan can be carried out: with its workload, in its campaign's cluster.

use plans::{Moment, OperationShape, Perturbation, Plan, Replay, Surroundings};
use serde::{Deserialize, de::IgnoredAny};
use serde_saphyr::Spanned;
use workloads::{Operation, OperationKind, Workload};

use crate::{
    cli::ReplayArgs,
    config::{Campaign, ClusterSpec, Environment},
    exit::{Exit, Expected},
};

/// Refuses a plan that contradicts itself, or what it would be carried out in.
///
/// # Errors
/// It does: exit 64, with its place.
pub fn check(
    args: &ReplayArgs,
    replay: &Replay,
    campaign: &Campaign,
    workload: &Workload,
) -> anyhow::Result<()> {
    let usage = |index: Option<usize>, why: String| {
        let place = format!("{}{}", args.file.display(), place(args, index).unwrap_or_default());
        Err(Expected::error(Exit::Usage, format!("{place}: plan: {why}")))
    };
    // A model can be parted from without any perturbation.
    if replay.plan.perturbations.is_empty() && !replay.schedules.is_empty() {
        return Ok(());
    }
    if let Some(wrong) = replay.plan.wrong(&surroundings(campaign, workload)) {
        return usage(wrong.at.map(|(index, _)| index), wrong.to_string());
    }
    match missing_replica(args, replay, campaign) {
        Some((index, why)) => usage(Some(index), why),
        None => Ok(()),
    }
}

/// Calls the steps of the workload that a plan names as the workload calls them: who edits a plan writes positions.
pub fn name_steps(plan: &mut Plan, workload: &Workload) {
    for one in &mut plan.perturbations {
        let at = match one {
            Perturbation::Crash(crash) => &mut crash.at,
            Perturbation::StaleState(stale) => &mut stale.crash.at,
            Perturbation::UnobservedState(unobserved) => &mut unobserved.from,
        };
        if let Moment::Step { cursor, after } = at {
            *after = workload.led_to(*cursor).map_or(String::new(), |led| led.title.clone());
        }
    }
}

fn surroundings(campaign: &Campaign, workload: &Workload) -> Surroundings {
    let environment = match &campaign.file.spec.cluster {
        ClusterSpec::Embedded(embedded) => embedded.environment != Environment::None,
        ClusterSpec::Kubeconfig(_) | ClusterSpec::Kind(_) => true,
    };
    Surroundings { operations: workload.operations.iter().map(shape).collect(), environment }
}

fn shape(operation: &Operation) -> OperationShape {
    let documents = operation.documents();
    let steps = match operation.kind {
        OperationKind::Act(_) => documents,
        OperationKind::Sleep(_) | OperationKind::Concurrently(_) => 1,
        OperationKind::Check(_)
        | OperationKind::Settle
        | OperationKind::Restart
        | OperationKind::Run(_) => 0,
    };
    OperationShape { title: operation.title.clone(), documents, steps }
}

/// The first perturbation that kills a replica that there is not.
fn missing_replica(
    args: &ReplayArgs,
    replay: &Replay,
    campaign: &Campaign,
) -> Option<(usize, String)> {
    let replicas = campaign.file.spec.subject.replicas;
    let from = match args.campaign {
        Some(_) => "spec.subject.replicas of the campaign",
        None => "settings.replicas",
    };
    replay.plan.perturbations.iter().enumerate().find_map(|(index, one)| {
        let missing = one.crash()?.member.filter(|member| *member >= replicas)?;
        let why = format!("it kills replica {missing}, counted from 0, but {from} is {replicas}");
        Some((index, why))
    })
}

/// A replay file, as far as it says where its perturbations stand.
#[derive(Deserialize)]
struct Places {
    plan: Spanned<Vec<Spanned<IgnoredAny>>>,
}

/// `:12:5`: where a perturbation of the file stands, or its plan.
fn place(args: &ReplayArgs, index: Option<usize>) -> Option<String> {
    let text = std::fs::read_to_string(&args.file).ok()?;
    let places: Places = serde_saphyr::from_str(&text).ok()?;
    let at = match index {
        Some(index) => places.plan.value.get(index)?.referenced,
        None => places.plan.referenced,
    };
    (at.line() > 0).then(|| format!(":{}:{}", at.line(), at.column()))
}
