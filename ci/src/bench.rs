//! Figures, side by side, from one run on one machine. Prints them; judges nothing.
//!
//! Each subject is measured in three ways: without Trommel (`trommel bare`: exec to first write against the same
//! embedded server), one trial at a time, and with as many trials side by side as there are cores. A trial
//! does more than a bare start: the controller is started on a fork, writes, sees the rest of the workload, is
//! quiet at every step, settles for a minute of its time, and is killed. CPU is what the kernel
//! charged: to the controller's threads, or to the whole process with all its children, which counts
//! the exploration only (no references, no build).

mod environment;
mod families;
mod foreign;
mod kivi;
mod models;
mod proxy;
mod server;
mod time;

use std::{fs, process::Command};

use anyhow::{Context, ensure};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    campaigns::out_folder,
    run::{Runner, load_average, works},
    table::{self, Spread},
};

struct Subject {
    name: &'static str,
    campaign: &'static str,
    go: bool,
    /// So many plans in a row are timed too.
    plans: usize,
}

const SUBJECTS: &[Subject] = &[
    Subject { name: "bar-foo", campaign: "examples/bar-foo/campaign.yaml", go: false, plans: 0 },
    Subject {
        name: "sample-controller",
        campaign: "examples/sample-controller/campaign.yaml",
        go: true,
        plans: 2_380,
    },
];

/// Bare starts of each subject.
const STARTS: usize = 20;
/// Campaigns of each subject, one trial at a time and again side by side.
const CAMPAIGNS: usize = 5;

/// What was measured several times.
#[derive(Debug, Clone, PartialEq)]
struct Figure {
    name: &'static str,
    values: Vec<f64>,
}

/// One exploration, from `figures.json` and `summary.json`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exploration {
    seconds: f64,
    /// Of all trials that ran, with those that confirm.
    own_cpu_seconds: f64,
    subjects_cpu_seconds: f64,
    peak_memory_bytes: u64,
    /// Trials that ran, with those that confirm.
    runs: u64,
    trials: Vec<Trial>,
    /// Of the whole campaign: references, exploration, confirmation.
    #[serde(skip)]
    campaign_seconds: f64,
    #[serde(skip)]
    first: First,
}

/// Trials until something was found, from `summary.json`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct First {
    first_violated: Option<Found>,
    first_finding: Option<Found>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Found {
    trials: u64,
}

/// A trial or a bare start; the CPU is the controller's.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Trial {
    seconds: f64,
    #[serde(rename = "subjectCpuSeconds", alias = "cpuSeconds")]
    cpu: f64,
    /// Trommel's, on the thread of the trial; none of a bare start.
    #[serde(rename = "ownCpuSeconds", default)]
    own_cpu: f64,
    /// Of the plan's last perturbation; none of a bare start.
    family: Option<String>,
}

/// Measures, and prints tables.
type Part = fn(&mut Runner) -> anyhow::Result<()>;

const PARTS: [(&str, Part); 9] = [
    ("subjects", subjects),
    ("foreign", foreign::print),
    ("families", families::print),
    ("models", models::print),
    ("kivi", kivi::print),
    ("proxy", proxy::print),
    ("server", server::print),
    ("environment", environment::print),
    ("time", time::print),
];

