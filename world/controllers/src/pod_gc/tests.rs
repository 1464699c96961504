//! What a look finds, and when there is one.

use serde_json::{Value, json};

use super::*;
use crate::{
    Controller, Next,
    fixture::{NOW, affected, object, run, view},
};

const DELETED: &str = "2025-12-31T23:59:00Z";

fn pod(name: &str, node: &str, more: Value) -> (ObjectKey, Value) {
    let mut fields = json!({"spec": {}, "status": {"phase": "Running"}});
    if !node.is_empty() {
        fields["spec"]["nodeName"] = json!(node);
    }
    for (field, value) in more.as_object().into_iter().flatten() {
        fields[field] = value.clone();
    }
    object(&format!("pods/default/{name}"), fields)
}

fn deleted(grace_seconds: i64) -> Value {
    json!({"deletionTimestamp": DELETED, "deletionGracePeriodSeconds": grace_seconds})
}

fn node(name: &str, taints: Value) -> (ObjectKey, Value) {
    object(&format!("nodes/{name}"), json!({"spec": {"taints": taints}}))
}

fn out_of_service() -> Value {
    json!([{"key": OUT_OF_SERVICE, "effect": "NoExecute"}])
}

/// What a look does, and after how many seconds it looks again; `missed`: nodes, and how many seconds their quarantine
/// goes on.
fn check(
    objects: &[(ObjectKey, Value)],
    missed: &[(&str, u64)],
    expect: &[&str],
    again: Option<u64>,
) {
    let mut seen = view(objects);
    for (name, seconds) in missed {
        let until = NOW.plus(Duration::from_secs(*seconds));
        seen.remember(&ObjectKey::new(nodes(), "", name), Memory::MissedUntil(Some(until)));
    }
    let (sent, end) = run(Controller::PodGc, &seen, "pods/", &[]);
    let told = sent.iter().map(|request| match request {
        Request::Remember { key, memory: Memory::MissedUntil(Some(until)) } => {
            format!("misses {} for {} s", key.name, until.since(NOW).as_secs())
        }
        Request::Remember { key, memory: Memory::MissedUntil(None) } => {
            format!("looks for {}", key.name)
        }
        Request::PodCondition { key, kind, phase, .. } => {
            format!("{} {}{kind}", key.name, phase.unwrap_or("-"))
        }
        Request::Delete { key, grace_seconds: Some(0), .. } => format!("deletes {}", key.name),
        other => format!("{other:?}"),
    });
    assert_eq!(told.collect::<Vec<String>>(), expect);
    assert_eq!(end, Next::Done { requeue_after: again.map(Duration::from_secs) });
}

#[test]
fn a_node_that_is_gone_is_missed_for_a_while() {
    let orphans = [pod("a", "x", json!({})), pod("b", "x", json!({})), pod("c", "y", json!({}))];
    check(&orphans, &[], &["misses x for 40 s", "misses y for 40 s"], Some(40));
    check(&orphans, &[("x", 20), ("y", 40)], &[], Some(20));
    let gone = ["looks for x", "a FailedDisruptionTarget", "deletes a", "b FailedDisruptionTarget"];
    check(&orphans, &[("x", 0), ("y", 20)], &[&gone[..], &["deletes b"]].concat(), Some(20));
    // It is there again; or it is gone again, which is no reason to wait.
    let back = [pod("a", "x", json!({})), node("x", json!([]))];
    check(&back, &[("x", 0)], &["looks for x"], None);
    check(&back, &[("x", 20)], &[], Some(20));
    check(&back, &[], &[], None);
}

#[test]
fn pods_that_nobody_ends_go() {
    let unbound = pod("a", "", json!({"metadata": deleted(30)}));
    check(&[unbound], &[], &["a Failed", "deletes a"], None);
    let here = |more: Value| pod("a", "x", more);
    let out = || node("x", out_of_service());
    check(&[here(json!({"metadata": deleted(30)})), out()], &[], &["a Failed", "deletes a"], None);
    check(&[here(json!({})), out()], &[], &[], None);
    check(&[here(json!({"metadata": deleted(30)})), node("x", json!([]))], &[], &[], None);
    let ended = json!({"metadata": deleted(30), "status": {"phase": "Succeeded"}});
    check(&[here(ended), out()], &[], &["deletes a"], None);
    // Somebody's finalizer keeps it: nothing is to be done any more.
    let kept = json!({"metadata": deleted(0), "status": {"phase": "Failed"}});
    check(&[here(kept.clone()), out()], &[], &[], None);
    check(&[here(kept)], &[], &[], None);
}

#[test]
fn those_out_of_service_come_first_and_the_oldest_of_them() {
    let created = |time: &str| {
        let mut metadata = deleted(30);
        metadata["creationTimestamp"] = json!(time);
        json!({"metadata": metadata, "status": {"phase": "Failed"}})
    };
    let objects = [
        pod("a", "", json!({"metadata": deleted(30), "status": {"phase": "Failed"}})),
        pod("b", "gone", json!({"status": {"phase": "Failed"}})),
        pod("c", "x", created("2025-12-31T12:00:00Z")),
        pod("d", "x", created("2025-12-31T11:00:00Z")),
        node("x", out_of_service()),
    ];
    let expect = ["deletes d", "deletes c", "looks for gone", "deletes b", "deletes a"];
    check(&objects, &[("gone", 0)], &expect, None);
}

#[test]
fn what_is_refused_is_tried_again_at_the_next_look() {
    let objects = [
        pod("a", "", json!({"metadata": deleted(30)})),
        pod("b", "", json!({"metadata": deleted(30)})),
    ];
    let seen = view(&objects);
    let no = || Response::Refused { code: 403, reason: "Forbidden".into(), message: "no".into() };
    let next =
        |responses: &[Response]| Controller::PodGc.next(&seen, &everything(), NOW, responses);
    let asks = |next: Next, of: &str| {
        let Next::Request(request) = next else { panic!("{next:?}") };
        let Request::PodCondition { key, .. } = &*request else { panic!("{request:?}") };
        assert_eq!(&*key.name, of);
    };
    asks(next(&[]), "a");
    asks(next(&[no()]), "b");
    assert_eq!(next(&[no(), no()]), Next::Done { requeue_after: Some(PERIOD) });
}

#[test]
fn looks_fall_on_thirds_of_minutes() {
    let check = |after_millis: u64, expect_millis: u64| {
        let now = NOW.plus(Duration::from_millis(after_millis));
        assert_eq!(until_next(now), Duration::from_millis(expect_millis), "{after_millis}");
    };
    // Who changes something at the moment of a look is later than it.
    check(0, 20_000);
    check(1, 19_999);
    check(19_999, 1);
    check(20_000, 20_000);
    let seen = view(&[]);
    let (_, orphan) = pod("a", "x", json!({}));
    let found = affected(Controller::PodGc, &seen, "pods/default/a", None, Some(orphan));
    assert_eq!(found, [Affected { key: everything(), after: PERIOD }]);
    let (_, unbound) = pod("a", "", json!({}));
    assert!(affected(Controller::PodGc, &seen, "pods/default/a", None, Some(unbound)).is_empty());
    let seen = view(&[pod("a", "x", json!({}))]);
    let (_, gone) = node("x", json!([]));
    let found = affected(Controller::PodGc, &seen, "nodes/x", Some(gone), None);
    assert_eq!(found.len(), 1);
}
