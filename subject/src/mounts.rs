//! Showing a service-account folder where in-cluster configuration expects it, without touching
//! this machine's files.
//!
//! The folder `/var/run/secrets/...` rarely exists. It must not be created on the machine, so the
//! deepest existing folder on the way (mostly `/run`) is replaced, in the subject's mount namespace
//! only, by an empty file system into which all of its entries are bound again, with the missing
//! path added. That file system is put together on top of `/proc`, which is a folder that surely
//! exists and that gets a fresh mount afterwards anyway, and then moved to its place.

use std::{ffi::CString, io, os::unix::ffi::OsStrExt, path::Path};

use crate::sys::spawn::Mount;

/// Where client libraries look.
const TARGET: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const STAGE: &str = "/proc";

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// The mounts that show `folder` at the usual place.
pub fn service_account(folder: &Path) -> io::Result<Vec<Mount>> {
    let source = folder.canonicalize()?;
    let target = Path::new(TARGET);
    let Some(existing) = target.ancestors().find(|path| path.is_dir()) else {
        return Err(io::Error::other("there is no root folder"));
    };
    let missing = target.strip_prefix(existing).map_err(io::Error::other)?;
    let existing = existing.canonicalize()?;
    if missing.as_os_str().is_empty() {
        return Ok(vec![Mount::Bind { from: text(&source)?, to: text(&existing)? }]);
    }
    let stage = Path::new(STAGE);
    let mut mounts = vec![Mount::Empty(text(stage)?)];
    for entry in std::fs::read_dir(&existing)? {
        let entry = entry?;
        let (kind, from, to) = (entry.file_type()?, entry.path(), stage.join(entry.file_name()));
        if kind.is_symlink() {
            mounts.push(Mount::Link { target: text(&std::fs::read_link(&from)?)?, at: text(&to)? });
            continue;
        }
        mounts.push(if kind.is_dir() {
            Mount::Folder(text(&to)?)
        } else {
            Mount::File(text(&to)?)
        });
        mounts.push(Mount::Bind { from: text(&from)?, to: text(&to)? });
    }
    let mut made = stage.to_owned();
    for part in missing {
        made.push(part);
        mounts.push(Mount::Folder(text(&made)?));
    }
    mounts.push(Mount::Bind { from: text(&source)?, to: text(&made)? });
    mounts.push(Mount::Move { from: text(stage)?, to: text(&existing)? });
    Ok(mounts)
}
