//! Where a replay file comes from: the folder that its paths are relative to, and the campaigns in it.

use std::path::{Component, Path, PathBuf};

use plans::Replay;

use crate::{
    config::{Campaign, repository},
    exit::{Exit, Expected},
};

/// The campaign's folder, as it is found here.
pub struct Origin {
    /// It.
    pub folder: PathBuf,
    /// Campaigns in it with the name of the replay file's, whose word counts; none if only the folder is left, or if the
    /// file leads away from here.
    pub campaigns: Vec<Campaign>,
}

/// Looks below the current folder, and below those above it in its repository; then below each folder above the replay
/// file, so that a file in `regressions/` works from anywhere. One with the campaign comes before one with the program,
/// and that before one that is only there.
///
/// # Errors
/// There is none: where it was looked, and what to do (exit 64).
pub fn find(file: &Path, replay: &Replay) -> anyhow::Result<Origin> {
    let absolute = std::path::absolute(file)?;
    let here = std::env::current_dir()?;
    let bases = to_repository(&here).chain(absolute.ancestors().skip(1));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in bases.map(|base| base.join(&replay.folder)) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    if let Some(mut origin) = folders.iter().find_map(|folder| with_campaign(folder, replay)) {
        // Who wrote the file may have put anything there.
        if leads_away(&replay.folder) {
            origin.campaigns.clear();
        }
        return Ok(origin);
    }
    let program = replay.subject.command.first().filter(|program| program.contains('/'));
    let has_program = |folder: &&PathBuf| program.is_some_and(|name| folder.join(name).is_file());
    // `.` is everywhere, and says nothing.
    let says_something = !matches!(replay.folder.as_str(), "" | "." | "./");
    let is_there = |folder: &&PathBuf| says_something && folder.is_dir();
    let found = folders.iter().find(has_program).or_else(|| folders.iter().find(is_there));
    match found {
        Some(folder) => Ok(Origin { folder: folder.clone(), campaigns: vec![] }),
        None => Err(nowhere(file, replay, &folders)),
    }
}

/// A folder, and those above it up to the root of its repository; only itself if it is in none.
fn to_repository(folder: &Path) -> impl Iterator<Item = &Path> {
    let root = repository::root(folder).unwrap_or(folder);
    folder.ancestors().take_while(move |above| above.starts_with(root))
}

/// Whether a path may name something that is neither below the user's folder nor beside the replay file.
fn leads_away(folder: &str) -> bool {
    Path::new(folder)
        .components()
        .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

fn nowhere(file: &Path, replay: &Replay, folders: &[PathBuf]) -> anyhow::Error {
    let looked: String = folders.iter().map(|folder| format!("\n  {}", folder.display())).collect();
    let message = format!(
        "{}: the folder {:?} of its campaign {} is not here: put the file into the campaign's repository, or give \
         --campaign or --command; looked for it at{looked}",
        file.display(),
        replay.folder,
        replay.campaign
    );
    Expected::error(Exit::Usage, message)
}

fn with_campaign(folder: &Path, replay: &Replay) -> Option<Origin> {
    // A run folder has a copy of the campaign's file, whose paths lead nowhere from there.
    if folder.join("plans.jsonl").is_file() || folder.join("lock").is_file() {
        return None;
    }
    let named = replay.campaign_file.iter().map(|name| folder.join(name));
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "yaml" || end == "yml"))
        .collect();
    files.sort();
    // The one that made the file comes first.
    let loaded = named.chain(files).filter_map(|file| Campaign::load(&file, None).ok());
    let campaigns: Vec<Campaign> =
        loaded.filter(|campaign| campaign.name() == replay.campaign).collect();
    (!campaigns.is_empty()).then(|| Origin { folder: folder.to_owned(), campaigns })
}
