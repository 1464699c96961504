//! What a kubelet says of a pod: phase, conditions, containers (`pkg/kubelet/kubelet_pods.go`, `status/generate.go`), and
//! of which generation of the pod it says so (KEP-5067, `CalculatePodStatusObservedGeneration` and
//! `CalculatePodConditionObservedGeneration` of `pkg/api/v1/pod`, Kubernetes 1.36).
//!
//! Simplification: kubelets of releases before 1.34, where that is off by default, say it too. Who could notice: whoever
//! looks for its absence.

use std::time::Duration;

use serde_json::{Value, json};
use trace::Time;

use crate::{
    kubelet,
    request::{Beside, PodState},
};

/// What a kubelet says of a pod whose containers all do the same: a strategic merge patch. `host` and `address` are the
/// addresses of the node and of the pod; where they are not known, they are empty.
pub fn pod_state(
    pod: &Value,
    uid: &str,
    state: &PodState,
    (host, address): (&str, &str),
    since: Time,
) -> Value {
    let now = since.rfc3339();
    if *state == PodState::Same {
        return json!({"metadata": {"uid": uid}, "status": observed(pod, json!({}))});
    }
    let phase = match state {
        // One that has run is not pending again.
        PodState::Waits { .. } if pod["status"]["phase"] == "Running" => "Running",
        PodState::Waits { .. } => "Pending",
        PodState::Running { .. } | PodState::Ended { again: Some(_), .. } => "Running",
        PodState::Replaced { .. } | PodState::Same => "Running",
        PodState::Ended { code: 0, .. } => "Succeeded",
        PodState::Ended { .. } | PodState::TooLong { .. } => "Failed",
    };
    let told = |container: &Value| container_state(pod, container, state, &now);
    let list = |field: &str| pod["spec"][field].as_array().into_iter().flatten();
    let containers: Vec<Value> = list("containers").map(told).collect();
    let mut status = json!({
        "phase": phase, "conditions": pod_conditions(pod, state, phase, &now), "hostIP": host,
        "hostIPs": [{"ip": host}], "containerStatuses": containers,
    });
    if !address.is_empty() {
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{"ip": address}]);
    }
    if let PodState::TooLong { .. } = state {
        status["reason"] = json!("DeadlineExceeded");
        status["message"] = json!("Pod was active on the node longer than the specified deadline");
    }
    if let Some(told) = init_containers(pod, state, &now) {
        status["initContainerStatuses"] = told.into();
    }
    if pod["status"]["startTime"].is_null() {
        status["startTime"] = json!(now);
    }
    json!({"metadata": {"uid": uid}, "status": observed(pod, status)})
}

/// A text of `metadata`; empty where there is none.
fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .pointer("/metadata")
        .and_then(|meta| meta.get(field))
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// A status with the generation that it is about, which conditions that are kubelets' have too.
fn observed(pod: &Value, mut status: Value) -> Value {
    let generation = &pod["metadata"]["generation"];
    if generation.is_null() {
        return status;
    }
    status["observedGeneration"] = generation.clone();
    let told = status["conditions"].take();
    let mut told: Vec<Value> = told.as_array().cloned().unwrap_or_default();
    let known = pod["status"]["conditions"].as_array().into_iter().flatten();
    for kind in
        known.map(|one| &one["type"]).filter(|kind| CONDITIONS.iter().any(|of| *kind == *of))
    {
        if told.iter().all(|one| one["type"] != *kind) {
            told.push(json!({"type": kind}));
        }
    }
    for condition in &mut told {
        condition["observedGeneration"] = generation.clone();
    }
    status["conditions"] = told.into();
    status
}

