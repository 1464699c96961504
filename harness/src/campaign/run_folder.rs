//! The folder of one run: everything that it leaves behind (docs/campaign.md, "The run folder").

use std::{
    fs::{self, File, TryLockError},
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

use crate::{
    campaign::disk,
    exit::{Exit, Expected},
};

/// The folder of one run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Held as long as somebody writes here; none where the file system knows no locks.
    _lock: Option<Arc<File>>,
}

/// Clients read KUBECONFIG, which names a file of the folder, as a list of paths.
fn is_one_path(out: &Path) -> anyhow::Result<()> {
    match std::path::absolute(out)?.to_string_lossy().contains(':') {
        true => Err(Expected::error(
            Exit::Usage,
            format!(
                "--out {}: the path has a colon, at which controllers part KUBECONFIG: give another",
                out.display()
            ),
        )),
        false => Ok(()),
    }
}

/// The file whose lock (flock) says that a run writes here. It holds the number of the process.
const LOCK: &str = "lock";

impl RunFolder {
    /// Makes a new folder: `out` itself if given, else `trommel-out/CAMPAIGN/NUMBER` below the current folder,
    /// with `latest` pointing to it.
    ///
    /// # Errors
    /// A folder that holds another run or files of somebody else, or into which a run is being written, or that no
    /// controller can be told of (exit 64); or one that can't be written (exit 75).
    pub fn create(out: Option<&Path>, campaign: &str) -> anyhow::Result<RunFolder> {
        let path = match out {
            Some(out) => {
                is_one_path(out)?;
                holds_none(out)?;
                holds_nothing_foreign(out)?;
                fs::create_dir_all(out).map_err(|error| cannot_write(out, &error))?;
                out.to_owned()
            }
            None => numbered(&Path::new("trommel-out").join(campaign))?,
        };
        let path = std::path::absolute(path)?;
        let lock = lock(&path)?.map(Arc::new);
        // One may have ended between the two looks.
        holds_none(&path)?;
        for below in ["references", "trials", "findings"] {
            let below = path.join(below);
            fs::create_dir_all(&below).map_err(|error| cannot_write(&below, &error))?;
        }
        Ok(RunFolder { path, _lock: lock })
    }

    /// Writes a file of this folder; a full disk is told as such.
    pub fn write(&self, name: &str, content: &[u8]) -> anyhow::Result<()> {
        let path = self.path.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| cannot_write(parent, &error))?;
        }
        // Readers of live files never see half of one.
        let new = path.with_extension("new");
        fs::write(&new, content).map_err(|error| cannot_write(&path, &error))?;
        fs::rename(&new, &path).map_err(|error| cannot_write(&path, &error))
    }

    /// Writes a value as indented JSON.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        self.write(name, &text)
    }
}

fn numbered(below: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(below).map_err(|error| cannot_write(below, &error))?;
    for number in 1u32.. {
        let path = below.join(number.to_string());
        match fs::create_dir(&path) {
            Ok(()) => {
                let latest = below.join("latest");
                // A link that can't be made is no reason to stop.
                drop(fs::remove_file(&latest));
                drop(std::os::unix::fs::symlink(number.to_string(), &latest));
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot_write(&path, &error)),
        }
    }
    unreachable!("u32 folders")
}

/// Locks the folder until the file is dropped, or the process ends however it does.
fn lock(folder: &Path) -> anyhow::Result<Option<File>> {
    let path = folder.join(LOCK);
    let open = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = open.map_err(|error| cannot_write(&path, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut by = String::new();
            // Only to say who it is.
            drop(file.read_to_string(&mut by));
            let message = format!(
                "another run (process {}) writes into {}: wait for its end, or give another --out",
                by.trim(),
                folder.display()
            );
            return Err(Expected::error(Exit::Usage, message));
        }
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    let number = format!("{}\n", std::process::id());
    let written = file.set_len(0).and_then(|()| file.write_all(number.as_bytes()));
    written.map_err(|error| cannot_write(&path, &error))?;
    Ok(Some(file))
}

fn holds_none(folder: &Path) -> anyhow::Result<()> {
    match folder.join("summary.json").exists() {
        true => Err(Expected::error(
            Exit::Usage,
            format!("{} holds another run: give another --out", folder.display()),
        )),
        false => Ok(()),
    }
}

/// What stands in the folder of a run that did not end: the next one may take its place.
const OWN: [&str; 14] = [
    LOCK,
    "baseline.json",
    "cluster-logs",
    "config.yaml",
    "end-states.json",
    "figures.json",
    "findings",
    "manifests",
    "plans.jsonl",
    "references",
    "report",
    "stats.json",
    "trials",
    "workload",
];

/// Nobody wants a run between the files of a project, where the next clean-up takes both.
fn holds_nothing_foreign(folder: &Path) -> anyhow::Result<()> {
    // One that is not there holds nothing; what can't be listed is told by the first write.
    let mut names = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.file_name());
    let is_foreign = |name: &std::ffi::OsString| {
        let half_written = Path::new(name).extension().is_some_and(|end| end == "new");
        !half_written && OWN.iter().all(|own| name != own)
    };
    match names.find(is_foreign) {
        None => Ok(()),
        Some(name) => Err(Expected::error(
            Exit::Usage,
            format!(
                "{} holds {}, which is of no run: give an --out that is new or empty",
                folder.display(),
                name.display()
            ),
        )),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> anyhow::Error {
    Expected::error(Exit::Environment, disk::cannot_write(path, error))
}
