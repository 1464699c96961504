//! History files of trials: written while the trial runs, readable to the last record after any end.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use trace::{Delivery, Event, Record, file, history::Sink};

use crate::campaign::disk;

/// Records handed to the operating system together: each at once, so that a kill of this process loses none.
const BATCH: usize = 1;

/// Says in the header what wrote it.
pub const MADE_BY: &str = concat!("trommel ", env!("CARGO_PKG_VERSION"));

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
