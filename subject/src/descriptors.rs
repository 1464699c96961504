//! Where the open files of a process are listed.

use std::{fs, path::PathBuf};

/// The folder of `/proc` of one that still has its files: of the process itself, or of a thread of it that is alive. A
/// program whose first thread has ended has none under its own number.
pub(crate) fn holder(process: i32) -> PathBuf {
    let has_files = |folder: &PathBuf| {
        fs::read_dir(folder.join("fd")).is_ok_and(|mut entries| entries.next().is_some())
    };
    let whole = PathBuf::from(format!("/proc/{process}"));
    if has_files(&whole) {
        return whole;
    }
    let threads = fs::read_dir(whole.join("task")).into_iter().flatten();
    threads.filter_map(|entry| Some(entry.ok()?.path())).find(has_files).unwrap_or(whole)
}
