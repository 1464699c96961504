//! Acts as the user: chainsaw suites, step by step.
//!
//! A [`Workload`] is a chainsaw `Test` (`chainsaw.kyverno.io/v1alpha1`), or the same with three operations
//! of ours (`trommel.dev/v1alpha1`: `settle`, `restart`, `concurrently`), as a flat list of [`Operation`]s. It
//! is carried out by whoever holds it, one operation at a time: [`act`] sends one document, [`check`] looks once,
//! [`run`] runs a program. So the caller can stop after any call, fork the world there, and go on in another
//! process from the same [`trace::Cursor`].
//!
//! Decisions:
//! - In process, and not chainsaw itself: chainsaw waits by the wall clock, 50 ms at a time, and can't be
//!   resumed. Ours asks when something has changed, on the world's clock.
//! - Anything of chainsaw's that we don't do is an error that says where (file:line:column) and what to do.
//! - The API is reached over HTTP only: a workload can't tell the clusters apart.
//!
//! Reading order: `node` and `fields` read YAML with positions; `expression`, `template` and `tree` are the
//! languages in it; `load` makes a [`Workload`] of it; [`act`], [`check`] and [`run`] carry it out over
//! a [`Client`].

mod act;
mod check;
mod client;
mod expression;
mod fields;
mod functions;
mod install;
mod jsonpath;
mod kustomize;
mod load;
pub mod manifest;
mod node;
mod operation;
mod place;
mod programs;
mod run;
mod scalar;
mod scope;
mod template;
mod tree;
mod unknown;
mod workload;

pub use act::{ActError, ActOutcome, act, webhook_is_down};
pub use check::{CheckError, CheckOutcome, check};
pub use client::{Body, BoxError, Client, ClientError, Resource, Upstream};
pub use install::{InstallError, apply_manifests};
pub use operation::{Act, ActVerb, Check, Operation, OperationKind, Phase, Run};
pub use place::{LoadError, Place};
pub use programs::{Asleep, Programs};
pub use run::{OUTPUT_BYTES_MAX, RunContext, RunError, RunOutcome, run};
pub use unknown::unknown;
pub use workload::{NotResumable, Workload};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
