//! The controllers of `tests/subjects`, built.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    process::Command,
    sync::{Mutex, PoisonError},
};

use crate::root;

/// The folder `tests/subjects/NAME`, after its `build.sh` was run; once in a test process.
pub fn built(name: &'static str) -> PathBuf {
    static BUILT: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let folder = root().join("tests/subjects").join(name);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.insert(name) {
        let status = Command::new(folder.join("build.sh")).status().expect("build.sh can be run");
        assert!(status.success(), "{name}/build.sh: {status}");
    }
    folder
}
