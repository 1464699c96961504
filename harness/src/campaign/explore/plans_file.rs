//! `plans.jsonl`: a line a trial, written when the trial is counted, so that it can be read while a campaign runs and
//! after any end.

use std::{
    fs::File,
    io::{self, Write},
    path::PathBuf,
};

use super::Carried;
use crate::campaign::{disk, run_folder::RunFolder};

/// The file, open for appending; none after an error, which [`disk`] has noted.
pub(super) struct PlansFile {
    path: PathBuf,
    open: Option<File>,
}

impl PlansFile {
    /// An empty one.
    pub fn create(folder: &RunFolder) -> PlansFile {
        let path = folder.path.join("plans.jsonl");
        match File::create(&path) {
            Ok(file) => PlansFile { path, open: Some(file) },
            Err(error) => {
                disk::failed(&path, &error);
                PlansFile { path, open: None }
            }
        }
    }

    /// Adds a line.
    pub fn add(&mut self, carried: &Carried) {
        let Some(file) = &mut self.open else { return };
        let mut line = serde_json::to_vec(carried).map_err(io::Error::from);
        if let Ok(line) = &mut line {
            line.push(b'\n');
        }
        // In one piece, so that whoever reads meanwhile sees whole lines.
        if let Err(error) = line.and_then(|line| file.write_all(&line)) {
            disk::failed(&self.path, &error);
            self.open = None;
        }
    }
}
