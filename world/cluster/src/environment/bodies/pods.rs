//! What a kubelet says of a pod: phase, conditions, containers (`pkg/kubelet/kubelet_pods.go`, `status/generate.go`).

use std::time::Duration;

use controllers::{
    kubelet,
    request::{Beside, PodState},
};
use serde_json::{Value, json};
use trace::Time;

use crate::world::meta;

/// What a kubelet says of a pod whose containers all do the same.
pub(in crate::environment) fn pod_state(
    pod: &Value,
    uid: &str,
    state: &PodState,
    (host, address): (&str, &str),
    since: Time,
) -> Value {
    let now = since.rfc3339();
    let phase = match state {
        // One that has run is not pending again.
        PodState::Waits { .. } if pod["status"]["phase"] == "Running" => "Running",
        PodState::Waits { .. } => "Pending",
        PodState::Running { .. } | PodState::Ended { again: Some(_), .. } => "Running",
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
    json!({"metadata": {"uid": uid}, "status": status})
}

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
    let ready = matches!(state, PodState::Running { ready: true, .. });
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
    let is_ready = |one: &&Value| {
        matches!(runs_beside(one, state), Some(PodState::Running { ready: true, .. }))
    };
    let others = list("containers").filter(|one| !is_ready(one));
    let unready: Vec<&Value> = sidecars.chain(others).collect();
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

/// What a container does that lacks nothing, while others of its pod wait.
fn runs_beside(container: &Value, state: &PodState) -> Option<PodState> {
    let PodState::Waits { lacks, beside: Some(beside), .. } = state else { return None };
    let Beside { started, ready, restarts } = *beside;
    let waits = lacks.iter().any(|(name, _)| is_named(container, name));
    (!waits).then_some(PodState::Running { started, ready, restarts })
}

/// A container of it. Since when it runs stays as it was told, and how it ended before.
fn container_state(pod: &Value, container: &Value, state: &PodState, now: &str) -> Value {
    let runs = runs_beside(container, state);
    let state = runs.as_ref().unwrap_or(state);
    let lists = ["containerStatuses", "initContainerStatuses"];
    let mut known = lists.iter().filter_map(|list| pod["status"][*list].as_array()).flatten();
    let known = known.find(|known| known["name"] == container["name"]);
    let started = known.and_then(|known| known.pointer("/state/running/startedAt"));
    let over = |code: i64| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        let at = started.cloned().unwrap_or_else(|| json!(now));
        json!({"terminated": {
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
            (false, false, *restarts, json!({"waiting": waiting}))
        }
        PodState::Running { started: is_started, ready, restarts } => {
            let same = known.is_some_and(|known| known["restartCount"] == *restarts);
            let at = started.filter(|_| same).cloned().unwrap_or_else(|| json!(now));
            (*ready, *is_started, *restarts, json!({"running": {"startedAt": at}}))
        }
        PodState::Ended { code, restarts, again: Some(wait) } if !wait.is_zero() => {
            last = over(*code);
            (false, false, *restarts, json!({"waiting": backs_off(pod, container, *wait)}))
        }
        PodState::Ended { code, restarts, .. } => (false, false, *restarts, over(*code)),
        PodState::TooLong { restarts } => (false, false, *restarts, over(kubelet::TERMINATED)),
    };
    json!({
        "name": container["name"], "image": container["image"], "imageID": container["image"],
        "restartCount": restarts, "ready": ready, "started": is_started, "state": what,
        "lastState": last,
    })
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
