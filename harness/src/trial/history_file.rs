//! History files of trials: written while the trial runs, readable to the last record after any end.

use std::{fs::File, path::Path};

use trace::{Delivery, Event, Record, file, history::Sink};

/// Records handed to the operating system together: each at once, so that a kill of this process loses none.
const BATCH: usize = 1;

/// Says in the header what wrote it.
pub const MADE_BY: &str = concat!("trommel ", env!("CARGO_PKG_VERSION"));

/// A sink that writes a history file; dropping it finishes the file.
///
/// # Errors
/// The file can't be created. Later write errors (a full disk) end the file where they happened, with a warning;
/// the trial goes on in memory.
pub fn sink(path: &Path, about: serde_json::Value) -> anyhow::Result<Box<Sink>> {
    let header = file::Header::new(MADE_BY, about);
    let writer = file::Writer::new(File::create(path)?, &header, BATCH)?;
    let mut open = Open(Some(writer));
    // What was delivered stands in the commits already.
    Ok(Box::new(move |record: &Record| match &record.event {
        Event::Delivery(delivery) if delivery.object.is_some() => {
            let event = Event::Delivery(Delivery { object: None, ..delivery.clone() });
            open.write(&Record { event, ..record.clone() });
        }
        _ => open.write(record),
    }))
}

struct Open(Option<file::Writer<File>>);

impl Open {
    fn write(&mut self, record: &Record) {
        let Some(writer) = &mut self.0 else { return };
        if let Err(error) = writer.write(record) {
            tracing::warn!("a history file ends early: {error}");
            self.0 = None;
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.take().map(file::Writer::finish) {
            tracing::warn!("a history file ends early: {error}");
        }
    }
}
