//! The command line.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::ClusterChoice;
use crate::{
    campaign,
    commands::{bench_bare, doctor, envtest, init, model, play, replay, serve, show},
    exit::Exit,
    stdout,
};

const EXAMPLES: &str = "\
Examples:
  trommel init --command bin/manager --crds crds    write a campaign for a controller
  trommel run campaign.yaml                         run it: undisturbed, then plan by plan
  trommel replay regressions/foo.yaml               reproduce a finding
  trommel doctor                                    what works on this machine
Exit codes: 0 clean, 100 finding, 105 undisturbed runs fail or differ, 2 unknown, 4 nothing proved, 5 incomplete, 64 usage, 75 environment.";

/// Tests unmodified Kubernetes controllers: crashes at every point, stale caches, states never seen.
#[derive(Debug, Parser)]
#[command(name = "trommel", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a campaign: undisturbed runs, then every plan; writes findings, replay files and a report.
    Run(RunArgs),
    /// Reproduce a finding from its replay file: 100 reproduced, 0 gone, 2 nothing is proved.
    Replay(ReplayArgs),
    /// Print a stored history, also one whose writer was killed.
    Show(show::ShowArgs),
    /// Write a commented campaign for a controller and its CRDs.
    Init(init::Options),
    /// Play a campaign's workload once, without perturbations and verdicts, and print what happened as JSON.
    Play(play::Options),
    /// The embedded API server by itself, for kubectl and other projects' tests, until SIGINT or SIGTERM.
    Serve(serve::Options),
    /// A folder with stand-ins for kube-apiserver and etcd, on which suites with controller-runtime's envtest run
    /// unmodified.
    Envtest(envtest::Options),
    /// Check models in TLA+ and of clusters, and read and write their runs.
    #[command(subcommand)]
    Model(model::Options),
    /// Check what works on this machine, and say how to get the rest.
    Doctor,
    /// The controller without Trommel, from exec to its first write: for `cargo ci bench`.
    #[command(hide = true)]
    Bare(bench_bare::Options),
}

/// `trommel run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The campaign file.
    pub campaign: PathBuf,
    /// Profile of the campaign file to put over its settings.
    #[arg(short = 'P', long, env = "TROMMEL_PROFILE")]
    pub profile: Option<String>,
    /// Run folder; default: trommel-out/CAMPAIGN/NUMBER.
    #[arg(long, env = "TROMMEL_OUT")]
    pub out: Option<PathBuf>,
    /// What to print on stdout at the end.
    #[arg(short, long, value_enum, default_value_t = Output::Text, env = "TROMMEL_OUTPUT")]
    pub output: Output,
    /// Only these families of perturbations, instead of those that the campaign names.
    #[arg(long, value_delimiter = ',', value_parser = family, env = "TROMMEL_FAMILIES")]
    pub families: Vec<plans::Family>,
    /// Only lead the controller along runs of a model: a trace (ITF, TLC), a state graph (DOT), a TLA+ module; may be
    /// repeated.
    #[arg(long, value_name = "TRACE", requires = "binding")]
    pub schedule: Vec<PathBuf>,
    /// What the actions and variables of that model are in the cluster.
    #[arg(long, value_name = "FILE", requires = "schedule")]
    pub binding: Option<PathBuf>,
    /// Write what was explored as a state graph: FILE ends with .dot; or as runs along each of its edges: .itf.json,
    /// .ndjson.
    #[arg(long, value_name = "FILE")]
    pub graph: Option<campaign::fork_graph::GraphFile>,
    /// Trials side by side; default: one per processor.
    #[arg(long, env = "TROMMEL_WORKERS")]
    pub workers: Option<NonZeroUsize>,
    /// Carry the plan of each finding out on this cluster, too: `kind`, `kind=NAME`, `kubeconfig=PATH`; may be repeated.
    #[arg(long, value_delimiter = ',', env = "TROMMEL_CONFIRM_ON")]
    pub confirm_on: Vec<ClusterChoice>,
    /// Go on exploring behind this many violated trials.
    #[arg(long, default_value_t = 0, env = "TROMMEL_THROUGH_FINDINGS")]
    pub through_findings: u64,
    /// How many plans may stay without a verdict before the exit code is 2.
    #[arg(long, default_value_t = 0, env = "TROMMEL_MAX_UNKNOWN")]
    pub max_unknown: u64,
    /// Fail (exit 100) also for this: `transient`, what was wrong for a while and is right in the end.
    #[arg(long, value_enum, env = "TROMMEL_FAIL_ON")]
    pub fail_on: Option<FailOn>,
    /// Run every crash schedule up to this depth and merge no worlds: a check of Trommel itself.
    #[arg(long, env = "TROMMEL_BRUTE_FORCE")]
    pub brute_force: Option<u32>,
    /// Let time pass at this machine's pace.
    #[arg(long, env = "TROMMEL_REAL_TIME")]
    pub real_time: bool,
    /// The campaign may use this context of its kubeconfig, though the server is not on this machine.
    #[arg(long, value_name = "NAME")]
    pub allow_context: Option<String>,
    /// Keep the files of every trial, not only of those with findings.
    #[arg(long, env = "TROMMEL_KEEP")]
    pub keep: bool,
    /// No progress.
    #[arg(short, long, env = "TROMMEL_QUIET")]
    pub quiet: bool,
}

