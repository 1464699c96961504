//! Which taints a node gets and loses, a line each.

use std::time::Duration;

use serde_json::{Value, json};
use trace::{ObjectKey, Time};

use super::limit::{Turn, turn};
use crate::{
    Controller, Next, Request, View,
    fixture::{NOW, affected, object, run, view},
    request::Memory,
};

fn says(status: &str) -> Value {
    json!({"conditions": [{"type": "Ready", "status": status}]})
}

/// Keys and effects of the taints that are written; "-" for no write.
fn check(spec: Value, status: Value, another_is_ready: bool, expect: &str) {
    let mut objects = vec![object("nodes/a", json!({"spec": spec, "status": status}))];
    if another_is_ready {
        objects.push(object("nodes/b", json!({"status": says("True")})));
    }
    let (sent, _) = run(Controller::NodeLifecycle, &view(&objects), "nodes/a", &[]);
    let taint = |taint: &Value| {
        let text =
            |field: &str| taint[field].as_str().unwrap_or("").replace("node.kubernetes.io/", "");
        format!("{}:{}", text("key"), text("effect"))
    };
    let told = match &sent[..] {
        [] => "-".to_owned(),
        [Request::Update { fields, .. }] => {
            let taints = fields[0].1.as_array().into_iter().flatten();
            taints.map(taint).collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect);
}

#[test]
fn taints_follow_conditions() {
    let new = json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]});
    check(new.clone(), says("True"), false, "");
    check(json!({}), says("True"), false, "-");
    check(new, says("False"), true, "not-ready:NoSchedule not-ready:NoExecute");
    check(json!({}), says("Unknown"), true, "unreachable:NoSchedule unreachable:NoExecute");
    // Nothing is evicted where nothing is ready.
    check(json!({}), says("Unknown"), false, "unreachable:NoSchedule");
    check(json!({"unschedulable": true}), says("True"), false, "unschedulable:NoSchedule");
    let own = json!({"taints": [{"key": "own", "effect": "NoExecute"}], "unschedulable": true});
    check(own, says("True"), false, "own:NoExecute unschedulable:NoSchedule");
    let full = json!({"conditions": [{"type": "DiskPressure", "status": "True"}]});
    check(json!({}), full, false, "disk-pressure:NoSchedule");
}

/// The pods that are marked not ready, of two on a node of this status, of which one is ready: when `key` is looked at,
/// and the node is silent for so many seconds.
fn marked(status: &str, key: &str, since: Option<i64>, expect: &[&str]) {
    let node = match since {
        Some(_) => stopped(says(status)),
        None => object(NODE, json!({"status": says(status)})),
    };
    let pod = |name: &str, ready: &str| {
        let fields = json!({"spec": {"nodeName": "a"}, "status": says(ready)});
        object(&format!("pods/default/{name}"), fields)
    };
    let mut world: View = view(&[node.clone(), pod("p", "True"), pod("q", "False")]);
    if let Some(seconds) = since {
        world.remember(&node.0, Memory::SilentSince(Some(seconds_ago(seconds))));
    }
    let (sent, _) = run(Controller::NodeLifecycle, &world, key, &[]);
    let of_pods = sent.iter().filter_map(|request| match request {
        Request::PatchStatus { key, status, .. } if *key.resource.resource == *"pods" => {
            assert_eq!(status["conditions"][0]["status"], "False");
            Some(&*key.name)
        }
        _ => None,
    });
    assert_eq!(of_pods.collect::<Vec<_>>(), expect, "{status} {key} {since:?}");
}

#[test]
fn pods_are_marked_where_the_controller_calls_their_node_unknown() {
    marked("True", NODE, Some(50), &["p"]);
    marked("True", NODE, Some(49), &[]);
    // Its kubelet has told of its pods.
    marked("False", NODE, Some(50), &[]);
    // It was called unknown, and a pod could not be marked then.
    marked("Unknown", NODE, Some(50), &["p"]);
    // Somebody else called it so.
    marked("Unknown", NODE, Some(49), &[]);
    marked("Unknown", NODE, None, &[]);
    marked("False", NODE, None, &[]);
}

