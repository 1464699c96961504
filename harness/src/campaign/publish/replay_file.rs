//! Writes the replay file of a finding or of a suspicion.

use oracles::{Oracle, Verdict};
use plans::{
    Citation, Expectation, Plan, Replay,
    replay::{ReplaySettings, ReplaySubject},
};
use serde_json::{Value, json};

use super::shown;
use crate::{
    campaign::{
        confirm::{Finding, Unconfirmed},
        elsewhere::{self, Elsewhere},
        run_folder::RunFolder,
        settle::Settle,
        setup::Setup,
    },
    commands::replay::origin,
    config::{
        ClockSpec, ClusterChoice, ClusterSpec, DeterminismSpec, EmbeddedSpec, Horizon, Transport,
    },
    report::by_hand::quoted,
    trial::history_file,
};

/// A replay file.
pub struct ReplayFile {
    /// Where it stands in the run folder.
    pub name: String,
    /// What is in it.
    pub text: String,
    /// The command that carries it out where the user stands.
    pub command: String,
}

/// The replay file of a finding.
pub fn of_finding(
    setup: &Setup,
    settle: &Settle,
    (found, elsewhere): (&Finding, &[Elsewhere]),
    folder: &RunFolder,
) -> ReplayFile {
    let legality = found.citations().collect();
    let mut replay = replay(setup, settle, &found.verdict, &found.plan, legality);
    let on = elsewhere.iter().filter(|on| on.reproduced.0 > 0).map(|on| on.cluster.clone());
    replay.confirmed_on = std::iter::once(elsewhere::named(setup)).chain(on).collect();
    let name = format!("findings/{}/replay.yaml", found.id);
    ReplayFile { command: command(setup, &replay, &name, folder), text: text(&replay), name }
}

/// The replay file of a suspicion, which says that it was not confirmed.
pub fn of_suspicion(
    setup: &Setup,
    settle: &Settle,
    suspected: &Unconfirmed,
    folder: &RunFolder,
) -> ReplayFile {
    let replay = replay(setup, settle, &suspected.verdict, &suspected.plan, vec![]);
    let name = format!("suspicions/{}/replay.yaml", replay.finding);
    let text = format!(
        "# Not confirmed: this plan did not always lead to it, or was not tried again.\n{}",
        text(&replay)
    );
    ReplayFile { command: command(setup, &replay, &name, folder), text, name }
}

/// It names the campaign where the replay file does not lead to it from here: a run folder outside of its repository.
fn command(setup: &Setup, replay: &Replay, name: &str, folder: &RunFolder) -> String {
    let file = folder.path.join(name);
    let campaign = &setup.campaign;
    let leads_back = origin::find(&file, replay)
        .is_ok_and(|origin| origin.folder == campaign.folder && !origin.campaigns.is_empty());
    let command = format!("trommel replay {}", quoted(&shown(&file)));
    match leads_back {
        true => command,
        false => format!("{command} --campaign {}", quoted(&shown(&campaign.path))),
    }
}

fn text(replay: &Replay) -> String {
    serde_saphyr::to_string(replay).expect("a replay is plain data")
}

fn replay(
    setup: &Setup,
    settle: &Settle,
    verdict: &Verdict,
    plan: &Plan,
    legality: Vec<Citation>,
) -> Replay {
    let spec = &setup.campaign.file.spec;
    Replay {
        api_version: plans::replay::API_VERSION.to_owned(),
        kind: "Replay".to_owned(),
        finding: verdict.fingerprint.id(),
        title: verdict.title.clone(),
        expect: Expectation::Finding,
        oracle: verdict.oracle.to_string(),
        fingerprint: verdict.fingerprint.id(),
        plan: plan.clone(),
        schedules: match verdict.oracle {
            Oracle::Model => schedules(setup, plan),
            _ => vec![],
        },
        properties: match verdict.oracle {
            Oracle::Property => setup.properties.for_replay(verdict),
            _ => vec![],
        },
        legality,
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
            deployment: spec.subject.deployment.as_ref().map(|deployment| json!(deployment)),
        },
        confirmed_on: vec![],
        settings: settings(setup, settle),
        manifests: setup.manifests.clone(),
        workload: setup.workload_text.clone(),
        workload_files: setup.workload.files().clone(),
        workload_env: spec.workload.env.clone(),
        workload_hash: setup.workload.hash().to_owned(),
        made_by: history_file::MADE_BY.to_owned(),
    }
}

/// The runs of a model that the plan was to lead along.
fn schedules(setup: &Setup, plan: &Plan) -> Vec<serde_json::Value> {
    let schedules = setup.model_runs.of(plan).iter();
    schedules.map(|one| serde_json::to_value(one).expect("a schedule is plain data")).collect()
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
        ClusterSpec::Kubeconfig(_) | ClusterSpec::Kind(_) => None, // the embedded cluster is where a replay runs
    };
    let determinism = json!(spec.subject.determinism);
    ReplaySettings {
        transport: text(json!(spec.subject.transport), json!(Transport::default())),
        clock: text(json!(spec.subject.clock), json!(ClockSpec::default())),
        service_account: spec.subject.service_account.as_ref().map(|at| at.value.to_string()),
        replicas: Some(spec.subject.replicas).filter(|replicas| *replicas > 1),
        horizon: text(json!(settle.in_replay()), json!(Horizon::Auto)),
        at_most: text(json!(spec.settle)["atMost"].take(), Value::Null),
        determinism: whole(determinism, json!(DeterminismSpec::default())),
        embedded,
        cluster: match &spec.cluster {
            // Where else a pod would run.
            ClusterSpec::Kind(kind) if spec.runs_in_pods() => {
                Some(ClusterChoice::Kind(Some(kind.name.clone())).to_string())
            }
            _ => None,
        },
        accept: spec.accept.clone(),
        heartbeats: spec.heartbeats.clone(),
    }
}
