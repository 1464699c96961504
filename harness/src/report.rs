//! Says what a campaign found: for programs (`summary.json`), in a browser (`report/index.html`), as text
//! (`findings/<id>/explain.md`) and on the terminal.
//!
//! All of them render one plain value, [`Report`], so they can't disagree; credentials are masked once, before
//! any of them. [`timeline`] and [`difference`] make the bulky parts of a finding from a history and two
//! end states.

pub mod by_hand;
pub mod difference;
pub mod model;
pub mod plain;
pub mod text;
pub mod timeline;

mod html;
mod mask;

use std::{fs, io, path::Path};

pub use model::Report;

/// Writes `summary.json`, `report/index.html` and each finding's `explain.md` into the run folder. The replay
/// files themselves are written by whoever confirmed them.
///
/// `summary.json` comes last, and whole or not at all: where it exists, the rest does too.
///
/// # Errors
/// What the file system says, with the path. A finding whose id is no plain file name is refused
/// (`InvalidInput`).
pub fn write(report: &Report, folder: &Path) -> io::Result<()> {
    let report = mask::report(report);
    for finding in report.confirmed() {
        if !is_plain(&finding.id) {
            let message = format!("{:?} can't name a folder", finding.id);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        put(
            &folder.join("findings").join(&finding.id).join("explain.md"),
            &text::explain(finding),
        )?;
    }
    put(&folder.join("report/index.html"), &html::page(&report).map_err(io::Error::other)?)?;
    put(&folder.join("summary.json"), &summary_json(&report)?)
}

/// What `summary.json` holds and `-o json` prints.
///
/// # Errors
/// None for any report that the harness makes: its numbers are finite.
pub fn summary_json(report: &Report) -> io::Result<String> {
    let report = mask::report(report);
    Ok(serde_json::to_string_pretty(&report.summary())? + "\n")
}

fn is_plain(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !id.is_empty() && !id.starts_with('.') && id.chars().all(plain)
}

/// Writes beside, then renames: a reader never sees half a file.
///
/// # Errors
/// What the file system says, with the path.
pub fn put(path: &Path, text: &str) -> io::Result<()> {
    let told =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(told)?;
    }
    let partial = path.with_extension("partial");
    fs::write(&partial, text).and_then(|()| fs::rename(&partial, path)).map_err(told)
}

#[cfg(test)]
pub(crate) mod sample;

#[cfg(test)]
mod tests;
