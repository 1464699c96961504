//! `trommel replay`: carries a replay file's plan out again, against the controller that it names or another.

pub mod origin;
pub mod outcome;
mod plan;
mod stale;
mod trust;

use std::{collections::BTreeSet, path::Path};

use oracles::Oracle;
use plans::Replay;
use serde_json::Value;
use workloads::Workload;

use self::outcome::{Expected as Shown, Outcome};
use crate::{
    campaign::{
        confirm, fault,
        model_runs::ModelRuns,
        progress::{Event, Progress, Show},
        properties::Properties,
        reference,
        run_folder::RunFolder,
        setup::{self, Setup},
    },
    cli::ReplayArgs,
    config::{Campaign, ClusterChoice, WorkloadSpec, check_name, reading},
    exit::{Exit, Expected},
    report::plain,
    stdout,
};

/// Runs references, then the plan `repeats` times: 100 reproduced, 0 gone, 2 not all of it happened.
/// A file with `expect: clean` turns nothing around: reproduced is still 100.
pub fn run(args: &ReplayArgs) -> anyhow::Result<Exit> {
    if let Some(flag) = args.command.iter().skip(1).find(|word| is_flag_of_replay(word)) {
        eprintln!(
            "trommel: {flag} stands behind --command and goes to the program; if it is meant for `trommel replay`, write \
             it before --command"
        );
    }
    let mut replay = load(&args.file)?;
    let folder = RunFolder::create(args.out.as_deref(), &format!("replay-{}", replay.finding))?;
    let (mut campaign, known) = campaign(args, &replay, &folder)?;
    campaign.allowed_context.clone_from(&args.allow_context);
    if let Some(cluster) = cluster(args, &replay)? {
        let horizon = known.first().map(|known| known.file.spec.settle.horizon);
        cluster.apply(&mut campaign, horizon);
    }
    let workload = workload(args, &replay, &campaign)?;
    plan::name_steps(&mut replay.plan, &workload);
    plan::check(args, &replay, &campaign, &workload)?;
    trust::check(args, &replay, &campaign, &known, &workload)?;
    let model_runs = model_runs(args, &replay)?;
    let properties = Properties::of_replay(&replay).map_err(|error| {
        Expected::error(Exit::Usage, format!("{}: properties: {error}", args.file.display()))
    })?;
    say_if_stale(&replay, &campaign);
    setup::build(&campaign)?;
    crate::campaign::interrupt::listen()?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut setup = Setup::prepare(campaign, &folder.path, workers)?;
    setup.model_runs = model_runs;
    setup.properties = properties;
    setup.explain(carry_out(&setup, args, &replay, &folder))
}

/// What a replay does once everything is prepared.
fn carry_out(
    setup: &Setup,
    args: &ReplayArgs,
    replay: &Replay,
    folder: &RunFolder,
) -> anyhow::Result<Exit> {
    let progress = Progress::start(Show::detect(args.quiet));
    progress.tell(Event::Phase { name: "undisturbed runs".to_owned(), total: None });
    let restarts = replay.plan.restarts_when_settled();
    let references = reference::learn(setup, folder, &progress, restarts, None)?;
    setup.properties.check_undisturbed(setup, &references)?;
    let total = Some(u64::from(args.repeats));
    progress.tell(Event::Phase { name: "replaying".to_owned(), total });
    let waits = references.settle.usual();
    let runs = confirm::repeated(setup, &replay.plan, args.repeats, waits, &progress);
    progress.finish();
    fault::check()?;
    let shown = Shown::of(replay);
    let outcome = Outcome::of(setup, &shown, &runs, &references.baseline);
    let mut told = format!("{}\n", plain::text(&outcome.sentence(&shown)));
    for other in &outcome.others {
        told.push_str(&format!("  {}\n", plain::text(other)));
    }
    if outcome.exit() == Exit::Unknown {
        for pattern in made_up_names(replay) {
            told.push_str(&format!(
                "  {pattern:?} in the plan means names that the server makes (generateName); if the controller gives the \
                 name now, write that name instead\n"
            ));
        }
    }
    stdout::write(&told);
    setup.clean_up();
    Ok(outcome.exit())
}

