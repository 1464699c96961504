//! Each intent, on a few writes by hand.

use std::sync::Arc;

use serde_json::json;
use trace::{Actor, GroupResource, Revision};

use super::*;

/// What happens to an object: its type, name and state; none for a deletion.
type Happens = (&'static str, &'static str, Option<Value>);

fn commit(there: bool, (resource, name, object): &Happens) -> Commit {
    let change = match (object, there) {
        (None, _) => Change::Deleted,
        (_, true) => Change::Updated,
        (_, false) => Change::Created,
    };
    let namespace = if *resource == "nodes" { "" } else { "default" };
    Commit {
        revision: Revision(1),
        change,
        key: ObjectKey::new(GroupResource::new("", resource), namespace, name),
        object: Arc::new(object.clone().unwrap_or_default()),
        actor: Actor::User,
        call: None,
        heartbeat: false,
    }
}

/// Where an intent of the Deployment `web` is violated, from 1, and how.
fn check(intent: Intent, parameter: i64, happens: &[Happens], expect: Option<(usize, &str)>) {
    let deployment = ("default".to_owned(), "web".to_owned());
    let mut watch = Watch::new(intent, deployment, parameter, parameter);
    let (mut story, mut there) = (Story::default(), vec![]);
    watch.begins(&story);
    let mut found = None;
    for (number, one) in happens.iter().enumerate() {
        let mut commit = commit(there.contains(&(one.0, one.1)), one);
        there.push((one.0, one.1));
        if commit.change == Change::Deleted {
            let last = happens[..number].iter().rfind(|old| (old.0, old.1) == (one.0, one.1));
            commit.object = Arc::new(last.expect("it was there").2.clone().expect("a state"));
            there.retain(|old| *old != (one.0, one.1));
        }
        let before = story.goes_on(&commit);
        found =
            found.or(watch.saw(&story, before.as_deref(), &commit).map(|how| (number + 1, how)));
    }
    let found = found.as_ref().map(|(number, how)| (*number, &**how));
    assert_eq!(found, expect, "{intent:?}");
}

fn web(replicas: i64) -> Happens {
    let spec = json!({"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}});
    ("deployments", "web", Some(json!({"spec": spec})))
}

fn scaler(min: i64, max: i64) -> Happens {
    let target = json!({"kind": "Deployment", "name": "web"});
    let spec = json!({"scaleTargetRef": target, "minReplicas": min, "maxReplicas": max});
    ("horizontalpodautoscalers", "web", Some(json!({"spec": spec})))
}

fn pod(name: &'static str, node: &str, conditions: Value) -> Happens {
    let metadata = json!({"name": name, "labels": {"app": "web"}});
    let status = json!({"conditions": conditions});
    let object = json!({"metadata": metadata, "spec": {"nodeName": node}, "status": status});
    ("pods", name, Some(object))
}

fn plain(name: &'static str) -> Happens {
    pod(name, "", json!([]))
}

fn gone(name: &'static str) -> Happens {
    ("pods", name, None)
}

fn node(name: &'static str, ready: &str) -> Happens {
    let conditions = json!([{"type": "Ready", "status": ready}]);
    ("nodes", name, Some(json!({"status": {"conditions": conditions}})))
}

#[test]
fn fewer_pods_than_there_were() {
    use Intent::{ReplicaNumAlwaysMeetExp, ReplicaNumAlwaysMeetMin};
    let two = [web(2), scaler(2, 4), plain("a"), plain("b"), gone("a")];
    check(ReplicaNumAlwaysMeetMin, 0, &two, Some((5, "1 pods, after there were 2")));
    check(ReplicaNumAlwaysMeetMin, 0, &two[..4], None);
    check(ReplicaNumAlwaysMeetExp, 1, &two, None);
    // It was never reached.
    check(ReplicaNumAlwaysMeetExp, 3, &two, None);
}

#[test]
fn replicas_that_go_up_and_down() {
    let way = |replicas: &[i64]| {
        let scaled = replicas.iter().map(|replicas| web(*replicas));
        [scaler(1, 6)].into_iter().chain(scaled).collect::<Vec<Happens>>()
    };
    let how = "replicas went to 6, the maximum, and then to 3";
    let intent = Intent::NoOscillationReplicaNum;
    check(intent, 0, &way(&[1, 2, 4, 6, 5, 4, 3]), Some((8, how)));
    check(intent, 0, &way(&[1, 2, 4, 3, 1]), None);
    check(intent, 0, &way(&[1, 6, 5, 4]), None);
}

#[test]
fn evictions_that_come_to_nothing() {
    let evicted = json!([{"type": "DisruptionTarget", "status": "True"}]);
    let round = |name, next| [pod(name, "n", evicted.clone()), gone(name), plain(next)];
    let mut happens = vec![web(1), plain("a")];
    happens.extend(round("a", "b").into_iter().chain(round("b", "c")).chain(round("c", "d")));
    let intent = Intent::NoOscillationEviction;
    check(intent, 0, &happens, Some((11, "a pod was evicted and another one made 3 times")));
    check(intent, 0, &happens[..10], None);
    // Pods that are only deleted: nobody evicts.
    let deleted = |name, next| [gone(name), plain(next)];
    let mut happens = vec![web(1), plain("a")];
    happens.extend(deleted("a", "b").into_iter().chain(deleted("b", "c")).chain(deleted("c", "d")));
    check(intent, 0, &happens, None);
}

#[test]
fn nodes_and_pods_on_them() {
    let start = [web(2), node("n", "True"), node("m", "True"), pod("a", "n", json!([]))];
    let mut happens = start.to_vec();
    happens.push(pod("b", "n", json!([])));
    let intent = Intent::PodBalanceAcrossNode;
    check(intent, 1, &happens, Some((5, "pods by node: m: 0, n: 2")));
    check(intent, 2, &happens, None);
    let failures =
        ["True", "False", "True", "False", "True", "False"].map(|ready| node("n", ready));
    check(Intent::NoKernelPanic, 0, &failures, Some((6, "node n failed 3 times")));
    let refused = json!([
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"},
    ]);
    let happens = [plain("a"), pod("a", "", refused)];
    check(Intent::PodAlwaysSchedulable, 0, &happens, Some((2, "pod a: 0/1 nodes")));
}
