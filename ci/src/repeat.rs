//! Integration tests again and again while something else keeps processors busy: they hold whatever the machine does,
//! because nothing in them waits for a time.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use crate::{
    report::CountedAs,
    run::{Runner, load_average},
    suites::{self, Suite},
};

/// Those that run controllers in virtual time and compare histories, and those of the processes below that.
pub const TESTS: &[&str] = &["time", "forks", "replay", "machine"];

/// Runs each suite so often, with so many threads spinning all along, and prints a line a round.
pub fn rounds(runner: &mut Runner, suites: &[Suite], times: u32, load: usize) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..load {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let lines: Vec<String> =
            (1..=times).map(|number| round(runner, suites, (number, times))).collect();
        done.store(true, Ordering::Relaxed);
        let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        println!("\n{} with {load} threads spinning on the same machine", names.join(", "));
        lines.iter().for_each(|line| println!("{line}"));
    });
}

/// One round of so many, and what is said of it.
fn round(runner: &mut Runner, suites: &[Suite], (number, times): (u32, u32)) -> String {
    let (began, before) = (Instant::now(), runner.counts);
    for suite in suites {
        let name = format!("{}, round {number}", suite.name);
        println!("\n=== {name}");
        let command = suites::command(runner, suite, &[]);
        let report = runner.execute(&name, command, CountedAs::Tests, &mut runner.stream());
        runner.take(report);
    }
    format!(
        "round {number:>3} of {times}: {:>4} passed, {} failed, {:>4} s, load average {}",
        runner.counts.passed - before.passed,
        runner.counts.failed - before.failed,
        began.elapsed().as_secs(),
        load_average(),
    )
}
