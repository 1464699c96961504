//! Objects that never became ready.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Actor, Change, Event, History, ObjectKey};

/// An object that was not ready at the last moment at which it was there, and never before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotReady {
    /// `pods/default/web-0`.
    pub object: String,
    /// What it says of itself.
    pub why: String,
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} never became ready: {}", self.object, self.why)
    }
}

/// Conditions by which an object says that it is ready, where it has one of them.
const READY: [&str; 4] = ["Ready", "Available", "Established", "Complete"];

/// Objects that say that they are not ready, and never said that they are. One that was there when it all settled
/// must have come to it; one that was deleted may have had no time.
pub fn not_ready(history: &History) -> Vec<NotReady> {
    // As each object was at the last settle at which it was there.
    let mut seen: BTreeMap<&ObjectKey, (bool, Option<String>)> = BTreeMap::new();
    let (mut now, mut order): (BTreeMap<&ObjectKey, &Value>, Vec<&ObjectKey>) = Default::default();
    for record in &history.records {
        match &record.event {
            Event::Commit(commit) if !commit.is_bookkeeping() => {
                if commit.change == Change::Deleted {
                    now.remove(&commit.key);
                    continue;
                }
                now.insert(&commit.key, &commit.object);
                if why_not(&commit.key, &commit.object).is_none() && says_ready(&commit.object) {
                    seen.insert(&commit.key, (true, None));
                }
                if !order.contains(&&commit.key) && !matches!(commit.actor, Actor::Trommel) {
                    order.push(&commit.key);
                }
            }
            Event::Settled(_) => {
                for (key, object) in &now {
                    let state = seen.entry(key).or_default();
                    state.1 = why_not(key, object);
                }
            }
            _ => {}
        }
    }
    let never = |key: &&ObjectKey| match seen.get(*key) {
        Some((false, Some(why))) => Some(NotReady { object: key.to_string(), why: why.clone() }),
        _ => None,
    };
    order.iter().filter_map(never).collect()
}

/// Whether an object says that it is ready. Its key may be canonical.
pub fn is_ready(key: &str, object: &Value) -> bool {
    let key = key.parse::<ObjectKey>();
    key.is_ok_and(|key| why_not(&key, object).is_none() && says_ready(object))
}

/// Whether it says that it is ready, or has nothing by which it could.
fn says_ready(object: &Value) -> bool {
    object.get("status").is_some()
}

/// Why it is not ready, if it says so.
fn why_not(key: &ObjectKey, object: &Value) -> Option<String> {
    let status = object.get("status")?;
    match (&*key.resource.group, &*key.resource.resource) {
        ("", "pods") => return pod(status),
        ("", "persistentvolumeclaims") => {
            let phase = status["phase"].as_str()?;
            return (phase == "Pending")
                .then(|| "it is Pending: no volume is bound to it".to_owned());
        }
        ("batch", "jobs") => {
            return condition(status, "Failed", "True");
        }
        ("apps", _) => {
            let wanted = object["spec"]["replicas"].as_u64().unwrap_or(1);
            let wanted = status["desiredNumberScheduled"].as_u64().unwrap_or(wanted);
            let ready =
                status["readyReplicas"].as_u64().or(status["numberReady"].as_u64()).unwrap_or(0);
            return (ready < wanted).then(|| format!("{ready} of {wanted} replicas are ready"));
        }
        ("apiextensions.k8s.io" | "apiregistration.k8s.io", _) => return None,
        ("", "nodes") => return None,
        _ => {}
    }
    READY.iter().find_map(|name| condition(status, name, "False"))
}

fn pod(status: &Value) -> Option<String> {
    match status["phase"].as_str().unwrap_or("Pending") {
        "Succeeded" => None,
        "Failed" => Some(format!("it failed{}", colon(&status["message"]))),
        "Running" => {
            let waiting = waiting(status);
            let not = condition(status, "Ready", "False")?;
            Some(waiting.unwrap_or(not))
        }
        _ => {
            let unscheduled = condition(status, "PodScheduled", "False");
            let why = unscheduled.or_else(|| waiting(status));
            Some(format!("it is Pending{}", why.map(|why| format!("; {why}")).unwrap_or_default()))
        }
    }
}

/// The first container that waits, and for what.
fn waiting(status: &Value) -> Option<String> {
    let lists = ["initContainerStatuses", "containerStatuses"];
    let mut all = lists.iter().filter_map(|list| status[list].as_array()).flatten();
    all.find_map(|container| {
        let waiting = &container["state"]["waiting"];
        let reason = waiting["reason"].as_str()?;
        let name = container["name"].as_str().unwrap_or_default();
        Some(format!("container {name} waits: {reason}{}", colon(&waiting["message"])))
    })
}

/// What a condition says, if it has this status.
fn condition(status: &Value, name: &str, value: &str) -> Option<String> {
    let all = status["conditions"].as_array()?;
    let found = all.iter().find(|condition| condition["type"] == name)?;
    if found["status"] != value {
        return None;
    }
    let reason = match found["reason"].as_str() {
        Some(reason) if !reason.is_empty() => format!(" ({reason})"),
        _ => String::new(),
    };
    Some(format!("{name} is {value}{reason}{}", colon(&found["message"])))
}

fn colon(message: &Value) -> String {
    match message.as_str() {
        Some(text) if !text.is_empty() => format!(": {text}"),
        _ => String::new(),
    }
}
