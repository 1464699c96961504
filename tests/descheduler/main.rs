//! Our descheduler beside the real one (`sigs.k8s.io/descheduler` 0.36.0), one cycle each on the same objects: it has
//! to evict the same pods.
//!
//! The real one runs once (`--descheduling-interval 0`) in front of `trommel serve` without any controller, so that
//! what it evicts stays and is seen to be going. Ours is the built-in one, alone in an embedded cluster. By hand
//! (`scenarios.yaml`): pods that are alike have the same name but for a number, and evictions are compared by those
//! names: which of pods that are alike goes is chance upstream. Drawn from a seed (`drawn.rs`): what else is chance
//! there, the order of Go's maps, is played here in many orders, and the real one must have come to one of their ends.
#![allow(clippy::print_stdout)] // for whoever reads the log of a long run

#[path = "../environment/arm.rs"]
#[allow(dead_code)] // what only the other target uses
mod arm;
mod drawn;
mod played;

use std::{collections::BTreeSet, path::PathBuf, process::Command};

use trommel_tests::{Need, needs, product::yaml, real::Access, root, served::Served};

use arm::Real;
use played::{Evicted, Program, Scenario};

/// How many scenarios are drawn.
const GENERATED: u64 = 20;

/// In how many orders ours goes through what upstream keeps in maps: all of four things.
const ORDERS: usize = 24;

#[test]
fn the_real_descheduler_evicts_the_same() {
    if !needs(&[Need::Go]) {
        return;
    }
    let folder = root().join("target/tests/descheduler");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let served = Served::start(&folder, &["--environment", "none"]);
    let real = Real::new(&Access::by(&served.kubeconfig), arm::PATIENCE);
    let program = Program { path: build(), kubeconfig: served.kubeconfig.clone(), folder };
    let mut different: Vec<String> = Vec::new();
    let mut compare = |scenario: &Scenario, orders: usize| {
        let theirs = played::by_theirs(scenario, &real, &program);
        let ours: BTreeSet<Evicted> =
            (0..orders).map(|order| played::by_ours(scenario, order)).collect();
        let agrees = ours.contains(&theirs);
        println!("{}: {theirs:?} {}", scenario.name, if agrees { "agrees" } else { "differs" });
        if !agrees {
            different.push(format!("{}: {theirs:?}, ours {ours:?}", scenario.name));
        }
    };
    for scenario in by_hand() {
        compare(&scenario, 1);
    }
    // For a long run: from which seed on, and how many.
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
    };
    let first = number("TROMMEL_FIRST", 0);
    for seed in first..first + number("TROMMEL_GENERATED", GENERATED) {
        compare(&drawn::scenario(seed), ORDERS);
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Those by hand; while one is being written, those whose names begin so.
fn by_hand() -> Vec<Scenario> {
    let all = yaml(&root().join("tests/descheduler/scenarios.yaml"));
    let all: Vec<Scenario> = serde_json::from_value(all).expect("scenarios");
    let only = std::env::var("TROMMEL_SCENARIOS").unwrap_or_default();
    let wanted = |one: &Scenario| only.split(',').any(|name| one.name.starts_with(name));
    all.into_iter().filter(wanted).collect()
}

/// The real descheduler.
fn build() -> PathBuf {
    let script = root().join("tests/reference/descheduler/build.sh");
    let said = Command::new(script).output().expect("a script");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).trim().into()
}
