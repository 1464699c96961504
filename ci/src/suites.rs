//! The test programs of the workspace, side by side: cargo builds them and says where they are, and each runs in the
//! folder of its package, as `cargo test` does it. (There are no tests in documentation here.)

use std::{path::PathBuf, process::Command};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    jobs::Job,
    report::CountedAs,
    run::{Output, Runner},
};

/// Those that compare with the real API server or the real controllers.
const WITH_JUDGE: &[&str] =
    &["differential", "environment", "envtest", "judge", "kubelet", "scheduler", "serve", "spawn"];

/// Those that take longest by the clock; they begin first.
const LONG: &[&str] = &["environment", "differential", "time", "closure", "forks", "machine"];

/// What cargo is told beside Cargo.toml, wherever binaries or test programs are built.
pub const PROFILE: &str = "ci/profile.toml";

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// `time`; of unit tests the crate's name.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its package's folder.
    pub folder: PathBuf,
}

impl Suite {
    /// From a message of cargo's, if it is about a test program.
    fn read(message: &Value) -> Option<Suite> {
        let is_test =
            message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
        let program = message["executable"].as_str().filter(|_| is_test)?;
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(Suite {
            name: message["target"]["name"].as_str()?.to_owned(),
            program: program.into(),
            folder: manifest.parent()?.to_owned(),
        })
    }

    fn needs_judge(&self) -> bool {
        WITH_JUDGE.contains(&&*self.name)
    }

    /// The smaller, the earlier.
    fn rank(&self) -> usize {
        LONG.iter().position(|name| *name == self.name).unwrap_or(LONG.len())
    }
}

/// Builds and lints every binary and every test program of the workspace.
///
/// # Errors
/// Something does not build, or a lint objects: the compiler has said what.
pub fn build(runner: &Runner) -> anyhow::Result<Vec<Suite>> {
    // One call, because features are those of all that is built at once: two would compile half of it twice. All
    // targets, or the programs would be lacking that no test belongs to.
    let arguments = [
        "build",
        "--workspace",
        "--all-targets",
        "--config",
        PROFILE,
        "--message-format",
        "json-render-diagnostics",
    ];
    let mut suites = Vec::new();
    let status = runner.read("cargo", &arguments, |line| {
        suites.extend(serde_json::from_str(line).ok().and_then(|m| Suite::read(&m)));
    })?;
    ensure!(status.success(), "the workspace doesn't build");
    suites.sort_by_key(|suite| (suite.rank(), suite.name.clone()));
    Ok(suites)
}

/// One after the other in `jobs`, with `settings` in their environment.
pub fn jobs<'a>(
    runner: &'a Runner,
    suites: &'a [Suite],
    settings: &'a [(&'a str, &'a str)],
) -> Vec<Job<'a>> {
    let job = |suite: &'a Suite| {
        let run = move |output: &mut Output| {
            let command = command(runner, suite, settings);
            runner.execute(&suite.name, command, CountedAs::Tests, output)
        };
        Job::new(&suite.name, run).needing_judge(suite.needs_judge())
    };
    suites.iter().map(job).collect()
}

/// `--show-output` shows why tests skipped.
pub fn command(runner: &Runner, suite: &Suite, settings: &[(&str, &str)]) -> Command {
    let mut command = runner.command(&suite.program.to_string_lossy());
    command
        .arg("--show-output")
        .current_dir(&suite.folder)
        .env("CARGO_MANIFEST_DIR", &suite.folder)
        .env("TROMMEL_BINARY", runner.binaries.join("trommel"))
        .envs(settings.iter().copied());
    command
}

/// The suites of these names.
///
/// # Errors
/// There is none of a name.
pub fn named(suites: &[Suite], names: &[impl AsRef<str>]) -> anyhow::Result<Vec<Suite>> {
    let find = |name: &str| {
        let found = suites.iter().find(|suite| suite.name == name).cloned();
        found.with_context(|| format!("there is no test program {name}"))
    };
    names.iter().map(|name| find(name.as_ref())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(test: bool, executable: &Value) -> Value {
        json!({
            "reason": "compiler-artifact",
            "manifest_path": "/r/tests/Cargo.toml",
            "target": {"name": "differential"},
            "profile": {"test": test},
            "executable": executable,
        })
    }

    #[test]
    fn cargo_says_where_test_programs_are() {
        let suite = Suite::read(&message(true, &json!("/t/differential-1"))).unwrap();
        assert_eq!((suite.name.as_str(), suite.needs_judge()), ("differential", true));
        assert_eq!(suite.folder, PathBuf::from("/r/tests"));
        assert_eq!(Suite::read(&message(false, &json!("/t/differential"))), None);
        assert_eq!(Suite::read(&message(true, &Value::Null)), None);
        assert_eq!(Suite::read(&json!({"reason": "build-finished"})), None);
    }

    #[test]
    fn every_named_suite_exists() {
        let tests = std::fs::read_to_string(Runner::new().unwrap().root.join("tests/Cargo.toml"));
        let tests = tests.unwrap();
        // `machine` is a suite of another crate.
        let here = |name: &&&str| **name != "machine";
        for name in WITH_JUDGE.iter().chain(LONG).filter(here) {
            assert!(tests.contains(&format!("name = \"{name}\"")), "{name}");
        }
    }
}