#[test]
fn ready_pods_that_come_to_a_node_that_is_not_are_marked() {
    marked("False", "pods/default/p", None, &["p"]);
    marked("Unknown", "pods/default/p", None, &["p"]);
    marked("True", "pods/default/p", None, &[]);
    marked("False", "pods/default/q", None, &[]);
    let pod = |node: &str, ready: &str| json!({"spec": {"nodeName": node}, "status": says(ready)});
    let keys = |before: Option<Value>, after: Value| {
        let world = view(&[object(NODE, json!({"status": says("False")}))]);
        affected(Controller::NodeLifecycle, &world, "pods/default/p", before, Some(after)).len()
    };
    assert_eq!(keys(Some(pod("", "True")), pod("a", "True")), 1);
    assert_eq!(keys(Some(pod("", "False")), pod("a", "False")), 0);
    assert_eq!(keys(Some(pod("a", "False")), pod("a", "True")), 0);
    assert_eq!(keys(None, pod("a", "True")), 0);
}

const NODE: &str = "nodes/a";

fn stopped(status: Value) -> (ObjectKey, Value) {
    let annotations = json!({"trommel.dev/kubelet": "stopped"});
    object(NODE, json!({"metadata": {"annotations": annotations}, "status": status}))
}

fn seconds_ago(seconds: i64) -> Time {
    Time(NOW.0 - seconds * 1_000_000_000)
}

/// What is done about a node that is known to be silent since so many seconds; "-" for nothing.
fn silent(node: (ObjectKey, Value), since: Option<i64>, expect: &str) {
    let key = node.0.clone();
    let mut world: View = view(&[node, object("nodes/b", json!({"status": says("True")}))]);
    if let Some(seconds) = since {
        world.remember(&key, Memory::SilentSince(Some(seconds_ago(seconds))));
    }
    let (sent, end) = run(Controller::NodeLifecycle, &world, NODE, &[]);
    let told = sent.iter().map(|request| match request {
        Request::Remember { memory: Memory::SilentSince(Some(_)), .. } => "notes".to_owned(),
        Request::Remember { memory: Memory::SilentSince(None), .. } => "forgets".to_owned(),
        Request::PatchStatus { status, .. } => {
            let conditions = status["conditions"].as_array().into_iter().flatten();
            let text = |value: &Value| value.as_str().unwrap_or("same").to_owned();
            let told = conditions.map(|c| format!("{}={}", text(&c["type"]), text(&c["reason"])));
            told.collect::<Vec<String>>().join(" ")
        }
        Request::Update { .. } => "taints".to_owned(),
        other => format!("{other:?}"),
    });
    let mut told: Vec<String> = told.collect();
    if let Next::Done { requeue_after: Some(after) } = end {
        told.push(format!("again in {} s", after.as_secs()));
    }
    assert_eq!(if told.is_empty() { "-".to_owned() } else { told.join(", ") }, expect);
}

#[test]
fn a_node_whose_kubelet_is_stopped_becomes_unknown() {
    let runs = || object(NODE, json!({"status": says("True")}));
    let unknown = "Ready=NodeStatusUnknown MemoryPressure=NodeStatusNeverUpdated \
                   DiskPressure=NodeStatusNeverUpdated PIDPressure=NodeStatusNeverUpdated";
    silent(runs(), None, "-");
    silent(stopped(says("True")), None, "notes, again in 50 s");
    silent(stopped(says("True")), Some(20), "again in 30 s");
    silent(stopped(says("True")), Some(50), &format!("{unknown}, forgets"));
    silent(runs(), Some(20), "forgets");
    silent(stopped(says("Unknown")), Some(50), "forgets, taints");
    let never = "Ready=NodeStatusNeverUpdated MemoryPressure=NodeStatusNeverUpdated \
                 DiskPressure=NodeStatusNeverUpdated PIDPressure=NodeStatusNeverUpdated";
    silent(stopped(json!({})), Some(59), "again in 1 s");
    silent(stopped(json!({})), Some(60), &format!("{never}, forgets"));
}