/// Conditions that are kubelets' (`PodConditionsByKubelet` of `pkg/kubelet/types`), as far as this one tells them; the
/// scheduler begins `PodScheduled`.
const CONDITIONS: [&str; 5] =
    ["PodScheduled", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"];

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn is_named(container: &Value, name: &str) -> bool {
    container["name"] == *name
}

/// The first init container that lacks something of its environment, where one does.
fn stuck(pod: &Value, state: &PodState) -> Option<usize> {
    let PodState::Waits { lacks, .. } = state else { return None };
    let init = pod["spec"]["initContainers"].as_array()?;
    init.iter().position(|one| lacks.iter().any(|(name, _)| is_named(one, name)))
}

/// What is to be told of init containers; none where that stays as it is. They end well as soon as they are started, and
/// those that go on beside the others do what the others do.
fn init_containers(pod: &Value, state: &PodState, now: &str) -> Option<Vec<Value>> {
    let containers = pod["spec"]["initContainers"].as_array()?;
    let known = pod["status"]["initContainerStatuses"].as_array();
    let settled = known.is_some_and(|known| {
        !known.is_empty() && known.iter().all(|one| one["state"]["waiting"].is_null())
    });
    if settled && !containers.iter().any(is_sidecar) {
        return None;
    }
    let unmounted = matches!(state, PodState::Waits { lacks, .. } if lacks.is_empty());
    let stuck = stuck(pod, state);
    let told = |(number, container): (usize, &Value)| {
        let waits = unmounted || stuck.is_some_and(|stuck| number >= stuck);
        if waits {
            return container_state(pod, container, state, now);
        }
        if is_sidecar(container) {
            let runs = PodState::Running { started: true, ready: true, restarts: 0 };
            let same = if matches!(state, PodState::Waits { .. }) { &runs } else { state };
            return container_state(pod, container, same, now);
        }
        let mut before = known.into_iter().flatten();
        let before = before.find(|one| one["name"] == container["name"]);
        if let Some(before) = before.filter(|one| !one["state"]["terminated"].is_null()) {
            return before.clone();
        }
        let over = PodState::Ended { code: 0, restarts: 0, again: None };
        let mut told = container_state(pod, container, &over, now);
        told["ready"] = json!(true);
        told
    };
    Some(containers.iter().enumerate().map(told).collect())
}

/// What of a pod's containers has not come to an end that they should, as Go prints a list of names.
fn names(containers: &[&Value]) -> String {
    let names: Vec<&str> = containers.iter().filter_map(|one| one["name"].as_str()).collect();
    format!("[{}]", names.join(" "))
}

fn pod_conditions(pod: &Value, state: &PodState, phase: &str, now: &str) -> [Value; 4] {
    let before = pod["status"]["conditions"].as_array();
    let known = |kind: &Value, status: &str| {
        let mut conditions = before.into_iter().flatten();
        conditions.find(|one| one["type"] == *kind && one["status"] == status)
    };
    let gates = pod["spec"]["readinessGates"].as_array();
    let mut gates = gates.into_iter().flatten();
    let open = gates.all(|gate| known(&gate["conditionType"], "True").is_some());
    let ended = matches!(phase, "Succeeded" | "Failed");
    let list = |field: &str| pod["spec"][field].as_array().into_iter().flatten();
    let (unmounted, stuck) = match state {
        PodState::Waits { lacks, .. } => (lacks.is_empty(), stuck(pod, state)),
        _ => (false, None),
    };
    let first = if unmounted { Some(0) } else { stuck };
    let incomplete: Vec<&Value> =
        first.map_or(vec![], |first| list("initContainers").skip(first).collect());
    // Beside those that wait, sidecars run and are ready, and others may be.
    let some_run = matches!(state, PodState::Waits { beside: Some(_), .. });
    let sidecars = list("initContainers").filter(|one| is_sidecar(one) && !some_run);
    let all = sidecars.chain(list("containers"));
    let unready: Vec<&Value> = all.filter(|one| !is_ready(pod, one, state)).collect();
    let ready = unready.is_empty();
    let condition = |(kind, holds): (&str, bool)| {
        let status = if holds { "True" } else { "False" };
        let same = known(&json!(kind), status);
        let at = same.map_or_else(|| json!(now), |found| found["lastTransitionTime"].clone());
        let why = || format!("containers with unready status: {}", names(&unready));
        let (reason, message) = match (ended, holds) {
            (true, _) if phase == "Succeeded" => (json!("PodCompleted"), Value::Null),
            (true, false) => (json!("PodFailed"), Value::Null),
            _ if holds || kind == "PodReadyToStartContainers" => (Value::Null, Value::Null),
            _ if kind == "Initialized" => {
                let message = format!("containers with incomplete status: {}", names(&incomplete));
                (json!("ContainersNotInitialized"), json!(message))
            }
            _ if ready => (json!("ReadinessGatesNotReady"), Value::Null),
            _ => (json!("ContainersNotReady"), json!(why())),
        };
        // What was said of the status before goes.
        json!({
            "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": at,
            "reason": reason, "message": message,
        })
    };
    [
        ("PodReadyToStartContainers", !ended && !unmounted),
        ("Initialized", incomplete.is_empty()),
        ("Ready", ready && open),
        ("ContainersReady", ready),
    ]
    .map(condition)
}

/// Whether a container is ready in this state of its pod.
fn is_ready(pod: &Value, container: &Value, state: &PodState) -> bool {
    match state {
        PodState::Running { ready, .. } => *ready,
        PodState::Replaced { containers, ready, .. } => {
            match containers.iter().any(|name| is_named(container, name)) {
                true => *ready,
                false => known(pod, container).is_some_and(|known| known["ready"] == true),
            }
        }
        _ => runs_beside(container, state)
            .is_some_and(|state| matches!(state, PodState::Running { ready: true, .. })),
    }
}

/// What was told of a container before.
fn known<'p>(pod: &'p Value, container: &Value) -> Option<&'p Value> {
    let lists = ["containerStatuses", "initContainerStatuses"];
    let mut known = lists.iter().filter_map(|list| pod["status"][*list].as_array()).flatten();
    known.find(|known| known["name"] == container["name"])
}

