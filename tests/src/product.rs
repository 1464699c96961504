//! The product as users have it: the binary `trommel`, run on ordinary files.
//!
//! It is built once per test process, as part of the whole workspace, because that is how `cargo ci test` has
//! just built it: then cargo only looks. `TROMMEL_BINARY` names another one.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use serde_json::Value;

use crate::{cargo, root};

/// Settings of the shell that started the tests must not change what they test.
const SETTINGS: &[&str] = &[
    "TROMMEL_PROFILE",
    "TROMMEL_OUT",
    "TROMMEL_OUTPUT",
    "TROMMEL_WORKERS",
    "TROMMEL_THROUGH_FINDINGS",
    "TROMMEL_MAX_UNKNOWN",
    "TROMMEL_BRUTE_FORCE",
    "TROMMEL_REAL_TIME",
    "TROMMEL_KEEP",
    "TROMMEL_QUIET",
    "TROMMEL_CAMPAIGN",
    "TROMMEL_REPEATS",
    "TROMMEL_LOG",
];

/// The binary, and with it the controllers that come with Trommel.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("TROMMEL_BINARY") {
            return given.into();
        }
        let mut build = Command::new(cargo());
        // Campaigns name programs below the repository's own target folder, wherever this test was built.
        build.current_dir(root()).args(["build", "--quiet", "--workspace"]);
        build.arg("--target-dir").arg(root().join("target"));
        // What `cargo test` tells a test of its own package would make this cargo build half of all anew: build
        // scripts watch the variable.
        let told =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in std::env::vars().filter(|(name, _)| told(name)) {
            build.env_remove(name);
        }
        let status = build.status().expect("cargo runs");
        assert!(status.success(), "the workspace does not build");
        root().join("target/debug/trommel")
    })
}

/// A command line of it, to be run in `folder`.
pub fn command<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    for setting in SETTINGS {
        command.env_remove(setting);
    }
    command
}

/// Runs it in `folder` to its end.
pub fn run<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Ended {
    Ended::of(command(folder, arguments))
}

/// How it ended, and what it said.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

impl Ended {
    /// Runs any command to its end.
    pub fn of(mut command: Command) -> Ended {
        let output = command.output();
        output.map(Ended::from).unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Holds it against the exit code that it must have.
    #[track_caller]
    pub fn expect(&self, code: i32) -> &Ended {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {:?}\nstdout: {}\nstderr: {}", self.code, self.stdout, self.stderr)
    }
}

/// A JSON file of a run folder.
pub fn json(path: &Path) -> Value {
    let text = read(path);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A file of JSON lines.
pub fn json_lines(path: &Path) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    read(path).lines().map(line).collect()
}

/// A YAML file.
pub fn yaml(path: &Path) -> Value {
    let text = read(path);
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
