//! Reads what test programs say about themselves.

use std::fmt;

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

/// Sums up the lines of `cargo test -- --show-output`.
///
/// The test harness of Rust knows no skipping at run time. A test that can't run here therefore passes and
/// says `skipped: reason` on stdout (`trommel_tests::needs`); such lines move it from passed to skipped.
#[derive(Debug, Default)]
pub struct Counter {
    said: Counts,
    /// Why tests skipped.
    pub skips: Vec<String>,
    /// What failed tests said, each program's between its lines `failures:` and `test result:`.
    pub failures: Vec<String>,
    in_failures: bool,
    /// Tests that the harness called slow and that have not ended since.
    under_way: Vec<String>,
}

impl Counter {
    /// Looks at one line.
    pub fn line(&mut self, line: &str) {
        self.progress(line);
        self.in_failures |= line == "failures:";
        if self.in_failures {
            self.failures.push(line.to_owned());
        }
        self.in_failures &= !line.starts_with("test result: ");
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

    /// `test NAME has been running for over 60 seconds`, and later `test NAME ... ok`.
    fn progress(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test ") else { return };
        if let Some((name, _)) = rest.split_once(" has been running for over ") {
            self.under_way.push(name.to_owned());
        } else if let Some((name, _)) = rest.split_once(" ... ") {
            self.under_way.retain(|slow| slow != name);
        }
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
            lines.iter().for_each(|line| counter.line(line));
            assert_eq!(counter.counts().to_string(), expect);
        };
        let ok = "test result: ok. 16 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.3s";
        let bad = "test result: FAILED. 1 passed; 5 failed; 0 ignored; 0 measured; 0 filtered out";
        check(&["running 3 tests", "test a ... ok"], "0 passed, 0 failed, 0 skipped");
        check(&[ok, bad], "17 passed, 5 failed, 2 skipped");
        check(&["skipped: go is not on this machine", ok], "15 passed, 0 failed, 3 skipped");
        check(&["not skipped: x"], "0 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn tests_under_way() {
        let mut counter = Counter::default();
        let slow =
            ["a", "b"].map(|name| format!("test {name} has been running for over 60 seconds"));
        slow.iter().for_each(|line| counter.line(line));
        counter.line("test a ... ok");
        assert_eq!(counter.under_way(), ["b"]);
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
            counter.line(line);
        }
        assert_eq!(counter.failures, [&failure[..], &[result]].concat());
    }
}
