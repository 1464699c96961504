//! Integration tests again and again while something else keeps processors busy: they hold whatever the machine does,
//! because nothing in them waits for a time.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use crate::run::{CountedAs, Runner, load_average};

/// Those that run controllers in virtual time and compare histories, and those of the processes below that.
pub const TESTS: &[&str] = &["time", "forks", "replay", "machine"];

/// Runs each test program so often, with so many threads spinning all along, and prints a line a round.
pub fn rounds(runner: &mut Runner, tests: &[impl AsRef<str>], times: u32, load: usize) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..load {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let mut lines = Vec::new();
        for round in 1..=times {
            let (began, before) = (Instant::now(), runner.counts);
            for test in tests {
                let command = [
                    "cargo",
                    "test",
                    // As a whole, or cargo builds half of all anew, with fewer features.
                    "--workspace",
                    "--test",
                    test.as_ref(),
                    "--",
                    "--show-output",
                ];
                runner.run(
                    &format!("{}, round {round}", test.as_ref()),
                    &command,
                    CountedAs::Tests,
                );
            }
            lines.push(format!(
                "round {round:>3} of {times}: {:>4} passed, {} failed, {:>4} s, load average {}",
                runner.counts.passed - before.passed,
                runner.counts.failed - before.failed,
                began.elapsed().as_secs(),
                load_average(),
            ));
        }
        done.store(true, Ordering::Relaxed);
        let names: Vec<&str> = tests.iter().map(AsRef::as_ref).collect();
        println!("\n{} with {load} threads spinning on the same machine", names.join(", "));
        lines.iter().for_each(|line| println!("{line}"));
    });
}
