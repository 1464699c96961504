//! What upstream's documentation and `garbagecollector_test.go` promise, a line each.

use serde_json::{Value, json};

use crate::{
    Controller, Next, Propagation, Request,
    fixture::{affected, object, owned_by, run, view},
};

const A: &str = "configmaps/default/a";

/// A deleted object with a finalizer.
fn deleted(finalizer: &str) -> Value {
    json!({"metadata": {"deletionTimestamp": "2025-12-31T23:30:00Z", "finalizers": ["x/y", finalizer]}})
}

/// What the collector does with `a`, which has these owners, in a world with these other objects.
fn check(owners: &[&str], others: &[(&str, Value)], expect: &[&str]) {
    let mut objects = vec![object(A, owned_by(owners))];
    objects.extend(others.iter().map(|(key, fields)| object(key, fields.clone())));
    check_key(&objects, A, expect);
}

fn check_key(objects: &[(trace::ObjectKey, Value)], key: &str, expect: &[&str]) {
    let (sent, end) = run(Controller::GarbageCollector, &view(objects), key, &[]);
    assert_eq!(end, Next::Done { requeue_after: None });
    let sent: Vec<String> = sent.iter().map(short).collect();
    assert_eq!(sent, expect, "{objects:?}");
}

fn short(request: &Request) -> String {
    match request {
        Request::Delete { key, uid, revision: Some(revision), propagation, .. } => {
            let how = match propagation {
                Some(Propagation::Orphan) => "orphan",
                Some(Propagation::Background) => "background",
                Some(Propagation::Foreground) => "foreground",
                None => "default",
            };
            format!("delete {key} uid {uid} at {revision} {how}")
        }
        Request::RemoveOwners { key, uid, owners } => {
            format!("remove {} from {key} uid {uid}", owners.join(","))
        }
        Request::SetFinalizers { key, finalizers, .. } => {
            format!("finalizers of {key} {}", finalizers.join(","))
        }
        Request::UnblockOwners { key, .. } => format!("unblock {key}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn an_object_goes_with_its_last_owner() {
    let delete = "delete configmaps/default/a uid a at 7 background";
    let b = ("configmaps/default/b", json!({}));
    check(&[], &[], &[]);
    check(&["ConfigMap/b"], std::slice::from_ref(&b), &[]);
    check(&["ConfigMap/b"], &[], &[delete]);
    check(&["ConfigMap/b", "ConfigMap/c"], &[], &[delete]);
    let kept = "remove c from configmaps/default/a uid a";
    check(&["ConfigMap/b", "ConfigMap/c"], &[b], &[kept]);
}

#[test]
fn an_owner_is_known_by_its_uid_and_place() {
    let delete = "delete configmaps/default/a uid a at 7 background";
    let other = ("configmaps/default/b", json!({"metadata": {"uid": "another"}}));
    check(&["ConfigMap/b"], &[other], &[delete]);
    check(&["ConfigMap/b"], &[("configmaps/elsewhere/b", json!({}))], &[delete]);
    check(&["Node/n"], &[("nodes/n", json!({}))], &[]);
    // A type that nobody serves keeps the object, as does an owner that can't be one.
    check(&["Foo/b"], &[], &[]);
    let objects = [object("nodes/n", owned_by(&["ConfigMap/b"]))];
    check_key(&objects, "nodes/n", &[]);
}

#[test]
fn foreground_waits_for_blocking_dependents_only() {
    let b = ("configmaps/default/b", deleted("foregroundDeletion"));
    let delete = "delete configmaps/default/a uid a at 7 background";
    check(&["ConfigMap/b!"], std::slice::from_ref(&b), &[delete]);
    check(&["ConfigMap/b"], std::slice::from_ref(&b), &[delete]);
    let done = "finalizers of configmaps/default/b x/y";
    for (owners, expect) in [(["ConfigMap/b!"], vec![]), (["ConfigMap/b"], vec![done])] {
        let objects = [object(A, owned_by(&owners)), object(b.0, b.1.clone())];
        check_key(&objects, b.0, &expect);
    }
    // An owner that waits is let go of where another owner stays.
    let stays = ("configmaps/default/c", json!({}));
    let kept = "remove b from configmaps/default/a uid a";
    check(&["ConfigMap/b!", "ConfigMap/c"], &[b.clone(), stays], &[kept]);
    // What has dependents itself goes in the foreground.
    let grandchild = ("configmaps/default/d", owned_by(&["ConfigMap/a!"]));
    let foreground = "delete configmaps/default/a uid a at 7 foreground";
    check(&["ConfigMap/b!"], &[b, grandchild], &[foreground]);
}

#[test]
fn a_circle_of_waiting_objects_is_opened() {
    let mut b = deleted("foregroundDeletion");
    b["metadata"]["ownerReferences"] =
        owned_by(&["ConfigMap/a!"])["metadata"]["ownerReferences"].clone();
    let expect =
        ["unblock configmaps/default/a", "delete configmaps/default/a uid a at 7 foreground"];
    check(&["ConfigMap/b!"], &[("configmaps/default/b", b)], &expect);
}

/// `b` was deleted in the foreground, has nobody left to wait for, and something else keeps it.
#[test]
fn what_has_deleted_its_dependents_looks_like_a_circle_until_the_collector_starts_anew() {
    let owned = |mut object: Value| {
        object["metadata"]["ownerReferences"] =
            owned_by(&["ConfigMap/a!"])["metadata"]["ownerReferences"].clone();
        object
    };
    let c = object("configmaps/default/c", deleted("foregroundDeletion"));
    let (key, waits) = object("configmaps/default/b", owned(deleted("foregroundDeletion")));
    let (_, kept) = object("configmaps/default/b", owned(deleted("x/z")));
    let a = object(A, owned_by(&["ConfigMap/c!"]));
    let delete = "delete configmaps/default/a uid a at 7 foreground";
    let does = |view: &crate::View| -> Vec<String> {
        run(Controller::GarbageCollector, view, A, &[]).0.iter().map(short).collect()
    };
    let anew = view(&[a.clone(), c.clone(), (key.clone(), kept.clone())]);
    assert_eq!(does(&anew), [delete]);
    let mut seen = view(&[a, c, (key.clone(), waits)]);
    seen.set(&key, Some(crate::Object::read(&key, &kept)));
    assert_eq!(does(&seen), ["unblock configmaps/default/a", delete]);
    assert_eq!(seen.still_deleting().collect::<Vec<_>>(), [&key]);
    seen.set(&key, None);
    assert_eq!(seen.still_deleting().count(), 0);
}

#[test]
fn orphans_are_let_go_before_their_owner() {
    let objects = [
        object(A, owned_by(&["ConfigMap/b!"])),
        object("configmaps/default/b", deleted("orphan")),
        object("configmaps/default/c", owned_by(&["ConfigMap/b"])),
    ];
    let expect = [
        "remove b from configmaps/default/a uid a",
        "remove b from configmaps/default/c uid c",
        "finalizers of configmaps/default/b x/y",
    ];
    check_key(&objects, "configmaps/default/b", &expect);
}

#[test]
fn deleted_objects_are_left_to_their_finalizers() {
    let mut a = deleted("x/z");
    a["metadata"]["ownerReferences"] =
        owned_by(&["ConfigMap/b"])["metadata"]["ownerReferences"].clone();
    check_key(&[object(A, a)], A, &[]);
}

#[test]
fn a_change_concerns_owners_and_dependents() {
    let keys = |changed: &str, before: Option<Value>, after: Option<Value>| {
        let b = object("configmaps/default/b", deleted("foregroundDeletion"));
        let world = view(&[object(A, owned_by(&["ConfigMap/b!"])), b]);
        let found = affected(Controller::GarbageCollector, &world, changed, before, after);
        found.iter().map(|affected| affected.key.to_string()).collect::<Vec<_>>()
    };
    let full = |key: &str, fields: Value| Some(object(key, fields).1);
    let (b, c) = ("configmaps/default/b", "configmaps/default/c");
    assert_eq!(keys(b, full(b, json!({})), None), [A]);
    assert_eq!(keys(b, full(b, json!({})), full(b, deleted("foregroundDeletion"))), [A, b]);
    assert_eq!(keys(c, full(c, owned_by(&["ConfigMap/b!"])), None), [b]);
    let unblocked = full(c, owned_by(&["ConfigMap/b"]));
    assert_eq!(keys(c, full(c, owned_by(&["ConfigMap/b!"])), unblocked), [b, c]);
    assert_eq!(keys(c, None, full(c, json!({}))), [] as [&str; 0]);
    let crd = "customresourcedefinitions.apiextensions.k8s.io/foos.example.com";
    assert_eq!(keys(crd, None, full(crd, json!({}))), [A]);
    let event = "events/default/e";
    assert_eq!(keys(event, None, full(event, owned_by(&["ConfigMap/zzz"]))), [] as [&str; 0]);
}
