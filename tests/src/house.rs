//! A small repository like a user's: folders of this one, copied, with the built controllers where they expect
//! them. So tests write nothing into the source tree, and don't meet in one folder.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::{product, root};

/// The repository; kept after the test for whoever wants to look, emptied before the next run of it.
pub struct House {
    /// Its root.
    pub root: PathBuf,
}

impl House {
    /// Makes one for the test of that name, from these folders.
    ///
    /// `build: cargo …` lines of campaigns are left out: everything is built already.
    pub fn new(test: &str, folders: &[&str]) -> House {
        let house = House { root: root().join("target/tests").join(test) };
        drop(fs::remove_dir_all(&house.root));
        make(&house.root.join("target"));
        let binaries = product::binary().parent().expect("a binary is in a folder");
        symlink(binaries, house.root.join("target/debug")).expect("a link can be made");
        for folder in folders {
            copy(&root().join(folder), &house.root.join(folder));
        }
        house
    }

    /// Writes a file and the folders above it.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        make(path.parent().unwrap_or(&self.root));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// A path in it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

fn make(folder: &Path) {
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
}

fn copy(from: &Path, to: &Path) {
    make(to);
    let entries = fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    for entry in entries {
        let entry = entry.expect("a folder can be listed");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else if from
            .file_name()
            .is_some_and(|name| name == "campaign.yaml" || name == "fixed.yaml")
        {
            let text = fs::read_to_string(&from).expect("a campaign is text");
            let kept = text.lines().filter(|line| !line.trim_start().starts_with("build: cargo"));
            fs::write(&to, kept.map(|line| format!("{line}\n")).collect::<String>())
                .expect("a file can be written");
        } else {
            fs::copy(&from, &to).expect("a file can be copied");
        }
    }
}
