//! Two-phase commit by one engine: `two_phase_commit ENGINE MANAGERS [THREADS]`, for measuring two engines side by side.
//!
//! Engines: `breadth`, `depth` and `symmetry` are ours, `stateright-breadth` and `stateright-depth` run the same system
//! in stateright 0.31. Time and memory are measured from outside.

#![allow(clippy::print_stdout, reason = "a program for people")]

use std::{env, num::NonZeroUsize};

use model::{Counts, Search, systems::two_phase_commit::TwoPhaseCommit};

#[path = "../tests/search/against.rs"]
mod against;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [engine, managers, rest @ ..] = &arguments[..] else {
        panic!("usage: two_phase_commit ENGINE MANAGERS [THREADS]");
    };
    let managers = managers.parse().expect("a number of resource managers");
    let threads: NonZeroUsize =
        rest.first().map_or("2", String::as_str).parse().expect("a number of threads");
    let system = TwoPhaseCommit { managers };
    let Counts { generated, distinct, depth, .. } = match engine.as_str() {
        "stateright-breadth" | "stateright-depth" => {
            let breadth = engine == "stateright-breadth";
            let (generated, distinct) = against::counts(system, threads.get(), breadth);
            Counts { generated, distinct, ..Counts::default() }
        }
        ours => counts(system, ours, threads),
    };
    println!("{engine} {managers}: {generated} generated, {distinct} distinct, depth {depth}");
}

fn counts(system: TwoPhaseCommit, engine: &str, threads: NonZeroUsize) -> Counts {
    let properties = system.properties();
    let mut search = Search::new(&system, &properties);
    search.threads = threads;
    search.symmetry = engine == "symmetry";
    let report = match engine {
        "breadth" | "symmetry" => search.breadth_first(),
        "depth" => search.depth_first(),
        other => panic!("no engine `{other}`"),
    };
    let report = report.expect("the properties are symmetric");
    assert!(report.verdicts.iter().all(|(_, verdict)| verdict.is_held()), "two-phase commit holds");
    report.counts
}