/// A container is another one each time it is started. Its pod's uid says which pod's, wherever it is read.
fn container_id(pod: &Value, container: &Value, restarts: i64) -> Value {
    let name = container["name"].as_str().unwrap_or_default();
    json!(format!("trommel://{}_{name}_{restarts}", meta(pod, "uid")))
}

/// What a container does that lacks nothing, while others of its pod wait.
fn runs_beside(container: &Value, state: &PodState) -> Option<PodState> {
    let PodState::Waits { lacks, beside: Some(beside), .. } = state else { return None };
    let Beside { started, ready, restarts } = *beside;
    let waits = lacks.iter().any(|(name, _)| is_named(container, name));
    (!waits).then_some(PodState::Running { started, ready, restarts })
}

/// A container of it. What runs goes on: since when, and how often it was started, stay as they were told.
fn container_state(pod: &Value, container: &Value, state: &PodState, now: &str) -> Value {
    let runs = runs_beside(container, state);
    let state = runs.as_ref().unwrap_or(state);
    let known = known(pod, container);
    let replaced = match state {
        PodState::Replaced { containers, .. } => {
            containers.iter().any(|name| is_named(container, name))
        }
        _ => false,
    };
    if let (PodState::Replaced { .. }, false, Some(known)) = (state, replaced, known) {
        return known.clone();
    }
    let started = known.and_then(|known| known.pointer("/state/running/startedAt"));
    let counted = known.and_then(|known| known["restartCount"].as_i64());
    let over = |code: i64| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        let at = started.cloned().unwrap_or_else(|| json!(now));
        json!({"terminated": {
            "containerID": container_id(pod, container, counted.unwrap_or(0)),
            "exitCode": code, "reason": reason, "startedAt": at, "finishedAt": now,
        }})
    };
    // What has ended since then is what ended before.
    let ended = known.and_then(|known| known["state"].get("terminated"));
    let mut last = match (ended, known) {
        (Some(ended), _) => json!({"terminated": ended}),
        (None, Some(known)) => known["lastState"].clone(),
        (None, None) => json!({}),
    };
    let (ready, is_started, restarts, what) = match state {
        PodState::Waits { lacks, restarts, .. } => {
            let why = lacks.iter().find(|(name, _)| is_named(container, name));
            let waiting = match why {
                Some((_, why)) => json!({"reason": kubelet::CONFIG_ERROR, "message": why}),
                None if pod["spec"]["initContainers"].is_array() => {
                    json!({"reason": "PodInitializing"})
                }
                None => json!({"reason": "ContainerCreating"}),
            };
            (false, false, counted.unwrap_or(*restarts), json!({"waiting": waiting}))
        }
        PodState::Running { started: is_started, ready, restarts } => {
            let at = started.cloned().unwrap_or_else(|| json!(now));
            let restarts = match counted {
                Some(counted) if started.is_some() => counted,
                Some(counted) if last.get("terminated").is_some() => counted + 1,
                _ => *restarts,
            };
            (*ready, *is_started, restarts, json!({"running": {"startedAt": at}}))
        }
        PodState::Replaced { started: is_started, ready, .. } => {
            last = over(kubelet::TERMINATED);
            let restarts = counted.unwrap_or(0) + 1;
            (*ready, *is_started, restarts, json!({"running": {"startedAt": now}}))
        }
        PodState::Ended { code, restarts, again: Some(wait) } if !wait.is_zero() => {
            last = over(*code);
            let restarts = counted.unwrap_or(*restarts);
            (false, false, restarts, json!({"waiting": backs_off(pod, container, *wait)}))
        }
        PodState::Ended { code, restarts, .. } => {
            (false, false, counted.unwrap_or(*restarts), over(*code))
        }
        PodState::TooLong { restarts } => {
            (false, false, counted.unwrap_or(*restarts), over(kubelet::TERMINATED))
        }
        PodState::Same => return known.cloned().unwrap_or_default(),
    };
    let mut told = json!({
        "name": container["name"], "image": container["image"], "imageID": container["image"],
        "restartCount": restarts, "ready": ready, "started": is_started, "state": what,
        "lastState": last,
    });
    // One that never was started is none.
    if what.get("waiting").is_none() || last.get("terminated").is_some() {
        told["containerID"] = container_id(pod, container, restarts);
    }
    told
}

/// The kubelet reads off it how long it waits.
fn backs_off(pod: &Value, container: &Value, wait: Duration) -> Value {
    let wait = match (wait.as_secs() / 60, wait.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    };
    let message = format!(
        "back-off {wait} restarting failed container={} pod={}_{}({})",
        container["name"].as_str().unwrap_or(""),
        meta(pod, "name"),
        meta(pod, "namespace"),
        meta(pod, "uid"),
    );
    json!({"reason": "CrashLoopBackOff", "message": message})
}
