//! A disk that can't be written any more. What fails deep in a trial is noted here, where it happens, and ends the
//! campaign with exit code 75: a subject whose disk is full may do anything, so nothing that it showed counts.

use std::{io, path::Path, sync::OnceLock};

use crate::exit::{Exit, Expected};

static FAILED: OnceLock<String> = OnceLock::new();

/// Notes that this file could not be written. The first one is told.
pub fn failed(path: &Path, error: &io::Error) {
    drop(FAILED.set(cannot_write(path, error)));
}

/// Notes it if that is what this error is about: something at `path` could not be made or written.
pub fn noted(path: &Path, error: &anyhow::Error) {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    if let Some(error) = causes.find(|error| is_of_disk(error)) {
        failed(path, error);
    }
}

/// What could not be written, if anything.
pub fn why() -> Option<&'static str> {
    FAILED.get().map(String::as_str)
}

/// # Errors
/// Something could not be written: exit 75.
pub fn check() -> anyhow::Result<()> {
    match why() {
        Some(why) => Err(Expected::error(Exit::Environment, why)),
        None => Ok(()),
    }
}

/// The sentence for the user.
pub fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}; free space or give another --out", path.display())
}

fn is_of_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}
