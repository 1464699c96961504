//! What is checked: a case of Kivi's, or an input.

use std::{
    fs,
    path::{Path, PathBuf},
};

use model::kivi::{
    cases::{Case, Variant},
    description::Description,
    input::{File, Input, InputError, directory, logs, uniform},
    sizes::{Bounds, Size},
};

use super::super::{files, usage};
use crate::config::reading;

/// What is checked.
#[derive(Debug)]
pub(super) enum Source {
    /// A case, at a scale.
    Case { case: Case, variant: Variant, scale: u32 },
    /// An input.
    Input(Box<Input>),
}

/// The folders of a configuration and of logs whose files are read.
const CONFIGURATION: [&str; 2] = ["yaml", "user_input"];
const LOGS: [&str; 2] = ["setup", "user_input"];

impl Source {
    /// Reads a configuration directory, a directory of logs or a uniform JSON file, and says on stderr what of it Kivi
    /// or nobody reads.
    ///
    /// # Errors
    /// A file is missing or wrong: exit 64.
    pub fn load(path: &Path, is_logs: bool) -> anyhow::Result<Source> {
        let shown = path.display();
        if fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
            if is_logs {
                return Err(usage(format!("{shown}: --log wants a directory of logs")));
            }
            let text = reading::text(path)?;
            let name = path.to_string_lossy();
            let input = uniform::read(&File { path: &name, text: &text }).map_err(usage)?;
            return Ok(Source::told(input, Path::new("")));
        }
        let mut texts = Vec::new();
        for folder in if is_logs { LOGS } else { CONFIGURATION } {
            read_folder(path, folder, &mut texts)?;
        }
        let all: Vec<File<'_>> =
            texts.iter().map(|(name, text)| File { path: name, text }).collect();
        let input = if is_logs { logs::read(&all) } else { directory::read(&all) };
        let input = input.map_err(|error| {
            let is_other = matches!(error, InputError::Missing { .. })
                && path.join(if is_logs { "yaml" } else { "setup" }).is_dir();
            let hint = match (is_other, is_logs) {
                (false, _) => "",
                (true, true) => "; for a configuration directory leave --log out",
                (true, false) => "; for a directory of logs add --log",
            };
            usage(format!("{shown}: {error}{hint}"))
        })?;
        Ok(Source::told(input, path))
    }

    fn told(input: Input, folder: &Path) -> Source {
        for note in &input.notes {
            files::tell(&folder.join(note.to_string()).display().to_string());
        }
        Source::Input(Box::new(input))
    }

    /// The cluster as it is described.
    pub fn single(&self) -> Description {
        match self {
            Source::Case { case, variant, scale } => case.at_scale(*scale, *variant),
            Source::Input(input) => input.description.clone(),
        }
    }

    /// How far it grows; none if it is one cluster only.
    pub fn bounds(&self) -> Option<Bounds> {
        match self {
            Source::Case { case, variant, scale } => Some(case.bounds(*scale, *variant)),
            Source::Input(input) => input.growing.as_ref().map(|growing| growing.bounds.clone()),
        }
    }

    /// The cluster of a size.
    pub fn of_size(&self, size: &Size) -> Description {
        match self {
            Source::Case { case, variant, .. } => case.of_size(&size.nodes, size.pods[0], *variant),
            Source::Input(input) => match &input.growing {
                Some(growing) => growing.of_size(size),
                None => input.description.clone(),
            },
        }
    }
}

/// The files of a folder, by their paths below the directory. A folder that is not there has none.
fn read_folder(path: &Path, folder: &str, into: &mut Vec<(String, String)>) -> anyhow::Result<()> {
    let cannot = |path: &Path, error: std::io::Error| {
        usage(format!("cannot read {}: {error}", path.display()))
    };
    fs::metadata(path).map_err(|error| cannot(path, error))?;
    let below = path.join(folder);
    if !below.is_dir() {
        return Ok(());
    }
    let entries = fs::read_dir(&below).map_err(|error| cannot(&below, error))?;
    let paths: Result<Vec<PathBuf>, _> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| cannot(&below, error))?;
    paths.sort();
    for file in paths.into_iter().filter(|file| file.is_file()) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with('.') {
            into.push((format!("{folder}/{name}"), reading::text(&file)?));
        }
    }
    Ok(())
}
