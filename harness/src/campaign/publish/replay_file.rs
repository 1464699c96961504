//! Writes a finding's replay file.

use plans::{
    Expectation, Replay,
    replay::{ReplaySettings, ReplaySubject},
};
use serde_json::{Value, json};

use super::shown;
use crate::{
    campaign::{confirm::Finding, run_folder::RunFolder, settle::Settle, setup::Setup},
    commands::replay::origin,
    config::{ClockSpec, ClusterSpec, DeterminismSpec, EmbeddedSpec, Horizon, Transport},
    report::by_hand::quoted,
    trial::history_file,
};

/// Where the replay file of a finding stands in the run folder.
pub fn name(found: &Finding) -> String {
    format!("findings/{}/replay.yaml", found.id)
}

/// The command that reproduces a finding where the user stands. It names the campaign where the replay file does not lead
/// to it from here: a run folder outside of its repository.
pub fn command(setup: &Setup, settle: &Settle, found: &Finding, folder: &RunFolder) -> String {
    let file = folder.path.join(name(found));
    let campaign = &setup.campaign;
    let leads_back = origin::find(&file, &replay(setup, settle, found))
        .is_ok_and(|origin| origin.folder == campaign.folder && !origin.campaigns.is_empty());
    let command = format!("trommel replay {}", quoted(&shown(&file)));
    match leads_back {
        true => command,
        false => format!("{command} --campaign {}", quoted(&shown(&campaign.path))),
    }
}

/// The replay file of a finding.
pub fn text(setup: &Setup, settle: &Settle, found: &Finding) -> String {
    let replay = replay(setup, settle, found);
    serde_saphyr::to_string(&replay).expect("a replay is plain data")
}

fn replay(setup: &Setup, settle: &Settle, found: &Finding) -> Replay {
    let spec = &setup.campaign.file.spec;
    Replay {
        api_version: plans::replay::API_VERSION.to_owned(),
        kind: "Replay".to_owned(),
        finding: found.id.clone(),
        title: found.verdict.title.clone(),
        expect: Expectation::Finding,
        oracle: found.verdict.oracle.to_string(),
        fingerprint: found.verdict.fingerprint.id(),
        plan: found.plan.clone(),
        legality: found.citations().collect(),
        campaign: setup.campaign.name().to_owned(),
        folder: super::portable(&setup.campaign.folder),
        campaign_file: setup
            .campaign
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .map(str::to_owned),
        subject: ReplaySubject {
            build: spec.subject.build.clone(),
            command: spec.subject.command.clone(),
            env: spec.subject.env.clone(),
        },
        settings: settings(setup, settle),
        manifests: setup.manifests.clone(),
        workload: setup.workload_text.clone(),
        workload_files: setup.workload.files().clone(),
        workload_env: spec.workload.env.clone(),
        workload_hash: setup.workload.hash().to_owned(),
        made_by: history_file::MADE_BY.to_owned(),
    }
}

/// What a replay needs of the campaign besides subject, manifests and workload.
fn settings(setup: &Setup, settle: &Settle) -> ReplaySettings {
    let spec = &setup.campaign.file.spec;
    // Values at their default are not written.
    let text = |value: Value, default: Value| match value {
        Value::String(text) if text != default => Some(text),
        _ => None,
    };
    let whole = |value: Value, default: Value| Some(value).filter(|value| *value != default);
    let embedded = match &spec.cluster {
        ClusterSpec::Embedded(embedded) => {
            let embedded = embedded.with_stage_texts(&setup.campaign);
            whole(json!(embedded), json!(EmbeddedSpec::default()))
        }
        ClusterSpec::Kubeconfig(_) => None, // the embedded cluster is where a replay runs
    };
    let determinism = json!(spec.subject.determinism);
    ReplaySettings {
        transport: text(json!(spec.subject.transport), json!(Transport::default())),
        clock: text(json!(spec.subject.clock), json!(ClockSpec::default())),
        service_account: spec.subject.service_account.as_ref().map(|at| at.value.to_string()),
        replicas: Some(spec.subject.replicas).filter(|replicas| *replicas > 1),
        horizon: text(json!(settle.in_replay()), json!(Horizon::Auto)),
        determinism: whole(determinism, json!(DeterminismSpec::default())),
        embedded,
        accept: spec.accept.clone(),
        heartbeats: spec.heartbeats.clone(),
    }
}
