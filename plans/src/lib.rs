//! What to do to a run, as values: where it starts, which legal anomalies it lives through, and why.
//!
//! Pure: no IO, no clock, no randomness. A perturbation carries the argument for its legality, so that
//! one without an argument can't be built.
//!
//! Reading order: [`moment`] says *when*, [`perturbation`] *what*, [`plan`] puts them together,
//! [`schedule`] is the model that is learnt from histories: what could have been interleaved, how types are read. From it
//! follow the plans: [`crash_points`](mod@crash_points) lists where to crash, [`mod@stale_views`] at which states caches could be
//! behind, [`stale_read`] how a client comes to read one of them, [`mod@unobserved_intervals`] what may never be seen; [`heuristics`] guesses which of them come first; [`prune`] counts what was left out and why, [`replay`] is the
//! file for the author.
//!
//! A model checker would emit [`plan`]s, in a crate of its own; there is none.

pub mod moment;
pub mod perturbation;
pub mod plan;

pub mod crash_points;
#[cfg(test)]
mod fixture;
pub mod heuristics;
pub mod prune;
pub mod replay;
pub mod schedule;
pub mod stale_read;
pub mod stale_views;
pub mod unobserved_intervals;

pub use crash_points::{CrashPoint, StartPoint, crash_points};
pub use heuristics::{Heuristics, Likelihood};
pub use moment::{By, CallMatch, ChangeMatch, CommitMatch, Moment, NamePattern, Occurred};
pub use perturbation::{
    Anomaly, Behind, CatchUp, Citation, Crash, DroppedCall, Family, LegalOn, Perturbation, Release,
    Restart, StaleState, UnobservedState,
};
pub use plan::{OperationShape, Plan, PlanId, Surroundings};
pub use prune::{Pruned, Rule};
pub use replay::{Expectation, Replay};
pub use schedule::{FirstRead, Observed, Schedule};
pub use stale_read::StaleRead;
pub use stale_views::{StaleView, StaleViews, stale_views};
pub use unobserved_intervals::{UnobservedInterval, unobserved_intervals};