/// What fails a run besides findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Something was wrong for a while, and is right in the end.
    Transient,
}

/// A family by its name.
fn family(text: &str) -> Result<plans::Family, String> {
    text.parse().map_err(|plans::perturbation::UnknownFamily(known)| {
        format!("no family of perturbations: those that exist are {known}")
    })
}

/// `trommel replay`.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// The replay file.
    pub file: PathBuf,
    /// Take subject and manifests from this campaign instead, for example that of a fixed controller.
    #[arg(long, env = "TROMMEL_CAMPAIGN")]
    pub campaign: Option<PathBuf>,
    /// Run this program instead; everything after it is its arguments, so give this last.
    #[arg(long, num_args = 1.., allow_hyphen_values = true, conflicts_with = "campaign")]
    pub command: Vec<String>,
    /// Carry the plan out on this cluster instead of the embedded one: `kind`, `kind=NAME`, `kubeconfig=PATH`.
    #[arg(long, env = "TROMMEL_CLUSTER")]
    pub cluster: Option<ClusterChoice>,
    /// The campaign may use this context of its kubeconfig, though the server is not on this machine.
    #[arg(long, value_name = "NAME")]
    pub allow_context: Option<String>,
    /// Run what the file names without asking, though no campaign beside it runs the same.
    #[arg(short, long)]
    pub yes: bool,
    /// How often.
    #[arg(short = 'k', long, default_value_t = 5, env = "TROMMEL_REPEATS", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// Run folder; default: trommel-out/replay-FINDING/NUMBER.
    #[arg(long, env = "TROMMEL_OUT")]
    pub out: Option<PathBuf>,
    /// No progress.
    #[arg(short, long, env = "TROMMEL_QUIET")]
    pub quiet: bool,
}

impl ReplayArgs {
    /// All that it can be told by name: `--quiet`, `-q`, …
    pub fn flags() -> Vec<String> {
        let command = ReplayArgs::augment_args(clap::Command::new("replay"));
        let names = command.get_arguments().flat_map(|argument| {
            let long = argument.get_long().map(|name| format!("--{name}"));
            long.into_iter().chain(argument.get_short().map(|letter| format!("-{letter}")))
        });
        names.collect()
    }
}

/// What goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// As data: summary.json, or the model.
    Json,
}

/// Whether messages may be coloured.
fn colour() -> bool {
    use std::io::IsTerminal;
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !no_color
}

/// Parses the command line and does what it says.
pub fn main() -> anyhow::Result<Exit> {
    let arguments = model::kivi::spellings::rewritten(std::env::args_os());
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        // clap's own code for wrong usage is 2, which means `unknown` here.
        Err(error) if error.use_stderr() => {
            let said = error.render();
            let said = if colour() { said.ansi().to_string() } else { said.to_string() };
            eprint!("trommel: {said}");
            return Ok(Exit::Usage);
        }
        Err(help) => {
            stdout::write(&help.to_string());
            return Ok(Exit::Clean);
        }
    };
    let log = tracing_subscriber::EnvFilter::try_from_env("TROMMEL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(log).with_writer(std::io::stderr).init();
    match cli.command {
        Command::Run(args) => campaign::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Init(options) => init::run(&options),
        Command::Play(options) => play::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Envtest(options) => envtest::run(&options),
        Command::Model(options) => model::run(&options),
        Command::Doctor => doctor::run(),
        Command::Bare(options) => bench_bare::run(&options),
    }
}
