//! History files of trials: written while the trial runs, readable to the last record after any end.
//!
//! Most trials of an exploration show nothing. Their histories stay in memory and end with them, unless the user keeps the
//! files of all trials; of one that proves nothing the history is written when it is over.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use trace::{Delivery, Event, Record, file, history::Sink};

use super::{TrialRun, TrialSpec};
use crate::campaign::{disk, setup::Setup};

/// Records handed to the operating system together: each at once, so that a kill of this process loses none.
const BATCH: usize = 1;

/// Says in the header what wrote it.
pub const MADE_BY: &str = concat!("trommel ", env!("CARGO_PKG_VERSION"));

/// The file in a trial's folder.
pub const NAME: &str = "history.jsonl.zst";

/// What the header says of the trial.
pub fn about(setup: &Setup, spec: &TrialSpec) -> serde_json::Value {
    serde_json::json!({
        "campaign": setup.campaign.name(),
        "plan": spec.plan,
        "repeat": spec.repeat,
    })
}

/// Writes the history of a trial that is over, if it was not written while it ran.
///
/// # Errors
/// None: a file that can't be written is noted in [`disk`].
pub fn keep(setup: &Setup, run: &TrialRun) {
    if run.server.is_none() || setup.writes_history_of(&run.spec) {
        return;
    }
    let path = run.folder.join(NAME);
    match sink(&path, about(setup, &run.spec)) {
        Ok(sink) => run.history.records.iter().for_each(sink),
        Err(error) => disk::noted(&path, &error),
    }
}

/// A sink that writes a history file; dropping it finishes the file.
///
/// # Errors
/// The file can't be created. Later write errors (a full disk) end the file where they happened, and are noted in
/// [`disk`]; the trial goes on in memory.
pub fn sink(path: &Path, about: serde_json::Value) -> anyhow::Result<Box<Sink>> {
    let header = file::Header::new(MADE_BY, about);
    let writer = file::Writer::new(File::create(path)?, &header, BATCH)?;
    let mut open = Open { writer: Some(writer), path: path.to_owned() };
    // What was delivered stands in the commits already.
    Ok(Box::new(move |record: &Record| match &record.event {
        Event::Delivery(delivery) if delivery.object.is_some() => {
            let event = Event::Delivery(Delivery { object: None, ..delivery.clone() });
            open.write(&Record { event, ..record.clone() });
        }
        _ => open.write(record),
    }))
}

struct Open {
    writer: Option<file::Writer<File>>,
    path: PathBuf,
}

impl Open {
    fn write(&mut self, record: &Record) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.write(record) {
            self.ends_early(&error);
            self.writer = None;
        }
    }

    fn ends_early(&self, error: &io::Error) {
        tracing::debug!("a history file ends early: {error}");
        disk::failed(&self.path, error);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.writer.take().map(file::Writer::finish) {
            self.ends_early(&error);
        }
    }
}
