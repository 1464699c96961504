//! What `replica_set_test.go` and `controller_utils_test.go` promise: how many, which, in what order.

use serde_json::{Value, json};

use crate::{
    Controller, Next, Request,
    fixture::{affected, object, run, view},
};

const RS: &str = "replicasets.apps/default/r";

fn set(replicas: i64) -> (trace::ObjectKey, Value) {
    object(
        RS,
        json!({"spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"a": "1"}},
            "template": {"metadata": {"labels": {"a": "1"}}, "spec": {}},
        }}),
    )
}

/// A running, ready pod of the ReplicaSet.
fn pod(name: &str, fields: Value) -> (trace::ObjectKey, Value) {
    let (key, mut object) = object(
        &format!("pods/default/{name}"),
        json!({
            "metadata": {"labels": {"a": "1"}, "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": true,
            }]},
            "spec": {"nodeName": "n"},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-31T23:00:00Z"},
            ]},
        }),
    );
    for (path, value) in fields.as_object().into_iter().flatten() {
        *object.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value.clone();
    }
    (key, object)
}

fn check(objects: &[(trace::ObjectKey, Value)], expect: &[&str]) {
    let (sent, end) = run(Controller::ReplicaSet, &view(objects), RS, &[]);
    assert!(matches!(end, Next::Done { .. }), "{end:?}");
    let short = |request: &Request| match request {
        Request::CreatePod { generate_name, owner, .. } => {
            format!("create {generate_name} of {}", owner.uid)
        }
        Request::Delete { key, .. } => format!("delete {}", key.name),
        Request::Adopt { key, .. } => format!("adopt {}", key.name),
        Request::RemoveOwners { key, .. } => format!("release {}", key.name),
        Request::ReplicaSetStatus { status, .. } => {
            format!("status {}/{}/{}", status.replicas, status.ready, status.available)
        }
        other => format!("{other:?}"),
    };
    let sent: Vec<String> = sent.iter().map(short).collect();
    assert_eq!(sent, expect);
}

#[test]
fn missing_pods_are_made_and_surplus_ones_deleted() {
    check(&[set(2)], &["create r- of r", "create r- of r", "status 0/0/0"]);
    check(&[set(1), pod("x", json!({}))], &["status 1/1/1"]);
    check(&[set(0), pod("x", json!({}))], &["delete x", "status 1/1/1"]);
}

#[test]
fn what_has_ended_or_is_deleted_counts_no_more() {
    let gone = pod("x", json!({"/status/phase": "Succeeded"}));
    let (key, mut going) = pod("y", json!({}));
    going["metadata"]["deletionTimestamp"] = json!("2025-12-31T23:59:00Z");
    check(&[set(1), gone, (key, going)], &["create r- of r", "status 0/0/0"]);
}

#[test]
fn strangers_are_left_alone_and_orphans_adopted() {
    let stranger = pod("x", json!({"/metadata/ownerReferences/0/uid": "another"}));
    let orphan = pod("y", json!({"/metadata/ownerReferences": []}));
    let other = pod("z", json!({"/metadata/ownerReferences": [], "/metadata/labels/a": "2"}));
    check(&[set(1), stranger, orphan, other], &["adopt y", "status 1/1/1"]);
    let released = pod("x", json!({"/metadata/labels/a": "2"}));
    check(&[set(0), released], &["release x", "status 0/0/0"]);
}

#[test]
fn a_deleted_replica_set_only_counts() {
    let (key, mut deleted) = set(3);
    deleted["metadata"]["deletionTimestamp"] = json!("2025-12-31T23:59:00Z");
    let orphan = pod("y", json!({"/metadata/ownerReferences": []}));
    check(&[(key, deleted), pod("x", json!({})), orphan], &["status 1/1/1"]);
}

/// Of two pods the first goes.
fn goes(first: Value, second: Value) {
    for (a, b) in [("x", "y"), ("y", "x")] {
        let pods = [set(1), pod(a, first.clone()), pod(b, second.clone())];
        let (sent, _) = run(Controller::ReplicaSet, &view(&pods), RS, &[]);
        let deleted = sent.iter().find_map(|request| match request {
            Request::Delete { key, .. } => Some(key.name.to_string()),
            _ => None,
        });
        assert_eq!(deleted.as_deref(), Some(a), "{first} before {second}");
    }
}

#[test]
fn the_least_useful_pod_goes_first() {
    goes(json!({"/spec/nodeName": ""}), json!({}));
    goes(json!({"/status/phase": "Pending"}), json!({}));
    goes(json!({"/status/conditions/0/status": "False"}), json!({}));
    goes(
        json!({"/status/conditions/0/lastTransitionTime": "2025-12-31T23:59:00Z"}),
        json!({"/status/conditions/0/lastTransitionTime": "2025-12-31T20:00:00Z"}),
    );
    goes(
        json!({"/metadata/creationTimestamp": "2025-12-31T23:59:00Z"}),
        json!({"/metadata/creationTimestamp": "2025-12-31T20:00:00Z"}),
    );
}

#[test]
fn min_ready_seconds_are_waited_for() {
    let (key, mut waits) = set(1);
    waits["spec"]["minReadySeconds"] = json!(90);
    let fresh = json!({"/status/conditions/0/lastTransitionTime": "2025-12-31T23:59:00Z"});
    let objects = [(key, waits), pod("x", fresh)];
    check(&objects, &["status 1/1/0"]);
    let (_, end) = run(Controller::ReplicaSet, &view(&objects), RS, &[]);
    let left = std::time::Duration::from_secs(30);
    assert_eq!(end, Next::Done { requeue_after: Some(left) });
}

#[test]
fn pods_concern_their_controller_or_whoever_may_adopt_them() {
    let keys = |after: Value| {
        let key = "pods/default/x";
        let world = view(&[set(1)]);
        let found = affected(Controller::ReplicaSet, &world, key, None, Some(after));
        found.len()
    };
    assert_eq!(keys(pod("x", json!({})).1), 1);
    assert_eq!(keys(pod("x", json!({"/metadata/ownerReferences": []})).1), 1);
    assert_eq!(keys(pod("x", json!({"/metadata/ownerReferences/0/uid": "another"})).1), 0);
    let other = json!({"/metadata/ownerReferences": [], "/metadata/labels/a": "2"});
    assert_eq!(keys(pod("x", other).1), 0);
}
