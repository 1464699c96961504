//! Commits: the store went from one revision to the next.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    call::{Actor, CallId},
    key::{ObjectKey, Revision},
};

/// What a commit did to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It did not exist before.
    Created,
    /// It existed and exists.
    Updated,
    /// It exists no more.
    Deleted,
}

/// One revision of the store: exactly one object changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    /// The revision that this commit made.
    pub revision: Revision,
    /// What it did.
    pub change: Change,
    /// To which object.
    pub key: ObjectKey,
    /// The object after the commit; its last state for deletions.
    pub object: Arc<Value>,
    /// Who asked for it.
    pub actor: Actor,
    /// By which call, if it came through a proxy.
    pub call: Option<CallId>,
    /// Whether it changed nothing but what the campaign calls a heartbeat ([`crate::Heartbeats`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub heartbeat: bool,
}

impl Commit {
    /// Leases, Events and heartbeats: no part of a world's identity.
    pub fn is_bookkeeping(&self) -> bool {
        self.heartbeat || self.key.resource.is_bookkeeping()
    }

    /// Whether the request that made it goes on and removes the object: watches see that a pod gets no time before it
    /// goes (`updateForGracefulDeletionAndFinalizers` of the generic registry).
    pub fn precedes_removal(&self) -> bool {
        let meta = &self.object["metadata"];
        *self.key.resource.resource == *"pods"
            && self.change == Change::Updated
            && meta["deletionGracePeriodSeconds"] == 0
            && meta["finalizers"].as_array().is_none_or(Vec::is_empty)
    }
}
