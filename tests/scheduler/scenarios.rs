//! Scenarios by hand, as data: a behaviour each. Where a pod has a choice, one node is better than the others: both
//! arms have to take it.

use std::collections::{BTreeMap, BTreeSet};

use cluster::Controller;
use serde_json::{Value, json};

use crate::{
    arm::{Arm, Embedded, Real},
    judge::{self, pod_path, remove_pod},
};

mod placing;
mod preempting;
mod volumes;

/// What is done to both arms. `NS` in paths is the scenario's namespace.
#[derive(Debug, Clone)]
pub enum Step {
    /// Nodes come: labels, taints, sizes (`judge::make_node`).
    Nodes(Vec<(&'static str, Value)>),
    /// POST.
    Create(&'static str, Value),
    /// Strategic merge patch.
    Patch(&'static str, Value),
    /// A pod runs since this second.
    Runs(&'static str, u32),
    /// A pod is gone, as if its kubelet had ended it.
    Gone(&'static str),
}

/// One behaviour.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Also its namespace.
    pub name: &'static str,
    /// In order; compared after each.
    pub steps: Vec<Step>,
}

/// A scenario is played so often until it agrees.
const ATTEMPTS: u32 = 3;

pub const PODS: &str = "/api/v1/namespaces/NS/pods";

/// All of them.
pub fn all() -> Vec<Scenario> {
    [placing::all(), preempting::all(), volumes::all()].concat()
}

pub fn scenario(name: &'static str, steps: Vec<Step>) -> Scenario {
    Scenario { name, steps }
}

/// A pod: the fields of its spec, and its labels under `labels`.
pub fn pod(name: &str, fields: Value) -> Step {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    for (key, value) in fields.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let labels = spec["labels"].take();
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("labels");
    }
    Step::Create(PODS, json!({"metadata": {"name": name, "labels": labels}, "spec": spec}))
}

/// Containers that ask for so much CPU.
pub fn asks(cpu: &str) -> Value {
    json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}])
}

/// Plays a scenario on both arms; what differs at the first step where they don't agree. The real scheduler reads nodes
/// and pods from several watches: on a busy machine it may see a pod before the node that was made before it, and then
/// its events tell of that. So a scenario is played anew before it counts as different.
pub fn play(scenario: &Scenario, real: &Real) -> Option<String> {
    let mut found = None;
    for attempt in 1..=ATTEMPTS {
        let namespace = match attempt {
            1 => scenario.name.to_owned(),
            _ => format!("{}-again-{attempt}", scenario.name),
        };
        found = once(scenario, &namespace, real);
        match &found {
            Some(found) => println!("attempt {attempt} of {ATTEMPTS}: {found}"),
            None => break,
        }
    }
    found
}

fn once(scenario: &Scenario, namespace: &str, real: &Real) -> Option<String> {
    let embedded = Embedded::of(vec![Controller::Scheduler, Controller::VolumeBinder], true);
    judge::prepare(&embedded);
    for arm in [&embedded as &dyn Arm, real] {
        arm.make_namespace(namespace);
    }
    let mut found = None;
    for (number, step) in scenario.steps.iter().enumerate() {
        carry_out(&embedded, namespace, step);
        embedded.rest();
        carry_out(real, namespace, step);
        if let Step::Nodes(nodes) = step {
            let (last, _) = nodes.last().expect("nodes");
            judge::nodes_are_seen(real, namespace, last);
        }
        let state = |arm: &dyn Arm| form(arm, namespace);
        let expect = state(&embedded);
        if let Err(theirs) = real.comes_to(std::slice::from_ref(&expect), &state) {
            found = Some(format!(
                "{}, step {number}: {step:?}\n  embedded {expect:#}\n  real     {theirs:#}",
                scenario.name
            ));
            break;
        }
    }
    judge::clear(real, namespace);
    found
}

fn carry_out(arm: &dyn Arm, namespace: &str, step: &Step) {
    let at = |path: &str| path.replace("NS", namespace);
    match step {
        Step::Nodes(nodes) => {
            nodes.iter().for_each(|(name, node)| judge::make_node(arm, name, node))
        }
        Step::Create(path, object) => {
            let text = object.to_string().replace("$NS", namespace);
            let object = serde_json::from_str(&text).expect("it was JSON");
            arm.must("POST", &at(path), Some(object));
        }
        Step::Patch(path, patch) => arm.must("PATCH", &at(path), Some(patch.clone())),
        Step::Runs(name, second) => {
            let at = format!("2026-01-01T00:00:{second:02}Z");
            let status = json!({"status": {"phase": "Running", "startTime": at}});
            let path = format!("{}/status", pod_path(namespace, name));
            arm.must("PATCH", &path, Some(status));
        }
        Step::Gone(name) => remove_pod(arm, &pod_path(namespace, name)),
    }
}

/// What of a namespace is compared: all that a scheduler decides.
fn form(arm: &dyn Arm, namespace: &str) -> Value {
    let list = |path: &str| {
        let list = arm.send("GET", path, None).1;
        list["items"].as_array().cloned().unwrap_or_default()
    };
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or("").to_owned();
    let pods = list(&format!("/api/v1/namespaces/{namespace}/pods"));
    let pods = pods.iter().filter(|pod| name(pod) != "probe");
    let pods: BTreeMap<String, Value> = pods.map(|pod| (name(pod), of_pod(pod))).collect();
    let claims = list(&format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims"));
    let claims: BTreeMap<String, Value> =
        claims.iter().map(|claim| (name(claim), of_claim(claim))).collect();
    let volumes = list("/api/v1/persistentvolumes");
    let volumes: BTreeMap<String, Value> =
        volumes.iter().map(|volume| (name(volume), of_volume(volume))).collect();
    let uids = list(&format!("/api/v1/namespaces/{namespace}/pods"));
    let uids: Vec<(String, String)> = uids
        .iter()
        .map(|pod| (pod["metadata"]["uid"].as_str().unwrap_or("").to_owned(), name(pod)))
        .collect();
    let events = list(&format!("/api/v1/namespaces/{namespace}/events"));
    let events: BTreeSet<String> =
        events.iter().filter_map(|event| of_event(event, &uids)).collect();
    json!({"pods": pods, "claims": claims, "volumes": volumes, "events": events})
}

/// What the scheduler tells of a pod, with pods' names for their uids. Not how often.
fn of_event(event: &Value, uids: &[(String, String)]) -> Option<String> {
    let pod = event["involvedObject"]["name"].as_str().filter(|name| *name != "probe")?;
    if event["reportingComponent"] != "default-scheduler" {
        return None;
    }
    let text = |field: &str| event[field].as_str().unwrap_or("");
    let told = [pod, text("type"), text("reason"), text("action"), text("message")].join(" ");
    Some(uids.iter().fold(told, |told, (uid, name)| told.replace(uid, name)))
}

fn of_pod(pod: &Value) -> Value {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let decided =
        conditions.filter(|one| one["type"] == "PodScheduled" || one["type"] == "DisruptionTarget");
    let mut decided: Vec<Value> = decided.cloned().collect();
    for condition in &mut decided {
        condition["lastTransitionTime"] = Value::Null;
    }
    decided.sort_by_key(|one| one["type"].to_string());
    json!({
        "node": pod["spec"]["nodeName"], "nominated": pod["status"]["nominatedNodeName"],
        "deleted": pod["metadata"]["deletionTimestamp"].is_string(), "conditions": decided,
    })
}

fn of_claim(claim: &Value) -> Value {
    let (metadata, phase) = (&claim["metadata"], &claim["status"]["phase"]);
    let volume = &claim["spec"]["volumeName"];
    json!({"annotations": metadata["annotations"], "volume": volume, "phase": phase})
}

fn of_volume(volume: &Value) -> Value {
    json!({
        "annotations": volume["metadata"]["annotations"],
        "claim": volume["spec"]["claimRef"]["name"], "phase": volume["status"]["phase"],
    })
}
