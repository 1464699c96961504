//! The built-in controllers against the real ones: kube-controller-manager in front of kube-apiserver and etcd.
//!
//! Each scenario is a list of requests, sent to both arms in a namespace of its own. After each step the embedded
//! arm comes to rest, and the real one must come to the same state in comparison form (`form.rs`). Neither arm has
//! a node, a scheduler or a kubelet: the scenario says when pods become ready, and does it the same way to both.

mod arm;
mod daemons;
mod form;
mod generated;
mod jobs;
mod scenario;
mod services;
mod stateful;

use std::sync::atomic::{AtomicUsize, Ordering};

use trommel_tests::{Need, needs, root};

use arm::{Arm, Embedded, Real};
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
    let folder = root().join("target/tests/environment");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let cluster = trommel_tests::real::Cluster::start(&folder, &["--controllers"]);
    let mut scenarios = scenario::all();
    scenarios.extend(stateful::all());
    scenarios.extend(jobs::all());
    scenarios.extend(daemons::all());
    scenarios.extend(services::all());
    // For a long run: that many.
    let drawn =
        std::env::var("TROMMEL_GENERATED").map_or(GENERATED, |n| n.parse().expect("a number"));
    scenarios.extend((0..drawn).map(generated::scenario));
    // While a scenario is being written: those whose names begin so.
    if let Ok(only) = std::env::var("TROMMEL_SCENARIOS") {
        scenarios.retain(|scenario| only.split(',').any(|name| scenario.name.starts_with(name)));
    }
    let (scenarios, next) = (&scenarios, &AtomicUsize::new(0));
    let different: Vec<String> = std::thread::scope(|scope| {
        let parts = (0..AT_ONCE).map(|number| {
            let real = Real::new(&cluster.kubeconfig, folder.join(format!("body-{number}.json")));
            let mine = std::iter::from_fn(|| scenarios.get(next.fetch_add(1, Ordering::Relaxed)));
            scope.spawn(move || mine.filter_map(|one| told(one, &real)).collect::<Vec<String>>())
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
    });
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// What differs, or what was refused. Real controllers run side by side, and some ends are a matter of chance: ours
/// has to be one of those that they come to, and a scenario whose first end was another one says so.
#[allow(clippy::print_stdout)] // for whoever reads the log of a long run
fn told(scenario: &Scenario, real: &Real) -> Option<String> {
    let mut first = None;
    for attempt in 1..=ATTEMPTS {
        let name = match attempt {
            1 => scenario.name.clone(),
            _ => format!("{}-again-{attempt}", scenario.name),
        };
        let found = once(&Scenario { name, ..scenario.clone() }, real)?;
        println!("attempt {attempt} of {ATTEMPTS}: {found}");
        first.get_or_insert(found);
    }
    first
}

fn once(scenario: &Scenario, real: &Real) -> Option<String> {
    let compared = std::panic::AssertUnwindSafe(|| compare(scenario, &Embedded::new(), real));
    let refused = |_| Some(format!("{}: refused, see above", scenario.name));
    std::panic::catch_unwind(compared).unwrap_or_else(refused)
}

/// Plays a scenario on both arms; what differs at the first step where they don't agree.
fn compare(scenario: &Scenario, embedded: &Embedded, real: &Real) -> Option<String> {
    for arm in [embedded as &dyn Arm, real] {
        let namespace = serde_json::json!({"metadata": {"name": scenario.name}});
        arm.must("POST", "/api/v1/namespaces", Some(namespace));
    }
    let more = form::more(scenario);
    for (number, step) in scenario.steps.iter().enumerate() {
        play(embedded, &scenario.name, step);
        play(real, &scenario.name, step);
        embedded.rest();
        let state = |arm: &dyn Arm| form::of(arm, &scenario.name, &more);
        let expect = state(embedded);
        if let Err(found) = real.comes_to(&expect, &state) {
            let title = format!("{}, step {number}: {step:?}", scenario.name);
            return Some(format!("{title}\n{}", form::difference(&expect, &found)));
        }
    }
    None
}

/// `$NS` in an object's texts is the scenario's namespace: for objects that live in none.
fn named(object: &serde_json::Value, namespace: &str) -> serde_json::Value {
    let text = object.to_string().replace("$NS", namespace);
    serde_json::from_str(&text).expect("it was JSON")
}

fn play(arm: &dyn Arm, namespace: &str, step: &Step) {
    let at = |path: &str| path.replace("NS", namespace);
    match step {
        Step::Create(path, object) => {
            let object = scenario::with_uids(arm, namespace, &named(object, namespace));
            arm.must("POST", &at(path), Some(object));
        }
        Step::Patch(path, patch) => arm.must("PATCH", &at(path), Some(named(patch, namespace))),
        Step::Delete(path, policy) => {
            let options = policy.map(|policy| serde_json::json!({"propagationPolicy": policy}));
            arm.must("DELETE", &at(path), options);
        }
        Step::Post(path, object, expect) => {
            let (code, answer) = arm.send("POST", &at(path), Some(named(object, namespace)));
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
    }
}
