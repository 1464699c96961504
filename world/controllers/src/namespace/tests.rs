//! What `namespaced_resources_deleter_test.go` promises: order, conditions, when it comes back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    Controller, Next, Request,
    fixture::{affected, object, run, view},
};

/// A namespace that has been terminating for half an hour.
fn terminating() -> (trace::ObjectKey, Value) {
    object(
        "namespaces/n",
        json!({
            "metadata": {"deletionTimestamp": "2025-12-31T23:30:00Z"},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Terminating"},
        }),
    )
}

/// What is done with `n`, which holds these objects; each list finds `left`.
fn check(objects: &[(trace::ObjectKey, Value)], left: &[Value], expect: &[&str]) -> Next {
    let mut all = vec![terminating()];
    all.extend(objects.iter().cloned());
    let (sent, end) = run(Controller::Namespace, &view(&all), "namespaces/n", left);
    let sent: Vec<String> = sent.iter().map(short).collect();
    assert_eq!(sent, expect);
    end
}

fn short(request: &Request) -> String {
    match request {
        Request::DeleteCollection { resource, namespace, .. } => {
            format!("delete {resource} in {namespace}")
        }
        Request::List { resource, .. } => format!("list {resource}"),
        Request::NamespaceStatus { conditions, .. } => {
            let bad = conditions.iter().filter(|condition| condition.status);
            let bad: Vec<String> = bad.map(|c| format!("{}: {}", c.reason, c.message)).collect();
            format!("status of {} conditions {}", conditions.len(), bad.join("; "))
        }
        Request::NamespaceFinalize { finalizers, .. } => {
            format!("finalize, left {}", finalizers.len())
        }
        other => format!("{other:?}"),
    }
}

const ALL_WELL: &str = "status of 5 conditions ";

#[test]
fn an_empty_namespace_is_let_go() {
    let end = check(&[], &[], &[ALL_WELL, "finalize, left 0"]);
    assert_eq!(end, Next::Done { requeue_after: None });
}

#[test]
fn content_goes_pods_first() {
    let objects = [
        object("configmaps/n/a", json!({})),
        object("configmaps/other/a", json!({})),
        object("pods/n/p", json!({})),
        object("foos.example.com/n/f", json!({})),
    ];
    let expect = [
        "delete pods in n",
        "list pods",
        "delete configmaps in n",
        "list configmaps",
        "delete foos.example.com in n",
        "list foos.example.com",
        ALL_WELL,
        "finalize, left 0",
    ];
    assert_eq!(check(&objects, &[], &expect), Next::Done { requeue_after: None });
}

#[test]
fn finalizers_are_waited_for() {
    let left = object("configmaps/n/a", json!({"metadata": {"finalizers": ["x/y"]}}));
    let status = "status of 5 conditions SomeResourcesRemain: Some resources are remaining: configmaps. \
                  has 1 resource instances; SomeFinalizersRemain: Some content in the namespace has \
                  finalizers remaining: x/y in 1 resource instances";
    let expect = ["delete configmaps in n", "list configmaps", status];
    let end = check(std::slice::from_ref(&left), std::slice::from_ref(&left.1), &expect);
    assert_eq!(end, Next::Done { requeue_after: Some(Duration::from_secs(8)) });
}

#[test]
fn nothing_else_goes_while_pods_are_left() {
    let pod = object(
        "pods/n/p",
        json!({
            "spec": {"terminationGracePeriodSeconds": 3600, "nodeName": "m"},
            "status": {"phase": "Running"},
        }),
    );
    let objects = [object("configmaps/n/a", json!({})), pod.clone()];
    let end = check(&objects, &[pod.1], &["delete pods in n", "list pods", ALL_WELL]);
    assert_eq!(end, Next::Done { requeue_after: Some(Duration::from_secs(1801)) });
}

#[test]
fn what_should_have_gone_is_a_failure() {
    let left = object("configmaps/n/a", json!({}));
    let why = "unexpected items still remain in namespace: n for configmaps";
    let status = format!(
        "status of 5 conditions ContentDeletionFailed: Failed to delete all resource types, 1 remaining: \
         {why}; SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances"
    );
    let expect = ["delete configmaps in n", "list configmaps", &status];
    let end = check(std::slice::from_ref(&left), std::slice::from_ref(&left.1), &expect);
    assert_eq!(end, Next::Failed(why.to_owned()));
}

#[test]
fn only_terminating_namespaces_concern_it_and_five_seconds_later() {
    let keys = |after: Value| {
        let found = affected(Controller::Namespace, &view(&[]), "namespaces/n", None, Some(after));
        found.iter().map(|affected| affected.after.as_secs()).collect::<Vec<_>>()
    };
    assert_eq!(keys(terminating().1), [5]);
    assert!(keys(object("namespaces/n", json!({})).1).is_empty());
    let alive = [object("namespaces/n", json!({"spec": {"finalizers": ["kubernetes"]}}))];
    let (sent, _) = run(Controller::Namespace, &view(&alive), "namespaces/n", &[]);
    assert_eq!(sent, []);
}
