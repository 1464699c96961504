//! `trommel model`: checks models, and reads and writes their runs.

mod accepts;
mod answers;
mod check;
mod cluster_page;
mod clusters;
mod confirm;
mod convert;
mod files;
mod from;
pub mod kivi;
mod page;
mod scenario;
mod show;
mod spawn;
mod text;
mod verdict;

use clap::Subcommand;

use crate::exit::{Exit, Expected};

/// `trommel model`.
#[derive(Debug, Clone, Subcommand)]
pub enum Options {
    /// Check a TLA+ module or a scenario of a cluster: 0 its properties hold, 100 one is violated, 2 a limit was reached.
    Check(Box<check::Options>),
    /// Ask Kivi's questions about a cluster and its configuration: 0 all holds, 100 something is violated, 2 unknown.
    Kivi(Box<kivi::Options>),
    /// Play a counterexample of a cluster model on the real controllers: 0 they agree, 100 they differ, 2 unknown.
    Confirm(confirm::Options),
    /// Hold a log of a real run against a model: 0 it is a run of it, 100 it is none, 2 a limit was reached.
    Accepts(accepts::Options),
    /// Print a trace step by step, or what a state graph has.
    Show(show::Options),
    /// Write a trace or a state graph in another format.
    Convert(convert::Options),
    /// Run the built-in controllers of the models as a controller manager of a real cluster, until SIGINT or SIGTERM.
    Spawn(spawn::Options),
}

/// Does it.
///
/// # Errors
/// Wrong input, with its place (exit 64); what can't be written.
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    match options {
        Options::Check(options) => check::run(options),
        Options::Kivi(options) => kivi::run(options),
        Options::Confirm(options) => confirm::run(options),
        Options::Accepts(options) => accepts::run(options),
        Options::Show(options) => show::run(options),
        Options::Convert(options) => convert::run(options),
        Options::Spawn(options) => spawn::run(options),
    }
}

fn usage(message: impl ToString) -> anyhow::Error {
    Expected::error(Exit::Usage, message.to_string())
}
