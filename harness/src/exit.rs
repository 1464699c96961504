//! How the binary ends: exit codes are an interface (docs/exit-codes.md).

use std::fmt;

/// Every exit code, strongest first: when several apply, the first in this list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(into = "u8")]
pub enum Exit {
    /// Wrong usage, a wrong or unreadable file, a missing binary.
    Usage,
    /// The reference runs failed or disagree: there is nothing to compare with.
    References,
    /// A confirmed finding.
    Finding,
    /// A recording is incomplete or of an unreadable version.
    Recording,
    /// The environment failed (port, disk, cluster gone): a retry may help.
    Environment,
    /// No finding, but more plans without a verdict than `--max-unknown`.
    Unknown,
    /// Clean so far, but not complete: budget used up, or interrupted.
    Incomplete,
    /// No plan was selected.
    Nothing,
    /// All selected plans ran; no finding.
    Clean,
}

impl Exit {
    /// The process exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Usage => 64,
            Exit::References => 105,
            Exit::Finding => 100,
            Exit::Recording => 106,
            Exit::Environment => 75,
            Exit::Unknown => 2,
            Exit::Incomplete => 5,
            Exit::Nothing => 4,
            Exit::Clean => 0,
        }
    }
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> u8 {
        exit.code()
    }
}

/// A failure that the user can do something about: its message says what.
#[derive(Debug)]
pub struct Expected {
    /// Which exit code it means.
    pub exit: Exit,
    /// What happened, where, and what to do.
    pub message: String,
}

impl Expected {
    /// Wraps a message for the user with the exit code that it means.
    pub fn error(exit: Exit, message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Expected { exit, message: message.into() })
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Expected {}

/// The exit code that an error means: the innermost [`Expected`], or `Environment` for what nobody
/// foresaw in the world outside (IO errors).
pub fn exit_of(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<Expected>().map_or(Exit::Environment, |expected| expected.exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_is_as_documented() {
        let mut exits = [
            Exit::Clean,
            Exit::Incomplete,
            Exit::Finding,
            Exit::Usage,
            Exit::References,
            Exit::Unknown,
        ];
        exits.sort();
        let codes: Vec<u8> = exits.iter().map(|exit| exit.code()).collect();
        assert_eq!(codes, [64, 105, 100, 2, 5, 0]);
    }
}
