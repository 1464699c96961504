//! What `stateful_set_control_test.go` promises of single reconciles; whole lives are in `tests/environment`.

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    Controller, Next, Request,
    fixture::{affected, object, run, view},
};

const DB: &str = "statefulsets.apps/default/db";

fn set(spec: Value) -> (ObjectKey, Value) {
    let mut all = json!({
        "replicas": 3,
        "selector": {"matchLabels": {"a": "1"}},
        "template": {"metadata": {"labels": {"a": "1"}}, "spec": {}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    object(DB, json!({"spec": all, "status": {"currentRevision": "db-old"}}))
}

fn owner() -> Value {
    json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": true}])
}

/// A past template; `now` is the set's own.
fn revision(name: &str, number: i64, image: &str) -> (ObjectKey, Value) {
    let spec = if image == "now" { json!({}) } else { json!({"containers": [{"image": image}]}) };
    let template = json!({"metadata": {"labels": {"a": "1"}}, "spec": spec, "$patch": "replace"});
    object(
        &format!("controllerrevisions.apps/default/{name}"),
        json!({
            "metadata": {"labels": {"a": "1"}, "ownerReferences": owner()},
            "revision": number, "data": {"spec": {"template": template}},
        }),
    )
}

fn pod(ordinal: i64, revision: &str, ready: bool) -> (ObjectKey, Value) {
    let name = format!("db-{ordinal}");
    object(
        &format!("pods/default/{name}"),
        json!({
            "metadata": {"ownerReferences": owner(), "labels": {
                "a": "1", "controller-revision-hash": revision,
                "statefulset.kubernetes.io/pod-name": name,
            }},
            "status": {"phase": "Running", "conditions": [{
                "type": "Ready", "status": if ready { "True" } else { "False" },
                "lastTransitionTime": "2025-12-31T23:00:00Z",
            }]},
        }),
    )
}

fn check(objects: &[(ObjectKey, Value)], expect: &[&str]) {
    let (sent, end) = run(Controller::StatefulSet, &view(objects), DB, &[]);
    assert!(matches!(end, Next::Done { .. }), "{end:?}");
    let told = sent.iter().filter_map(|request| match request {
        Request::Create { key, object } if &*key.resource.resource == "pods" => {
            let of = &object["metadata"]["labels"]["controller-revision-hash"];
            Some(format!("create {} of {}", key.name, of.as_str().unwrap_or("")))
        }
        Request::Create { key, .. } => Some(format!("create {}", key.resource.resource)),
        Request::Delete { key, .. } => Some(format!("delete {}", key.name)),
        Request::Update { subresource, .. } if *subresource == "status" => None,
        Request::Update { key, .. } => Some(format!("update {}", key.name)),
        other => Some(format!("{other:?}")),
    });
    assert_eq!(told.collect::<Vec<String>>(), expect);
}

fn both() -> [(ObjectKey, Value); 2] {
    [revision("db-old", 1, "v0"), revision("db-new", 2, "now")]
}

fn with(set: (ObjectKey, Value), pods: Vec<(ObjectKey, Value)>) -> Vec<(ObjectKey, Value)> {
    both().into_iter().chain([set]).chain(pods).collect()
}

#[test]
fn one_pod_after_the_other() {
    check(&with(set(json!({})), vec![]), &["create db-0 of db-new"]);
    check(&with(set(json!({})), vec![pod(0, "db-new", false)]), &[]);
    check(&with(set(json!({})), vec![pod(0, "db-new", true)]), &["create db-1 of db-new"]);
}

#[test]
fn all_at_once_where_that_is_asked_for() {
    let parallel = set(json!({"podManagementPolicy": "Parallel"}));
    let all = ["create db-0 of db-new", "create db-1 of db-new", "create db-2 of db-new"];
    check(&with(parallel, vec![]), &all);
}

#[test]
fn surplus_pods_go_from_the_last_down() {
    let pods =
        |ready: bool| vec![pod(0, "db-new", true), pod(1, "db-new", ready), pod(2, "db-new", true)];
    check(&with(set(json!({"replicas": 1})), pods(true)), &["delete db-2"]);
    // The one that is not ready is the first that may go, but not before its time has come.
    check(&with(set(json!({"replicas": 1})), pods(false)), &["delete db-2"]);
}

#[test]
fn updates_stop_at_the_partition_and_at_what_is_not_ready() {
    let pods =
        |ready: bool| vec![pod(0, "db-old", true), pod(1, "db-old", true), pod(2, "db-new", ready)];
    let partition = |at: i64| {
        set(json!({"updateStrategy": {
            "type": "RollingUpdate", "rollingUpdate": {"partition": at},
        }}))
    };
    check(&with(partition(0), pods(true)), &["delete db-1"]);
    check(&with(partition(0), pods(false)), &[]);
    check(&with(partition(2), pods(true)), &[]);
    check(&with(partition(2), vec![]), &["create db-0 of db-old"]);
    check(&with(set(json!({"updateStrategy": {"type": "OnDelete"}})), pods(true)), &[]);
}

#[test]
fn a_template_that_comes_back_gets_a_new_number() {
    let revisions = [revision("db-new", 1, "now"), revision("db-old", 2, "v0")];
    let objects: Vec<_> = revisions.into_iter().chain([set(json!({"replicas": 0}))]).collect();
    check(&objects, &["update db-new"]);
    check(&[set(json!({"replicas": 0}))], &["create controllerrevisions"]);
}

#[test]
fn pods_that_have_ended_are_deleted_and_strangers_left_alone() {
    let mut ended = pod(0, "db-new", false);
    ended.1["status"]["phase"] = json!("Succeeded");
    check(&with(set(json!({})), vec![ended]), &["delete db-0"]);
    let mut stranger = pod(0, "db-new", true);
    stranger.1["metadata"]["ownerReferences"][0]["uid"] = json!("another");
    check(&with(set(json!({"replicas": 0})), vec![stranger]), &[]);
}

#[test]
fn pods_concern_their_set() {
    let world = view(&[set(json!({}))]);
    let keys = |after: Value| {
        affected(Controller::StatefulSet, &world, "pods/default/db-0", None, Some(after)).len()
    };
    assert_eq!(keys(pod(0, "db-new", true).1), 1);
    let mut other = pod(0, "db-new", true).1;
    other["metadata"]["ownerReferences"][0]["uid"] = json!("another");
    assert_eq!(keys(other), 0);
}
