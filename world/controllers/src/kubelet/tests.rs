//! What kwok's default stages do with a pod, a line each.

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    Controller, Next, Request,
    fixture::{affected, object, run, view},
    request::{Beside, PodState},
};

fn check(pod: Value, with_node: bool, expect: &str) {
    let mut objects = vec![object("pods/default/p", pod)];
    if with_node {
        objects.push(object("nodes/n", json!({})));
    }
    check_in(&objects, expect);
}

fn check_in(objects: &[(ObjectKey, Value)], expect: &str) {
    let (sent, _) = run(Controller::Kubelet, &view(objects), "pods/default/p", &[]);
    let told = match &sent[..] {
        [] => "nothing".to_owned(),
        [Request::PodPhase { state, .. }] => match state {
            PodState::Waits { lacks, .. } => {
                let lacks = lacks.iter().map(|(container, why)| format!("; {container}: {why}"));
                format!("waits{}", lacks.collect::<String>())
            }
            PodState::Running { ready, restarts, .. } => {
                let told = if *ready { "Running" } else { "starts" };
                if *restarts == 0 { told.to_owned() } else { format!("{told}, {restarts}") }
            }
            PodState::Ended { code, again: None, .. } => format!("exit {code}"),
            PodState::Ended { code, again: Some(wait), .. } => {
                format!("exit {code}, again after {} s", wait.as_secs())
            }
            PodState::TooLong { .. } => "too long".to_owned(),
            PodState::Replaced { containers, ready, .. } => {
                let told = if *ready { "ready" } else { "starts" };
                format!("{} replaced, {told}", containers.join(", "))
            }
            PodState::Same => "same".to_owned(),
        },
        [Request::Delete { grace_seconds: Some(seconds), .. }] => format!("delete in {seconds} s"),
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect);
}

