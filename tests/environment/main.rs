//! The built-in controllers against the real ones: kube-controller-manager in front of kube-apiserver and etcd.
//!
//! Each scenario is a list of requests, sent to both arms in a namespace of its own. After each step the embedded
//! arm comes to rest, and the real one must come to the same state in comparison form (`form.rs`). Neither arm has
//! a node, a scheduler or a kubelet: the scenario says when pods become ready, and does it the same way to both.
#![allow(clippy::print_stdout)] // for whoever reads the log of a long run

mod accounts;
mod arm;
mod corners;
mod daemons;
mod ends;
mod forks;
mod form;
mod generated;
mod jobs;
mod mirrors;
mod older;
mod operator;
mod quotas;
mod requests;
mod roles;
mod scalers;
mod scenario;
mod services;
mod stateful;

use std::{
    collections::BTreeMap,
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

use arm::{Arm, Embedded, Real};
use controllers::branches::Branch;
use scenario::{Scenario, Step};

/// How many scenarios are drawn, on top of those by hand.
const GENERATED: u64 = 100;
/// How often a scenario is played at most until the real controllers come to the same end.
const ATTEMPTS: u32 = 3;
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
    agree(&by_hand(), &Access::by(&served.kubeconfig));
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
        scenarios.iter().partition(|scenario| scenario.name == scalers::UNSERVED);
    let first: Vec<Played> = first.into_iter().map(|one| told(one, &Real::new(access))).collect();
    let (scenarios, next) = (&scenarios, &AtomicUsize::new(0));
    let mut played: Vec<Played> = std::thread::scope(|scope| {
        let parts = (0..AT_ONCE).map(|_| {
            let real = Real::new(access);
            let mine = std::iter::from_fn(|| scenarios.get(next.fetch_add(1, Ordering::Relaxed)));
            scope.spawn(move || mine.map(|one| told(one, &real)).collect::<Vec<Played>>())
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
    scenarios.extend(services::all());
    scenarios.extend(quotas::all());
    scenarios.extend(mirrors::all());
    scenarios.extend(older::all());
    scenarios.extend(scalers::all());
    scenarios.extend(accounts::all());
    scenarios.extend(requests::all());
    scenarios.extend(roles::all());
    scenarios.extend(corners::all());
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
const ELSEWHERE: [(Branch, &str); 8] = [
    // The pod collector takes such a pod away after 40 s here, within a minute upstream: the arms are never as slow as
    // each other.
    (Branch::SliceNoNode, "controllers: a_pod_waits_for_its_node"),
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

/// How a scenario went.
struct Played {
    /// Of what kind it is: its name up to a number.
    kind: String,
    /// How often it was played.
    attempts: u32,
    /// What differed, or what was refused, where no attempt agreed.
    different: Option<String>,
}

/// How many of each kind there were, and how many agreed when.
fn tally(played: &[Played]) -> String {
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for one in played {
        let counts = kinds.entry(&one.kind).or_default();
        counts[0] += 1;
        counts[1] += usize::from(one.attempts == 1);
        counts[2] += usize::from(one.different.is_some());
    }
    let lines = kinds.iter().map(|(kind, [all, first, different])| {
        format!("{kind}: {all} played, {first} agreed at the first attempt, {different} differ")
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// What differs, or what was refused. Real controllers run side by side, and some ends are a matter of chance: ours
/// has to be one of those that they come to, and a scenario whose first end was another one says so.
fn told(scenario: &Scenario, real: &Real) -> Played {
    let (mut first, mut attempts) = (None, 0);
    let kind = scenario.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    while attempts < ATTEMPTS {
        attempts += 1;
        let name = match attempts {
            1 => scenario.name.clone(),
            _ => format!("{}-again-{attempts}", scenario.name),
        };
        let Some(found) = once(&Scenario { name, ..scenario.clone() }, real) else {
            return Played { kind, attempts, different: None };
        };
        println!("attempt {attempts} of {ATTEMPTS}: {found}");
        first.get_or_insert(found);
    }
    Played { kind, attempts, different: first }
}

fn once(scenario: &Scenario, real: &Real) -> Option<String> {
    let compared = std::panic::AssertUnwindSafe(|| compare(scenario, real));
    let refused = |_| Some(format!("{}: refused, see above", scenario.name));
    std::panic::catch_unwind(compared).unwrap_or_else(refused)
}

/// Plays a scenario on both arms; what differs at the first step where they don't agree. Where the end depends on
/// chance upstream (`ends.rs`), the real one must come to one of all ends, and goes on from it.
fn compare(scenario: &Scenario, real: &Real) -> Option<String> {
    let mut worlds = vec![Embedded::new()];
    for arm in [&worlds[0] as &dyn Arm, real] {
        arm.make_namespace(&scenario.name);
        scalers::serve_metrics(arm, scenario);
    }
    let more = form::more(scenario);
    let state = |arm: &dyn Arm| form::of(arm, &scenario.name, &more);
    for (number, step) in scenario.steps.iter().enumerate() {
        let ours: Vec<Option<u16>> =
            worlds.iter().map(|world| play(world, &scenario.name, step)).collect();
        if step.changes_template() {
            real.grow_older();
        }
        let theirs = play(real, &scenario.name, step);
        if !ours.contains(&theirs) {
            let title = script(scenario, number);
            return Some(format!("{title}\n  embedded {ours:?}\n  real     {theirs:?}"));
        }
        let mut answered = ours.iter();
        worlds.retain(|_| answered.next() == Some(&theirs));
        worlds = worlds.iter().flat_map(|world| ends::all(scenario, world)).collect();
        let states: Vec<Value> = worlds.iter().map(|world| state(world)).collect();
        match real.comes_to(&states, &state) {
            Ok(end) => {
                if end != states[0] {
                    println!("{} {number}: an end of another order", scenario.name);
                }
                let mut states = states.iter();
                worlds.retain(|_| states.next() == Some(&end));
            }
            Err(found) => {
                let title = script(scenario, number);
                let differences = states.iter().map(|expect| form::difference(expect, &found));
                let differences: Vec<String> = differences.collect();
                return Some(format!("{title}\n{}", differences.join("\n  or\n")));
            }
        }
    }
    None
}

/// What was done up to a step, for whoever wants to know why it differs.
fn script(scenario: &Scenario, last: usize) -> String {
    let steps = scenario.steps.iter().take(last + 1).enumerate();
    let steps = steps.map(|(number, step)| match step {
        Step::Create(path, object) => format!("  {number}: create {path} {object}"),
        Step::Patch(path, patch) | Step::MayPatch(path, patch) => {
            format!("  {number}: patch {path} {patch}")
        }
        other => format!("  {number}: {other:?}"),
    });
    format!("{}\n{}", scenario.name, steps.collect::<Vec<String>>().join("\n"))
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
        Step::ScaleSet(image, replicas) => {
            scenario::scale_set(arm, namespace, image, *replicas);
        }
        Step::RelabelOnePod(label) => scenario::relabel_one_pod(arm, namespace, label),
    }
    None
}
