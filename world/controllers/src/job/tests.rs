//! What `job_controller_test.go` promises of single reconciles; whole lives are in `tests/environment`.

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    Controller, Next, Request,
    fixture::{object, run, view},
};

const WORK: &str = "jobs.batch/default/work";

fn job(spec: Value, status: Value) -> (ObjectKey, Value) {
    let mut all = json!({
        "parallelism": 2, "completions": 2, "backoffLimit": 6,
        "selector": {"matchLabels": {"a": "1"}},
        "template": {"metadata": {"labels": {"a": "1"}}, "spec": {"restartPolicy": "Never"}},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    object(WORK, json!({"spec": all, "status": status}))
}

/// A pod that ended an hour ago with this code, or runs.
fn pod(name: &str, code: Option<i64>, more: Value) -> (ObjectKey, Value) {
    let phase = match code {
        None => "Running",
        Some(0) => "Succeeded",
        Some(_) => "Failed",
    };
    let state = code.map_or(
        json!({"running": {}}),
        |code| json!({"terminated": {"exitCode": code, "finishedAt": "2025-12-31T23:00:00Z"}}),
    );
    let (key, mut pod) = object(
        &format!("pods/default/{name}"),
        json!({
            "metadata": {
                "labels": {"a": "1"}, "finalizers": ["batch.kubernetes.io/job-tracking"],
                "ownerReferences": [{
                    "apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "work", "controller": true,
                }],
            },
            "status": {"phase": phase, "containerStatuses": [{"name": "c", "state": state}]},
        }),
    );
    for (path, value) in more.as_object().into_iter().flatten() {
        pod["metadata"]["annotations"][path] = value.clone();
    }
    (key, pod)
}

fn indexed(name: &str, index: i64, code: Option<i64>) -> (ObjectKey, Value) {
    pod(name, code, json!({"batch.kubernetes.io/job-completion-index": index.to_string()}))
}

/// The requests in short; of each status the counts, indexes and conditions that hold.
fn check(objects: &[(ObjectKey, Value)], expect: &[&str]) -> Next {
    let (sent, end) = run(Controller::Job, &view(objects), WORK, &[]);
    let told = sent.iter().map(|request| match request {
        Request::Create { object, .. } => {
            let index =
                &object["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
            format!("create {}", index.as_str().unwrap_or("one"))
        }
        Request::Delete { key, .. } => format!("delete {}", key.name),
        Request::RemoveFinalizer { key, .. } => format!("let {} go", key.name),
        Request::Update { fields, .. } => {
            let status = &fields[0].1;
            let count = |field: &str| status[field].as_i64().unwrap_or(0);
            let holds = status["conditions"].as_array().into_iter().flatten();
            let holds: Vec<&str> = holds.filter_map(|c| c["type"].as_str()).collect();
            let noted = &status["uncountedTerminatedPods"];
            let noted = ["succeeded", "failed"].map(|of| noted[of].as_array().map_or(0, Vec::len));
            format!(
                "status {}/{}/{} noted {noted:?} {}{}",
                count("active"),
                count("succeeded"),
                count("failed"),
                status["completedIndexes"].as_str().unwrap_or(""),
                holds.join(","),
            )
        }
        other => format!("{other:?}"),
    });
    assert_eq!(told.collect::<Vec<String>>(), expect);
    end
}

#[test]
fn what_is_missing_is_made_and_what_ended_is_counted_once() {
    check(
        &[job(json!({}), json!({}))],
        &["create one", "create one", "status 2/0/0 noted [0, 0] "],
    );
    let objects =
        [job(json!({}), json!({})), pod("x", Some(0), json!({})), pod("y", None, json!({}))];
    let counted = ["status 1/0/0 noted [1, 0] ", "let x go", "status 1/1/0 noted [0, 0] "];
    check(&objects, &counted);
}

#[test]
fn a_job_is_over_when_enough_have_succeeded() {
    let objects =
        [job(json!({}), json!({})), pod("x", Some(0), json!({})), pod("y", Some(0), json!({}))];
    check(
        &objects,
        &[
            "status 0/0/0 noted [2, 0] SuccessCriteriaMet",
            "let x go",
            "let y go",
            "status 0/2/0 noted [0, 0] SuccessCriteriaMet,Complete",
        ],
    );
}

#[test]
fn failures_are_waited_for_and_limited() {
    // It failed an hour ago: no wait. It failed now: ten seconds.
    let failed = pod("x", Some(1), json!({}));
    let mut now = failed.clone();
    now.1["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] =
        json!("2025-12-31T23:59:58Z");
    let one = || job(json!({"parallelism": 1, "completions": 1}), json!({}));
    let counted = |active: i64| {
        [
            format!("status {active}/0/0 noted [0, 1] "),
            "let x go".to_owned(),
            format!("status {active}/0/1 noted [0, 0] "),
        ]
    };
    let again = counted(1);
    check(&[one(), failed.clone()], &["create one", &again[0], &again[1], &again[2]]);
    let waits = counted(0);
    let end = check(&[one(), now], &[&waits[0], &waits[1], &waits[2]]);
    let left = std::time::Duration::from_secs(8);
    assert_eq!(end, Next::Done { requeue_after: Some(left) });
    let strict = job(json!({"backoffLimit": 0}), json!({}));
    // The other one has to go before the Job has failed.
    check(
        &[strict, failed, pod("y", None, json!({}))],
        &[
            "delete y",
            "status 0/0/0 noted [0, 2] FailureTarget",
            "let x go",
            "let y go",
            "status 0/0/2 noted [0, 0] FailureTarget",
        ],
    );
}

#[test]
fn indexes_are_filled_from_the_first() {
    let spec = json!({"completionMode": "Indexed", "completions": 4, "parallelism": 3});
    let objects = [job(spec, json!({"completedIndexes": "1"})), indexed("x", 0, None)];
    check(&objects, &["create 2", "create 3", "status 3/1/0 noted [0, 0] 1"]);
}

#[test]
fn an_index_fails_by_itself() {
    let spec = json!({
        "completionMode": "Indexed", "backoffLimitPerIndex": 0, "backoffLimit": i32::MAX,
    });
    let objects = [job(spec, json!({})), indexed("x", 0, Some(1)), indexed("y", 1, Some(0))];
    check(
        &objects,
        &[
            "status 0/1/0 noted [0, 1] 1FailureTarget",
            "let x go",
            "let y go",
            "status 0/1/1 noted [0, 0] 1FailureTarget,Failed",
        ],
    );
}

#[test]
fn policies_say_what_a_failure_means() {
    let rule = |action: &str| {
        json!({"podFailurePolicy": {"rules": [{
        "action": action, "onExitCodes": {"operator": "In", "values": [7]},
    }]}, "parallelism": 1, "completions": 1})
    };
    let objects =
        |action: &str, code: i64| [job(rule(action), json!({})), pod("x", Some(code), json!({}))];
    check(&objects("Ignore", 7), &["create one", "status 1/0/0 noted [0, 0] ", "let x go"]);
    check(
        &objects("FailJob", 7),
        &[
            "status 0/0/0 noted [0, 1] FailureTarget",
            "let x go",
            "status 0/0/1 noted [0, 0] FailureTarget,Failed",
        ],
    );
    check(
        &objects("FailJob", 8),
        &["create one", "status 1/0/0 noted [0, 1] ", "let x go", "status 1/0/1 noted [0, 0] "],
    );
}

#[test]
fn what_is_over_or_anothers_is_left_alone() {
    let over = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    check(&[job(json!({}), over)], &[]);
    check(&[job(json!({"managedBy": "example.com/x"}), json!({}))], &[]);
}
