//! `trommel show`: prints a stored history, as far as it goes.

use std::path::PathBuf;

use clap::Args;

use crate::{
    exit::{Exit, Expected},
    report::{text, timeline},
    stdout,
};

/// `trommel show`.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// A history file (`history.jsonl.zst`) of a run folder.
    pub history: PathBuf,
}

/// Prints what happened, one line each. A file whose writer was killed is shown up to its last record, and the
/// exit code says that it is incomplete.
///
/// # Errors
/// A file that is missing (exit 64), no history, or of a later version (exit 106).
pub fn run(args: &ShowArgs) -> anyhow::Result<Exit> {
    let path = args.history.display();
    let file = std::fs::File::open(&args.history)
        .map_err(|error| Expected::error(Exit::Usage, format!("{path}: {error}")))?;
    let stored = trace::file::read(file)
        .map_err(|error| Expected::error(Exit::Recording, format!("{path}: {error}")))?;
    stdout::write(&(text::timeline(&timeline::all(&stored.history)) + "\n"));
    match stored.truncated {
        None => Ok(Exit::Clean),
        Some(cut) => {
            eprintln!("trommel: {path} ends after {} records: {}", cut.records, cut.reason);
            Ok(Exit::Recording)
        }
    }
}
