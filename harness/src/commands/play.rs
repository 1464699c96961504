//! `trommel play`: plays the workload undisturbed, as often as asked, and says what happened: whether it settled,
//! how much time passed in the world and on this machine, and how alike the runs were.
//!
//! For whoever writes a campaign ("does my controller settle at all?"), for tests that hold the moments of a
//! history against what a controller promises, and for `cargo ci bench`. Nothing is judged.

use std::{collections::BTreeSet, num::NonZeroUsize, path::PathBuf, time::Duration};

use oracles::Examination;
use serde::Serialize;
use trace::{Event, History, ProcessHappening, Time};

use crate::{
    campaign::{
        fault, interrupt,
        lens::Lens,
        missing_permissions, pool, reference,
        run_folder::RunFolder,
        settle::Settle,
        setup::{self, Setup},
    },
    config::{Campaign, ClockSpec},
    exit::Exit,
    stdout,
    trial::{self, RunEnd, TrialRun, TrialSpec, cpu_time},
};

/// `trommel play`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The campaign file.
    campaign: PathBuf,
    /// How often.
    #[arg(short = 'k', long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    repeats: u64,
    /// Run folder; default: trommel-out/CAMPAIGN/NUMBER.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Runs side by side.
    #[arg(long, default_value = "1")]
    workers: NonZeroUsize,
    /// Let time pass at this machine's pace.
    #[arg(long)]
    real_time: bool,
    /// Replaces the campaign's command; everything after it is its arguments, so give this last.
    #[arg(long, num_args = 1.., allow_hyphen_values = true)]
    command: Vec<String>,
}

/// What is told of all runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Played {
    /// The run folder.
    folder: PathBuf,
    /// Processor time of Trommel itself.
    own_cpu_seconds: f64,
    /// How many different histories there were: the worlds that writes led to, in order.
    different_by_writes: usize,
    /// The same, with every request in its place too.
    different_by_requests: usize,
    runs: Vec<Run>,
}

/// What is told of one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    /// How it ended: `completed`, or why not.
    end: String,
    /// Its history, relative to the run folder.
    history: String,
    /// How many of the runs before it had another history (by writes); the number of the first equal one.
    same_as: usize,
    real_seconds: f64,
    subject_cpu_seconds: f64,
    virtual_seconds: f64,
    /// Jumps of the clock.
    jumps: usize,
    requests: usize,
    /// Writes that changed the store, without Leases and Events; and with them.
    commits: usize,
    commits_with_bookkeeping: usize,
    /// Times that the subject ended by itself.
    exits: usize,
    /// What it was refused for want of permission.
    missing_permissions: BTreeSet<String>,
    /// What was not well in it.
    #[serde(skip_serializing_if = "Examination::is_clean")]
    undisturbed: Examination,
}

/// Plays the workload and prints JSON.
///
/// # Errors
/// A campaign that is wrong. A run that does not complete is told, and makes the exit code 105.
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    let mut campaign = Campaign::load(&options.campaign, None)?;
    if !options.command.is_empty() {
        campaign.file.spec.subject.command.clone_from(&options.command);
    }
    if options.real_time {
        campaign.file.spec.subject.clock = ClockSpec::Real;
    }
    let folder = RunFolder::create(options.out.as_deref(), campaign.name())?;
    setup::build(&campaign)?;
    interrupt::listen()?;
    let setup = Setup::prepare(campaign, &folder.path, options.workers.get())?;
    // Without a rehearsal, as after one that had nothing to teach.
    let settle = Settle::given(&setup)
        .unwrap_or_else(|| Settle::learnt(Duration::ZERO, None, None).at_most(&setup));
    // The same names in all of them, so that they can be equal.
    let spec = |repeat| TrialSpec { repeat: 0, ..reference::spec(&folder, repeat, settle.usual()) };
    let specs: Vec<TrialSpec> = (0..options.repeats).map(spec).collect();
    let before = cpu_time::Used::so_far();
    let runs = pool::map(setup.workers, &specs, |spec| {
        summary(&setup, &folder, trial::run(&setup, spec.clone()))
    });
    fault::check()?;
    let own = cpu_time::Used::so_far().since(before).own;
    let (by_writes, by_requests) = (kinds(&runs, |run| &run.1), kinds(&runs, |run| &run.2));
    let completed = runs.iter().all(|(run, ..)| run.end == COMPLETED);
    let told = Played {
        folder: folder.path.clone(),
        own_cpu_seconds: own.as_secs_f64(),
        different_by_writes: distinct(&by_writes),
        different_by_requests: distinct(&by_requests),
        runs: runs
            .into_iter()
            .zip(by_writes)
            .map(|((run, ..), same_as)| Run { same_as, ..run })
            .collect(),
    };
    stdout::write(&(serde_json::to_string_pretty(&told)? + "\n"));
    setup.clean_up();
    Ok(if completed { Exit::Clean } else { Exit::References })
}