/// The cluster that the user names, or the one on which alone the file's controller can run.
///
/// # Errors
/// The file names none that there is: exit 64.
fn cluster(args: &ReplayArgs, replay: &Replay) -> anyhow::Result<Option<ClusterChoice>> {
    if args.cluster.is_some() || args.campaign.is_some() {
        return Ok(args.cluster.clone());
    }
    let of_file = replay.settings.cluster.as_ref().map(|text| text.parse());
    of_file.transpose().map_err(|error: String| {
        let message = format!("{}: settings.cluster: {error}", args.file.display());
        Expected::error(Exit::Usage, message)
    })
}

/// The runs of a model that the file has.
///
/// # Errors
/// They are none: exit 64.
fn model_runs(args: &ReplayArgs, replay: &Replay) -> anyhow::Result<ModelRuns> {
    ModelRuns::of_replay(replay).map_err(|error| {
        Expected::error(Exit::Usage, format!("{}: schedules: {error}", args.file.display()))
    })
}

/// Whether a word of a command line is a flag that `trommel replay` has, too.
fn is_flag_of_replay(word: &str) -> bool {
    let flag = word.split('=').next().unwrap_or_default();
    ReplayArgs::flags().iter().any(|own| own == flag)
}

/// The names in the plan that are patterns, once each.
fn made_up_names(replay: &Replay) -> BTreeSet<String> {
    fn walk(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                let name = fields.get("name").and_then(Value::as_str);
                found.extend(name.filter(|name| name.ends_with('*')).map(str::to_owned));
                fields.values().for_each(|field| walk(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    walk(&serde_json::to_value(&replay.plan).unwrap_or_default(), &mut found);
    found
}

fn load(path: &Path) -> anyhow::Result<Replay> {
    let usage =
        |message: String| Expected::error(Exit::Usage, format!("{}: {message}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| usage(error.to_string()))?;
    let replay: Replay = reading::read(&text, path, "Replay")?;
    for (key, name) in [("finding", &replay.finding), ("campaign", &replay.campaign)] {
        check_name(name).map_err(|what| usage(format!("{key}: {what}")))?;
    }
    if let Some(name) = &replay.campaign_file {
        check_name(name).map_err(|what| usage(format!("campaignFile: {what}")))?;
    }
    serde_json::from_value::<Oracle>(replay.oracle.clone().into())
        .map_err(|error| usage(format!("oracle: {error}")))?;
    let hexadecimal = |digit: char| matches!(digit, '0'..='9' | 'a'..='f');
    if replay.fingerprint.len() != 12 || !replay.fingerprint.chars().all(hexadecimal) {
        return Err(usage(format!(
            "fingerprint: {:?} is none: it has twelve hexadecimal digits; take that of the replay file that Trommel wrote",
            replay.fingerprint
        )));
    }
    Ok(replay)
}

/// The file's workload as it was written out.
///
/// # Errors
/// It is not the one that the file has the hash of: exit 64.
fn workload(args: &ReplayArgs, replay: &Replay, campaign: &Campaign) -> anyhow::Result<Workload> {
    let usage = |message: String| {
        Expected::error(Exit::Usage, format!("{}: {message}", args.file.display()))
    };
    let workload = campaign.workload().map_err(|error| usage(format!("workload: {error}")))?;
    match workload.hash() == replay.workload_hash {
        true => Ok(workload),
        false => Err(usage(format!(
            "the workload is not the one that the finding was made with: its hash is {}, workloadHash says {}; if you \
             changed it yourself, write that hash",
            workload.hash(),
            replay.workload_hash
        ))),
    }
}

/// Says so if the controller is one that nobody builds here, and that the file's build would make anew.
fn say_if_stale(replay: &Replay, campaign: &Campaign) {
    let subject = &campaign.file.spec.subject;
    let (None, Some(build), Some(program)) =
        (&subject.build, &replay.subject.build, subject.command.first())
    else {
        return;
    };
    let program = campaign.resolve(Path::new(program));
    if let Some(sentence) = stale::sentence(&program, &campaign.folder, build) {
        eprintln!("trommel: {}", plain::text(&sentence));
    }
}

/// The campaign that the replay stands for: the file's own, with subject or everything swapped. And those campaigns that
/// are known here.
fn campaign(
    args: &ReplayArgs,
    replay: &Replay,
    folder: &RunFolder,
) -> anyhow::Result<(Campaign, Vec<Campaign>)> {
    // The file's own manifests and workload are written out, so that it needs nothing but the controller.
    let workload = write_workload(replay, folder)?;
    let mut manifests = String::new();
    for manifest in &replay.manifests {
        manifests.push_str("---\n");
        manifests.push_str(&serde_json::to_string(manifest)?);
        manifests.push('\n');
    }
    folder.write("manifests/all.yaml", manifests.as_bytes())?;
    if let Some(path) = &args.campaign {
        let given = Campaign::load(path, None)?;
        let mut campaign = given.clone();
        campaign.file.spec.workload =
            WorkloadSpec { file: workload, env: replay.workload_env.clone() };
        return Ok((campaign, vec![given]));
    }
    let command =
        if args.command.is_empty() { replay.subject.command.clone() } else { args.command.clone() };
    let mut spec = serde_json::json!({
        "subject": { "command": command, "env": replay.subject.env },
        "workload": { "file": workload, "env": replay.workload_env },
    });
    if !replay.manifests.is_empty() {
        spec["manifests"] = serde_json::json!([folder.path.join("manifests/all.yaml")]);
    }
    if let Some(deployment) = &replay.subject.deployment {
        spec["subject"]["deployment"] = deployment.clone();
    }
    let settings = &replay.settings;
    for (of, field, value) in [
        ("subject", "transport", &settings.transport),
        ("subject", "clock", &settings.clock),
        ("subject", "serviceAccount", &settings.service_account),
        ("settle", "horizon", &settings.horizon),
        ("settle", "atMost", &settings.at_most),
    ] {
        if let Some(value) = value {
            spec[of][field] = value.clone().into();
        }
    }
    if let Some(replicas) = settings.replicas {
        spec["subject"]["replicas"] = replicas.into();
    }
    if let Some(determinism) = &settings.determinism {
        spec["subject"]["determinism"] = determinism.clone();
    }
    if let Some(embedded) = &settings.embedded {
        spec["cluster"] = serde_json::json!({ "embedded": embedded });
    }
    spec["accept"] = serde_json::json!(settings.accept);
    spec["heartbeats"] = serde_json::json!(settings.heartbeats);
    if let (Some(build), true) = (&replay.subject.build, args.command.is_empty()) {
        spec["subject"]["build"] = build.clone().into();
    }
    let file = serde_json::json!({
        "apiVersion": plans::replay::API_VERSION,
        "kind": "Campaign",
        "metadata": { "name": replay.campaign },
        "spec": spec,
    });
    // A program given on the command line is relative to where the user stands.
    let (base, known) = match (origin::find(&args.file, replay), args.command.is_empty()) {
        (Ok(origin), true) => (origin.folder, origin.campaigns),
        (Err(nowhere), true) => return Err(nowhere),
        (origin, false) => (".".into(), origin.map_or(vec![], |origin| origin.campaigns)),
    };
    let campaign = Campaign {
        file: serde_json::from_value(file).map_err(|error| {
            let file = args.file.display();
            Expected::error(Exit::Usage, format!("{file}: settings: {error}"))
        })?,
        path: std::path::absolute(&args.file)?,
        folder: std::path::absolute(base)?,
        allowed_context: None,
    };
    Ok((campaign, known))
}

/// Writes the workload and the files that it names, deep enough for paths that lead upwards.
fn write_workload(replay: &Replay, folder: &RunFolder) -> anyhow::Result<std::path::PathBuf> {
    let upwards = |path: &String| {
        Path::new(path).components().filter(|part| part.as_os_str() == "..").count()
    };
    let depth = replay.workload_files.keys().map(upwards).max().unwrap_or(0);
    let below = format!("workload{}", "/below".repeat(depth));
    folder.write(&format!("{below}/workload.yaml"), replay.workload.as_bytes())?;
    for (path, text) in &replay.workload_files {
        if Path::new(path).is_absolute() {
            continue; // it names a file of the machine, not of the test
        }
        folder.write(&format!("{below}/{path}"), text.as_bytes())?;
    }
    Ok(folder.path.join(below).join("workload.yaml"))
}
