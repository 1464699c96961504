//! After upstream's own tables (`…_test.go` of each plugin): what stands there of nodes, pods and evictions.

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    Controller, Next, Request, Response, View,
    fixture::{self, NOW, object},
};

mod evictor;
mod others;
mod policies;
mod spreads;

const POLICY: &str = "configmaps/kube-system/descheduler-policy-configmap";

/// A policy of one profile with one plugin; `evictor` is DefaultEvictor's arguments, `top` stands beside the profiles.
fn policy(plugin: &str, args: Value, evictor: Value, top: Value) -> Value {
    let balances = ["RemoveDuplicates", "Utilization", "TopologySpreadConstraint"];
    let point =
        if balances.iter().any(|end| plugin.ends_with(end)) { "balance" } else { "deschedule" };
    let mut policy = json!({
        "apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy",
        "profiles": [{
            "name": "p",
            "pluginConfig": [
                {"name": "DefaultEvictor", "args": evictor}, {"name": plugin, "args": args},
            ],
            "plugins": {point: {"enabled": [plugin]}},
        }],
    });
    for (field, value) in top.as_object().into_iter().flatten() {
        policy[field] = value.clone();
    }
    policy
}

fn node(name: &str, fields: Value) -> (ObjectKey, Value) {
    let mut node = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "2", "memory": "3000", "pods": "100"}},
    });
    json_patch(&mut node, &fields);
    object(&format!("nodes/{name}"), node)
}

/// A pod of a ReplicaSet that asks for 100m of CPU.
fn pod(name: &str, node: &str, fields: Value) -> (ObjectKey, Value) {
    let mut pod = json!({
        "metadata": {"ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": true,
        }]},
        "spec": {
            "nodeName": node, "priority": 0,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}],
        },
        "status": {"phase": "Running"},
    });
    json_patch(&mut pod, &fields);
    let namespace = fields["metadata"]["namespace"].as_str().unwrap_or("default");
    object(&format!("pods/{namespace}/{name}"), pod)
}

/// So many pods that are alike: `name-0`, `name-1`, …
fn pods(count: usize, name: &str, node: &str, fields: Value) -> Vec<(ObjectKey, Value)> {
    (0..count).map(|at| pod(&format!("{name}-{at}"), node, fields.clone())).collect()
}

