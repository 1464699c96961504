//! What is told of single objects, a row each; `sequences.rs` says why.

use serde_json::{Map, Value, json};

use super::{
    forms::{exact, firsts, turns},
    lives::Life,
};

/// A type, what is told of it, and how, from its states before it was being deleted.
type Row = (&'static str, &'static str, fn(&[&Value]) -> Value);

const ROWS: &[Row] = &[
    ("deployments", "revision", revision),
    ("deployments", "progressing", progressing),
    ("deployments", "available", available),
    ("deployments", "observed generation", observed_generation),
    ("statefulsets", "observed generation", observed_generation),
    ("daemonsets", "observed generation", observed_generation),
    ("replicasets", "revision", revision),
    ("replicasets", "size", size),
    ("replicationcontrollers", "size", size),
    ("statefulsets", "revisions", revisions),
    ("jobs", "conditions", job_conditions),
    ("jobs", "started", |states| exact(each(states, |job| is(&job["status"]["startTime"])))),
    ("jobs", "succeeded", |states| turns(numbers(states, "/status/succeeded"))),
    ("jobs", "failed", |states| turns(numbers(states, "/status/failed"))),
    ("jobs", "indexes done", |states| turns(indexes(states, "completedIndexes"))),
    ("jobs", "indexes failed", |states| turns(indexes(states, "failedIndexes"))),
    ("jobs", "uncounted", |states| firsts(each(states, uncounted))),
    ("persistentvolumes", "phase", phase),
    ("persistentvolumeclaims", "phase", phase),
    ("certificatesigningrequests", "answer", |states| exact(each(states, answer))),
];

/// All that is told of an object but the course of its deletion. `until` is where its namespace ends.
pub fn of(life: &Life, until: u64) -> Map<String, Value> {
    let states = life.states(until);
    let rows = ROWS.iter().filter(|(of, _, _)| *of == life.of);
    let mut told: Map<String, Value> =
        rows.map(|(_, what, tell)| ((*what).to_owned(), tell(&states))).collect();
    if life.of == "namespaces" {
        // What it is while it is being deleted is what it is about.
        told.insert("end".to_owned(), exact(each(&life.all_states(), namespace)));
    }
    if matches!(life.of, "replicasets" | "replicationcontrollers") && !life.is_of_deployment() {
        told.insert("pods".to_owned(), turns(numbers(&states, "/status/replicas")));
    }
    told
}

fn each(states: &[&Value], tell: fn(&Value) -> Value) -> impl Iterator<Item = Value> {
    states.iter().map(move |state| tell(state))
}

fn is(value: &Value) -> Value {
    (!value.is_null()).into()
}

/// What is not there is zero, as Go's.
fn numbers(states: &[&Value], pointer: &str) -> impl Iterator<Item = i64> {
    states.iter().map(move |state| state.pointer(pointer).and_then(Value::as_i64).unwrap_or(0))
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == kind)
}

fn revision(states: &[&Value]) -> Value {
    exact(each(states, |state| {
        state["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone()
    }))
}

/// By its reason; those that tell that a rollout is under way are one, since which of them is written depends on when
/// the status of a ReplicaSet comes. So is the one that tells that it takes too long: whether a deadline of a second
/// passes between two statuses, and how often, is the machine's affair. Where it stands in the end, states tell.
fn progressing(states: &[&Value]) -> Value {
    exact(each(states, |state| {
        let Some(found) = condition(state, "Progressing") else { return Value::Null };
        match found["reason"].as_str().unwrap_or("") {
            "NewReplicaSetCreated"
            | "FoundNewReplicaSet"
            | "ReplicaSetUpdated"
            | "DeploymentResumed"
            | "ProgressDeadlineExceeded" => json!("under way"),
            reason => json!([found["status"], reason]),
        }
    }))
}

fn available(states: &[&Value]) -> Value {
    exact(each(states, |state| match condition(state, "Available") {
        Some(found) => json!([found["status"], found["reason"]]),
        None => Value::Null,
    }))
}

fn observed_generation(states: &[&Value]) -> Value {
    let seen = states.iter().filter_map(|state| state["status"]["observedGeneration"].as_i64());
    turns(seen.filter(|generation| *generation > 0))
}

fn size(states: &[&Value]) -> Value {
    turns(numbers(states, "/spec/replicas"))
}

/// Current and update revision, numbered as they came: their names have a hash in them.
fn revisions(states: &[&Value]) -> Value {
    let mut known: Vec<Value> = Vec::new();
    let mut number = |name: &Value| {
        if name.is_null() {
            return Value::Null;
        }
        let found = known.iter().position(|one| one == name);
        json!(found.unwrap_or_else(|| {
            known.push(name.clone());
            known.len() - 1
        }))
    };
    exact(states.iter().map(|state| {
        let status = &state["status"];
        let current = number(&status["currentRevision"]);
        json!([current, number(&status["updateRevision"])])
    }))
}

/// In no order at one moment: a map by type. Those that are false say something only of suspension.
fn job_conditions(states: &[&Value]) -> Value {
    exact(each(states, |state| {
        let list = state["status"]["conditions"].as_array().into_iter().flatten();
        let mut told: Map<String, Value> = list
            .filter_map(|one| {
                Some((one["type"].as_str()?.to_owned(), json!([one["status"], one["reason"]])))
            })
            .collect();
        told.insert("completion time".to_owned(), is(&state["status"]["completionTime"]));
        Value::Object(told)
    }))
}

fn uncounted(job: &Value) -> Value {
    let lists = &job["status"]["uncountedTerminatedPods"];
    let any = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    (any(&lists["succeeded"]) || any(&lists["failed"])).into()
}

/// How many indexes a text such as `1,3-5` has.
fn indexes(states: &[&Value], field: &str) -> impl Iterator<Item = i64> {
    states.iter().map(move |state| {
        let text = state["status"][field].as_str().unwrap_or("");
        super::jobs::ranges(text).map(|(first, last)| last - first + 1).sum::<i64>()
    })
}

fn phase(states: &[&Value]) -> Value {
    exact(each(states, |state| state["status"]["phase"].clone()))
}

fn answer(request: &Value) -> Value {
    let issued = is(&request["status"]["certificate"]);
    json!({"conditions": condition_types(request), "certificate": issued})
}

/// Not whether its conditions hold: a pass in which pods are left calls all else done, and whether some were is chance.
fn namespace(state: &Value) -> Value {
    json!({
        "phase": state["status"]["phase"], "conditions": condition_types(state),
        "finalizers": state["spec"]["finalizers"],
    })
}

/// Which conditions there are, in no order.
fn condition_types(object: &Value) -> Vec<&Value> {
    let list = object["status"]["conditions"].as_array().into_iter().flatten();
    let mut types: Vec<&Value> = list.map(|condition| &condition["type"]).collect();
    types.sort_by_key(|kind| kind.to_string());
    types
}

#[cfg(test)]
mod tests;
