//! A disk that can't be written any more. What fails deep in a trial is noted, where it happens, as a [`fault`].

use std::{io, path::Path};

use super::fault;

/// Notes that this file could not be written. The first one is told.
pub fn failed(path: &Path, error: &io::Error) {
    fault::note(cannot_write(path, error));
}

/// Notes it if that is what this error is about: something at `path` could not be made or written.
pub fn noted(path: &Path, error: &anyhow::Error) {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    if let Some(error) = causes.find(|error| is_of_disk(error)) {
        failed(path, error);
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
