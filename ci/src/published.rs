//! Test suites that others published, unmodified, on the embedded API server (tests/foreign/suites): whatever fails in one
//! is known, with its reason, or the command fails; and so it does when a known failure is gone.
//!
//! Each suite is a folder with a `run.sh` that fetches a pinned version and leaves reports, read by `results.py`, and a
//! `known.yaml` of what fails. docs/foreign-suites.md explains the results.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::{
    campaigns::out_folder,
    report::Report,
    run::{Output, Runner, works},
    table, watched,
};

/// One folder a suite.
const FOLDER: &str = "tests/foreign/suites";

const HEAD: [&str; 6] = ["suite", "on", "passed", "failed", "skipped", "s"];

/// What the suites run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// The embedded API server.
    Trommel,
    /// kube-apiserver and etcd, as tests/reference builds them.
    Real,
}

impl Arm {
    fn name(self) -> &'static str {
        match self {
            Arm::Trommel => "trommel",
            Arm::Real => "real",
        }
    }
}

/// Tests that are known to fail, for one reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    tests: Vec<String>,
    /// Read by people.
    #[serde(rename = "why")]
    _why: String,
    /// Fails on the real server as well.
    #[serde(default)]
    real: bool,
    /// Fails at times only.
    #[serde(default)]
    sometimes: bool,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    Skipped,
}

/// Runs each suite whose folder contains this, one after the other, and prints a table.
///
/// # Errors
/// There is no such suite, or its `known.yaml` can't be read.
pub fn all(runner: &mut Runner, only: &str, arm: Arm) -> anyhow::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(runner.root.join(FOLDER))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains(only) && entry.path().join("run.sh").is_file() {
            names.push(name);
        }
    }
    ensure!(!names.is_empty(), "no suite in {FOLDER} is called {only:?}");
    names.sort();
    let mut rows = Vec::new();
    for name in names {
        let title = format!("suite {name} on {}", arm.name());
        if let Some(why) = missing() {
            runner.skip(&title, why);
            continue;
        }
        let known = known(&runner.root.join(FOLDER).join(&name))?;
        let (began, mut output) = (Instant::now(), runner.stream());
        let ended = run(runner, &name, arm, &mut output);
        let took = began.elapsed();
        let problems = match &ended {
            Ok(tests) => {
                rows.push(row(&name, arm, tests, took));
                problems(tests, &known, arm)
            }
            Err(error) => vec![format!("{error:#}")],
        };
        problems.iter().for_each(|problem| output.line(&format!("DEVIATES {problem}")));
        let failed = (!problems.is_empty()).then(|| problems.join("; "));
        runner.take(Report::of_check(&title, took, failed));
    }
    println!("\n{}", table::markdown(&HEAD, &rows));
    Ok(())
}

/// What all of them need.
fn missing() -> Option<&'static str> {
    let needs: [(&[&str], _); 2] = [
        (&["go", "version"], "go is not on this machine"),
        (&["python3", "-c", "import venv, ensurepip"], "python3 with venv is not on this machine"),
    ];
    needs.into_iter().find(|(command, _)| !works(command)).map(|(_, why)| why)
}

fn known(folder: &Path) -> anyhow::Result<Vec<Known>> {
    let file = folder.join("known.yaml");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    serde_saphyr::from_str(&text).with_context(|| file.display().to_string())
}

/// Runs a suite to its end, and reads its reports.
fn run(
    runner: &Runner,
    name: &str,
    arm: Arm,
    output: &mut Output,
) -> anyhow::Result<BTreeMap<String, Ended>> {
    let folder = runner.root.join(FOLDER).join(name);
    let out = out_folder(runner, &format!("suite-{name}-{}", arm.name()))?;
    fs::create_dir_all(&out)?;
    let mut command = runner.command(&folder.join("run.sh").display().to_string());
    command
        .env("TROMMEL", runner.binaries.join("trommel"))
        .env("SUITE", &folder)
        .env("OUT", &out)
        .env("ARM", arm.name());
    output.line(&format!("\n=== suite {name} on {}", arm.name()));
    let status = watched::run(command, runner.deadline(), |line| output.line(line))?.status()?;
    ensure!(status.success(), "run.sh: {status}");
    let results = runner.root.join(FOLDER).join("results.py").display().to_string();
    let mut lines = Vec::new();
    let status =
        runner.read(&results, &[&out.display().to_string()], |line| lines.push(line.to_owned()))?;
    ensure!(status.success(), "results.py: {status}");
    let tests = read(&lines)?;
    ensure!(!tests.is_empty(), "no test has run");
    Ok(tests)
}

