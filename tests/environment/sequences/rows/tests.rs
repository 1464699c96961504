//! Of each kind a pair that upstream may show, and one that it may not.

use serde_json::{Value, json};

use crate::sequences::sample::{owned, story};

/// Objects of a type, whose states differ from each other in this.
fn check(of: &'static str, one: &[Value], legal: &[Value], illegal: &[Value]) {
    let told = |states: &[Value]| story(of, states.iter().cloned()).told();
    assert_eq!(told(one), told(legal), "{of}: {one:?} and {legal:?} are both right");
    assert_ne!(told(one), told(illegal), "{of}: {illegal:?} is wrong");
}

fn named(mut more: Value) -> Value {
    more["metadata"]["name"] = json!("x");
    more
}

fn deployment(reason: &str, available: &str, revision: &str, observed: i64) -> Value {
    named(json!({
        "metadata": {"annotations": {"deployment.kubernetes.io/revision": revision}},
        "spec": {"replicas": 1, "strategy": {"type": "Recreate"}},
        "status": {
            "observedGeneration": observed,
            "conditions": [
                {"type": "Progressing", "status": "True", "reason": reason},
                {"type": "Available", "status": available, "reason": "R"},
            ],
        },
    }))
}

#[test]
fn deployments() {
    let (created, updated, there) =
        ("NewReplicaSetCreated", "ReplicaSetUpdated", "NewReplicaSetAvailable");
    let all = |reasons: &[&str]| -> Vec<Value> {
        reasons.iter().map(|reason| deployment(reason, "True", "1", 1)).collect()
    };
    // Which of the words for a rollout is written depends on the cache.
    check("deployments", &all(&[created, updated, there]), &all(&[updated, there]), &all(&[there]));
    check(
        "deployments",
        &all(&[created, there]),
        &all(&[created, there, there]),
        &all(&[created, there, updated, there]),
    );
    let available = |all: &[&str]| -> Vec<Value> {
        all.iter().map(|status| deployment(there, status, "1", 1)).collect()
    };
    let dip = available(&["True", "False", "True"]);
    check(
        "deployments",
        &available(&["False", "True"]),
        &available(&["False", "True", "True"]),
        &dip,
    );
    let revised = |all: &[&str]| -> Vec<Value> {
        all.iter().map(|revision| deployment(there, "True", revision, 1)).collect()
    };
    check(
        "deployments",
        &revised(&["1", "2"]),
        &revised(&["1", "1", "2"]),
        &revised(&["1", "3", "2"]),
    );
    let observed = |all: &[i64]| -> Vec<Value> {
        all.iter().map(|number| deployment(there, "True", "1", *number)).collect()
    };
    check("deployments", &observed(&[1, 2, 3]), &observed(&[1, 3]), &observed(&[1, 3, 2, 3]));
}

#[test]
fn old_sets_shrink_and_new_ones_grow() {
    let sizes = |all: &[i64]| -> Vec<Value> {
        let set = |size: &i64| {
            let set =
                named(json!({"spec": {"replicas": size}, "status": {"replicas": size * 7 % 3}}));
            owned("Deployment", "web", set)
        };
        all.iter().map(set).collect()
    };
    // By how much at once is chance, and so is what the status of a Deployment's set has seen of it.
    check("replicasets", &sizes(&[10, 8, 5, 0]), &sizes(&[10, 0]), &sizes(&[10, 5, 6, 0]));
    check("replicasets", &sizes(&[0, 3, 10]), &sizes(&[0, 10]), &sizes(&[0, 3, 2, 10]));
    let revised = |all: &[&str]| -> Vec<Value> {
        let set = |revision: &&str| {
            let annotations = json!({"deployment.kubernetes.io/revision": revision});
            owned("Deployment", "web", named(json!({"metadata": {"annotations": annotations}})))
        };
        all.iter().map(set).collect()
    };
    check(
        "replicasets",
        &revised(&["1", "3"]),
        &revised(&["1", "1", "3"]),
        &revised(&["1", "2", "3"]),
    );
}

#[test]
fn sets_of_nobody_count_their_pods() {
    let counts = |all: &[i64]| -> Vec<Value> {
        let set =
            |count: &i64| named(json!({"spec": {"replicas": 3}, "status": {"replicas": count}}));
        all.iter().map(set).collect()
    };
    for of in ["replicasets", "replicationcontrollers"] {
        check(of, &counts(&[0, 1, 2, 3]), &counts(&[0, 3]), &counts(&[0, 4, 3]));
    }
}

#[test]
fn revisions_of_stateful_sets() {
    let all = |pairs: &[(&str, &str)]| -> Vec<Value> {
        let set = |(current, update): &(&str, &str)| {
            named(json!({"status": {"currentRevision": current, "updateRevision": update}}))
        };
        pairs.iter().map(set).collect()
    };
    let update = all(&[("db-a", "db-a"), ("db-a", "db-b"), ("db-b", "db-b")]);
    // Other hashes.
    let renamed = all(&[("db-x", "db-x"), ("db-x", "db-x"), ("db-x", "db-c"), ("db-c", "db-c")]);
    check("statefulsets", &update, &renamed, &all(&[("db-a", "db-a"), ("db-b", "db-b")]));
}

fn job(conditions: &[(&str, &str)], more: Value) -> Value {
    let list: Vec<Value> = conditions
        .iter()
        .map(|(kind, reason)| json!({"type": kind, "status": "True", "reason": reason}))
        .collect();
    let mut job = named(json!({"status": {"conditions": list}}));
    for (field, value) in more.as_object().into_iter().flatten() {
        job["status"][field] = value.clone();
    }
    job
}

