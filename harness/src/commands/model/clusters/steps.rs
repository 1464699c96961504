//! A run of a cluster in words: each step, and what it changed.

use model::{
    Run, System,
    cluster::{Action, Cluster, State, Store, objects::Stored},
};
use serde_json::Value;

/// One step of a run.
pub(in crate::commands::model) struct Step {
    /// What happens.
    pub did: String,
    /// What that changes, object by object.
    pub changes: Vec<String>,
}

/// All steps of a run.
pub(super) fn of(cluster: &Cluster, run: &Run<State, Action>) -> Vec<Step> {
    let step = |(at, action): (usize, &Action)| {
        let (before, after) = (run.states[at].store(), run.states[at + 1].store());
        Step { did: cluster.label(action), changes: changes(cluster, before, after) }
    };
    run.actions.iter().enumerate().map(step).collect()
}

/// How a run without end goes on.
pub(super) fn ends(run: &Run<State, Action>) -> Option<String> {
    Some(match run.loops_to? {
        at if at + 1 == run.states.len() => "then nothing happens any more".to_owned(),
        0 => "then all of it again".to_owned(),
        at => format!("then again from step {}", at + 1),
    })
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
