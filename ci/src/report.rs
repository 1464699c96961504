//! What a check came to: its output, counts and times, told all at once when it ended.

use std::time::Duration;

use crate::count::{Counter, Counts};

/// What a command's outcome is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedAs {
    /// One check, by its exit code.
    OneCheck,
    /// As many as its `test result:` lines say.
    Tests,
    /// Nothing unless it fails: a preparation.
    Preparation,
}

/// A test, and for how long it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct TestTime {
    /// The suite and the test in it.
    pub name: String,
    /// By the clock, beside whatever else ran.
    pub took: Duration,
}

/// A check that ended.
#[derive(Debug, Default)]
pub struct Report {
    /// What it is called.
    pub name: String,
    /// By the clock, beside whatever else ran.
    pub took: Duration,
    /// How many checks it counts as.
    pub counts: Counts,
    /// Why it failed.
    pub failed: Option<String>,
    /// What its failed tests said.
    pub failures: Vec<String>,
    /// What could not run here, with the reason.
    pub skipped: Vec<String>,
    /// Its tests.
    pub tests: Vec<TestTime>,
}

impl Report {
    /// Of one check that is no command.
    pub fn of_check(name: &str, took: Duration, failed: Option<String>) -> Report {
        let mut counts = Counts::default();
        match failed {
            Some(_) => counts.failed = 1,
            None => counts.passed = 1,
        }
        Report { name: name.to_owned(), took, counts, failed, ..Report::default() }
    }

    /// Of a command with this output.
    pub fn of_command(
        name: &str,
        took: Duration,
        failed: Option<String>,
        counted: CountedAs,
        counter: Counter,
    ) -> Report {
        let mut report = Report { name: name.to_owned(), took, failed, ..Report::default() };
        if counted == CountedAs::Tests {
            report.counts = counter.counts();
            report.tests = counter.tests(name);
            report.skipped = counter.skips.iter().map(|why| format!("{name}: {why}")).collect();
            report.failures = counter.failures;
        }
        match &report.failed {
            // A command can fail without a failed test: it did not build, or a test process died.
            Some(_) => report.counts.failed = report.counts.failed.max(1),
            None if counted == CountedAs::OneCheck => report.counts.passed += 1,
            None => {}
        }
        report
    }
}
