//! Custom types of others on both API servers (tests/differential/corpus.rs): those of given folders, or of published
//! projects, which are fetched as Go modules (tests/foreign/definitions/modules.yaml).

use std::{env::join_paths, fs, path::PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    report::CountedAs,
    run::{Runner, works},
    suites,
};

const MODULES: &str = "tests/foreign/definitions/modules.yaml";

/// The test in its test program.
const TEST: [&str; 2] = ["differential", "corpus::custom_types_of_others"];

/// A published project.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    /// With its version.
    module: String,
    /// Below its root.
    folders: Vec<String>,
}

/// Compares the CRDs of these folders, or of all published projects if none is given. Needs the judge.
///
/// # Errors
/// A module can't be had, or the tests can't be built.
pub fn compare(runner: &mut Runner, folders: Vec<PathBuf>) -> anyhow::Result<()> {
    if !works(&["go", "version"]) {
        runner.skip("custom types of others", "go is not on this machine");
        return Ok(());
    }
    let folders = if folders.is_empty() { published(runner)? } else { absolute(folders)? };
    let built = suites::build(runner)?;
    let [suite] = &suites::named(&built, &TEST[..1])?[..] else { return Ok(()) };
    let joined = join_paths(&folders)?;
    let mut command = suites::command(runner, suite, &[]);
    command.arg(TEST[1]).env("TROMMEL_CRDS", joined);
    runner.begin("custom types of others");
    let report =
        runner.execute("custom types of others", command, CountedAs::Tests, &mut runner.stream());
    runner.take(report);
    Ok(())
}

/// The test runs in a folder of its own.
fn absolute(folders: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    let whole =
        |folder: PathBuf| folder.canonicalize().with_context(|| folder.display().to_string());
    folders.into_iter().map(whole).collect()
}

fn published(runner: &Runner) -> anyhow::Result<Vec<PathBuf>> {
    let text = fs::read_to_string(runner.root.join(MODULES)).context(MODULES)?;
    let modules: Vec<Module> = serde_saphyr::from_str(&text).context(MODULES)?;
    let mut folders = Vec::new();
    for Module { module, folders: below } in modules {
        let mut said = String::new();
        let status = runner.read("go", &["mod", "download", "-json", &module], |line| {
            said.push_str(line);
        })?;
        let said: Value = serde_json::from_str(&said).with_context(|| module.clone())?;
        ensure!(status.success(), "{module}: {}", said["Error"]);
        let root = PathBuf::from(said["Dir"].as_str().context("go names no folder")?);
        folders.extend(below.iter().map(|folder| root.join(folder)));
    }
    Ok(folders)
}
