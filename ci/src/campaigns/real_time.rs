//! Each campaign in virtual and in real time: the findings must be the same, with the same ids.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Stdio,
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::Context;
use serde_json::Value;

use super::{
    Chosen, command,
    expect::{self, Expected, Given},
    given, out_folder, run,
};
use crate::{run::Runner, table};

/// So many campaigns run in real time at once: nearly all that they do is wait.
const AT_ONCE: usize = 8;

/// A campaign whose profile has this name runs in real time with it: with a horizon that can't be learnt there.
const PROFILE: &str = "real-time";

/// So many of its trials run at once: each waits for minutes.
const TRIALS_AT_ONCE: &str = "20";

/// Runs these campaigns and prints both kinds of runs side by side.
pub fn both(runner: &mut Runner, campaigns: &[Chosen]) {
    // One after the other: these build what the others only start.
    let virtually: Vec<_> = campaigns
        .iter()
        .map(|Chosen { name, path, .. }| {
            run(runner, path, &format!("{name}-virtual"), &mut runner.stream())
        })
        .collect();
    let really = in_real_time(runner, campaigns);
    let mut rows = Vec::new();
    for ((Chosen { name, expected, .. }, first), second) in
        campaigns.iter().zip(virtually).zip(really)
    {
        match (first, second) {
            (Ok(first), Ok(second)) => {
                rows.push(row(name, &first, &second));
                match problems(expected, &first, &second) {
                    problems if problems.is_empty() => runner.pass(),
                    problems => runner.fail(name, &problems.join("; ")),
                }
            }
            (Err(error), _) | (_, Err(error)) => runner.fail(name, &format!("{error:#}")),
        }
    }
    let head = ["campaign", "virtual: findings", "worlds", "s", "real: findings", "worlds", "s"];
    println!("\n{}", table::markdown(&head, &rows));
}

/// In the order of the campaigns.
fn in_real_time(runner: &Runner, campaigns: &[Chosen]) -> Vec<anyhow::Result<Given>> {
    let next = Mutex::new(campaigns.iter().enumerate());
    let given = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((at, Chosen { name, path, .. })) = taken(&next) {
                    let result = really(runner, name, path);
                    given.lock().unwrap_or_else(PoisonError::into_inner).insert(at, result);
                }
            });
        }
    });
    given.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// What eight of them say at once nobody could read; it stays in each one's folder.
fn really(runner: &Runner, name: &str, path: &Path) -> anyhow::Result<Given> {
    let folder = out_folder(runner, &format!("{name}-real"))?;
    let mut command = command(runner, path, &folder, &flags(path));
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let given = given(path, &folder, status.context("trommel does not start")?);
    println!("in real time: {name}, {}", if given.is_ok() { "ended" } else { "failed" });
    given
}

fn taken<I: Iterator>(next: &Mutex<I>) -> Option<I::Item> {
    next.lock().unwrap_or_else(PoisonError::into_inner).next()
}

fn flags(path: &Path) -> Vec<&'static str> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let campaign: Value = serde_saphyr::from_str(&text).unwrap_or_default();
    match campaign["spec"]["profiles"].get(PROFILE) {
        Some(_) => vec!["--real-time", "--profile", PROFILE, "--workers", TRIALS_AT_ONCE],
        None => vec!["--real-time"],
    }
}

/// Worlds may differ in number (docs/sweep.md says why); nothing else may.
fn problems(expected: &Expected, first: &Given, second: &Given) -> Vec<String> {
    let mut problems = expect::compare(expected, second);
    if first.ids() != second.ids() {
        problems.push(format!(
            "found {:?} in virtual time and {:?} in real time",
            first.ids(),
            second.ids()
        ));
    }
    problems
}

fn row(name: &str, first: &Given, second: &Given) -> Vec<String> {
    let cells = |given: &Given| {
        let ids = match given.ids() {
            ids if ids.is_empty() => "none".to_owned(),
            ids => ids.join(", "),
        };
        [ids, given.worlds.to_string(), format!("{:.1}", given.seconds)]
    };
    [name.to_owned()].into_iter().chain(cells(first)).chain(cells(second)).collect()
}
