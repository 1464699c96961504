//! `trommel show`: prints a stored history, as far as it goes, or the model that a run is learnt to be.

mod model;

use std::path::{Path, PathBuf};

use clap::Args;
use trace::file::{FileError, Stored, Truncated};

use crate::{
    cli::Output,
    exit::{Exit, Expected},
    report::{plain, text, timeline},
    stdout,
};

/// `trommel show`.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// A history file (`history.jsonl.zst`) of a run folder; with --model also the run folder itself.
    #[arg(value_name = "RUN")]
    pub path: PathBuf,
    /// Print what was learnt of the controller instead: what it reads, its writes and what it knew before each, and
    /// which changes take back which.
    #[arg(long)]
    pub model: bool,
    /// With --model: for people, or as plain data.
    #[arg(short, long, value_enum, requires = "model")]
    pub output: Option<Output>,
}

/// Prints what happened, one line each, or the model. A file whose writer was killed is shown up to its last record, and
/// the exit code says that it is incomplete.
///
/// # Errors
/// A file that is missing, a folder without what is asked for (exit 64), no history, or one of a later version (exit 106).
pub fn run(args: &ShowArgs) -> anyhow::Result<Exit> {
    if args.model {
        return model::show(&args.path, args.output.unwrap_or(Output::Text));
    }
    let path = args.path.display();
    if args.path.is_dir() {
        let message = format!("{path} is a folder: name a history in it ({FIRST}), or add --model");
        return Err(Expected::error(Exit::Usage, message));
    }
    let stored = read(&args.path)?;
    let lines = text::timeline(&timeline::all(&stored.history));
    stdout::write(&(plain::text(&lines).into_owned() + "\n"));
    Ok(as_far_as_it_goes(&args.path, stored.truncated.as_ref()))
}

/// The first undisturbed run of a run folder.
const FIRST: &str = "references/0/history.jsonl.zst";

/// Where histories come from.
const HOW: &str = "no history and no run folder is there: `trommel run CAMPAIGN.yaml` makes one, \
                   trommel-out/CAMPAIGN/NUMBER, and prints its path at its end";

fn read(path: &Path) -> anyhow::Result<Stored> {
    let shown = path.display();
    let file = std::fs::File::open(path).map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound => format!(": {HOW}"),
            _ => String::new(),
        };
        Expected::error(Exit::Usage, format!("{shown}: {error}{hint}"))
    })?;
    trace::file::read(file).map_err(|error| {
        let hint = match error {
            FileError::NotHistory(_) => {
                "; histories are the files history.jsonl.zst of a run folder"
            }
            FileError::Version { .. } | FileError::Io(_) => "",
        };
        Expected::error(Exit::Recording, format!("{shown}: {error}{hint}"))
    })
}

/// Says where a history ends that its writer did not finish.
fn as_far_as_it_goes(path: &Path, truncated: Option<&Truncated>) -> Exit {
    let Some(cut) = truncated else { return Exit::Clean };
    eprintln!("trommel: {} ends after {} records: {}", path.display(), cut.records, cut.reason);
    Exit::Recording
}
