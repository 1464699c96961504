//! The built-in controllers against the real ones: kube-controller-manager in front of kube-apiserver and etcd.
//!
//! Each scenario is a list of requests, sent to both arms in a namespace of its own. After each step the embedded
//! arm comes to rest, and the real one must come to the same state in comparison form (`form.rs`). Neither arm has
//! a node, a scheduler or a kubelet: the scenario says when pods become ready, and does it the same way to both.

mod arm;
mod form;
mod generated;
mod scenario;

use trommel_tests::{Need, needs, root};

use arm::{Arm, Embedded, Real};
use scenario::{Scenario, Step};

/// How many scenarios are drawn, on top of those by hand.
const GENERATED: u64 = 100;
/// How many are played side by side.
const AT_ONCE: usize = 4;

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
    scenarios.extend((0..GENERATED).map(generated::scenario));
    let different: Vec<String> = std::thread::scope(|scope| {
        let share = scenarios.len().div_ceil(AT_ONCE);
        let parts = scenarios.chunks(share).enumerate().map(|(number, part)| {
            let real = Real::new(&cluster.kubeconfig, folder.join(format!("body-{number}.json")));
            scope.spawn(move || {
                let told = part.iter().filter_map(|one| compare(one, &Embedded::new(), &real));
                told.collect::<Vec<String>>()
            })
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
    });
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Plays a scenario on both arms; what differs at the first step where they don't agree.
fn compare(scenario: &Scenario, embedded: &Embedded, real: &Real) -> Option<String> {
    for arm in [embedded as &dyn Arm, real] {
        let namespace = serde_json::json!({"metadata": {"name": scenario.name}});
        arm.must("POST", "/api/v1/namespaces", Some(namespace));
    }
    for (number, step) in scenario.steps.iter().enumerate() {
        play(embedded, &scenario.name, step);
        play(real, &scenario.name, step);
        embedded.rest();
        let expect = form::of(embedded, &scenario.name);
        if let Err(found) = real.comes_to(&expect, &scenario.name) {
            let title = format!("{}, step {number}: {step:?}", scenario.name);
            return Some(format!("{title}\n{}", form::difference(&expect, &found)));
        }
    }
    None
}

fn play(arm: &dyn Arm, namespace: &str, step: &Step) {
    let at = |path: &str| path.replace("NS", namespace);
    match step {
        Step::Create(path, object) => {
            let object = scenario::with_uids(arm, namespace, object);
            arm.must("POST", &at(path), Some(object));
        }
        Step::Patch(path, patch) => arm.must("PATCH", &at(path), Some(patch.clone())),
        Step::Delete(path, policy) => {
            let options = policy.map(|policy| serde_json::json!({"propagationPolicy": policy}));
            arm.must("DELETE", &at(path), options);
        }
        Step::Ready => scenario::make_ready(arm, namespace),
        Step::ReadyOne => scenario::make_one_ready(arm, namespace),
        Step::DeleteOnePod => scenario::delete_one_pod(arm, namespace),
    }
}
