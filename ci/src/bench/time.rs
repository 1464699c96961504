//! Figures of quiet and of virtual time: 40,000 seconds of a leader, reports of quiet held against programs that log
//! their own work, and how alike repeated runs are.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::{
    campaigns::out_folder,
    run::{Runner, works},
    table,
};

/// Events that each runtime's program handles.
const EVENTS: u32 = 10_000;
/// Runs that are compared with each other.
const RUNS: u32 = 200;
/// Campaigns whose undisturbed runs are compared: name, file, what it needs.
const ALIKE: [(&str, &str, &[&str]); 6] = [
    ("kube-rs", "examples/bar-foo/campaign.yaml", &[]),
    ("client-go", "examples/sample-controller/campaign.yaml", &["go", "version"]),
    ("controller-runtime", "tests/campaigns/go-bar-foo/campaign.yaml", &["go", "version"]),
    ("controller-runtime, in turn", "tests/campaigns/go-bar-foo/in-turn.yaml", &["go", "version"]),
    ("fabric8", "tests/subjects/java-timers/campaign/alike.yaml", &["mvn", "--version"]),
    ("kopf", "tests/campaigns/python-bar-foo/campaign.yaml", &["python3", "--version"]),
];

/// What `trommel play` prints.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Played {
    own_cpu_seconds: f64,
    different_by_writes: usize,
    different_by_requests: usize,
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    end: String,
    real_seconds: f64,
    subject_cpu_seconds: f64,
    virtual_seconds: f64,
    jumps: usize,
    requests: usize,
}

/// What `subject/examples/truth.rs` prints.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Truth {
    events: u32,
    too_early: u32,
    /// The same on one processor, with a clock that is moved.
    too_early_in_trials: u32,
    median_ms: f64,
    p99_ms: f64,
    maximum_ms: f64,
    waiting_percent: f64,
}

/// Measures and prints all of it.
///
/// # Errors
/// A program that can't be run, or that says something else than figures.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    if works(&["go", "version"]) {
        println!("\n{}", long_run(runner)?);
        runner.pass();
    } else {
        runner.skip("40,000 virtual seconds", "go is not on this machine");
    }
    let truths = truths(runner)?;
    println!("\n{}", table::markdown(TRUTH_HEAD, &truths));
    let alike = alike(runner)?;
    println!("\n{}", table::markdown(ALIKE_HEAD, &alike));
    Ok(())
}

fn play(runner: &Runner, campaign: &str, repeats: u32) -> anyhow::Result<Played> {
    let folder = out_folder(runner, "bench-played")?;
    let mut command = Command::new(runner.binaries.join("trommel"));
    command.current_dir(&runner.root).args(["play", campaign, "-k", &repeats.to_string()]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    command
        .args(["--workers", &cores, "--out"])
        .arg(&folder)
        .stderr(std::process::Stdio::inherit());
    let output = command.output().context("cannot start trommel")?;
    ensure!(output.status.success(), "{campaign}: {}", output.status);
    let told: Played = serde_json::from_slice(&output.stdout)?;
    for run in &told.runs {
        ensure!(run.end == "completed", "{campaign}: {}", run.end);
    }
    Ok(told)
}

fn long_run(runner: &Runner) -> anyhow::Result<String> {
    let told = play(runner, "tests/subjects/go-timers/campaign/leader.yaml", 1)?;
    let run = told.runs.first().context("a run")?;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let per = |seconds: f64| format!("{:.0}", seconds * 1e6 / run.jumps as f64);
    let rows = [
        row("virtual seconds", format!("{:.0}", run.virtual_seconds)),
        row("real seconds", format!("{:.1}", run.real_seconds)),
        row("jumps of the clock", run.jumps.to_string()),
        row("requests", run.requests.to_string()),
        row("real time a jump, µs", per(run.real_seconds)),
        row("CPU of Trommel a jump, µs", per(told.own_cpu_seconds)),
        row("CPU of the controller a jump, µs", per(run.subject_cpu_seconds)),
    ];
    Ok(table::markdown(&["client-go, leader-elected, 10 h resync", "figure"], &rows))
}

const TRUTH_HEAD: &[&str] = &[
    "quiet",
    "events",
    "too early",
    "as in trials",
    "median, ms",
    "99 %, ms",
    "maximum, ms",
    "waiting, % of a core",
];

/// Programs that log their own work, one a runtime that is here.
fn truths(runner: &mut Runner) -> anyhow::Result<Vec<Vec<String>>> {
    let folder = runner.root.join("subject/examples/truth");
    let build = ["build", "--release", "--quiet", "--package", "trommel-subject", "--examples"];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).current_dir(&runner.root).args(build).status()?;
    ensure!(built.success(), "the examples of trommel-subject do not build");
    let scratch = out_folder(runner, "bench-truth")?;
    fs::create_dir_all(&scratch)?;
    let text = |path: &Path| path.display().to_string();
    let examples = runner.binaries.join("examples");
    let go = text(&scratch.join("watcher"));
    let go_source = text(&folder.join("watcher.go"));
    let programs: [(&str, &[&str], Vec<String>); 5] = [
        ("Go", &["go", "build", "-o", &go, &go_source], vec![go.clone()]),
        ("Rust (tokio)", &["true"], vec![text(&examples.join("watcher"))]),
        (
            "CPython",
            &["python3", "--version"],
            vec!["python3".into(), text(&folder.join("watcher.py"))],
        ),
        ("Java", &["java", "-version"], vec!["java".into(), text(&folder.join("Watcher.java"))]),
        ("Node", &["node", "--version"], vec!["node".into(), text(&folder.join("watcher.js"))]),
    ];
    let mut rows = Vec::new();
    for (name, prepare, command) in programs {
        if !works(prepare) {
            runner.skip(&format!("quiet in {name}"), "its tools are not on this machine");
            continue;
        }
        let output = Command::new(examples.join("truth"))
            .arg(EVENTS.to_string())
            .args(&command)
            .stderr(std::process::Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "{name}: {}", output.status);
        let truth: Truth = serde_json::from_slice(&output.stdout)?;
        let ms = [truth.median_ms, truth.p99_ms, truth.maximum_ms].map(|ms| format!("{ms:.2}"));
        let early = [truth.too_early, truth.too_early_in_trials].map(|count| count.to_string());
        let counts = [name.to_owned(), truth.events.to_string()].into_iter().chain(early);
        let waiting = format!("{:.2}", truth.waiting_percent);
        rows.push(counts.chain(ms).chain([waiting]).collect());
        runner.pass();
    }
    Ok(rows)
}

const ALIKE_HEAD: &[&str] =
    &["undisturbed runs", "runs", "different by writes", "different by requests", "real s a run"];

/// How many different histories repeated runs have.
fn alike(runner: &mut Runner) -> anyhow::Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for (name, campaign, needs) in ALIKE {
        if !needs.is_empty() && !works(needs) {
            runner.skip(name, "its tools are not on this machine");
            continue;
        }
        let told = play(runner, campaign, RUNS)?;
        let real: f64 = told.runs.iter().map(|run| run.real_seconds).sum();
        rows.push(vec![
            name.to_owned(),
            told.runs.len().to_string(),
            told.different_by_writes.to_string(),
            told.different_by_requests.to_string(),
            format!("{:.3}", real / told.runs.len() as f64),
        ]);
        runner.pass();
    }
    Ok(rows)
}
