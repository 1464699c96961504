//! The built-in controllers against the real ones: kube-controller-manager in front of kube-apiserver and etcd.
//!
//! Each scenario is a list of requests, sent to both arms in a namespace of its own. After each step the embedded
//! arm comes to rest, and the real one must come to the same state in comparison form (`form.rs`), in the same way
//! where upstream says in which (`sequences.rs`). Neither arm has a node, a scheduler or a kubelet: the scenario says
//! when pods become ready, and does it the same way to both.
//!
//! Reading order: `scenario` and its like (what is done), `arm` (to whom), `watched` (what came of it), `form` and
//! `sequences` (what of it counts), `ends` (where chance decides), `verdict`; `generated`, `shrink` and `paste` for what
//! is drawn.
#![allow(clippy::print_stdout)] // for whoever reads the log of a long run

mod accounts;
mod arm;
mod corners;
mod daemons;
mod ends;
mod events;
mod forks;
mod form;
mod generated;
mod jobs;
mod mirrors;
mod older;
mod operator;
mod paste;
mod quotas;
mod requests;
mod roles;
mod scalers;
mod scenario;
mod sequences;
mod services;
mod shrink;
mod stateful;
mod verdict;
mod watched;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use trommel_tests::{
    Need, needs,
    real::{Access, Cluster, ControllerManager},
    root,
    served::Served,
};

use arm::{Arm, Embedded};
use controllers::branches::Branch;
use scenario::{Scenario, Step};
use verdict::{Judge, Played, tally};
use watched::Watched;

/// How many scenarios are drawn, on top of those by hand.
const GENERATED: u64 = 20;
/// Those that are played first, one after the other: the rest would make a difference to them.
const ALONE: [&str; 3] = [scalers::UNSERVED, services::ZONES, daemons::NOT_READY];
/// How many are played side by side.
const AT_ONCE: usize = 8;

#[test]
fn the_real_controllers_come_to_the_same_ends() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let folder = empty("target/tests/environment");
    let cluster = Cluster::start(&folder, &["--controllers"]);
    agree(&scenarios(), &cluster.access());
}

/// The real controllers find nothing about our server that makes them do otherwise.
#[test]
fn the_real_controllers_do_the_same_on_the_embedded_server() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let folder = empty("target/tests/environment-kcm");
    let served = Served::start(&folder, &["--environment", "none"]);
    let log = folder.join("kube-controller-manager.log");
    let _manager = ControllerManager::start(&served.kubeconfig, &log);
    agree(&every_fourth(by_hand()), &Access::by(&served.kubeconfig));
}

/// All of them at night (`TROMMEL_EVERY=1`): the same controllers do the same things twice here, and take their time.
fn every_fourth(scenarios: Vec<Scenario>) -> Vec<Scenario> {
    let step = std::env::var("TROMMEL_EVERY").map_or(4, |n| n.parse().expect("a number"));
    let all = scenarios.len();
    let some: Vec<Scenario> = scenarios.into_iter().step_by(step).collect();
    println!("{} of {all} scenarios by hand", some.len());
    some
}

