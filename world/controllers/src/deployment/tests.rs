//! The arithmetic of rollouts, as `deployment_util_test.go` and `rolling_test.go` have it. Whole rollouts are
//! tested where they run, in the embedded cluster.

use serde_json::{Value, json};

use super::{Amount, Deployment};
use crate::{
    Controller, Request,
    fixture::{object, run, view},
};

const WEB: &str = "deployments.apps/default/web";

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"image": image}]}})
}

fn deployment(replicas: i64, surge: Value, unavailable: Value) -> Value {
    json!({
        "metadata": {"generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"a": "1"}},
            "template": template("v2"),
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
            },
        },
    })
}

fn set(name: &str, image: &str, replicas: i64, available: i64) -> (trace::ObjectKey, Value) {
    object(
        &format!("replicasets.apps/default/{name}"),
        json!({
            "metadata": {
                "labels": {"a": "1"},
                "annotations": {
                    "deployment.kubernetes.io/revision": if image == "v2" { "2" } else { "1" },
                },
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web",
                    "controller": true,
                }],
            },
            "spec": {"replicas": replicas, "template": template(image)},
            "status": {"replicas": replicas, "availableReplicas": available, "readyReplicas": available},
        }),
    )
}

/// The sizes that are written, of ReplicaSets `new` and `old`.
fn check(spec: Value, sets: &[(trace::ObjectKey, Value)], expect: &[(&str, i64)]) {
    let mut objects = vec![object(WEB, spec)];
    objects.extend(sets.iter().cloned());
    let (sent, _) = run(Controller::Deployment, &view(&objects), WEB, &[]);
    let sizes: Vec<(&str, i64)> = sent
        .iter()
        .filter_map(|request| match request {
            Request::UpdateReplicaSet { key, replicas, .. } => {
                Some((if *key.name == *"new" { "new" } else { "old" }, *replicas))
            }
            Request::CreateReplicaSet(new) => Some(("made", new.replicas)),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, expect);
}

#[test]
fn amounts_are_rounded_as_the_field_wants() {
    for (amount, up, down) in
        [("25%", 1, 0), ("50%", 2, 1), ("34%", 2, 1), ("100%", 3, 3), ("0%", 0, 0)]
    {
        let amount = Amount::read(&json!(amount));
        assert_eq!((amount.of(3, true), amount.of(3, false)), (up, down), "{amount:?}");
    }
    assert_eq!(Amount::read(&json!(2)), Amount::Number(2));
}

#[test]
fn one_pod_may_always_go() {
    let posts = |surge: Value, unavailable: Value| {
        Deployment::read(&deployment(1, surge, unavailable)).fenceposts()
    };
    assert_eq!(posts(json!(0), json!("25%")), (0, 1));
    assert_eq!(posts(json!("25%"), json!("25%")), (1, 0));
}

#[test]
fn the_first_replica_set_gets_everything() {
    check(deployment(10, json!(2), json!(2)), &[], &[("made", 10)]);
    check(deployment(10, json!(2), json!(2)), &[set("old", "v1", 10, 10)], &[("made", 2)]);
    check(deployment(10, json!(0), json!(2)), &[set("old", "v1", 10, 10)], &[("made", 0)]);
}

#[test]
fn up_before_down_and_no_further_than_allowed() {
    let spec = || deployment(10, json!(2), json!(2));
    let both = |new: (i64, i64), old: (i64, i64)| {
        [set("new", "v2", new.0, new.1), set("old", "v1", old.0, old.1)]
    };
    // `rolling_test.go`: TestDeploymentController_reconcileNewReplicaSet and …OldReplicaSets.
    check(spec(), &both((0, 0), (10, 10)), &[("new", 2)]);
    check(spec(), &both((2, 0), (10, 10)), &[("old", 8)]);
    check(spec(), &both((2, 2), (10, 10)), &[("old", 6)]);
    check(spec(), &both((2, 0), (10, 8)), &[("old", 8)]);
    check(spec(), &both((2, 0), (8, 8)), &[("new", 4)]);
    check(spec(), &both((10, 10), (0, 0)), &[]);
    check(spec(), &both((10, 0), (2, 2)), &[]);
}

#[test]
fn unhealthy_old_pods_go_first() {
    let sets = [set("new", "v2", 2, 0), set("old", "v1", 10, 7)];
    // Ten and two, eight must be available: two may go, and three of the old ones do not work anyway.
    check(deployment(10, json!(2), json!(2)), &sets, &[("old", 8)]);
}

#[test]
fn a_scaled_rollout_grows_in_proportion() {
    let annotated = |(key, mut set): (trace::ObjectKey, Value)| {
        for (name, value) in [("desired-replicas", "10"), ("max-replicas", "12")] {
            let name = format!("deployment.kubernetes.io/{name}");
            set["metadata"]["annotations"][name] = json!(value);
        }
        (key, set)
    };
    let sets = [annotated(set("new", "v2", 4, 4)), annotated(set("old", "v1", 8, 8))];
    check(deployment(20, json!(2), json!(2)), &sets, &[("old", 15), ("new", 7)]);
    check(deployment(5, json!(2), json!(2)), &sets, &[("old", 5), ("new", 2)]);
}

#[test]
fn the_hash_is_in_no_template_that_is_compared() {
    let (key, mut hashed) = set("new", "v2", 1, 1);
    hashed["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = json!("x");
    check(deployment(1, json!(1), json!(0)), &[(key, hashed)], &[]);
}
