//! The crate at work over real loopback sockets, in front of toy upstreams.
//!
//! Nothing waits for time: each test awaits what it is about, and everything runs on one thread, so what a
//! client has read the proxy has already accounted for.

mod cuts;
mod fates;
mod forwarding;
mod gating;
mod kit;
mod remotes;
mod speaking;
mod watching;
