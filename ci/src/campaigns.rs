//! Holds campaigns to what is expected of them.
//!
//! A folder below `examples/` or `tests/campaigns/` says it in `expect.yaml`, by campaign file:
//!
//! ```yaml
//! campaign.yaml:
//!   exit: 100
//!   findings:                    # exactly these, in any order; none if left out
//!     - oracle: end-state        # optional, like all of these
//!       family: intermediate-state
//!       title: two Foos          # appears in the title
//!       perturbations: 1         # how many the minimised plan has, from its replay file
//! fixed.yaml:
//!   exit: 0
//!   closed: true                 # the default
//!   unknown: 0                   # the default
//!   needs: [go]                  # go, python, judge; skipped (in CI: failed) where that is missing
//! ```
//!
//! Each campaign is one check. It runs several times, since a finding that comes and goes, or a false alarm,
//! is a failure too.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::run::{Runner, works};

/// Where campaigns are.
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

/// What one campaign file must give.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    exit: i32,
    #[serde(default = "yes")]
    closed: bool,
    #[serde(default)]
    unknown: u64,
    #[serde(default)]
    findings: Vec<ExpectedFinding>,
    #[serde(default)]
    needs: Vec<Need>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFinding {
    oracle: Option<String>,
    family: Option<String>,
    title: Option<String>,
    perturbations: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Need {
    Go,
    Python,
    Judge,
}

impl Need {
    fn missing(self, root: &Path) -> Option<&'static str> {
        let judge = root.join("tests/reference/build.sh").display().to_string();
        let (here, why) = match self {
            Need::Go => (works(&["go", "version"]), "go is not on this machine"),
            Need::Python => {
                let here = works(&["python3", "-c", "import venv, ensurepip"]);
                (here, "python3 with venv is not on this machine")
            }
            Need::Judge => (works(&[&judge, "--where"]), "the judge is not built"),
        };
        (!here).then_some(why)
    }
}

/// What a campaign gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Given {
    exit: i32,
    closed: bool,
    unknown: u64,
    findings: Vec<GivenFinding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct GivenFinding {
    id: String,
    oracle: String,
    family: String,
    title: String,
    perturbations: usize,
    always: bool,
}

/// Runs every selected campaign.
///
/// # Errors
/// An `expect.yaml` that can't be read, or names a campaign that isn't there.
pub fn all(runner: &mut Runner, selection: &Selection) -> anyhow::Result<()> {
    for (path, expected) in expectations(&runner.root)? {
        let name = path.strip_prefix(&runner.root).unwrap_or(&path).display().to_string();
        if !name.contains(&selection.only) {
            continue;
        }
        match expected.needs.iter().find_map(|need| need.missing(&runner.root)) {
            Some(why) => runner.skip(&name, why),
            None => one(runner, &name, &path, &expected, selection.repeats),
        }
    }
    Ok(())
}

fn one(runner: &mut Runner, name: &str, path: &Path, expected: &Expected, repeats: u32) {
    let mut ids: Option<Vec<String>> = None;
    for repeat in 1..=repeats {
        println!("\n=== campaign {name}, {repeat} of {repeats}");
        let given = match given(runner, name, path, repeat) {
            Ok(given) => given,
            Err(error) => return runner.fail(name, &format!("{error:#}")),
        };
        let mut problems = compare(expected, &given);
        let found: Vec<String> = given.findings.iter().map(|finding| finding.id.clone()).collect();
        if ids.as_ref().is_some_and(|before| *before != found) {
            problems.push(format!("run 1 found {ids:?}, run {repeat} found {found:?}"));
        }
        if !problems.is_empty() {
            return runner.fail(name, &problems.join("; "));
        }
        ids.get_or_insert(found);
    }
    runner.pass();
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
            let expected: BTreeMap<String, Expected> =
                serde_saphyr::from_str(&text).with_context(|| format!("{}", file.display()))?;
            for (campaign, expected) in expected {
                let path = file.with_file_name(&campaign);
                ensure!(path.is_file(), "{}: there is no {campaign}", file.display());
                all.insert(path, expected);
            }
        }
    }
    Ok(all)
}

fn given(runner: &Runner, name: &str, path: &Path, repeat: u32) -> anyhow::Result<Given> {
    let folder = out_folder(runner, &format!("{name}-{repeat}"))?;
    let status = Command::new(runner.binaries.join("trommel"))
        .current_dir(&runner.root)
        .args(["run".as_ref(), path.as_os_str(), "--out".as_ref(), folder.as_os_str()])
        .status()
        .context("cannot start trommel")?;
    let exit = status.code().with_context(|| format!("trommel: {status}"))?;
    let file = folder.join("summary.json");
    let text = fs::read_to_string(&file);
    let text = text.with_context(|| format!("exit {exit}, and no {}", file.display()))?;
    let summary: Value = serde_json::from_str(&text)?;
    ensure!(summary["exit"] == exit, "summary.json says exit {}, it was {exit}", summary["exit"]);
    read(&summary, exit, |replay| Ok(fs::read_to_string(folder.join(replay))?))
}