const COMPLETED: &str = "completed";

type Kinds = (Run, Vec<String>, Vec<String>);

/// For each run, the number of the first one that is equal to it.
fn kinds(runs: &[Kinds], form: fn(&Kinds) -> &Vec<String>) -> Vec<usize> {
    let first = |run| runs.iter().position(|other| form(other) == form(run)).unwrap_or_default();
    runs.iter().map(first).collect()
}

fn distinct(kinds: &[usize]) -> usize {
    kinds.iter().enumerate().filter(|(number, first)| number == *first).count()
}

fn summary(setup: &Setup, folder: &RunFolder, run: TrialRun) -> Kinds {
    let history = &run.history;
    let count = |wanted: fn(&Event) -> bool| {
        history.records.iter().filter(|record| wanted(&record.event)).count()
    };
    let times = || history.records.iter().map(|record| record.at);
    let passed = times().max().unwrap_or(Time(0)).since(times().next().unwrap_or(Time(0)));
    let file = run.folder.join("history.jsonl.zst");
    let told = Run {
        end: end(&run.end, history),
        history: file.strip_prefix(&folder.path).unwrap_or(&file).display().to_string(),
        same_as: 0,
        real_seconds: run.real.as_secs_f64(),
        subject_cpu_seconds: run.subject_cpu.as_secs_f64(),
        virtual_seconds: passed.as_secs_f64(),
        jumps: count(|event| matches!(event, Event::Clock { .. })),
        requests: history.calls().filter(|call| call.actor.is_subject()).count(),
        commits: history.commits().filter(|commit| !commit.is_bookkeeping()).count(),
        commits_with_bookkeeping: history.commits().count(),
        missing_permissions: missing_permissions::missing(history),
        undisturbed: reference::examine(setup, &run),
        exits: count(
            |event| matches!(event, Event::Process(process) if matches!(process.what, ProcessHappening::Exited { .. })),
        ),
    };
    let worlds = worlds(setup, &run);
    let requests = requests(history, &worlds);
    (told, worlds, requests)
}

fn end(end: &RunEnd, history: &History) -> String {
    match end {
        RunEnd::Completed => COMPLETED.to_owned(),
        RunEnd::StepFailed(why) => format!("a step failed: {why}"),
        RunEnd::SubjectGone(why) | RunEnd::NeverFired(why) | RunEnd::NotPossible(why) => {
            why.clone()
        }
        RunEnd::NeverSettled(why) => {
            format!("it never settled: {why}{}", reference::heartbeats_hint(history))
        }
        RunEnd::Broken(why) => format!("the run broke: {why}"),
    }
}

/// The identity of the world after each commit that is no bookkeeping.
fn worlds(setup: &Setup, run: &TrialRun) -> Vec<String> {
    let Some(server) = &run.server else { return vec![] };
    let commits = run.history.commits().filter(|commit| !commit.is_bookkeeping());
    let worlds = commits.filter_map(|commit| server.world_at(commit.revision));
    // Nobody learns here which payloads are random.
    let lens = Lens::default();
    let identities = lens.identities(setup);
    worlds.map(|world| identities.of(&world, Default::default(), None).to_string()).collect()
}

/// The subject's requests in order, between the worlds.
fn requests(history: &History, worlds: &[String]) -> Vec<String> {
    let mut worlds = worlds.iter();
    let mut all = Vec::new();
    for record in &history.records {
        match &record.event {
            Event::Call(call) if call.actor.is_subject() => {
                all.push(format!("{} {}", call.method, call.uri));
            }
            Event::Commit(commit) if !commit.is_bookkeeping() => all.extend(worlds.next().cloned()),
            _ => {}
        }
    }
    all
}
