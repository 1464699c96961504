//! Clusters as models: Kubernetes' built-in controllers, a store, and what happens to them.
//!
//! The controllers are those of the embedded cluster (`world/controllers`), unchanged: pure functions from what is
//! stored to the next request. A model enumerates in which order they act, what they have read when they do, where
//! they die, and what users and nodes do meanwhile.
//!
//! Reading order: [`setup`] (what a model consists of), [`State`], [`system`] (which steps there are), [`store`] and
//! [`objects`] (what is stored), [`api`] (what requests do), [`looks`] (what controllers do next), [`history`] (what
//! they have read), [`time`].
//!
//! Where do I change …?
//!
//! - which objects a controller is asked about, and what it reads: `cluster/looks.rs`;
//! - what a write does, or why it is refused: `cluster/api.rs`, `cluster/api/edit.rs`;
//! - which stores a client may read: `cluster/history/reading.rs`;
//! - what the kubelet of a node keeps in mind: `cluster/kubelet.rs`;
//! - when two states count as one: `cluster/normal.rs`.

pub mod api;
pub mod events;
pub mod history;
pub mod kinds;
pub mod kubelet;
pub mod looks;
pub(crate) mod memo;
pub mod metrics;
mod normal;
pub mod objects;
pub mod setup;
pub mod state;
pub mod store;
pub mod system;
pub mod time;
pub mod user;
mod words;

#[cfg(test)]
mod tests;

pub use history::Consistency;
pub use objects::Objects;
pub use setup::{ClientSetup, Granularity, Setup};
pub use state::State;
pub use store::Store;
pub use system::{Action, Cluster};
