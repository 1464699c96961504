//! What to do to a run, as values: where it starts, which legal anomalies it lives through, and why.
//!
//! Pure: no IO, no clock, no randomness. A perturbation carries the argument for its legality, so that
//! one without an argument can't be built.
//!
//! Reading order: [`moment`] says *when*, [`perturbation`] *what*, [`plan`] puts them together,
//! [`schedule`] learns from a history what could have been interleaved, [`crash_points`](mod@crash_points) lists the plans that
//! follow from it, [`prune`] counts what was left out and why, [`replay`] is the file for the author.
//!
//! A model checker would emit [`plan`]s, in a crate of its own; there is none.

pub mod moment;
pub mod perturbation;
pub mod plan;

pub mod crash_points;
pub mod prune;
pub mod replay;
pub mod schedule;

pub use crash_points::{CrashPoint, StartPoint, crash_points};
pub use moment::{CallMatch, CommitMatch, Moment, NamePattern};
pub use perturbation::{Citation, Crash, DroppedCall, Family, Perturbation, Restart};
pub use plan::{Plan, PlanId};
pub use prune::{Pruned, Rule};
pub use replay::{Expectation, Replay};