/// Measures and prints the parts whose name contains this.
///
/// # Errors
/// There is none, or something of it can't be run.
pub fn print(runner: &mut Runner, only: &str) -> anyhow::Result<()> {
    let chosen: Vec<_> = PARTS.iter().filter(|(name, _)| name.contains(only)).collect();
    ensure!(
        !chosen.is_empty(),
        "{only:?} is no part; there are {}",
        PARTS.map(|part| part.0).join(", ")
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("\n{cores} cores; load average at the beginning {}", load_average());
    chosen.into_iter().try_for_each(|(_, part)| part(runner))
}

/// A table for each subject.
fn subjects(runner: &mut Runner) -> anyhow::Result<()> {
    println!(
        "each subject: {STARTS} bare starts, {CAMPAIGNS} campaigns one trial at a time, {CAMPAIGNS} on all cores"
    );
    for subject in SUBJECTS {
        if subject.go && !works(&["go", "version"]) {
            runner.skip(subject.name, "go is not on this machine");
            continue;
        }
        let bare = bare(runner, subject)?;
        let alone = explorations(runner, subject, Some(1))?;
        let together = explorations(runner, subject, None)?;
        println!("\n{}", table(subject.name, &figures(&bare, &alone, &together)));
        if subject.plans > 0 {
            println!("{}", many(runner, subject)?);
        }
        runner.pass();
    }
    Ok(())
}

/// Builds an example of the workspace, runs it, and reads the figures that it prints.
fn example<T: DeserializeOwned>(
    runner: &Runner,
    name: &str,
    arguments: &[&str],
) -> anyhow::Result<T> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--release", "--quiet", "--workspace", "--example", name];
    let built = Command::new(cargo).current_dir(&runner.root).args(build).status()?;
    ensure!(built.success(), "the example {name} does not build");
    let output = Command::new(runner.binaries.join("examples").join(name))
        .args(arguments)
        .env("TROMMEL_BINARY", runner.binaries.join("trommel"))
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start the example {name}"))?;
    ensure!(output.status.success(), "{name}: {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn figures(bare: &[Trial], alone: &[Exploration], together: &[Exploration]) -> Vec<Figure> {
    let trials: Vec<Trial> = alone.iter().flat_map(|run| run.trials.clone()).collect();
    let ms = |trials: &[Trial], value: fn(&Trial) -> f64| -> Vec<f64> {
        trials.iter().map(|trial| value(trial) * 1000.0).collect()
    };
    let per_run = |runs: &[Exploration], value: fn(&Exploration) -> f64| -> Vec<f64> {
        runs.iter().map(value).collect()
    };
    let all_cpu = per_run(alone, Exploration::cpu_ms_per_plan);
    let bare_cpu = ms(bare, |start| start.cpu);
    let bare_median = Spread::of(bare_cpu.clone()).median();
    let ratio = all_cpu.iter().map(|cpu| cpu / bare_median).collect();
    let rows = [
        ("bare: exec to first write, ms", ms(bare, |start| start.seconds)),
        ("bare: CPU of the controller until then, ms", bare_cpu),
        ("trial: real time, ms", ms(&trials, |trial| trial.seconds)),
        ("trial: CPU of the controller, ms", ms(&trials, |trial| trial.cpu)),
        ("trial: CPU of controller and Trommel, ms (mean of a run)", all_cpu),
        ("that, by the median bare CPU", ratio),
        ("plans/s, one at a time", per_run(alone, Exploration::plans_per_second)),
        ("plans/s, on all cores", per_run(together, Exploration::plans_per_second)),
        ("plans of a campaign", per_run(together, |run| run.trials.len() as f64)),
        ("whole campaign on all cores, s", per_run(together, |run| run.campaign_seconds)),
    ];
    rows.map(|(name, values)| Figure { name, values }).into()
}

impl Exploration {
    fn cpu_ms_per_plan(&self) -> f64 {
        (self.own_cpu_seconds + self.subjects_cpu_seconds) * 1000.0 / self.runs as f64
    }

    fn plans_per_second(&self) -> f64 {
        self.trials.len() as f64 / self.seconds
    }
}

fn bare(runner: &Runner, subject: &Subject) -> anyhow::Result<Vec<Trial>> {
    let repeats = STARTS.to_string();
    let output = Command::new(runner.binaries.join("trommel"))
        .current_dir(&runner.root)
        .args(["bare", subject.campaign, "--repeats", &repeats])
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start trommel")?;
    ensure!(output.status.success(), "{}, bare: {}", subject.name, output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn explorations(
    runner: &Runner,
    subject: &Subject,
    workers: Option<usize>,
) -> anyhow::Result<Vec<Exploration>> {
    (0..CAMPAIGNS).map(|_| explore(runner, subject, workers)).collect()
}

/// Campaigns one after the other, on all cores, until so many plans have been carried out: their exploration's time.
fn many(runner: &Runner, subject: &Subject) -> anyhow::Result<String> {
    let (mut plans, mut seconds, mut campaigns) = (0, 0.0, 0);
    while plans < subject.plans {
        let exploration = explore(runner, subject, None)?;
        plans += exploration.trials.len();
        seconds += exploration.seconds;
        campaigns += 1;
    }
    Ok(format!(
        "{}: {plans} plans in a row ({campaigns} campaigns), on all cores: {seconds:.1} s",
        subject.name
    ))
}

fn explore(
    runner: &Runner,
    subject: &Subject,
    workers: Option<usize>,
) -> anyhow::Result<Exploration> {
    explore_with(runner, subject, workers, &[])
}

/// The same with further flags.
fn explore_with(
    runner: &Runner,
    subject: &Subject,
    workers: Option<usize>,
    flags: &[&str],
) -> anyhow::Result<Exploration> {
    let folder = out_folder(runner, &format!("bench-{}", subject.name))?;
    let mut command = Command::new(runner.binaries.join("trommel"));
    command.current_dir(&runner.root).args(["run", subject.campaign, "--quiet", "--out"]);
    command.arg(&folder).args(flags).stdout(std::process::Stdio::null());
    if let Some(workers) = workers {
        command.args(["--workers", &workers.to_string()]);
    }
    let status = command.status().context("cannot start trommel")?;
    // A finding, no verdict, or a budget that ended: what was carried out is measured.
    ensure!(matches!(status.code(), Some(0 | 2 | 5 | 100)), "{}: {status}", subject.name);
    let read = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| name.to_owned());
    let mut exploration: Exploration = serde_json::from_str(&read("figures.json")?)?;
    ensure!(!exploration.trials.is_empty(), "{}: no trials", subject.name);
    let summary: Value = serde_json::from_str(&read("summary.json")?)?;
    exploration.campaign_seconds = summary["seconds"].as_f64().context("seconds")?;
    exploration.first = First::deserialize(&summary)?;
    Ok(exploration)
}

/// Lowest, middle and highest value of each figure.
fn table(name: &str, figures: &[Figure]) -> String {
    let row = |figure: &Figure| {
        let spread = Spread::of(figure.values.iter().copied()).shown(1);
        [figure.name.to_owned()].into_iter().chain(spread).collect()
    };
    let rows: Vec<Vec<String>> = figures.iter().map(row).collect();
    table::markdown(&[name, "minimum", "median", "maximum"], &rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_trommel_writes_is_read() {
        let trial = json!({"seconds": 0.05, "ownCpuSeconds": 0.01, "subjectCpuSeconds": 0.02});
        let figures = json!({"seconds": 2.0, "ownCpuSeconds": 0.3, "subjectsCpuSeconds": 0.5,
            "peakMemoryBytes": 1, "runs": 4, "trials": [trial, trial, trial, trial]});
        let run: Exploration = serde_json::from_value(figures).unwrap();
        assert_eq!(run.cpu_ms_per_plan(), 200.0);
        assert_eq!(run.plans_per_second(), 2.0);
        let start: Trial =
            serde_json::from_value(json!({"seconds": 0.03, "cpuSeconds": 0.01})).unwrap();
        assert_eq!(start, Trial { seconds: 0.03, cpu: 0.01, own_cpu: 0.0, family: None });
    }
}
