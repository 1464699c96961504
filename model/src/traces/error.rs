//! What is wrong with a text that is to be a trace or a graph, and where.

use std::fmt::{self, Display, Formatter};

use thiserror::Error;

/// Where in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Line and column, from 1; the column counts characters.
    At {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// The way to it in a JSON document, as `states[2].pc`. JSON that can be parsed is not located by lines.
    Path(String),
    /// All of it.
    Whole,
}

impl Display for Place {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::At { line, column } => write!(out, ":{line}:{column}"),
            Self::Path(path) => write!(out, ": {path}"),
            Self::Whole => Ok(()),
        }
    }
}

/// A text that can't be read: the file, the place, what is wrong there or was expected instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}{place}: {what}")]
pub struct ReadError {
    /// The name that the caller gave the text.
    pub file: String,
    /// Where.
    pub place: Place,
    /// What was found and what was expected, in words.
    pub what: String,
}

/// A [`ReadError`] before the name of the file is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    pub(crate) what: String,
}

impl Problem {
    pub(crate) fn at(line: usize, column: usize, what: impl Into<String>) -> Self {
        Self { place: Place::At { line, column }, what: what.into() }
    }

    pub(crate) fn path(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: Place::Path(path.into()), what: what.into() }
    }

    pub(crate) fn whole(what: impl Into<String>) -> Self {
        Self { place: Place::Whole, what: what.into() }
    }

    pub(crate) fn json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or_default();
        Self::at(error.line(), error.column(), format!("this is no JSON: {what}"))
    }

    pub(crate) fn of(self, file: &str) -> ReadError {
        ReadError { file: file.to_owned(), place: self.place, what: self.what }
    }
}