/// A fresh folder.
fn empty(path: &str) -> PathBuf {
    let folder = root().join(path);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// Plays all of them on an embedded cluster each and on the real controllers.
fn agree(scenarios: &[Scenario], access: &Access) {
    let (first, scenarios): (Vec<&Scenario>, Vec<&Scenario>) =
        scenarios.iter().partition(|scenario| ALONE.contains(&&*scenario.name));
    let (watched, shrunk) = (Watched::start(access), AtomicUsize::new(0));
    let judge = || Judge::new(access, &watched, &shrunk);
    let first: Vec<Played> = first.into_iter().map(|one| judge().told(one)).collect();
    let (scenarios, next) = (&scenarios, &AtomicUsize::new(0));
    let mut played: Vec<Played> = std::thread::scope(|scope| {
        let parts = (0..AT_ONCE).map(|_| {
            let judge = judge();
            let mine = std::iter::from_fn(|| scenarios.get(next.fetch_add(1, Ordering::Relaxed)));
            scope.spawn(move || mine.map(|one| judge.told(one)).collect::<Vec<Played>>())
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
    });
    played.extend(first);
    println!("{}", tally(&played));
    let different: Vec<&str> = played.iter().filter_map(|one| one.different.as_deref()).collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Those by hand.
fn by_hand() -> Vec<Scenario> {
    let mut scenarios = scenario::all();
    scenarios.extend(stateful::all());
    scenarios.extend(jobs::all());
    scenarios.extend(daemons::all());
    scenarios.push(daemons::not_ready());
    scenarios.extend(services::all());
    scenarios.push(services::zones());
    scenarios.extend(quotas::all());
    scenarios.extend(mirrors::all());
    scenarios.extend(older::all());
    scenarios.extend(scalers::all());
    scenarios.extend(accounts::all());
    scenarios.extend(requests::all());
    scenarios.extend(roles::all());
    scenarios.extend(corners::all());
    scenarios.extend(events::all(&scenarios));
    asked_for(scenarios)
}

/// Those by hand, and those that are drawn.
fn scenarios() -> Vec<Scenario> {
    let mut scenarios = by_hand();
    // For a long run: that many, from that one.
    let drawn =
        std::env::var("TROMMEL_GENERATED").map_or(GENERATED, |n| n.parse().expect("a number"));
    let first = std::env::var("TROMMEL_FIRST").map_or(0, |n| n.parse().expect("a number"));
    scenarios.extend((first..first + drawn).map(generated::scenario));
    asked_for(scenarios)
}

/// All, or fewer while one is being written.
fn asked_for(mut scenarios: Vec<Scenario>) -> Vec<Scenario> {
    // While a scenario is being written: those whose names begin so.
    if let Ok(only) = std::env::var("TROMMEL_SCENARIOS") {
        scenarios.retain(|scenario| only.split(',').any(|name| scenario.name.starts_with(name)));
    }
    scenarios
}

/// Branches that no scenario can come to on both sides, and what comes to them instead.
const ELSEWHERE: [(Branch, &str); 7] = [
    // The name that is taken has a hash in it, which is another one upstream.
    (Branch::DeploymentCollision, "cluster: a_name_that_is_taken_is_a_collision"),
    // Upstream tells of the autoscalers in the order of a Go map.
    (Branch::AutoscalerAmbiguous, "controllers: pods_of_two_autoscalers"),
    // Nothing refuses a scale that an autoscaler may ask for, but a conflict, which upstream meets by trying again.
    (Branch::AutoscalerRefused, "controllers: a_scale_that_is_refused"),
    (Branch::HistoryCollision, "nothing: as with the ReplicaSets of a Deployment"),
    // Nobody runs the real nodes: all of them are silent, and all scenarios' nodes are of one zone there.
    (Branch::NodeSilent, "controllers: a_node_whose_kubelet_is_stopped_becomes_unknown"),
    (Branch::NodeTaintWaits, "controllers: a_taint_that_waits_is_not_written"),
    (Branch::NodesMostlyDown, "controllers: taints_that_evict_come_one_after_the_other"),
];

/// A branch that no scenario comes to is one that nobody has compared.
#[test]
fn every_branch_of_the_controllers_is_compared() {
    for scenario in scenarios() {
        let embedded = Embedded::new();
        embedded.make_namespace(&scenario.name);
        scalers::serve_metrics(&embedded, &scenario);
        for step in &scenario.steps {
            play(&embedded, &scenario.name, step);
            embedded.rest();
        }
    }
    for (branch, by) in ELSEWHERE {
        assert!(!branch.was_taken(), "{branch:?}: it is compared, and not only by {by}");
    }
    let elsewhere = ELSEWHERE.map(|(branch, _)| branch);
    let left = Branch::ALL.iter().filter(|one| !one.was_taken() && !elsewhere.contains(one));
    // Compared by tests/scheduler.
    let left = left.filter(|one| !one.is_of_scheduler());
    let left: Vec<String> = left.map(|branch| format!("{branch:?}: {}", branch.text())).collect();
    assert!(left.is_empty(), "{} of {}:\n{}", left.len(), Branch::ALL.len(), left.join("\n"));
}

/// An object as it is sent: `$NS` in its texts is the scenario's namespace, for objects that live in none, and `$NOW`
/// the time there; owners have the uids that they have there.
fn meant(arm: &dyn Arm, object: &Value, namespace: &str) -> Value {
    let mut text = object.to_string().replace("$NS", namespace);
    if text.contains("$NOW") {
        text = text.replace("$NOW", arm.now().as_str().expect("a time"));
    }
    let object = serde_json::from_str(&text).expect("it was JSON");
    scenario::with_uids(arm, namespace, object)
}

/// What was answered, where that may differ.
fn play(arm: &dyn Arm, namespace: &str, step: &Step) -> Option<u16> {
    let at = |path: &str| path.replace("NS", namespace);
    let meant = |object: &Value| meant(arm, object, namespace);
    let of = |policy: &Option<&str>| policy.map(|policy| json!({"propagationPolicy": policy}));
    match step {
        Step::Create(path, object) => arm.must("POST", &at(path), Some(meant(object))),
        Step::Patch(path, patch) => arm.must("PATCH", &at(path), Some(meant(patch))),
        Step::Delete(path, policy) => arm.must("DELETE", &at(path), of(policy)),
        Step::MayPatch(path, patch) => {
            return Some(arm.send("PATCH", &at(path), Some(meant(patch))).0);
        }
        Step::MayDelete(path, policy) => return Some(arm.send("DELETE", &at(path), of(policy)).0),
        Step::Post(path, object, expect) => {
            let (code, answer) = arm.send("POST", &at(path), Some(meant(object)));
            assert_eq!(code, *expect, "{namespace} {path}: {answer}");
        }
        Step::Expect(path) => {
            let code = arm.send("GET", &at(path), None).0;
            assert_eq!(code, 200, "{namespace} {path}");
        }
        Step::Bind => scenario::bind(arm, namespace),
        Step::Ready => scenario::make_ready(arm, namespace),
        Step::ReadyOne => scenario::make_one_ready(arm, namespace),
        Step::End(count, code) => scenario::end(arm, namespace, *count, *code),
        Step::DeleteOnePod => scenario::delete_one_pod(arm, namespace),
        Step::EvictOnePod => return scenario::evict_one_pod(arm, namespace),
        Step::PatchPods(patch) => scenario::patch_pods(arm, namespace, &meant(patch)),
        Step::PatchSlices(patch) => scenario::patch_slices(arm, namespace, &meant(patch)),
        Step::ScaleSet(image, replicas) => {
            scenario::scale_set(arm, namespace, image, *replicas);
        }
        Step::RelabelOnePod(label) => scenario::relabel_one_pod(arm, namespace, label),
        Step::AtOnce(parts) => {
            let mut answered = None;
            for part in parts {
                answered = play(arm, namespace, part);
            }
            return answered;
        }
    }
    None
}
