//! Kivi's inputs: a configuration directory, a directory of logs, its uniform JSON. Whoever has the files hands in
//! their names and texts.
//!
//! Errors name file, field and what was expected. What Kivi leaves unread or reads otherwise than Kubernetes does is no
//! error: it is told as a note.

use std::fmt;

use super::{description::Description, sizes::Bounds, sizes::Size};

mod configs;
pub mod directory;
mod document;
mod field;
mod growing;
mod intents;
pub mod logs;
mod manifests;
mod notes;
mod table;
pub mod uniform;

/// A file that was handed in.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its path below the directory, with `/`.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// What was read.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// The cluster as it is described: of a configuration directory, with as many nodes and pods as `num` says.
    pub description: Description,
    /// How it grows; none if there is one cluster only.
    pub growing: Option<Growing>,
    /// What Kivi leaves unread, or misreads.
    pub notes: Vec<Note>,
}

/// How a cluster grows.
#[derive(Debug, Clone)]
pub struct Growing {
    /// How far.
    pub bounds: Bounds,
    /// The cluster with one node of each type.
    types: Description,
    /// How each deployment grows.
    replicas: Vec<growing::Replicas>,
}

impl Growing {
    /// The cluster of a size.
    pub fn of_size(&self, size: &Size) -> Description {
        growing::of_size(&self.types, &self.replicas, self.bounds.pods_per_node_max, size)
    }
}

/// Something to be told about an input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// In which file.
    pub file: String,
    /// Where: fields and indices, with dots.
    pub field: String,
    /// What.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Note { file, field, text } = self;
        write!(f, "{file}: {field}: {text}")
    }
}

/// Why an input can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// A file that has to be there is not.
    #[error("read {directory}: there is no {file}, {what}")]
    Missing {
        /// What kind of directory.
        directory: &'static str,
        /// The file.
        file: &'static str,
        /// What is in it.
        what: &'static str,
    },
    /// A file is not of its format.
    #[error("read {file}: {why}")]
    Format {
        /// Which.
        file: String,
        /// Where and why.
        why: String,
    },
    /// A field is not as it should be.
    #[error("read {file}: {field}: expected {expected}, found {found}")]
    Field {
        /// In which file.
        file: String,
        /// Where: fields and indices, with dots.
        field: String,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
}

#[cfg(test)]
mod tests;
