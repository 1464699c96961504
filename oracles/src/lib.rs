//! Judges what happened in a trial against what undisturbed runs agree on.
//!
//! Pure: works on stored histories, with no cluster, no clock, no files. Same input, same verdicts.
//!
//! Reading order: [`run`] is what is judged; [`baseline`] is what it is judged against; [`judge`] runs the
//! oracles, each in its file; [`verdict`] is what they say; [`explain`] tells people why. [`legality`] looks at what
//! Trommel did, not at the controller.

pub mod baseline;
mod cause;
pub mod examine;
pub mod explain;
#[cfg(test)]
mod fixture;
mod flips;
pub mod heartbeats;
pub mod judge;
pub mod legality;
pub mod restart_writes;
mod role;
pub mod run;
pub mod verdict;

pub use baseline::{Baseline, Disagreement, Enough, Learnt, LearntMask, enough, learn};
pub use examine::Examination;
pub use explain::{Explanation, explain};
pub use judge::{judge, summary};
pub use restart_writes::{RestartWrite, RestartWrites};
pub use run::{Planned, Run, Trial};
pub use verdict::{Broken, Evidence, Fingerprint, Oracle, Parted, Severity, Verdict, VerdictValue};
