//! The stages of `trommel serve --kubelet-only` where the user gives none: pods run, or end well if a Job made them or
//! nobody and they are not always restarted, and go when they are deleted, all at once; nodes are ready. In their outcome those of kwok's
//! `pod-fast` (where bare pods run on) and `node-fast`, in words of our own.

use crate::stages::{StageError, Stages};

const PODS: &str = include_str!("defaults/pods.yaml");
const NODES: &str = include_str!("defaults/nodes.yaml");

/// They.
///
/// # Errors
/// None that a user could cause.
pub fn stages() -> Result<Stages, StageError> {
    Stages::read([("defaults/pods.yaml", PODS), ("defaults/nodes.yaml", NODES)])
}
