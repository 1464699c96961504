//! What kwok's default stages do with a pod, a line each.

use serde_json::{Value, json};

use crate::{
    Controller, Request,
    fixture::{object, run, view},
};

fn check(pod: Value, with_node: bool, expect: &str) {
    let mut objects = vec![object("pods/default/p", pod)];
    if with_node {
        objects.push(object("nodes/n", json!({})));
    }
    let (sent, _) = run(Controller::Kubelet, &view(&objects), "pods/default/p", &[]);
    let told = match &sent[..] {
        [] => "nothing".to_owned(),
        [Request::PodPhase { phase, .. }] => (*phase).to_owned(),
        [Request::Delete { grace_seconds: Some(seconds), .. }] => format!("delete in {seconds} s"),
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect);
}

#[test]
fn pods_run_end_and_go() {
    let pod = |phase: &str| json!({"spec": {"nodeName": "n"}, "status": {"phase": phase}});
    check(pod("Pending"), true, "Running");
    check(pod("Running"), true, "nothing");
    check(pod("Pending"), false, "nothing");
    check(json!({"status": {"phase": "Pending"}}), true, "nothing");
    let mut of_job = pod("Running");
    of_job["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true,
    }]);
    check(of_job, true, "Succeeded");
    let mut deleted = pod("Running");
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:30Z");
    deleted["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    check(deleted.clone(), true, "delete in 0 s");
    deleted["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    check(deleted, true, "nothing");
}
