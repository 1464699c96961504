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

#[cfg(test)]
mod tests {
    use oracles::VerdictValue;
    use plans::Plan;
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_line_is_there_when_its_trial_is_over() {
        let out = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(out.path()), "a").unwrap();
        let mut file = PlansFile::create(&folder);
        for lines in 1..=2 {
            let plan = Plan::undisturbed();
            file.add(&Carried {
                id: plan.id(),
                repeat: 0,
                forked: true,
                verdict: VerdictValue::Unknown,
                fingerprints: vec![],
                transient: vec![],
                folder: None,
                why: Some("it can't be had".to_owned()),
                not_possible: lines == 2,
                text: plan.to_string(),
                plan,
            });
            let text = std::fs::read_to_string(out.path().join("plans.jsonl")).unwrap();
            let read: Vec<Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(read.len(), lines);
            assert_eq!(read[lines - 1]["notPossible"] == true, lines == 2);
        }
    }
}
