//! `trommel model kivi`: Kivi's questions about a cluster, answered by Kubernetes' own controllers.
//!
//! Reading order: [`spellings`] (what Kivi calls its options), [`source`] (what is checked), [`report`] (what is told).

mod report;
mod source;
pub mod spellings;

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{ArgGroup, Args, ValueEnum};
use model::{
    cluster,
    kivi::{
        cases::{Case, Variant},
        check,
        description::Description,
        heat_map,
        options::{self, Faster, Random},
        simulate,
        sizes::Bounds,
        sweep,
    },
};

use super::{files, scenario::Granularity, usage};
use crate::{config::parse_duration, exit::Exit, report::plain, stdout};
use report::{Found, How};
use source::Source;

const HELP: &str = "\
Options are also called as in Kivi: -cn for --no-violation, -log for --log, -ig for --group, -to for --timeout, -si for \
--simulate, and its long names.
-v tells of a run: 1 what users and nodes do and what changes numbers of pods, 2 what else controllers do, 3 time and \
measuring, 4 what each step comes to, 5 which objects it changes, 6 these objects whole.";

/// `trommel model kivi`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP, group = ArgGroup::new("input").required(true).args(["case", "path"]))]
pub struct Options {
    /// Check one of Kivi's cases, c1 to c8.
    #[arg(short, long, value_parser = case)]
    case: Option<Case>,
    /// Check a configuration directory (yaml/, user_input/), a directory of logs (--log), or a uniform JSON file.
    #[arg(short, long, value_name = "DIR|FILE.json")]
    path: Option<PathBuf>,
    /// The directory is one of logs of a running cluster (setup/, user_input/).
    #[arg(long, alias = "input_logs", requires = "path")]
    log: bool,
    /// How large a case is: nodes; of growing ones, of each type at most.
    #[arg(short, long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    scale: u32,
    /// Take the variant of a case in which Kivi finds no violation; of C1, C2 and C6 it asks for nothing.
    #[arg(long, alias = "case_non_violation", requires = "case")]
    no_violation: bool,
    /// Take the variant of C1, C2 or C6 that keeps the intent, without what violates it.
    #[arg(long, requires = "case", conflicts_with = "no_violation")]
    cured: bool,
    /// Check the cluster as it is described, instead of growing ones.
    #[arg(short = 'o', long, alias = "original")]
    single: bool,
    /// Go on after the first violation.
    #[arg(short, long, alias = "all_violation")]
    all: bool,
    /// Leave sizes out: 1 every second number of pods above 7, 2 all but the most pods, 3 all but the most nodes and pods.
    #[arg(short, long, alias = "fast_find", value_name = "0..3", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=3))]
    faster: u8,
    /// Ask for so many intents in one search; 0: for all.
    #[arg(long, alias = "intents_group", value_name = "N", default_value_t = 0)]
    group: usize,
    /// Look at random runs from five seeds, this one and the next, instead of at all runs.
    #[arg(short, long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1")]
    random: Option<u64>,
    /// Give up after so long: seconds, or 10m.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Ask too whether the cluster comes to rest, with all pods running.
    #[arg(short, long, alias = "loop")]
    loops: bool,
    /// Play one random run of this seed, and tell what happens on it; nothing is judged.
    #[arg(long, alias = "simulation", value_name = "SEED", num_args = 0..=1, default_missing_value = "1")]
    simulate: Option<u64>,
    /// How much of a run is told.
    #[arg(short = 'v', long, alias = "verbose_level", value_name = "1..6", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=6))]
    detail: u8,
    /// What one step is; drain, all that a controller has to do, is Kivi's.
    #[arg(long, value_enum, default_value_t = Granularity::Drain)]
    granularity: Granularity,
    /// How intents are judged.
    #[arg(long, value_enum, default_value_t = Mode::Parity)]
    mode: Mode,
    /// Try each of several nodes that are equally good; Kivi takes the first.
    #[arg(long)]
    all_ties: bool,
    /// Threads; default: one per processor.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Give up a search behind this many different states.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    states: u64,
    /// Write a picture of the sizes, and which of them violate (with -a: all of them).
    #[arg(long, value_name = "FILE.svg", conflicts_with_all = ["single", "simulate"])]
    heat_map: Option<PathBuf>,
}

/// How intents are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// As Kivi does: what happens three times happens for ever.
    Parity,
    /// By runs without end that are fair, without counting.
    Exact,
}

fn case(name: &str) -> Result<Case, String> {
    Case::named(name).ok_or_else(|| "the cases are c1 to c8".to_owned())
}

/// Kivi's are whole seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => parse_duration(text).map_err(|error| error.to_string()),
    }
}

/// Steps of a random run, at most: a cluster with an autoscaler never stops.
const RANDOM_STEPS: usize = 300;
/// Kivi tries five seeds. Each has so many runs here.
const SEEDS: u32 = 5;
const RUNS: u64 = 20;
/// More sizes than these are not tried.
const SIZES_MAX: u64 = 1_000_000;

