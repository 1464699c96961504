//! The history files of a run folder while it grows, and after its writer died.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use trace::file::{FileError, Stored, read};

/// All history files of a run folder: of references and of trials.
fn files(run: &Path) -> Vec<PathBuf> {
    let folders = ["references", "trials"].iter().flat_map(|name| fs::read_dir(run.join(name)));
    let trials = folders.flatten().flatten().map(|entry| entry.path().join("history.jsonl.zst"));
    trials.filter(|path| path.exists()).collect()
}

/// How long each is.
pub fn sizes(run: &Path) -> BTreeMap<PathBuf, u64> {
    let size = |path: PathBuf| Some((path.clone(), path.metadata().ok()?.len()));
    files(run).into_iter().filter_map(size).collect()
}

/// A file's records; none if its writer had only made it yet.
fn open(path: &Path) -> Option<Stored> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match read(&bytes[..]) {
        Ok(stored) => Some(stored),
        Err(FileError::NotHistory(_)) if bytes.is_empty() => None,
        Err(error) => panic!("{} ({} bytes): {error}", path.display(), bytes.len()),
    }
}

/// No file is shorter than it was, and each can be read to its last record: one that its writer could not finish
/// stops, it is not damaged.
pub fn nothing_is_lost(run: &Path, before: &BTreeMap<PathBuf, u64>) {
    let now = sizes(run);
    for (path, size) in before {
        assert!(now.get(path) >= Some(size), "{} had {size} bytes: {now:?}", path.display());
    }
    let mut unfinished = 0;
    for path in now.keys() {
        let Some(Stored { truncated: Some(truncated), .. }) = open(path) else { continue };
        unfinished += 1;
        let reason = truncated.reason.as_str();
        let stops = reason.starts_with("the end of the file") || reason == "half a line";
        assert!(stops, "{}: {truncated:?}", path.display());
    }
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(unfinished <= workers, "{unfinished} without an end, but {workers} were being written");
}
