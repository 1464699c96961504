//! Reads what test programs say about themselves.

use std::{fmt, time::Duration};

use crate::report::TestTime;

/// How many checks ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// They held.
    pub passed: u64,
    /// They did not.
    pub failed: u64,
    /// They could not run here.
    pub skipped: u64,
}

impl Counts {
    /// Adds others to these.
    pub fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Of a failed test's output, so many lines are repeated at the end of a run.
const SAID_AT_MOST: usize = 24;

/// Sums up the lines of `cargo test -- --show-output`.
///
/// The test harness of Rust knows no skipping at run time. A test that can't run here therefore passes and
/// says `skipped: reason` on stdout (`trommel_tests::needs`); such lines move it from passed to skipped.
#[derive(Debug, Default)]
pub struct Counter {
    said: Counts,
    /// Why tests skipped.
    pub skips: Vec<String>,
    /// What failed tests said, each program's between its lines `failures:` and `test result:`: of each test the
    /// first [`SAID_AT_MOST`] lines from its panic on. All of it stands where the test ran.
    pub failures: Vec<String>,
    in_failures: bool,
    /// How many lines may still be kept of the test that is being told.
    left: usize,
    /// Tests that the harness called slow and that have not ended since.
    under_way: Vec<String>,
    /// Tests in the order of their ends, with the time since the program's start.
    ended: Vec<(String, Duration)>,
}

impl Counter {
    /// Looks at one line, said so long after the program's start.
    pub fn line(&mut self, line: &str, at: Duration) {
        self.progress(line, at);
        self.failure(line);
        if let Some(result) = line.strip_prefix("test result: ") {
            let number = |noun: &str| {
                let before = result.split(noun).next().filter(|before| before.len() < result.len());
                let digits = before.and_then(|before| before.split_whitespace().last());
                digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
            };
            self.said.add(Counts {
                passed: number(" passed"),
                failed: number(" failed"),
                skipped: number(" ignored"),
            });
        } else if let Some(reason) = line.strip_prefix("skipped: ") {
            self.skips.push(reason.to_owned());
        }
    }

    /// A line between `failures:` and `test result:`, if it is one.
    fn failure(&mut self, line: &str) {
        self.in_failures |= line == "failures:";
        let heads =
            ["failures:", "test result: ", "---- "].iter().any(|head| line.starts_with(head));
        // A test's own output may be long; its panic says what is wrong.
        let begins = heads || line.contains(" panicked at ");
        self.left = if begins { SAID_AT_MOST } else { self.left };
        if self.in_failures && self.left > 0 {
            self.failures.push(line.to_owned());
            self.left -= 1;
        }
        self.left = if line == "stack backtrace:" { 0 } else { self.left };
        self.in_failures &= !line.starts_with("test result: ");
    }

    /// `test NAME has been running for over 60 seconds`, and later `test NAME ... ok`.
    fn progress(&mut self, line: &str, at: Duration) {
        let Some(rest) = line.strip_prefix("test ") else { return };
        if let Some((name, _)) = rest.split_once(" has been running for over ") {
            self.under_way.push(name.to_owned());
        } else if let Some((name, _)) = rest.split_once(" ... ") {
            self.under_way.retain(|slow| slow != name);
            self.ended.push((name.to_owned(), at));
        }
    }

    /// Each test's time. The harness doesn't tell it, but begins tests in the order of their names, as many at once as
    /// there are processors, and the next one as soon as one has ended.
    pub fn tests(&self, suite: &str) -> Vec<TestTime> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut by_name: Vec<&(String, Duration)> = self.ended.iter().collect();
        by_name.sort();
        let began = |index: usize| match index.checked_sub(threads) {
            Some(before) => self.ended[before].1,
            None => Duration::ZERO,
        };
        let test = |(index, (name, ended)): (usize, &&(String, Duration))| TestTime {
            name: format!("{suite}: {name}"),
            took: ended.saturating_sub(began(index)),
        };
        by_name.iter().enumerate().map(test).collect()
    }

    /// Tests that are known to have begun and not to have ended.
    pub fn under_way(&self) -> &[String] {
        &self.under_way
    }

    /// All of it.
    pub fn counts(&self) -> Counts {
        let skips = (self.skips.len() as u64).min(self.said.passed);
        let Counts { passed, failed, skipped } = self.said;
        Counts { passed: passed - skips, failed, skipped: skipped + skips }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_test_harness() {
        let check = |lines: &[&str], expect: &str| {
            let mut counter = Counter::default();
            lines.iter().for_each(|line| counter.line(line, Duration::ZERO));
            assert_eq!(counter.counts().to_string(), expect);
        };
        let ok = "test result: ok. 16 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.3s";
        let bad = "test result: FAILED. 1 passed; 5 failed; 0 ignored; 0 measured; 0 filtered out";
        check(&["running 3 tests", "test a ... ok"], "0 passed, 0 failed, 0 skipped");
        check(&[ok, bad], "17 passed, 5 failed, 2 skipped");
        check(&["skipped: go is not on this machine", ok], "15 passed, 0 failed, 3 skipped");
        check(&["not skipped: x"], "0 passed, 0 failed, 0 skipped");
    }

    /// Of as many threads as this machine has: all but the last test begin at once.
    #[test]
    fn a_test_begins_when_one_before_it_ended() {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let seconds = Duration::from_secs;
        let mut counter = Counter::default();
        for index in 0..threads {
            counter.line(&format!("test t{index:03} ... ok"), seconds(2));
        }
        counter.line("test u ... FAILED", seconds(5));
        let times = counter.tests("s");
        assert_eq!(times[0], TestTime { name: "s: t000".to_owned(), took: seconds(2) });
        assert_eq!(times[threads], TestTime { name: "s: u".to_owned(), took: seconds(3) });
    }

    #[test]
    fn tests_under_way() {
        let mut counter = Counter::default();
        let slow =
            ["a", "b"].map(|name| format!("test {name} has been running for over 60 seconds"));
        slow.iter().for_each(|line| counter.line(line, Duration::ZERO));
        counter.line("test a ... ok", Duration::ZERO);
        assert_eq!(counter.under_way(), ["b"]);
    }

    #[test]
    fn of_a_long_failure_the_panic_is_kept() {
        let mut counter = Counter::default();
        let mut say = |line: &str| counter.line(line, Duration::ZERO);
        ["failures:", "---- a stdout ----"].iter().for_each(|line| say(line));
        (0..500).for_each(|n| say(&format!("step {n}")));
        let end = ["thread 'a' panicked at a.rs:1:1:", "it is 2", "stack backtrace:"];
        end.iter().for_each(|line| say(line));
        (0..9).for_each(|n| say(&format!("{n}: a_frame")));
        say("test result: FAILED. 0 passed; 1 failed;");
        assert_eq!(counter.failures.len(), 1 + SAID_AT_MOST + end.len() + 1);
        assert!(counter.failures.ends_with(&[
            end[1].to_owned(),
            end[2].to_owned(),
            counter.failures.last().unwrap().clone()
        ]));
    }

    #[test]
    fn what_failed_tests_said_is_kept() {
        let failure =
            ["failures:", "", "---- a stdout ----", "it is 2", "", "failures:", "    a", ""];
        let result =
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        let mut counter = Counter::default();
        let before = ["test a ... FAILED", "successes:", "    b"];
        for line in before.iter().chain(&failure).chain(&[result, "Running others"]) {
            counter.line(line, Duration::ZERO);
        }
        assert_eq!(counter.failures, [&failure[..], &[result]].concat());
    }
}