pub(super) fn run(options: &Options) -> anyhow::Result<Exit> {
    let source = options.source()?;
    if let Some(seed) = options.simulate {
        let steps = simulate::simulate(&source.single(), &options.model(), seed, RANDOM_STEPS)
            .map_err(usage)?;
        let lines = steps.lines(options.detail).join("\n");
        let begins = steps.states[0].to_string();
        let how = options.how().line();
        let told = format!(
            "simulated: one random run of seed {seed}\n{how}\nat first: {begins}\n{lines}\n"
        );
        stdout::write(&plain::text(&told));
        return Ok(Exit::Clean);
    }
    let began = Instant::now();
    let found = match source.bounds().filter(|_| !options.single) {
        Some(bounds) => options.sweep(&source, &bounds, began)?,
        None => options.check(&source.single(), began)?,
    };
    let took = began.elapsed();
    if let (Some(path), Found::Sweep(sweep, _)) = (&options.heat_map, &found) {
        files::put(path, &heat_map::svg(sweep, &options.title()))?;
    }
    let asked = report::titles(&source.single(), &options.model());
    let (told, exit) = report::told(&found, &asked, &options.how(), options.detail, took);
    stdout::write(&plain::text(&told));
    Ok(exit)
}

impl Options {
    fn source(&self) -> anyhow::Result<Source> {
        let Some(case) = self.case else {
            return Source::load(self.path.as_deref().unwrap_or("".as_ref()), self.log);
        };
        let variant = match (self.no_violation, self.cured) {
            (true, _) => Variant::Clean,
            (_, true) if !case.has_cured() => {
                return Err(usage(
                    "--cured is for c1, c2 and c6; of the others take --no-violation",
                ));
            }
            (_, true) => Variant::Cured,
            _ => Variant::Violating,
        };
        Ok(Source::Case { case, variant, scale: self.scale })
    }

    /// The same for the model.
    fn model(&self) -> options::Options {
        let random = |seed| Random { seed, seeds: SEEDS, runs: RUNS, depth: RANDOM_STEPS as u64 };
        let defaults = options::Options::default();
        options::Options {
            scale: self.scale,
            without_violation: self.no_violation,
            single: self.single,
            all_violations: self.all,
            faster: match self.faster {
                0 => Faster::No,
                1 => Faster::EverySecond,
                2 => Faster::Largest,
                _ => Faster::LargestOfAll,
            },
            intents_per_group: NonZeroUsize::new(self.group),
            random: self.random.map(random),
            loops: self.loops,
            detail: self.detail,
            granularity: cluster::Granularity::from(self.granularity),
            mode: match self.mode {
                Mode::Parity => options::Mode::Parity,
                Mode::Exact => options::Mode::Exact,
            },
            all_ties: self.all_ties,
            threads: self.threads.unwrap_or(defaults.threads),
            states_max: self.states,
        }
    }

    fn sweep(&self, source: &Source, bounds: &Bounds, began: Instant) -> anyhow::Result<Found> {
        let (options, count) = (self.model(), bounds.count_max());
        if count > SIZES_MAX {
            return Err(usage(format!(
                "there are up to {count} sizes: bound the types (minSize, maxSize), let them grow in proportion \
                 (nodesScaleType, dScaleType), or check the one cluster with -o"
            )));
        }
        let sizes = bounds.sizes(options.faster);
        if sizes.is_empty() {
            return Err(usage("no size is within the bounds: raise maxSize, or lower minSize"));
        }
        let is_up = || self.is_up(began);
        let swept = sweep::sweep(&sizes, |size| source.of_size(size), &options, Some(&is_up));
        Ok(Found::Sweep(swept.map_err(usage)?, bounds.clone()))
    }

    fn check(&self, of: &Description, began: Instant) -> anyhow::Result<Found> {
        let options = self.model();
        let intents = check::asked(of, &options);
        let is_up = || self.is_up(began);
        let checked = check::check(of, &intents, &options, options.threads, Some(&is_up));
        Ok(Found::Single(checked.map_err(usage)?))
    }

    fn is_up(&self, began: Instant) -> bool {
        self.timeout.is_some_and(|timeout| began.elapsed() >= timeout)
    }

    fn how(&self) -> How {
        let name = |value: Option<clap::builder::PossibleValue>| {
            value.map_or_else(String::new, |value| value.get_name().to_owned())
        };
        How {
            granularity: name(self.granularity.to_possible_value()),
            mode: name(self.mode.to_possible_value()),
            all_ties: self.all_ties,
            is_random: self.random.is_some(),
        }
    }

    /// The title of a picture.
    fn title(&self) -> String {
        let what = match (self.case, &self.path) {
            (Some(case), _) => case.name().to_uppercase(),
            (None, path) => path.clone().unwrap_or_default().display().to_string(),
        };
        format!("{what} <nodes, pods>: {}", self.how().words())
    }
}
