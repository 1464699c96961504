//! The whole flow on one screen: config → reference → baseline → explore (trial ⟲ frontier) → judge →
//! confirm → publish. Each stage is the file of its name.

pub mod confirm;
pub mod disk;
pub mod elsewhere;
pub mod explore;
pub mod expression;
pub mod families;
pub mod fault;
pub mod fork_graph;
pub mod frontier;
pub mod identities;
pub mod interrupt;
pub mod judge;
pub mod lens;
pub mod missing_permissions;
pub mod model_runs;
pub mod node;
pub mod order;
pub mod pool;
pub mod progress;
pub mod properties;
pub mod publish;
pub mod reached;
pub mod reference;
pub mod rehearsal;
pub mod run_folder;
pub mod schedule;
pub mod settle;
pub mod settled_restart;
pub mod setup;
pub mod tally;
pub mod while_down;

use std::{
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use anyhow::Context;
use confirm::Findings;
use explore::{Bounds, Explored};
use progress::{Event, Progress, Show};
use publish::Found;
use reference::References;
use run_folder::RunFolder;
use setup::Setup;

use crate::{
    cli::{Output, RunArgs},
    config::{Campaign, ClockSpec},
    exit::Exit,
};

/// Time for a campaign that names none: a controller that leaves a new world behind each restart would be explored
/// for ever, and nobody waits longer for a CI job without having said so.
const BUDGET: Duration = Duration::from_secs(30 * 60);

/// The part of it that is kept for confirming, where something is to be confirmed: a tenth.
const RESERVE: u32 = 10;

/// Runs a campaign from its file to its report.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let mut campaign = Campaign::load(&args.campaign, args.profile.as_deref())?;
    if !args.families.is_empty() {
        campaign.file.spec.families.clone_from(&args.families);
    }
    if let Some(binding) = &args.binding {
        let spec = &mut campaign.file.spec;
        (spec.families, spec.schedules) = (vec![], model_runs::named(&args.schedule, binding)?);
    }
    if args.real_time {
        campaign.file.spec.subject.clock = ClockSpec::Real;
    }
    campaign.allowed_context.clone_from(&args.allow_context);
    let folder = RunFolder::create(args.out.as_deref(), campaign.name())?;
    setup::build(&campaign)?;
    interrupt::listen()?;
    let workers = args.workers.map_or_else(processors, NonZeroUsize::get);
    let prepared = Setup::prepare(campaign, &folder.path, workers)?;
    let setup = Setup { keep_files: args.keep, keeps_graph: args.graph.is_some(), ..prepared };
    setup.explain(carry_out(&setup, args, &folder))
}

/// What a run does once everything is prepared.
fn carry_out(setup: &Setup, args: &RunArgs, folder: &RunFolder) -> anyhow::Result<Exit> {
    folder.write("config.yaml", &std::fs::read(&setup.campaign.path)?)?;
    let began = Instant::now();
    let progress = Progress::start(Show::detect(args.quiet));
    progress.tell(phase("undisturbed runs"));
    let restarts = settled_restart::asked(setup);
    let bounds = bounds(args, setup, began);
    let references = reference::learn(setup, folder, &progress, restarts, bounds.until)?;
    setup.properties.check_undisturbed(setup, &references)?;
    progress.tell(phase("exploring"));
    let taken = setup.slots.taken();
    let (explored, findings) = explore(setup, &references, &bounds, &progress, folder);
    fault::check()?;
    let choices = match args.confirm_on.is_empty() {
        true => &setup.campaign.file.spec.confirm_on,
        false => &args.confirm_on,
    };
    let elsewhere = elsewhere::confirm(&setup.campaign, choices, &findings, folder, &progress);
    let found = Found { findings: &findings, elsewhere: &elsewhere };
    let report = publish::report(setup, folder, &references, &explored, found, began, args);
    progress.finish();
    // All that ran beside the trials of the exploration.
    let confirming = (setup.slots.taken() - taken).saturating_sub(explored.trials.len() as u64);
    publish::write(folder, &report, &explored, &findings, confirming)?;
    if let Some(file) = &args.graph {
        explored.graph.write(file).context("cannot write the graph")?;
    }
    match args.output {
        Output::Text => publish::print(folder, &report),
        Output::Json => crate::stdout::write(&crate::report::summary_json(&report)?),
    }
    setup.clean_up();
    Ok(publish::exit_of(&report))
}

/// Explores, and confirms what is suspected meanwhile.
fn explore(
    setup: &Setup,
    references: &References,
    bounds: &Bounds,
    progress: &Progress,
    folder: &RunFolder,
) -> (Explored, Findings) {
    let (suspicions, suspects) = confirm::way();
    std::thread::scope(|scope| {
        let confirm = || confirm::findings(setup, references, suspects, bounds.until, progress);
        let confirming = scope.spawn(confirm);
        let explored = explore::to_closure(setup, references, bounds, progress, folder, suspicions);
        progress.tell(phase("confirming"));
        let findings = confirming.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (explored, findings)
    })
}

fn phase(name: &str) -> Event {
    Event::Phase { name: name.to_owned(), total: None }
}

fn bounds(args: &RunArgs, setup: &Setup, began: Instant) -> Bounds {
    let budget = &setup.campaign.file.spec.budget;
    Bounds {
        // A brute-force run is bounded by its depth.
        until: match (budget.time, args.brute_force) {
            (None, Some(_)) => None,
            (time, _) => Some(began + time.unwrap_or(BUDGET)),
        },
        reserve: budget.time.unwrap_or(BUDGET) / RESERVE,
        trials: budget.trials,
        through_findings: args.through_findings,
        brute_force: args.brute_force,
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
