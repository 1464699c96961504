//! Stages of the lives of pods and nodes, in kwok's own files (`kwok.x-k8s.io/v1alpha1`, kind `Stage`).
//!
//! A stage says which objects it is for, how long after they came to look like this it is played, and what is written
//! then. Whoever plays them (the embedded cluster, or `trommel serve --kubelet-only`) holds the objects, the clock and
//! the connection; here are decisions only. No IO, no clock, no dice: chance comes from a text that the caller gives
//! ([`Chance`]), so the same object at the same age always comes to the same stage.
//!
//! Reading order: [`file`] (the format), [`Stages`] (many files, checked), `stage` (which one, and when), [`steps`]
//! (what it writes), `template` and `query` (the two languages in the files), [`Schedule`] (who waits for what).
//!
//! What kwok does otherwise, and who could notice:
//! - A change after which no stage matches cancels what an object was waiting for; kwok plays it all the same.
//! - A pod that has an address keeps it: `PodIPWith` says that one; kwok gives another.
//! - `NodeName` is the node's own name and `NodeIP` its own address; kwok's are those of its own process.
//! - Numbers in templates and selectors are numbers; in kwok those of the object are texts in templates, and those that
//!   a selector finds equal nothing.

pub mod chance;
pub mod defaults;
pub mod file;
mod query;
pub mod schedule;
mod selector;
mod stage;
pub mod stages;
pub mod steps;
mod template;
mod time;

pub use chance::Chance;
pub use schedule::{Look, Schedule};
pub use stages::{StageError, Stages};
pub use steps::{Action, PatchKind, Surroundings};
