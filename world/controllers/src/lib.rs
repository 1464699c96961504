//! Kubernetes' built-in controllers as pure functions.
//!
//! A controller is [`Controller::next`]: from a [`View`] of the cluster, a key, the time and the responses
//! so far to the next [`Request`], or to being [`Next::Done`]. One key, one API request at a time, so that it
//! can be stopped between two writes, meet a 409, and be explored at any granularity.
//! [`Controller::keys_affected`] says which keys a change of the store puts on its queue. No IO, no clock, no
//! randomness: same input, same bytes out. Whoever runs them (the embedded cluster, the model checker, `trommel model
//! spawn`) holds queues, timers and the store.
//!
//! Reading order: [`object`] (what of an object is seen), [`view`] (all of them, indexed), [`request`],
//! [`calls`] (how straight-line code becomes `next`), [`controller`] (who exists), then one file a controller.
//!
//! Simplification, for all of them: upstream's live reads are answered by the view, which is the store at the
//! moment the key was taken up. Every write carries the uid or the revision that was seen, so a write that
//! came in between is met with a 409 or 404, as upstream. Who could notice: nobody but a reader of the
//! requests; an outdated read never becomes a write.
//!
//! Not here: attaching of volumes, resource claims. Each would be a variant of [`Controller`] and a file beside
//! `replica_set.rs`; its types are bodies in [`object`], its writes `Request::Create` and `Request::Update` of
//! [`request`].
//!
//! Where do I change …?
//!
//! - what an object uses of a quota, for admission and for the controller: `quota/usage.rs`;
//! - which pods a descheduler evicts: `descheduler.rs`;
//! - which node a pod gets: `scheduler.rs`, with `filter.rs` and `score.rs` below it;
//! - what the containers of a pod do where nothing runs them: `kubelet/script.rs`; what probes see of it:
//!   `kubelet/life.rs`;
//! - what a pod waits for before it starts: `kubelet.rs`, `kubelet/waiting.rs`, `data.rs`; when a container starts
//!   again: `kubelet/restart.rs`;
//! - what the controllers tell people by Events: `events.rs`;
//! - what autoscalers measure: `autoscaler/metrics.rs`, `autoscaler/series.rs`;
//! - for which zone an endpoint is meant: `services/slices/hints.rs`, `services/slices/shares.rs`;
//! - when a node counts as silent: `node_lifecycle/silence.rs`; how fast its pods go: `node_lifecycle/limit.rs`;
//! - what a certificate says that a CertificateSigningRequest gets: `signing_request/signer.rs`;
//! - what a request is at the API: `wire.rs`.

#[macro_use]
pub mod branches;
pub mod bodies;
pub mod calls;
pub mod controller;
pub mod data;
pub mod history;
pub mod kinds;
pub mod node_affinity;
pub mod object;
pub mod pod;
pub mod quantity;
mod read;
pub mod request;
pub mod resources;
pub mod selector;
pub mod template;
pub mod view;
pub mod wire;
pub mod write;

pub mod account_token;
pub mod autoscaler;
pub mod cluster_role;
pub mod cron_job;
pub mod daemon_set;
pub mod deployment;
pub mod descheduler;
pub mod disruption;
pub mod events;
mod garbage_collector;
pub mod job;
pub mod kubelet;
pub mod namespace;
mod node_lease;
mod node_lifecycle;
mod pod_gc;
pub mod quota;
pub mod replica_set;
mod root_ca;
pub mod scheduler;
mod service_account;
pub mod services;
pub mod signing_request;
pub mod stateful_set;
mod taint_eviction;
pub mod token_cleaner;
pub mod volumes;

#[cfg(test)]
mod fixture;

pub use calls::{Next, Response};
pub use controller::{Affected, Change, Controller};
pub use kinds::{Kind, Kinds};
pub use object::{Body, Meta, Object, Owner};
pub use request::{Propagation, Request};
pub use view::View;
