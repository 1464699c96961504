//! A program that is older than its sources: what was mended last is not in it.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::config::repository;

/// What source files end with.
const SOURCES: &[&str] = &["rs", "go", "py", "java", "kt", "c", "cc", "cpp", "h", "cs", "ts", "js"];

/// Folders in which nobody writes sources by hand.
const SKIPPED: &[&str] = &["target", "node_modules", "vendor", "trommel-out", "bin", "build"];

/// Folders and files that are looked at; whoever has more than that is not told.
const ENTRIES_MAX: usize = 50_000;

/// A sentence if a source in the repository of `folder` is newer than the program, which this command builds.
pub fn sentence(program: &Path, folder: &Path, build: &str) -> Option<String> {
    let built = program.metadata().ok()?.modified().ok()?;
    let root = repository::root(folder).unwrap_or(folder);
    let (newest, source) = newest_source(root)?;
    let source = source.strip_prefix(root).unwrap_or(&source).display();
    (newest > built)
        .then(|| format!("{} is older than {source}; the build was: {build}", program.display()))
}

fn newest_source(root: &Path) -> Option<(SystemTime, PathBuf)> {
    let mut newest = None;
    let mut folders = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES_MAX {
                return None;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // Links are not followed.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&&*name) {
                folders.push(path);
            } else if kind.is_file()
                && path.extension().is_some_and(|end| SOURCES.iter().any(|known| end == *known))
                && let Ok(changed) = entry.metadata().and_then(|metadata| metadata.modified())
                && newest.as_ref().is_none_or(|(time, _)| *time < changed)
            {
                newest = Some((changed, path));
            }
        }
    }
    newest
}
