//! Runs campaigns through the `trommel` binary and holds them to their `expect.yaml`.
//!
//! Each campaign file is one check. It runs several times, since a finding that comes and goes, or a false
//! alarm, is a failure too.

mod expect;
mod foreign;
mod minimal;
mod outcome;
mod real_time;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::Instant,
};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    jobs::Job,
    report::Report,
    run::{Output, Runner, works},
    watched,
};
use expect::{Expected, Given, Need};
use outcome::Outcome;

pub use foreign::all as foreign;

/// Where campaigns are: one folder each.
const FOLDERS: &[&str] = &["examples", "tests/campaigns"];
/// Those against operators that nobody here wrote.
const FOREIGN: &[&str] = &["tests/foreign"];
/// Those with the bugs that real operators had.
const CORPUS: &[&str] = &["tests/corpus"];
/// Of those, the ones that are run with every change: one a family, and one that only a restart on a settled world shows.
/// The rest is nightly's.
const CORPUS_QUICK: &[&str] =
    &["keystores", "tls-toggle", "drain", "checksum", "optional-part", "rolls-back"];

/// A campaign file that can run here.
#[derive(Debug)]
pub struct Chosen {
    /// Relative to the root.
    pub name: String,
    path: PathBuf,
    expected: Expected,
}

impl Chosen {
    /// Whether it is the repaired twin of another one, which finds nothing.
    pub fn is_twin(&self) -> bool {
        self.name.ends_with("fixed.yaml")
    }
}

/// Runs every chosen campaign so often, one after the other, and prints what they gave as a table.
pub fn all(runner: &mut Runner, chosen: &[Chosen], repeats: u32) {
    let mut outcomes = Vec::new();
    for campaign in chosen {
        let mut output = runner.stream();
        let (outcome, report) = one(runner, campaign, repeats, &mut output);
        outcomes.push(outcome);
        runner.take(report);
    }
    println!("\n{}", outcome::table(&outcomes));
}

/// Each as a check that can run beside others, so often.
pub fn jobs<'a>(runner: &'a Runner, chosen: &'a [Chosen], repeats: u32) -> Vec<Job<'a>> {
    let job = |campaign: &'a Chosen| {
        let run = move |output: &mut Output| one(runner, campaign, repeats, output).1;
        Job::new(&campaign.name, run).needing_judge(campaign.expected.needs.contains(&Need::Judge))
    };
    chosen.iter().map(job).collect()
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

/// Those whose path contains this; those of them that can't run here are counted as skipped.
///
/// # Errors
/// An `expect.yaml` that can't be read, or names a campaign that isn't there.
pub fn chosen(runner: &mut Runner, only: &str) -> anyhow::Result<Vec<Chosen>> {
    let mut chosen = chosen_in(runner, FOLDERS, only)?;
    let corpus = chosen_in(runner, CORPUS, only)?;
    let quick =
        |one: &Chosen| CORPUS_QUICK.iter().any(|name| one.name.contains(&format!("/{name}/")));
    // Asked for by name, all of it is meant.
    let all = only.contains("corpus");
    chosen.extend(corpus.into_iter().filter(|one| all || quick(one)));
    Ok(chosen)
}

/// Runs the whole corpus, each once, held to its `expect.yaml`, and prints what each family shows.
///
/// # Errors
/// An `expect.yaml` that can't be read.
pub fn corpus(runner: &mut Runner, only: &str) -> anyhow::Result<()> {
    let chosen = chosen_in(runner, CORPUS, only)?;
    all(runner, &chosen, 1);
    Ok(())
}

fn chosen_in(runner: &mut Runner, folders: &[&str], only: &str) -> anyhow::Result<Vec<Chosen>> {
    let mut chosen = Vec::new();
    for (path, expected) in expectations(&runner.root, folders)? {
        let name = path.strip_prefix(&runner.root).unwrap_or(&path).display().to_string();
        if !name.contains(only) {
            continue;
        }
        match expected.needs.iter().find_map(|need| missing(*need)) {
            Some(why) => runner.skip(&name, why),
            None => chosen.push(Chosen { name, path, expected }),
        }
    }
    Ok(chosen)
}

/// What this machine lacks. The judge may still be built: a campaign that needs it looks when it begins.
fn missing(need: Need) -> Option<&'static str> {
    let (here, why) = match need {
        Need::Go => (works(&["go", "version"]), "go is not on this machine"),
        Need::Python => {
            let here = works(&["python3", "-c", "import venv, ensurepip"]);
            (here, "python3 with venv is not on this machine")
        }
        Need::Java => (works(&["mvn", "--version"]), "mvn is not on this machine"),
        Need::Judge => (true, ""),
    };
    (!here).then_some(why)
}

fn lacks_judge(runner: &Runner, expected: &Expected) -> bool {
    let judge = runner.root.join("tests/reference/build.sh").display().to_string();
    expected.needs.contains(&Need::Judge) && !works(&[&judge, "--where"])
}

/// Runs a campaign as often as asked, whatever comes out, so that a sweep shows how often something deviates.
fn one(runner: &Runner, campaign: &Chosen, repeats: u32, output: &mut Output) -> (Outcome, Report) {
    let Chosen { name, path, expected } = campaign;
    let began = Instant::now();
    let mut outcome = Outcome { campaign: name.clone(), ..Outcome::default() };
    if lacks_judge(runner, expected) {
        let report = runner.skipped(name, "the judge is not built");
        return (outcome, report);
    }
    for repeat in 1..=repeats {
        output.line(&format!("campaign {name}, {repeat} of {repeats}"));
        let given = match run(runner, path, &repeat_of(name, repeat), output) {
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
            output.line(&format!("DEVIATES {problems}"));
            outcome.deviations.push(problems);
        }
    }
    let failed = (!outcome.deviations.is_empty()).then(|| outcome.deviations.join("; "));
    let report = Report::of_check(name, began.elapsed(), failed);
    (outcome, report)
}

/// Every campaign file of which something is expected, in order of path.
fn expectations(root: &Path, folders: &[&str]) -> anyhow::Result<BTreeMap<PathBuf, Expected>> {
    let mut all = BTreeMap::new();
    for folder in folders.iter().map(|folder| root.join(folder)).filter(|folder| folder.is_dir()) {
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
    ensure!(!all.is_empty(), "no expect.yaml in any folder of {folders:?}");
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
fn run(runner: &Runner, path: &Path, out: &str, output: &mut Output) -> anyhow::Result<Given> {
    let folder = out_folder(runner, out)?;
    let command = command(runner, path, &folder, &[]);
    let status = watched::run(command, runner.deadline(), |line| output.line(line))?.status()?;
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
    let folder = folder_of(runner, name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

fn folder_of(runner: &Runner, name: &str) -> PathBuf {
    runner.binaries.join("ci-runs").join(name.replace('/', "-"))
}

/// What one of the repeats is called.
fn repeat_of(campaign: &str, repeat: u32) -> String {
    format!("{campaign}-{repeat}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_expectations_can_be_read() {
        let root = Runner::new().unwrap().root;
        let expected = expectations(&root, FOLDERS).unwrap();
        let has = |end: &str| expected.keys().any(|path| path.ends_with(end));
        assert!(has("tests/campaigns/two-crashes/campaign.yaml"));
        assert!(has("examples/bar-foo/fixed.yaml"));
        assert!(!expectations(&root, FOREIGN).unwrap().is_empty());
    }
}