/// Lines of `results.py`. Of tests of one name, one that failed counts.
fn read(lines: &[String]) -> anyhow::Result<BTreeMap<String, Ended>> {
    let mut tests = BTreeMap::new();
    for line in lines {
        let (state, name) = line.split_once('\t').with_context(|| format!("{line:?}"))?;
        let ended = match state {
            "passed" => Ended::Passed,
            "failed" => Ended::Failed,
            "skipped" => Ended::Skipped,
            _ => anyhow::bail!("{line:?} is no result"),
        };
        let kept = tests.entry(name.to_owned()).or_insert(ended);
        if ended == Ended::Failed {
            *kept = ended;
        }
    }
    Ok(tests)
}

/// Failures that are not known, and known ones that are gone.
fn problems(tests: &BTreeMap<String, Ended>, known: &[Known], arm: Arm) -> Vec<String> {
    let of_arm = |known: &&Known| arm == Arm::Trommel || known.real;
    let of_name = |name: &str| {
        known.iter().filter(of_arm).find(|known| known.tests.iter().any(|test| test == name))
    };
    let failed = tests.iter().filter(|(_, ended)| **ended == Ended::Failed).map(|(name, _)| name);
    let mut problems: Vec<String> = failed
        .filter(|name| of_name(name).is_none())
        .map(|name| format!("{name:?} fails, and is not in known.yaml"))
        .collect();
    let always = known.iter().filter(of_arm).filter(|known| !known.sometimes);
    for test in always.flat_map(|known| &known.tests) {
        match tests.get(test) {
            Some(Ended::Failed) => {}
            Some(_) => problems.push(format!("{test:?} fails no longer")),
            None => problems.push(format!("{test:?} did not run")),
        }
    }
    problems
}

fn row(name: &str, arm: Arm, tests: &BTreeMap<String, Ended>, took: Duration) -> Vec<String> {
    let count = |state| tests.values().filter(|ended| **ended == state).count().to_string();
    vec![
        name.to_owned(),
        arm.name().to_owned(),
        count(Ended::Passed),
        count(Ended::Failed),
        count(Ended::Skipped),
        took.as_secs().to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_failures_may_be() {
        let known = |test: &str, real, sometimes| Known {
            tests: vec![test.to_owned()],
            _why: String::new(),
            real,
            sometimes,
        };
        let list = [known("a", false, false), known("b", true, false), known("c", true, true)];
        let check = |lines: &[&str], arm, expect: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(problems(&read(&lines).unwrap(), &list, arm), expect);
        };
        check(&["failed\ta", "failed\tb", "passed\tc", "passed\td"], Arm::Trommel, &[]);
        check(&["passed\ta", "failed\tb", "failed\tc"], Arm::Real, &[]);
        check(
            &["failed\ta", "failed\tb", "failed\td"],
            Arm::Trommel,
            &["\"d\" fails, and is not in known.yaml"],
        );
        check(&["failed\ta", "failed\tb"], Arm::Real, &["\"a\" fails, and is not in known.yaml"]);
        check(&["passed\ta", "failed\tb"], Arm::Trommel, &["\"a\" fails no longer"]);
        check(&["failed\ta"], Arm::Trommel, &["\"b\" did not run"]);
    }

    #[test]
    fn of_tests_of_one_name_a_failure_counts() {
        let lines = ["failed\ta".to_owned(), "passed\ta".to_owned()];
        assert_eq!(read(&lines).unwrap()["a"], Ended::Failed);
        assert!(read(&["what".to_owned()]).is_err());
    }

    #[test]
    fn all_lists_can_be_read() {
        let root = Runner::new().unwrap().root.join(FOLDER);
        let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        let suites: Vec<_> = folders.filter(|folder| folder.join("run.sh").is_file()).collect();
        assert_eq!(suites.len(), 4);
        suites.iter().for_each(|folder| drop(known(folder).unwrap()));
    }
}