/// An empty folder for one run, beside the binaries.
pub fn out_folder(runner: &Runner, name: &str) -> anyhow::Result<PathBuf> {
    let folder = runner.binaries.join("ci-runs").join(name.replace('/', "-"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

fn read(
    summary: &Value,
    exit: i32,
    replay: impl Fn(&str) -> anyhow::Result<String>,
) -> anyhow::Result<Given> {
    let closed = summary["coverage"]["closed"].as_bool().context("coverage.closed is missing")?;
    let unknown = summary["plans"]["unknown"].as_u64().context("plans.unknown is missing")?;
    let mut findings = Vec::new();
    for finding in summary["findings"].as_array().context("findings is missing")? {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let (k, n) = (&finding["confirmed"]["k"], &finding["confirmed"]["n"]);
        let path = text("replay");
        let plan: Value = serde_saphyr::from_str(&replay(&path)?).with_context(|| path.clone())?;
        findings.push(GivenFinding {
            id: text("id"),
            oracle: text("oracle"),
            family: text("family"),
            title: text("title"),
            perturbations: plan["plan"].as_array().map_or(0, Vec::len),
            always: k == n && k.as_u64() > Some(0),
        });
    }
    Ok(Given { exit, closed, unknown, findings })
}

/// What differs, a sentence each.
fn compare(expected: &Expected, given: &Given) -> Vec<String> {
    let mut problems = Vec::new();
    let mut differ = |what: &str, expected: &dyn ToString, given: &dyn ToString| {
        let (expected, given) = (expected.to_string(), given.to_string());
        if expected != given {
            problems.push(format!("{what} is {given}, expected {expected}"));
        }
    };
    differ("exit", &expected.exit, &given.exit);
    differ("closed", &expected.closed, &given.closed);
    differ("unknown", &expected.unknown, &given.unknown);
    let mut left: Vec<&GivenFinding> = given.findings.iter().collect();
    for wanted in &expected.findings {
        match left.iter().position(|finding| matches(wanted, finding)) {
            Some(at) => drop(left.remove(at)),
            None => problems.push(format!("no finding like {wanted:?}")),
        }
    }
    problems.extend(left.iter().map(|finding| format!("unexpected finding: {}", finding.title)));
    let unsure = given.findings.iter().filter(|finding| !finding.always);
    problems.extend(unsure.map(|finding| format!("not confirmed each time: {}", finding.title)));
    problems
}

fn matches(wanted: &ExpectedFinding, given: &GivenFinding) -> bool {
    let equal = |wanted: &Option<String>, given: &str| wanted.as_deref().is_none_or(|w| w == given);
    equal(&wanted.oracle, &given.oracle)
        && equal(&wanted.family, &given.family)
        && wanted.title.as_deref().is_none_or(|part| given.title.contains(part))
        && wanted.perturbations.is_none_or(|count| count == given.perturbations)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expected(yaml: &str) -> Expected {
        serde_saphyr::from_str(yaml).unwrap()
    }

    fn given(perturbations: usize) -> Given {
        let summary = json!({"exit": 100, "coverage": {"closed": true}, "plans": {"unknown": 0},
            "findings": [{"id": "a", "title": "two Foos exist", "oracle": "end-state",
                "family": "intermediate-state", "confirmed": {"k": 5, "n": 5}, "replay": "r.yaml"}]});
        let plan = json!({"plan": vec![json!({}); perturbations]}).to_string();
        read(&summary, 100, |path| {
            assert_eq!(path, "r.yaml");
            Ok(plan.clone())
        })
        .unwrap()
    }

    #[test]
    fn what_is_expected_passes() {
        let yaml =
            "{exit: 100, findings: [{oracle: end-state, title: two Foos, perturbations: 1}]}";
        assert_eq!(compare(&expected(yaml), &given(1)), [""; 0]);
    }

    #[test]
    fn every_difference_is_seen() {
        let check = |yaml: &str, given: &Given, problems: usize| {
            let found = compare(&expected(yaml), given);
            assert_eq!(found.len(), problems, "{yaml}: {found:?}");
        };
        let one = "{exit: 100, findings: [{perturbations: 1}]}";
        check(one, &given(2), 2);
        check("{exit: 0, findings: [{}]}", &given(1), 1);
        check("{exit: 100}", &given(1), 1);
        check("{exit: 100, findings: [{}, {}]}", &given(1), 1);
        check("{exit: 100, findings: [{title: three}]}", &given(1), 2);
        check(one, &Given { closed: false, ..given(1) }, 1);
        check(one, &Given { unknown: 1, ..given(1) }, 1);
        let mut unsure = given(1);
        unsure.findings[0].always = false;
        check(one, &unsure, 1);
    }

    #[test]
    fn a_summary_without_its_keys_is_refused() {
        let refused = |summary: Value| read(&summary, 0, |_| Ok(String::new())).is_err();
        assert!(refused(json!({})));
        assert!(refused(json!({"coverage": {"closed": true}, "plans": {}, "findings": []})));
        assert!(refused(json!({"coverage": {"closed": true}, "plans": {"unknown": 0}})));
    }

    #[test]
    fn unknown_expectations_are_errors() {
        assert!(serde_saphyr::from_str::<Expected>("{exit: 0, clsoed: true}").is_err());
    }
}
