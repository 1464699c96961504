//! What happened to the subject's processes.

use serde::{Deserialize, Serialize};

use crate::call::Actor;

/// Something happened to one incarnation of the subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessEvent {
    /// Which subject.
    pub actor: Actor,
    /// Which start of it, from 0.
    pub incarnation: u32,
    /// What happened.
    pub what: ProcessHappening,
}

/// What can happen to a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessHappening {
    /// It was started.
    Started {
        /// Program and arguments.
        command: Vec<String>,
        /// Process id as this machine numbers it.
        pid: i32,
    },
    /// We killed it (SIGKILL).
    Killed,
    /// It ended by itself.
    Exited {
        /// Exit code, if it exited.
        code: Option<i32>,
        /// Signal number, if a signal ended it.
        signal: Option<i32>,
    },
    /// We stopped it (it runs no instruction until thawed).
    Frozen,
    /// It goes on.
    Thawed,
    /// It wrote a line to stdout or stderr.
    Line {
        /// Without the line end; bytes that are not UTF-8 are replaced.
        text: String,
    },
}
