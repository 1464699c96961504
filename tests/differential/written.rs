//! The scripts written by hand: each alone in its namespace, all at the same time.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;
use tokio::task::JoinSet;
use trommel_tests::{Need, needs, product::yaml, real::Cluster, root};

use crate::{
    accepted::{Accepted, folder},
    arm::{Arm, Arms},
    form::comparable,
    hooks::Hooks,
    run::{Transcript, run_with},
    script::{Authorization, Script},
};

/// Differences shown of one script.
const SHOWN_AT_MOST: usize = 12;

/// Only scripts whose name contains this, for work on one of them.
const ONLY: &str = "TROMMEL_DIFFERENTIAL_ONLY";

fn scripts() -> Vec<(String, Script)> {
    let only = std::env::var(ONLY).unwrap_or_default();
    let folder = folder().join("scripts");
    let entries = std::fs::read_dir(&folder).expect("the scripts are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let script = serde_json::from_value(yaml(path));
            (name, script.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        })
        .filter(|(name, _)| name.contains(&only))
        .collect()
}

#[test]
fn written_scripts_get_the_same_answers() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let home = root().join("target/tests/differential-written");
    let (mounting, plain): (Vec<_>, Vec<_>) =
        scripts().into_iter().partition(|(_, script)| script.service_accounts);
    let mut reports = compare_all(plain, &home, &[]);
    reports.extend(compare_all(mounting, &home.join("accounts"), &["--service-accounts"]));
    reports.sort();
    write_all(&home.join("differences.txt"), &reports);
    judge(&reports, &open());
    if std::env::var_os(ONLY).is_none() {
        let accepted = Accepted::read();
        let used: Vec<usize> = reports.iter().flat_map(|report| report.used.clone()).collect();
        assert_eq!(accepted.unused(&used), Vec::<String>::new(), "rows that accept nothing");
    }
}

/// Carries scripts out side by side, on a real server started with these arguments and on embedded ones.
fn compare_all(scripts: Vec<(String, Script)>, home: &Path, arguments: &[&str]) -> Vec<Report> {
    if scripts.is_empty() {
        return vec![];
    }
    let cluster = Cluster::start(home, arguments);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let replies = scripts.iter().map(|(name, script)| (name.clone(), script.webhooks.clone()));
    let hooks = runtime.block_on(async { Hooks::serve(replies.collect()) });
    let arms = Arc::new(Arms { real: Arm::real(&cluster), world: Arm::empty_world() });
    let accepted = Arc::new(Accepted::read());
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for (name, script) in scripts {
            tasks.spawn(compare(name, script, arms.clone(), accepted.clone(), hooks.clone()));
        }
        tasks.join_all().await
    })
}

/// How many differences of a script are known and not mended yet: the numbers of `open.yaml`, which may
/// only go down.
fn open() -> BTreeMap<String, usize> {
    let path = folder().join("open.yaml");
    serde_json::from_value(yaml(&path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn judge(reports: &[Report], open: &BTreeMap<String, usize>) {
    let mut wrong = Vec::new();
    for report in reports {
        let (found, known) =
            (report.differences.len(), open.get(&report.name).copied().unwrap_or(0));
        let shown: Vec<&str> =
            report.differences.iter().take(SHOWN_AT_MOST).map(String::as_str).collect();
        if found > known {
            let head =
                format!("{}: {}: {found} differences, {known} known", report.name, report.about);
            wrong.push(format!("{head}\n{}", shown.join("\n")));
        } else if found < known {
            wrong.push(format!(
                "{}: only {found} differences are left: lower its number in open.yaml",
                report.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// All differences, for whoever mends them.
fn write_all(path: &Path, reports: &[Report]) {
    let text: Vec<String> = reports
        .iter()
        .map(|report| {
            format!(
                "{}: {}\n{}\n",
                report.name,
                report.differences.len(),
                report.differences.join("\n")
            )
        })
        .collect();
    std::fs::write(path, text.join("\n")).expect("the report can be written");
}

/// What came of a script.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Report {
    name: String,
    about: String,
    /// Differences that are not accepted.
    differences: Vec<String>,
    /// Rows that accepted something.
    used: Vec<usize>,
}

/// What one arm answered, and then what it asked the script's webhooks.
async fn entries(script: &Script, arm: &Arm, name: &str, hooks: &Hooks) -> Vec<Value> {
    let mut known = Transcript::default();
    known.answered("hooks", hooks.references(arm.name, name));
    let mut entries = run_with(script, arm, name, known).await.entries;
    entries.extend(hooks.seen(arm.name, name));
    // The arm is part of the URL that errors show.
    let text =
        Value::Array(entries).to_string().replace(&format!("/{}/{name}/", arm.name), "/arm/");
    serde_json::from_str(&text).expect("what was JSON is JSON")
}

async fn compare(
    name: String,
    script: Script,
    arms: Arc<Arms>,
    accepted: Arc<Accepted>,
    hooks: Hooks,
) -> Report {
    let mut world = arms.world.clone();
    if script.authorization == Authorization::Rbac {
        world.enforce_rbac();
    }
    if script.service_accounts {
        world.mount_service_accounts();
    }
    let embedded = Arm::embedded(&world);
    let (real, embedded) = tokio::join!(
        entries(&script, &arms.real, &name, &hooks),
        entries(&script, &embedded, &name, &hooks)
    );
    let (real, embedded) = (comparable(&real), comparable(&embedded));
    let mut used = Vec::new();
    let found = accepted.judge(&real, &embedded, &mut used);
    let differences = found.iter().map(ToString::to_string).collect();
    Report { name, about: format!("{} ({})", script.about, script.source), differences, used }
}
