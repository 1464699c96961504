//! House rules that a program can check. Shape beyond that is taught by example and review (docs/style.md).
//!
//! Each checker is a function of text, tested below it on samples that break the rule; the tests here run
//! them over the repository. Rules are data, and each exception is a row with its reason.

mod absences;
mod edges;
mod help;
mod map;
mod shape;
mod source;

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// File, relative to the root.
    pub path: String,
    /// Line from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Problem {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Problem {
        Problem { path: path.to_owned(), line, message: message.into() }
    }
}

/// Fails with all problems at once, a line each.
#[track_caller]
fn assert_none(problems: Vec<Problem>) {
    let lines: Vec<String> =
        problems.iter().map(|p| format!("{}:{}: {}", p.path, p.line, p.message)).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}
