//! The whole flow on one screen: config → reference → baseline → explore (trial ⟲ frontier) → judge →
//! confirm → publish. Each stage is the file of its name.

use std::time::{Duration, Instant};

use crate::{
    cli::{Output, RunArgs},
    config::{Campaign, ClockSpec},
    confirm,
    exit::Exit,
    explore::{self, Bounds},
    interrupt,
    lab::{self, Lab},
    progress::{Event, Progress, Show},
    publish, reference, rehearsal,
    run_folder::RunFolder,
};

/// Time for a campaign that names none: a controller that leaves a new world behind each restart would be explored
/// for ever, and nobody waits longer for a CI job without having said so.
const BUDGET: Duration = Duration::from_secs(30 * 60);

/// Runs a campaign from its file to its report.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let mut campaign = Campaign::load(&args.campaign, args.profile.as_deref())?;
    if args.real_time {
        campaign.file.spec.subject.clock = ClockSpec::Real;
    }
    let folder = RunFolder::create(args.out.as_deref(), campaign.name())?;
    lab::build(&campaign)?;
    interrupt::listen()?;
    let workers = args.workers.unwrap_or_else(processors);
    let mut lab = Lab::prepare(campaign, folder.path.join("trials"), workers)?;
    lab.keep_files = args.keep;
    folder.write("config.yaml", &std::fs::read(&lab.campaign.path)?)?;

    let began = Instant::now();
    let progress = Progress::start(Show::detect(args.quiet));
    progress.tell(phase("references"));
    let references = reference::learn(&mut lab, &folder, &progress)?;
    progress.tell(phase("exploring"));
    let bounds = bounds(args, &lab, began);
    let mut explored = explore::to_closure(
        &lab,
        &references.baseline,
        &references.runs,
        &bounds,
        &progress,
        &folder,
    );
    progress.tell(phase("confirming"));
    let suspects = std::mem::take(&mut explored.suspects);
    rehearsal::be_patient(&mut lab);
    let findings = confirm::findings(&lab, &references.baseline, suspects, &progress);
    let report =
        publish::report(&lab, &folder, &references, &explored, &findings, began.elapsed(), args);
    progress.finish();
    publish::write(&folder, &report, &explored, &findings)?;
    match args.output {
        Output::Text => publish::print(&folder, &report),
        Output::Json => crate::stdout::write(&crate::report::summary_json(&report)?),
    }
    lab.clean_up();
    Ok(publish::exit_of(&report))
}

fn phase(name: &str) -> Event {
    Event::Phase { name: name.to_owned(), total: None }
}

fn bounds(args: &RunArgs, lab: &Lab, began: Instant) -> Bounds {
    let budget = &lab.campaign.file.spec.budget;
    Bounds {
        // A brute-force run is bounded by its depth.
        until: match (budget.time, args.brute_force) {
            (None, Some(_)) => None,
            (time, _) => Some(began + time.unwrap_or(BUDGET)),
        },
        trials: budget.trials,
        through_findings: args.through_findings,
        brute_force: args.brute_force,
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
