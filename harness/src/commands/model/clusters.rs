//! `trommel model check SCENARIO.yaml`: the verdict on a cluster of manifests, with the run that shows it.

use std::{fmt::Write, path::Path};

use model::{
    Counts, Limit, Run, Search, System, Verdict,
    cluster::{Action, Cluster, State, Store, objects::Stored},
};
use serde_json::Value;

use super::scenario::{Scenario, Truths, fairness};
use crate::exit::Exit;

/// What a check of a scenario may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub states_max: u64,
    pub bytes_max: usize,
}

/// The verdict on a scenario, in words.
///
/// # Errors
/// Wrong input, with its place: exit 64.
pub(super) fn check(path: &Path, limits: Limits) -> anyhow::Result<(String, Exit)> {
    let scenario = Scenario::load(path)?;
    for note in &scenario.notes {
        super::files::tell(note);
    }
    let (cluster, truths) = (&scenario.cluster, Truths::default());
    let properties: Vec<_> =
        scenario.asked.iter().map(|asked| asked.property(cluster, &truths)).collect();
    let fairness = fairness(cluster);
    let mut search = Search::new(cluster, &properties);
    search.fairness = &fairness;
    search.budgets.states = limits.states_max;
    search.budgets.memory_bytes = limits.bytes_max;
    search.all_violations = true;
    let report = search.breadth_first().map_err(super::usage)?;
    if let Some(what) = truths.failed() {
        let message = format!("{}: a property has no value in some state: {what}", path.display());
        return Err(super::usage(message));
    }
    let mut told = format!("{}\n", counts(&report.counts));
    for (name, verdict) in &report.verdicts {
        told += &of(cluster, name, verdict);
    }
    Ok((told, exit(report.verdicts.iter().map(|(_, verdict)| verdict))))
}

fn exit<'a>(verdicts: impl Iterator<Item = &'a Verdict<State, Action>>) -> Exit {
    let worst = verdicts.map(|verdict| match verdict {
        Verdict::Violated { .. } => (2, Exit::Finding),
        Verdict::Unknown { .. } => (1, Exit::Unknown),
        Verdict::Held { .. } => (0, Exit::Clean),
    });
    worst.max_by_key(|(rank, _)| *rank).map_or(Exit::Clean, |(_, exit)| exit)
}

fn counts(counts: &Counts) -> String {
    let Counts { generated, distinct, left, depth } = counts;
    format!("{generated} states generated, {distinct} distinct, {left} left, depth {depth}")
}

fn of(cluster: &Cluster, name: &str, verdict: &Verdict<State, Action>) -> String {
    match verdict {
        Verdict::Held { .. } => format!("held: {name}\n"),
        Verdict::Unknown { why, .. } => format!("unknown: {name}: {}\n", limit(why)),
        Verdict::Violated { run } => {
            let run = run.as_ref().map(|run| self::run(cluster, run)).unwrap_or_default();
            format!("violated: {name}\n{run}")
        }
    }
}

fn limit(why: &Limit) -> &'static str {
    match why {
        Limit::States => "the limit of states was reached; raise --states",
        Limit::Memory => "the memory limit was reached; raise --memory",
        _ => "not all states were looked at",
    }
}

/// A run step by step, with what each step changed.
fn run(cluster: &Cluster, run: &Run<State, Action>) -> String {
    let mut out = String::new();
    for (at, action) in run.actions.iter().enumerate() {
        let _ = writeln!(out, "  {}: {}", at + 1, cluster.label(action));
        let (before, after) = (run.states[at].store(), run.states[at + 1].store());
        for line in changes(cluster, before, after) {
            let _ = writeln!(out, "       {line}");
        }
    }
    match run.loops_to {
        Some(at) if at + 1 == run.states.len() => out += "  then nothing happens any more\n",
        Some(0) => out += "  then all of it again\n",
        Some(at) => {
            let _ = writeln!(out, "  then again from step {}", at + 1);
        }
        None => {}
    }
    out
}

fn changes(cluster: &Cluster, before: &Store, after: &Store) -> Vec<String> {
    let changed = after.changed_since(&cluster.objects, before).into_iter();
    changed.filter_map(|(before, after)| change(before, after)).collect()
}

/// What of an object changed, as far as it tells something to people.
fn change(before: Option<&Stored>, after: Option<&Stored>) -> Option<String> {
    let value = |stored: Option<&Stored>| stored.and_then(|stored| stored.value().cloned());
    let stored = after.or(before)?;
    let name = format!("{} {}", stored.kind.kind(), stored.key.name);
    match (value(before), value(after)) {
        (Some(_), None) => Some(format!("{name} is gone")),
        (before, Some(after)) => {
            let mut told = Vec::new();
            let before = before.unwrap_or(Value::Null);
            differences(&before, &after, &mut told);
            let what = if before.is_null() { "created" } else { "changed" };
            (!told.is_empty()).then(|| format!("{name} {what}: {}", told.join(", ")))
        }
        (None, None) => None,
    }
}

/// Fields that tell people what an object is at.
const TOLD: [&str; 16] = [
    "/spec/replicas",
    "/spec/nodeName",
    "/spec/unschedulable",
    "/spec/paused",
    "/spec/suspend",
    "/spec/taints",
    "/spec/parallelism",
    "/metadata/deletionTimestamp",
    "/status/phase",
    "/status/replicas",
    "/status/readyReplicas",
    "/status/updatedReplicas",
    "/status/desiredReplicas",
    "/status/active",
    "/status/succeeded",
    "/status/nominatedNodeName",
];

fn differences(before: &Value, after: &Value, into: &mut Vec<String>) {
    for pointer in TOLD {
        let (was, is) = (before.pointer(pointer), after.pointer(pointer));
        if was != is && is.is_some_and(|is| !is.is_null()) {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            into.push(format!("{field} = {}", is.unwrap_or(&Value::Null)));
        }
    }
    let ready = |value: &Value| {
        let conditions = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.into_iter().find(|one| one["type"] == "Ready");
        found.and_then(|one| one["status"].as_str().map(str::to_owned))
    };
    if ready(before) != ready(after)
        && let Some(ready) = ready(after)
    {
        into.push(format!("Ready = {ready}"));
    }
}
