//! The scheduler against the real kube-scheduler, in front of kube-apiserver and etcd.
//!
//! By hand (`scenarios.rs`): the same requests to both arms, and what comes of all pods is compared after each step.
//! Drawn from a seed (`generated.rs`): what our scheduler would do in the real cluster, and what the real one does.
#![allow(clippy::print_stdout)] // for whoever reads the log of a long run

#[path = "../environment/arm.rs"]
#[allow(dead_code)] // what only the other target uses
mod arm;
mod generated;
mod judge;
mod scenarios;

use controllers::branches::Branch;
use trommel_tests::{Need, needs, real::Cluster, root};

use arm::Real;
use generated::Tally;

/// How many clusters are drawn.
const GENERATED: u64 = 20;

#[test]
fn the_real_scheduler_decides_the_same() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let folder = root().join("target/tests/scheduler");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let binder = "--controllers=persistentvolume-binder-controller";
    let cluster = Cluster::start(&folder, &[binder, "--scheduler"]);
    let real = Real::new(&cluster.access(), arm::PATIENCE);
    judge::prepare(&real);
    let mut different: Vec<String> = Vec::new();
    for scenario in wanted() {
        let found = scenarios::play(&scenario, &real);
        println!("{}: {}", scenario.name, if found.is_none() { "agrees" } else { "differs" });
        different.extend(found);
    }
    // For a long run: from which seed on, and how many.
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
    };
    let first = number("TROMMEL_FIRST", 0);
    let mut tally = Tally::default();
    for seed in first..first + number("TROMMEL_GENERATED", GENERATED) {
        if let Err(found) = generated::play(seed, &real, &mut tally) {
            println!("{found}");
            different.push(found);
        }
    }
    let Tally { bound: [bound, chosen], failed, preempted } = tally;
    println!(
        "{bound} pods bound, {chosen} of them to one of several equals; {failed} could not be placed, {preempted} preempted"
    );
    assert!(different.is_empty(), "{}", different.join("\n"));
    if std::env::var("TROMMEL_SCENARIOS").is_err() {
        every_branch_was_compared();
    }
}

/// Those by hand; while one is being written, those whose names begin so.
fn wanted() -> Vec<scenarios::Scenario> {
    let mut all = scenarios::all();
    if let Ok(only) = std::env::var("TROMMEL_SCENARIOS") {
        all.retain(|scenario| only.split(',').any(|name| scenario.name.starts_with(name)));
    }
    all
}

/// A branch that nothing comes to is one that nobody has compared.
fn every_branch_was_compared() {
    let left = Branch::ALL.iter().filter(|one| one.is_of_scheduler() && !one.was_taken());
    let left: Vec<String> = left.map(|branch| format!("{branch:?}: {}", branch.text())).collect();
    assert!(left.is_empty(), "never compared:\n{}", left.join("\n"));
}
