//! What kwok's default stages do with a pod, a line each.

use serde_json::{Value, json};

use crate::{
    Controller, Request,
    fixture::{object, run, view},
    request::PodState,
};

fn check(pod: Value, with_node: bool, expect: &str) {
    let mut objects = vec![object("pods/default/p", pod)];
    if with_node {
        objects.push(object("nodes/n", json!({})));
    }
    let (sent, _) = run(Controller::Kubelet, &view(&objects), "pods/default/p", &[]);
    let told = match &sent[..] {
        [] => "nothing".to_owned(),
        [Request::PodPhase { state, .. }] => match state {
            PodState::Running { ready, .. } => if *ready { "Running" } else { "starts" }.to_owned(),
            PodState::Ended { code, again, .. } => {
                format!("exit {code}{}", if *again { ", again" } else { "" })
            }
            PodState::TooLong { .. } => "too long".to_owned(),
        },
        [Request::Delete { grace_seconds: Some(seconds), .. }] => format!("delete in {seconds} s"),
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect);
}

#[test]
fn pods_run_end_and_go() {
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let pod = |phase: &str| {
        let conditions = if phase == "Running" { ready.clone() } else { json!([]) };
        json!({"spec": {"nodeName": "n"}, "status": {"phase": phase, "conditions": conditions}})
    };
    check(pod("Pending"), true, "Running");
    check(pod("Running"), true, "nothing");
    check(pod("Pending"), false, "nothing");
    check(json!({"status": {"phase": "Pending"}}), true, "nothing");
    let mut of_job = pod("Running");
    of_job["spec"]["restartPolicy"] = json!("Never");
    of_job["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true,
    }]);
    check(of_job, true, "exit 0");
    let mut deleted = pod("Running");
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:30Z");
    deleted["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    check(deleted.clone(), true, "delete in 0 s");
    deleted["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    check(deleted, true, "nothing");
}

#[test]
fn pods_do_what_their_script_says() {
    let started = |phase: &str, policy: &str, script: Value| {
        json!({
            "metadata": {"annotations": script},
            "spec": {"nodeName": "n", "restartPolicy": policy},
            "status": {"phase": phase, "containerStatuses": [
                {"name": "c", "restartCount": 0, "state": {"running": {"startedAt": "2025-12-31T23:59:50Z"}}},
            ]},
        })
    };
    let later = json!({"trommel.dev/ready-after": "5s"});
    check(started("Pending", "Always", later.clone()), true, "starts");
    check(started("Running", "Always", later), true, "Running");
    check(started("Running", "Always", json!({"trommel.dev/ready-after": "15s"})), true, "nothing");
    let fails = json!({"trommel.dev/exit-codes": "3", "trommel.dev/ready-after": "1h"});
    check(started("Running", "Never", fails.clone()), true, "exit 3");
    check(started("Running", "OnFailure", fails), true, "exit 3, again");
    let mut deleted = started("Running", "Never", json!({"trommel.dev/ends-after": "20s"}));
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:20Z");
    deleted["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    check(deleted.clone(), true, "nothing");
    deleted["metadata"]["annotations"] = json!({"trommel.dev/ends-after": "10s"});
    check(deleted, true, "delete in 0 s");
}

#[test]
fn gates_and_deadlines() {
    let running = |spec: Value, conditions: Value| {
        let mut pod = json!({"spec": spec, "status": {
            "phase": "Running", "startTime": "2025-12-31T23:59:50Z", "conditions": conditions,
        }});
        pod["spec"]["nodeName"] = json!("n");
        pod
    };
    let gated = json!({"readinessGates": [{"conditionType": "x"}]});
    let conditions = |gate: &str, ready: &str| json!([{"type": "x", "status": gate}, {"type": "Ready", "status": ready}]);
    check(running(gated.clone(), json!([])), true, "nothing");
    check(running(gated.clone(), conditions("True", "False")), true, "Running");
    check(running(gated.clone(), conditions("True", "True")), true, "nothing");
    check(running(gated, conditions("False", "True")), true, "Running");
    let ready = json!([{"type": "Ready", "status": "True"}]);
    check(running(json!({"activeDeadlineSeconds": 10}), ready.clone()), true, "too long");
    check(running(json!({"activeDeadlineSeconds": 11}), ready), true, "nothing");
}
