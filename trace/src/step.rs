//! What the workload did, and the moments at which all had settled.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::Revision;

/// How far the workload is: everything *before* this position has been done.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Cursor {
    /// Index into the workload's flat list of operations.
    pub operation: u32,
    /// Documents of that operation already sent (an `apply` of a file with three documents is three calls).
    pub document: u32,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.operation, self.document)
    }
}

/// Where an operation of the workload stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepState {
    /// It begins.
    Started,
    /// It did what it says.
    Done,
    /// It can't: an assertion that does not hold and that nothing pending can change, a refused write,
    /// a command that failed.
    Failed {
        /// What was expected and what was found.
        message: String,
        /// The first thing that it lacks; none of what is no check, and in histories of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unmet: Option<Unmet>,
    },
}

/// What a check lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unmet {
    /// Key of the object, or the selection: `pods/default with app=web`.
    pub object: String,
    /// In which way it is not as expected.
    pub how: Lack,
}

/// How an object is not as a check expects it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lack {
    /// It is not there.
    Missing,
    /// It is there.
    Present,
    /// It has another value at this path: `.status.replicas`, `.status.conditions[Ready]`.
    Field(String),
}

/// One operation of the workload moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepEvent {
    /// `Started` and `Failed`: the position of the operation. `Done`: the position reached by it; an
    /// operation that sends several documents is `Done` once for each.
    pub cursor: Cursor,
    /// As a person would name it: `step 2 "scale down": patch bars.example.com/default/bar`.
    pub title: String,
    /// Where it stands.
    pub state: StepState,
}

/// All was quiet, and stayed so over the horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    /// The workload position at which it settled.
    pub cursor: Cursor,
    /// Whether the workload had ended: this is an end state.
    pub end: bool,
    /// The store's revision.
    pub revision: Revision,
    /// Timers that lie beyond the horizon and were not waited for, as a person would name them.
    pub pending: Vec<String>,
    /// Every object of the world, without bookkeeping, in key order.
    pub state: Vec<Arc<Value>>,
}