#[test]
fn pods_run_end_and_go() {
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let pod = |phase: &str| {
        let conditions = if phase == "Running" { ready.clone() } else { json!([]) };
        json!({"spec": {"nodeName": "n"}, "status": {"phase": phase, "conditions": conditions}})
    };
    check(pod("Pending"), true, "Running");
    check(pod("Running"), true, "nothing");
    check(pod("Pending"), false, "nothing");
    check(json!({"status": {"phase": "Pending"}}), true, "nothing");
    let bare = |policy: &str, script: Value, owner: Value| {
        let mut bare = pod("Running");
        bare["spec"]["restartPolicy"] = json!(policy);
        bare["metadata"] = json!({"annotations": script, "ownerReferences": owner});
        bare
    };
    let owner = |kind: &str, controls: bool| json!([{"apiVersion": "x/v1", "kind": kind, "name": "o", "uid": "o", "controller": controls}]);
    check(bare("Never", json!({}), json!([])), true, "exit 0");
    check(bare("OnFailure", json!({}), json!([])), true, "exit 0");
    check(bare("Always", json!({}), json!([])), true, "nothing");
    check(bare("Never", json!({}), owner("Foo", false)), true, "exit 0");
    check(bare("Never", json!({}), owner("Foo", true)), true, "nothing");
    check(bare("Never", json!({"trommel.dev/exit-codes": "2"}), json!([])), true, "exit 2");
    check(bare("Never", json!({"trommel.dev/runs-for": "10000h"}), json!([])), true, "nothing");
    let mut of_job = pod("Running");
    of_job["spec"]["restartPolicy"] = json!("Never");
    of_job["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true,
    }]);
    check(of_job, true, "exit 0");
    let mut deleted = pod("Running");
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:30Z");
    deleted["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    check(deleted.clone(), true, "delete in 0 s");
    deleted["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    check(deleted, true, "nothing");
}

#[test]
fn pods_do_what_their_script_says() {
    let started = |phase: &str, policy: &str, script: Value| {
        json!({
            "metadata": {"annotations": script},
            "spec": {"nodeName": "n", "restartPolicy": policy},
            "status": {"phase": phase, "containerStatuses": [
                {"name": "c", "restartCount": 0, "state": {"running": {"startedAt": "2025-12-31T23:59:50Z"}}},
            ]},
        })
    };
    let later = json!({"trommel.dev/ready-after": "5s"});
    check(started("Pending", "Always", later.clone()), true, "starts");
    check(started("Running", "Always", later), true, "Running");
    check(started("Running", "Always", json!({"trommel.dev/ready-after": "15s"})), true, "nothing");
    let fails = json!({"trommel.dev/exit-codes": "3", "trommel.dev/ready-after": "1h"});
    check(started("Running", "Never", fails.clone()), true, "exit 3");
    check(started("Running", "OnFailure", fails), true, "exit 3, again after 0 s");
    let mut deleted = started("Running", "Never", json!({"trommel.dev/ends-after": "20s"}));
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:20Z");
    deleted["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    check(deleted.clone(), true, "nothing");
    deleted["metadata"]["annotations"] = json!({"trommel.dev/ends-after": "10s"});
    check(deleted, true, "delete in 0 s");
}

#[test]
fn gates_and_deadlines() {
    let running = |spec: Value, conditions: Value| {
        let mut pod = json!({"spec": spec, "status": {
            "phase": "Running", "startTime": "2025-12-31T23:59:50Z", "conditions": conditions,
        }});
        pod["spec"]["nodeName"] = json!("n");
        pod
    };
    let gated = json!({"readinessGates": [{"conditionType": "x"}]});
    let conditions = |gate: &str, ready: &str| json!([{"type": "x", "status": gate}, {"type": "Ready", "status": ready}]);
    check(running(gated.clone(), json!([])), true, "nothing");
    check(running(gated.clone(), conditions("True", "False")), true, "Running");
    check(running(gated.clone(), conditions("True", "True")), true, "nothing");
    check(running(gated, conditions("False", "True")), true, "Running");
    let ready = json!([{"type": "Ready", "status": "True"}]);
    check(running(json!({"activeDeadlineSeconds": 10}), ready.clone()), true, "too long");
    check(running(json!({"activeDeadlineSeconds": 11}), ready), true, "nothing");
}

/// Containers that ended are started again: the first time at once.
#[test]
fn restarts_are_counted_and_wait() {
    let pod = |status: Value, script: Value| {
        json!({
            "metadata": {"annotations": script},
            "spec": {"nodeName": "n", "restartPolicy": "Always"},
            "status": {"phase": "Running", "containerStatuses": [status]},
        })
    };
    let ended = json!({"exitCode": 1, "finishedAt": "2025-12-31T23:59:51Z"});
    let first =
        json!({"name": "c", "restartCount": 0, "state": {"terminated": ended}, "lastState": {}});
    check(pod(first, json!({})), true, "Running, 1");
    let waits = |message: &str| {
        json!({
            "name": "c", "restartCount": 1, "lastState": {"terminated": ended},
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": message}},
        })
    };
    check(pod(waits("back-off 9s restarting"), json!({})), true, "Running, 2");
    check(pod(waits("back-off 10s restarting"), json!({})), true, "nothing");
    let again = json!({
        "name": "c", "restartCount": 1, "lastState": {"terminated": ended},
        "state": {"running": {"startedAt": "2025-12-31T23:59:51Z"}},
    });
    let fails = json!({"trommel.dev/exit-codes": "1"});
    check(pod(again, fails), true, "exit 1, again after 10 s");
}

fn of_data(source: Value) -> Value {
    json!({
        "spec": {
            "nodeName": "n", "volumes": [source],
            "containers": [{"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        },
        "status": {"phase": "Pending"},
    })
}

/// Volumes of ConfigMaps and Secrets, a line each: `m` has the keys `a` and, binary, `b`; `s` has `a`.
#[test]
fn volumes_wait_for_what_they_name() {
    let check = |source: Value, expect: &str| {
        let mut volume = json!({"name": "v"});
        for (key, value) in source.as_object().into_iter().flatten() {
            volume[key] = value.clone();
        }
        let objects = [
            object("pods/default/p", of_data(volume)),
            object("nodes/n", json!({})),
            object(
                "configmaps/default/m",
                json!({"data": {"a": "1"}, "binaryData": {"b": "MQ=="}}),
            ),
            object("secrets/default/s", json!({"data": {"a": "MQ=="}})),
        ];
        check_in(&objects, expect);
    };
    let items = |key: &str| json!([{"key": key, "path": "p"}]);
    check(json!({"configMap": {"name": "m"}}), "Running");
    check(json!({"configMap": {"name": "m", "items": items("b")}}), "Running");
    check(json!({"configMap": {"name": "m", "items": items("c")}}), "waits");
    check(json!({"configMap": {"name": "m", "items": items("c"), "optional": true}}), "Running");
    check(json!({"configMap": {"name": "none"}}), "waits");
    check(json!({"configMap": {"name": "none", "optional": true}}), "Running");
    check(json!({"secret": {"secretName": "s", "items": items("a")}}), "Running");
    check(json!({"secret": {"secretName": "m"}}), "waits");
    let projected = |source: Value| json!({"projected": {"sources": [source]}});
    check(projected(json!({"configMap": {"name": "none"}})), "waits");
    check(projected(json!({"secret": {"name": "s", "items": items("b")}})), "waits");
    check(projected(json!({"secret": {"name": "s"}})), "Running");
    // Nobody publishes it where no certificate is known.
    check(projected(json!({"configMap": {"name": "kube-root-ca.crt"}})), "Running");
    // What no container mounts is not mounted.
    check(json!({"name": "idle", "configMap": {"name": "none"}}), "Running");
}

/// Environments, a line each, in a world with the ConfigMap `m` of key `a`.
#[test]
fn containers_wait_for_their_environment() {
    let check = |init: Value, container: Value, expect: &str| {
        let named = |name: &str, given: &Value| {
            let mut container = json!({"name": name});
            for (key, value) in given.as_object().into_iter().flatten() {
                container[key] = value.clone();
            }
            container
        };
        let pod = json!({
            "spec": {
                "nodeName": "n", "containers": [named("c", &container), named("d", &container)],
                "initContainers": [named("i", &init)],
            },
            "status": {"phase": "Pending"},
        });
        let objects = [
            object("pods/default/p", pod),
            object("nodes/n", json!({})),
            object(
                "configmaps/default/m",
                json!({"data": {"a": "1"}, "binaryData": {"b": "MQ=="}}),
            ),
        ];
        check_in(&objects, expect);
    };
    let none = || json!({});
    let map = |name: &str, optional: bool| json!({"envFrom": [{"configMapRef": {"name": name, "optional": optional}}]});
    let key = |kind: &str, name: &str, key: &str| json!({"env": [{"name": "E", "valueFrom": {kind: {"name": name, "key": key}}}]});
    check(none(), map("m", false), "Running");
    let both = |why: &str| format!("waits; c: {why}; d: {why}");
    check(none(), map("none", false), &both("configmap \"none\" not found"));
    check(none(), map("none", true), "Running");
    check(none(), key("configMapKeyRef", "m", "a"), "Running");
    let binary = both("couldn't find key b in ConfigMap default/m");
    check(none(), key("configMapKeyRef", "m", "b"), &binary);
    check(none(), key("secretKeyRef", "s", "a"), &both("secret \"s\" not found"));
    check(map("none", false), map("none", false), "waits; i: configmap \"none\" not found");
}

/// Two containers, of which `c` names a Secret that is there or not, and what is said of each.
fn beside(phase: &str, statuses: [Value; 2], script: Value, with_secret: bool, expect: &str) {
    let lacks = json!({"name": "c", "envFrom": [{"secretRef": {"name": "s"}}]});
    let ready = json!({"periodSeconds": 1});
    let other = json!({"name": "d", "readinessProbe": ready});
    let statuses: Vec<Value> = statuses.into_iter().filter(|one| !one.is_null()).collect();
    let mut objects = vec![
        object("nodes/n", json!({})),
        object(
            "pods/default/p",
            json!({
                "metadata": {"annotations": script},
                "spec": {"nodeName": "n", "containers": [lacks, other]},
                "status": {
                    "phase": phase, "containerStatuses": statuses,
                    "conditions": [{"type": "PodReadyToStartContainers", "status": "True"}],
                },
            }),
        ),
    ];
    if with_secret {
        objects.push(object("secrets/default/s", json!({"data": {}})));
    }
    let (sent, end) = run(Controller::Kubelet, &view(&objects), "pods/default/p", &[]);
    let told = match (&sent[..], end) {
        ([Request::PodPhase { state, .. }], _) => match state {
            PodState::Waits { restarts, beside: Some(beside), .. } => {
                let Beside { ready, restarts: others, .. } = beside;
                format!("c waits, {restarts}; d runs, {others}, {ready}")
            }
            PodState::Running { ready, restarts, .. } => format!("both run, {restarts}, {ready}"),
            other => format!("{other:?}"),
        },
        ([], Next::Done { requeue_after: Some(after) }) => format!("in {} s", after.as_secs()),
        ([], Next::Done { requeue_after: None }) => "nothing".to_owned(),
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect, "{statuses:?}");
}

#[test]
fn containers_that_lack_nothing_run() {
    let waits = |restarts: i64, last: Value| {
        let why = json!({
            "reason": "CreateContainerConfigError", "message": "secret \"s\" not found",
        });
        json!({
            "name": "c", "restartCount": restarts, "state": {"waiting": why}, "lastState": last,
        })
    };
    let runs = |restarts: i64, started: &str, ready: bool| {
        json!({
            "name": "d", "restartCount": restarts, "ready": ready, "started": true,
            "state": {"running": {"startedAt": started}}, "lastState": {},
        })
    };
    let ended = |name: &str| {
        let end = json!({"exitCode": 1, "finishedAt": "2025-12-31T23:59:51Z"});
        json!({"name": name, "restartCount": 0, "state": {"terminated": end}, "lastState": {}})
    };
    let never = || json!({});
    let later = || json!({"trommel.dev/ready-after": "10s"});
    beside("Pending", [Value::Null, Value::Null], later(), false, "c waits, 0; d runs, 0, false");
    let five = "2025-12-31T23:59:55Z";
    beside("Pending", [waits(0, never()), runs(0, five, false)], later(), false, "in 5 s");
    let ten = "2025-12-31T23:59:50Z";
    let due = [waits(0, never()), runs(0, ten, false)];
    beside("Pending", due, later(), false, "c waits, 0; d runs, 0, true");
    beside("Pending", [waits(0, never()), runs(0, ten, true)], later(), false, "nothing");
    beside("Pending", [waits(0, never()), runs(0, ten, true)], later(), true, "both run, 0, false");
    // The Secret went before both were started again.
    let both = [ended("c"), ended("d")];
    beside("Running", both, json!({}), false, "c waits, 0; d runs, 1, true");
    let last = || json!({"terminated": {"exitCode": 1, "finishedAt": "2025-12-31T23:59:51Z"}});
    beside("Running", [waits(0, last()), runs(1, ten, true)], json!({}), false, "nothing");
    let back = [waits(0, last()), runs(1, ten, true)];
    beside("Running", back, json!({}), true, "both run, 1, true");
}

/// What is told once is not told again, and what comes wakes who waits for it.
#[test]
fn a_pod_that_waits_is_woken() {
    let lacks = json!({"name": "c", "envFrom": [{"secretRef": {"name": "s"}}]});
    let waits = |message: &str| {
        let waiting = json!({"reason": "CreateContainerConfigError", "message": message});
        json!({
            "spec": {"nodeName": "n", "containers": [lacks]},
            "status": {
                "phase": "Pending",
                "conditions": [{"type": "PodReadyToStartContainers", "status": "True"}],
                "containerStatuses": [{"name": "c", "restartCount": 0, "state": {"waiting": waiting}}],
            },
        })
    };
    check(waits("secret \"s\" not found"), true, "nothing");
    check(waits("something else"), true, "waits; c: secret \"s\" not found");
    let objects = [object("pods/default/p", waits("")), object("nodes/n", json!({}))];
    let world = view(&objects);
    let woken = |key: &str, before: Option<Value>, after: Option<Value>| {
        affected(Controller::Kubelet, &world, key, before, after).len()
    };
    let secret = |data: Value| Some(object("secrets/default/s", json!({"data": data})).1);
    let (one, other, more) =
        (secret(json!({"a": "MQ=="})), secret(json!({"a": "Mg=="})), secret(json!({"b": ""})));
    assert_eq!(woken("secrets/default/s", None, one.clone()), 1);
    assert_eq!(woken("secrets/default/s", one.clone(), other), 0, "the keys are the same");
    assert_eq!(woken("secrets/default/s", one.clone(), more), 1);
    assert_eq!(woken("secrets/default/s", one.clone(), None), 0);
    assert_eq!(woken("secrets/default/t", None, one.clone()), 0);
    assert_eq!(woken("configmaps/default/s", None, one), 0);
}

#[test]
fn claims_of_its_own_have_to_be_its_own() {
    let check = |owner: &str, phase: &str, expect: &str| {
        let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": true}]);
        let claim = json!({"metadata": {"ownerReferences": owner}, "status": {"phase": phase}});
        let objects = [
            object("pods/default/p", of_data(json!({"name": "v", "ephemeral": {}}))),
            object("nodes/n", json!({})),
            object("persistentvolumeclaims/default/p-v", claim),
        ];
        check_in(&objects, expect);
    };
    check("p", "Bound", "Running");
    check("p", "Pending", "waits");
    check("another", "Bound", "waits");
}

/// A node whose kubelet is stopped starts nothing and ends nothing; when it runs again, it says so.
#[test]
fn a_kubelet_that_is_stopped_does_nothing() {
    let node = |state: &str, reason: &str| {
        let annotations = json!({"trommel.dev/kubelet": state});
        let ready = json!({"type": "Ready", "status": "Unknown", "reason": reason});
        let fields =
            json!({"metadata": {"annotations": annotations}, "status": {"conditions": [ready]}});
        object("nodes/n", fields)
    };
    let pod = || {
        object("pods/default/p", json!({"spec": {"nodeName": "n"}, "status": {"phase": "Pending"}}))
    };
    check_in(&[pod(), node("stopped", "NodeStatusUnknown")], "nothing");
    check_in(&[pod(), node("runs", "NodeStatusUnknown")], "Running");
    let says = |state: &str, reason: &str| {
        let (sent, _) = run(Controller::Kubelet, &view(&[node(state, reason)]), "nodes/n", &[]);
        match &sent[..] {
            [] => "nothing".to_owned(),
            [Request::PatchStatus { status, .. }] => {
                let told = status["conditions"].as_array().into_iter().flatten();
                told.map(|c| format!("{} {} ", c["type"], c["status"]).replace('"', "")).collect()
            }
            other => format!("{other:?}"),
        }
    };
    let well = "Ready True MemoryPressure False DiskPressure False PIDPressure False ";
    assert_eq!(says("runs", "NodeStatusUnknown"), well);
    assert_eq!(says("stopped", "NodeStatusUnknown"), "nothing");
    assert_eq!(says("runs", "SaidByHand"), "nothing");
    let world = view(&[pod(), node("runs", "NodeStatusUnknown")]);
    let keys = |before: Option<(ObjectKey, Value)>, after: (ObjectKey, Value)| {
        let before = before.map(|(_, value)| value);
        affected(Controller::Kubelet, &world, "nodes/n", before, Some(after.1)).len()
    };
    let (stopped, runs) =
        (|| node("stopped", "NodeStatusUnknown"), || node("runs", "NodeStatusUnknown"));
    assert_eq!(keys(Some(stopped()), runs()), 2, "the node and its pod");
    assert_eq!(keys(None, runs()), 1);
    assert_eq!(keys(Some(runs()), stopped()), 0);
    assert_eq!(keys(Some(runs()), runs()), 0);
}

/// Each change of the spec is told as seen, once.
#[test]
fn generations_are_observed() {
    let pod = |phase: &str, generation: i64, observed: i64| {
        json!({
            "metadata": {"generation": generation},
            "spec": {"nodeName": "n"},
            "status": {"phase": phase, "observedGeneration": observed,
                "conditions": [{"type": "Ready", "status": "True"}]},
        })
    };
    check(pod("Pending", 1, 0), true, "Running");
    check(pod("Running", 1, 1), true, "nothing");
    check(pod("Running", 2, 1), true, "same");
    check(pod("Succeeded", 2, 1), true, "nothing");
    check(pod("Running", 2, 1), false, "nothing");
    let mut waits = pod("Running", 2, 1);
    waits["metadata"]["annotations"] = json!({"trommel.dev/ready-after": "1h"});
    waits["status"]["conditions"] = json!([]);
    let runs = json!({"running": {"startedAt": "2025-12-31T23:59:50Z"}});
    waits["status"]["containerStatuses"] = json!([{"name": "c", "state": runs}]);
    check(waits, true, "same");
}

/// A container that runs with another image than the pod names is another one.
#[test]
fn containers_run_the_image_that_the_pod_names() {
    let pod = |images: [&str; 2], state: Value, policy: &str| {
        let named = |name: &str, image: &str| json!({"name": name, "image": image});
        let told = |name: &str| {
            json!({"name": name, "image": "i:1", "restartCount": 0, "ready": true,
                "started": true, "state": state})
        };
        json!({
            "spec": {"nodeName": "n", "restartPolicy": policy,
                "containers": [named("c", images[0]), named("d", images[1])]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [told("c"), told("d")]},
        })
    };
    let runs = || json!({"running": {"startedAt": "2025-12-31T23:59:50Z"}});
    check(pod(["i:1", "i:1"], runs(), "Always"), true, "nothing");
    check(pod(["i:2", "i:1"], runs(), "Always"), true, "c replaced, ready");
    check(pod(["i:1", "i:2"], runs(), "Always"), true, "d replaced, ready");
    check(pod(["i:2", "i:2"], runs(), "Always"), true, "c, d replaced, ready");
    let mut never = pod(["i:2", "i:1"], runs(), "Never");
    never["metadata"]["annotations"] = json!({"trommel.dev/runs-for": "1h"});
    check(never.clone(), true, "c replaced, ready");
    never["status"]["phase"] = json!("Failed");
    check(never, true, "nothing");
    let mut later = pod(["i:2", "i:1"], runs(), "Always");
    later["metadata"]["annotations"] = json!({"trommel.dev/ready-after": "2s"});
    check(later, true, "c replaced, starts");
    // The wait is another container's.
    let waits = |images| {
        let message = "back-off 10s restarting failed container=c pod=p_default()";
        let state = json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}});
        let mut pod = pod(images, state, "Always");
        let last = json!({"terminated": {"exitCode": 1, "finishedAt": "2025-12-31T23:59:59Z"}});
        pod["status"]["containerStatuses"][0]["lastState"] = last;
        pod
    };
    check(waits(["i:1", "i:1"]), true, "nothing");
    check(waits(["i:2", "i:1"]), true, "Running, 1");
}