#[test]
fn a_kubelet_that_stops_is_looked_at() {
    let world = view(&[stopped(says("True"))]);
    let (before, after) =
        (object(NODE, json!({"status": says("True")})).1, stopped(says("True")).1);
    let keys = |before: &Value, after: &Value| {
        let change = (Some(before.clone()), Some(after.clone()));
        affected(Controller::NodeLifecycle, &world, NODE, change.0, change.1).len()
    };
    assert_eq!(keys(&before, &after), 1);
    assert_eq!(keys(&after, &before), 1);
    assert_eq!(keys(&after, &after), 0);
}

/// A zone of so many nodes, of which these are ready, and one was tainted so many seconds ago.
fn zone(nodes: usize, ready: usize, tainted: Option<i64>, expect: Turn) {
    let labels = json!({"topology.kubernetes.io/zone": "z"});
    let node = |number: usize, taints: Value| {
        let status = says(if number < nodes - ready { "Unknown" } else { "True" });
        let spec = json!({"taints": taints});
        let fields = json!({"metadata": {"labels": labels}, "spec": spec, "status": status});
        object(&format!("nodes/n{number:03}"), fields)
    };
    let taint = tainted.map(|seconds| {
        let key = "node.kubernetes.io/unreachable";
        json!([{"key": key, "effect": "NoExecute", "timeAdded": seconds_ago(seconds).rfc3339()}])
    });
    let mut all: Vec<_> = (1..nodes).map(|number| node(number, json!([]))).collect();
    all.push(node(0, taint.unwrap_or_else(|| json!([]))));
    // Another zone, where all is well.
    all.push(object("nodes/far", json!({"status": says("True")})));
    let world = view(&all);
    let (key, _) = &all[0];
    let found = turn(&world, world.get(key).expect("it is there"), NOW);
    assert_eq!(found, expect, "{nodes} nodes, {ready} ready, {tainted:?}");
}

#[test]
fn taints_that_evict_come_one_after_the_other() {
    let later = |seconds: u64| Turn::In(Duration::from_secs(seconds));
    zone(4, 3, None, Turn::Now);
    zone(4, 2, Some(4), later(6));
    zone(4, 2, Some(10), Turn::Now);
    // Two are not many, and half is not most.
    zone(3, 1, None, Turn::Now);
    zone(6, 3, None, Turn::Now);
    zone(5, 2, None, Turn::Never);
    zone(51, 10, Some(10), later(90));
    zone(50, 10, Some(10), Turn::Never);
    // All of a zone: its network is gone, others go on.
    zone(5, 0, Some(10), Turn::Now);
}

#[test]
fn a_taint_that_waits_is_not_written() {
    let at = seconds_ago(3).rfc3339();
    let taint =
        json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": at});
    let objects = [
        object(NODE, json!({"status": says("Unknown")})),
        object("nodes/b", json!({"status": says("True")})),
        object("nodes/c", json!({"spec": {"taints": [taint]}, "status": says("Unknown")})),
    ];
    let (sent, end) = run(Controller::NodeLifecycle, &view(&objects), NODE, &[]);
    let [Request::Update { fields, .. }] = &sent[..] else { panic!("{sent:?}") };
    let effects: Vec<&Value> =
        fields[0].1.as_array().into_iter().flatten().map(|taint| &taint["effect"]).collect();
    assert_eq!(effects, ["NoSchedule"]);
    assert_eq!(end, Next::Done { requeue_after: Some(Duration::from_secs(7)) });
}