/// Merges; null removes.
fn json_patch(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (name, value) in patch {
                match value.is_null() {
                    true => drop(into.remove(name)),
                    false => json_patch(into.entry(name.clone()).or_insert(Value::Null), value),
                }
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

fn view(policy: &Value, objects: &[Vec<(ObjectKey, Value)>]) -> View {
    let map = object(POLICY, json!({"data": {"policy.yaml": policy.to_string()}}));
    fixture::view(&[objects.concat(), vec![map]].concat())
}

/// One cycle, in which the eviction of these pods is refused: the names of those for which it was asked, and the end.
fn cycle(view: &View, refused: &[&str]) -> (Vec<String>, Next) {
    let (mut names, mut responses) = (Vec::new(), Vec::new());
    loop {
        match Controller::Descheduler.next(view, &POLICY.parse().expect("a key"), NOW, &responses) {
            Next::Request(request) => {
                let Request::Evict { key, .. } = *request else { panic!("{request:?}") };
                responses.push(match refused.contains(&&*key.name) {
                    true => Response::Refused { code: 429, reason: "".into(), message: "".into() },
                    false => Response::Written(None),
                });
                names.push(key.name.to_string());
            }
            end => return (names, end),
        }
    }
}

/// Who is evicted, sorted.
fn evicted(policy: &Value, objects: &[Vec<(ObjectKey, Value)>]) -> Vec<String> {
    let (mut names, end) = cycle(&view(policy, objects), &[]);
    assert!(matches!(end, Next::Done { .. }), "{end:?}");
    names.sort();
    names
}

fn duplicates(evictor: Value, objects: &[Vec<(ObjectKey, Value)>]) -> usize {
    evicted(&policy("RemoveDuplicates", json!({}), evictor, json!({})), objects).len()
}

fn nodes(names: &[&str]) -> Vec<(ObjectKey, Value)> {
    names.iter().map(|name| node(name, json!({}))).collect()
}

#[test]
fn duplicates_leave_until_no_node_has_more_than_its_share() {
    let check = |nodes: &[&str], sizes: &[(usize, &str)], expect: usize| {
        let there = sizes.iter().map(|(count, node)| pods(*count, node, node, json!({})));
        let objects = [vec![self::nodes(nodes)], there.collect()].concat();
        assert_eq!(duplicates(json!({}), &objects), expect, "{nodes:?} {sizes:?}");
    };
    check(&["n1", "n2"], &[(3, "n1")], 1);
    check(&["n1", "n2", "n3"], &[(5, "n1"), (3, "n2"), (1, "n3")], 2);
    check(&["n1", "n2"], &[(5, "n1"), (3, "n2"), (1, "n3")], 1);
    check(&["n1", "n2", "n3"], &[(2, "n1")], 1);
    check(&["n1", "n2", "n3"], &[(1, "n1")], 0);
    check(&["n1"], &[(3, "n1")], 0);
}

#[test]
fn duplicates_are_of_one_owner_and_of_the_same_images() {
    let check = |pods: &[Vec<(ObjectKey, Value)>], expect: usize| {
        let objects = [&[nodes(&["n1", "n2", "n3"])], pods].concat();
        assert_eq!(duplicates(json!({}), &objects), expect);
    };
    let of = |namespace: &str| json!({"metadata": {"namespace": namespace}});
    check(&[pods(3, "a", "n1", of("dev")), pods(3, "b", "n1", of("test"))], 4);
    let images = |images: &[&str]| {
        let containers: Vec<Value> = images.iter().map(|image| json!({"image": image})).collect();
        json!({"spec": {"containers": containers}})
    };
    let one = |name: &str, all: &[&str]| vec![pod(name, "n1", images(all))];
    check(&[one("p1", &["foo"]), one("p2", &["bar"])], 0);
    check(&[one("p1", &["foo", "foo"])], 0);
    check(&[one("p1", &["foo"]), one("p2", &["foo", "bar"])], 0);
    check(&[one("p1", &["foo"]), one("p2", &["bar"]), one("p3", &["baz"]), one("p4", &["foo"])], 1);
    // A pod of two owners counts, and is evicted, for each.
    let owner = |name: &str| json!({"kind": "ReplicaSet", "name": name, "uid": name});
    let two = json!({"metadata": {"ownerReferences": [owner("a"), owner("b")]}});
    let (a, b, c) =
        (pods(5, "a", "n1", two.clone()), pods(3, "b", "n2", two.clone()), pods(1, "c", "n3", two));
    check(&[a, b, c], 4);
}

#[test]
fn duplicates_go_where_they_may_be() {
    let tainted = |name: &str| {
        node(name, json!({"spec": {"taints": [{"key": "own", "effect": "NoSchedule"}]}}))
    };
    let labelled = |name: &str| node(name, json!({"metadata": {"labels": {"worker": "k"}}}));
    let sizes = [(5, "w1"), (3, "w2"), (1, "w3")];
    let check =
        |fields: Value, workers: &dyn Fn(&str) -> (ObjectKey, Value), others, expect: usize| {
            let others: &dyn Fn(&str) -> (ObjectKey, Value) = others;
            let hosts =
                ["w1", "w2", "w3"].map(workers).into_iter().chain(["m1", "m2", "m3"].map(others));
            let there = sizes.map(|(count, node)| pods(count, node, node, fields.clone()));
            let objects = [vec![hosts.collect()], there.into()].concat();
            assert_eq!(duplicates(json!({}), &objects), expect, "{fields}");
        };
    let plain = |name: &str| node(name, json!({}));
    check(json!({}), &plain, &tainted, 2);
    check(json!({}), &plain, &plain, 4);
    check(json!({"spec": {"nodeSelector": {"worker": "k"}}}), &labelled, &plain, 2);
    check(json!({"spec": {"nodeSelector": {"worker": "x"}}}), &labelled, &plain, 0);
    let term = json!({"matchExpressions": [{"key": "worker", "operator": "Exists"}]});
    let required =
        json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}});
    check(json!({"spec": {"affinity": {"nodeAffinity": required}}}), &labelled, &plain, 2);
}

#[test]
fn excluded_owners_have_no_duplicates() {
    let args = json!({"excludeOwnerKinds": ["ReplicaSet"]});
    let policy = policy("RemoveDuplicates", args, json!({}), json!({}));
    let objects = [nodes(&["n1", "n2"]), pods(3, "p", "n1", json!({}))];
    assert_eq!(evicted(&policy, &objects), [""; 0]);
}
