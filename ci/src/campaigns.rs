//! Runs campaigns through the `trommel` binary and holds them to their `expect.yaml`.
//!
//! Each campaign file is one check. It runs several times, since a finding that comes and goes, or a false
//! alarm, is a failure too.

mod expect;
mod minimal;
mod outcome;
mod real_time;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    run::{Runner, works},
    watched,
};
use expect::{Expected, Given, Need};
use outcome::Outcome;

/// Where campaigns are: one folder each.
const FOLDERS: &[&str] = &["examples", "tests/campaigns"];

/// Which campaigns to run, and how often.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Those whose path contains this.
    pub only: String,
    /// Times.
    pub repeats: u32,
}

impl Selection {
    /// All of them: three times in CI, once elsewhere.
    pub fn for_tests(in_ci: bool) -> Selection {
        Selection { only: String::new(), repeats: if in_ci { 3 } else { 1 } }
    }
}

/// Runs every selected campaign.
///
/// # Errors
/// An `expect.yaml` that can't be read, or names a campaign that isn't there.
pub fn all(runner: &mut Runner, selection: &Selection) -> anyhow::Result<()> {
    let outcomes: Vec<Outcome> = chosen(runner, &selection.only)?
        .iter()
        .map(|(name, path, expected)| one(runner, name, path, expected, selection.repeats))
        .collect();
    println!("\n{}", outcome::table(&outcomes));
    Ok(())
}

/// Runs every campaign whose path contains this once in virtual and once in real time.
///
/// # Errors
/// As [`all`].
pub fn in_real_time(runner: &mut Runner, only: &str) -> anyhow::Result<()> {
    let chosen = chosen(runner, only)?;
    real_time::both(runner, &chosen);
    Ok(())
}

/// Name, file and expectation of those that can run here; the others are counted as skipped.
fn chosen(runner: &mut Runner, only: &str) -> anyhow::Result<Vec<(String, PathBuf, Expected)>> {
    let mut chosen = Vec::new();
    for (path, expected) in expectations(&runner.root)? {
        let name = path.strip_prefix(&runner.root).unwrap_or(&path).display().to_string();
        if !name.contains(only) {
            continue;
        }
        match expected.needs.iter().find_map(|need| missing(*need, &runner.root)) {
            Some(why) => runner.skip(&name, why),
            None => chosen.push((name, path, expected)),
        }
    }
    Ok(chosen)
}

fn missing(need: Need, root: &Path) -> Option<&'static str> {
    let judge = root.join("tests/reference/build.sh").display().to_string();
    let (here, why) = match need {
        Need::Go => (works(&["go", "version"]), "go is not on this machine"),
        Need::Python => {
            let here = works(&["python3", "-c", "import venv, ensurepip"]);
            (here, "python3 with venv is not on this machine")
        }
        Need::Judge => (works(&[&judge, "--where"]), "the judge is not built"),
    };
    (!here).then_some(why)
}

/// Runs a campaign as often as asked, whatever comes out, so that a sweep shows how often something deviates.
fn one(runner: &mut Runner, name: &str, path: &Path, expected: &Expected, repeats: u32) -> Outcome {
    let mut outcome = Outcome { campaign: name.to_owned(), ..Outcome::default() };
    for repeat in 1..=repeats {
        println!("\n=== campaign {name}, {repeat} of {repeats}");
        let given = match run(runner, path, &format!("{name}-{repeat}")) {
            Ok(given) => given,
            Err(error) => {
                outcome.deviations.push(format!("run {repeat}: {error:#}"));
                break;
            }
        };
        let mut problems = expect::compare(expected, &given);
        if let Some(first) = outcome.runs.first().filter(|first| first.ids() != given.ids()) {
            problems.push(format!("found {:?}, run 1 found {:?}", given.ids(), first.ids()));
        }
        outcome.runs.push(given);
        if !problems.is_empty() {
            let problems = format!("run {repeat}: {}", problems.join("; "));
            println!("DEVIATES {problems}");
            outcome.deviations.push(problems);
        }
    }
    match outcome.deviations.is_empty() {
        true => runner.pass(),
        false => runner.fail(name, &outcome.deviations.join("; ")),
    }
    outcome
}

/// Every campaign file of which something is expected, in order of path.
fn expectations(root: &Path) -> anyhow::Result<BTreeMap<PathBuf, Expected>> {
    let mut all = BTreeMap::new();
    for folder in FOLDERS.iter().map(|folder| root.join(folder)).filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(&folder)? {
            let file = entry?.path().join("expect.yaml");
            if !file.is_file() {
                continue;
            }
            let text = fs::read_to_string(&file)?;
            let read: BTreeMap<expect::Variant, Expected> =
                serde_saphyr::from_str(&text).with_context(|| format!("{}", file.display()))?;
            for (variant, expected) in read {
                let path = campaign_file(root, &file, variant.file());
                let path = path.with_context(|| {
                    format!("{}: there is no {}", file.display(), variant.file())
                })?;
                all.insert(path, expected);
            }
        }
    }
    ensure!(!all.is_empty(), "no expect.yaml in any folder of {FOLDERS:?}");
    Ok(all)
}

/// The campaign beside its `expect.yaml`, or in the example of the same name: an example shows a user how to
/// write campaigns, not how we test.
fn campaign_file(root: &Path, expect: &Path, name: &str) -> Option<PathBuf> {
    let folder = expect.parent()?;
    let example = root.join("examples").join(folder.file_name()?);
    [folder, &example].map(|folder| folder.join(name)).into_iter().find(|path| path.is_file())
}

/// Into a folder of this name.
fn run(runner: &Runner, path: &Path, out: &str) -> anyhow::Result<Given> {
    let folder = out_folder(runner, out)?;
    let command = command(runner, path, &folder, &[]);
    let status = watched::run(command, runner.deadline(), |line| println!("{line}"))?.status()?;
    given(path, &folder, status)
}

fn command(runner: &Runner, path: &Path, folder: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(runner.binaries.join("trommel"));
    command.current_dir(&runner.root);
    command.args(["run".as_ref(), path.as_os_str(), "--out".as_ref(), folder.as_os_str()]);
    command.args(flags);
    command
}

fn given(path: &Path, folder: &Path, status: ExitStatus) -> anyhow::Result<Given> {
    let exit = status.code().with_context(|| format!("trommel: {status}"))?;
    let file = folder.join("summary.json");
    let text = fs::read_to_string(&file);
    let text = text.with_context(|| format!("exit {exit}, and no {}", file.display()))?;
    let summary: Value = serde_json::from_str(&text)?;
    ensure!(summary["exit"] == exit, "summary.json says exit {}, it was {exit}", summary["exit"]);
    let workload = fs::read_to_string(path.with_file_name("workload.yaml")).unwrap_or_default();
    let workload = serde_saphyr::from_str(&workload).unwrap_or(Value::Null);
    let replay = |replay: &str| Ok(fs::read_to_string(folder.join(replay))?);
    Given::read(&summary, exit, workload, replay)
}

/// An empty folder for one run, beside the binaries.
///
/// # Errors
/// What the file system says.
pub fn out_folder(runner: &Runner, name: &str) -> anyhow::Result<PathBuf> {
    let folder = runner.binaries.join("ci-runs").join(name.replace('/', "-"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_expectations_can_be_read() {
        let root = Runner::new().unwrap().root;
        let expected = expectations(&root).unwrap();
        let has = |end: &str| expected.keys().any(|path| path.ends_with(end));
        assert!(has("tests/campaigns/two-crashes/campaign.yaml"));
        assert!(has("examples/bar-foo/fixed.yaml"));
    }
}