#[test]
fn conditions_of_jobs() {
    let (met, done) = (("SuccessCriteriaMet", "R"), ("Complete", "R"));
    let end = || job(&[met, done], json!({"completionTime": "2026-01-01T00:00:00Z"}));
    let start = || job(&[], json!({}));
    let between = || job(&[met], json!({}));
    let turned = job(&[done, met], json!({"completionTime": "2026-01-02T00:00:00Z"}));
    check(
        "jobs",
        &[start(), between(), end()],
        &[start(), between(), between(), turned],
        &[start(), end()],
    );
    let late = job(&[met, done], json!({}));
    check(
        "jobs",
        &[start(), between(), end()],
        &[start(), between(), end()],
        &[start(), between(), late, end()],
    );
    let started = || job(&[], json!({"startTime": "2026-01-01T00:00:00Z"}));
    check("jobs", &[start(), started()], &[start(), started(), started()], &[started()]);
}

#[test]
fn counters_of_jobs() {
    let all = |states: &[Value]| -> Vec<Value> {
        states.iter().map(|more| job(&[], more.clone())).collect()
    };
    for field in ["succeeded", "failed"] {
        let counts = |counts: &[i64]| -> Vec<Value> {
            all(&counts.iter().map(|count| json!({field: count})).collect::<Vec<Value>>())
        };
        // Two pods at once or one after the other.
        check("jobs", &counts(&[0, 1, 2]), &counts(&[0, 2]), &counts(&[0, 2, 1, 2]));
    }
    for field in ["completedIndexes", "failedIndexes"] {
        let texts = |texts: &[&str]| -> Vec<Value> {
            all(&texts.iter().map(|text| json!({field: text})).collect::<Vec<Value>>())
        };
        check(
            "jobs",
            &texts(&["", "1", "0-1,4"]),
            &texts(&["", "0-1,4"]),
            &texts(&["", "1", "", "0-1,4"]),
        );
    }
    let pods = |all_of: &[&[&str]]| -> Vec<Value> {
        let lists = all_of.iter().map(|uids| json!({"uncountedTerminatedPods": {"failed": uids}}));
        all(&lists.collect::<Vec<Value>>())
    };
    check(
        "jobs",
        &pods(&[&[], &["a"], &[], &["b"], &[]]),
        &pods(&[&[], &["a", "b"], &[]]),
        &pods(&[&[]]),
    );
}

#[test]
fn phases_of_volumes_and_claims() {
    let all = |phases: &[&str]| -> Vec<Value> {
        phases.iter().map(|phase| named(json!({"status": {"phase": phase}}))).collect()
    };
    for of in ["persistentvolumes", "persistentvolumeclaims"] {
        check(
            of,
            &all(&["Pending", "Bound", "Lost"]),
            &all(&["Pending", "Pending", "Bound", "Lost"]),
            &all(&["Pending", "Lost"]),
        );
    }
}

#[test]
fn namespaces() {
    let state = |phase: &str, remaining: Option<&str>, finalizers: &[&str]| {
        let spec = json!({"finalizers": finalizers});
        let mut state = named(json!({"spec": spec, "status": {"phase": phase}}));
        if phase == "Terminating" {
            state["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        if let Some(status) = remaining {
            let condition = json!({"type": "NamespaceContentRemaining", "status": status});
            state["status"]["conditions"] = json!([condition]);
        }
        state
    };
    let held = &["kubernetes"];
    let (active, going) = (state("Active", None, held), state("Terminating", None, held));
    let said = |status: &str| state("Terminating", Some(status), held);
    let finalized = state("Terminating", Some("False"), &[]);
    let end = |passes: &[Value]| {
        let first = [active.clone(), going.clone()];
        [&first[..], passes, std::slice::from_ref(&finalized)].concat()
    };
    let one = end(&[said("True"), said("False")]);
    // Pods that are left hide what else is, and whether a pass found something is chance.
    check("namespaces", &one, &end(&[said("False")]), &[active.clone(), finalized.clone()]);
    check("namespaces", &one, &end(&[said("False"), said("True"), said("False")]), &end(&[]));
    check("namespaces", &one, &one, &one[..3]);
}

#[test]
fn requests_for_certificates() {
    let all = |states: &[(&[&str], Option<&str>)]| -> Vec<Value> {
        let request = |(types, certificate): &(&[&str], Option<&str>)| {
            let list: Vec<Value> = types.iter().map(|kind| json!({"type": kind})).collect();
            named(json!({"status": {"conditions": list, "certificate": certificate}}))
        };
        states.iter().map(request).collect()
    };
    check(
        "certificatesigningrequests",
        &all(&[(&[], None), (&["Approved"], None), (&["Approved"], Some("a"))]),
        &all(&[(&[], None), (&["Approved"], None), (&["Approved"], Some("b"))]),
        &all(&[(&[], None), (&["Approved"], Some("a"))]),
    );
}

/// What a controller says of what is being deleted is a race with its end.
#[test]
fn nothing_is_told_of_what_is_said_after_a_deletion() {
    let phase = |phase: &str, deleted: bool| {
        let mut state = named(json!({"status": {"phase": phase}}));
        if deleted {
            state["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        state
    };
    let first = [phase("Bound", false), phase("Bound", true), phase("Lost", true)];
    let legal = [phase("Bound", false), phase("Bound", true)];
    let illegal = [phase("Bound", false), phase("Lost", false), phase("Lost", true)];
    check("persistentvolumeclaims", &first, &legal, &illegal);
}
