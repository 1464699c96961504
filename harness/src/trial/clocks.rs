//! One time for all: the world's clock is never behind those of the programs that it serves.
//!
//! A program's clock jumps with the world's, and besides creeps while the program works (`subject::Pace`); one that works
//! for seconds has time pass for it. The world follows: before each request of a program is carried out, when a program
//! ends, and at each quiet moment. So no object is older than the moment at which its author believes to have made it,
//! and a program that is started on a world never finds a time in it that is yet to come.
//!
//! A subject that used three seconds of processor time without a quiet moment sees time pass as it works: one that
//! spins until some time has passed would never end otherwise.
//!
//! **Real time keeps the world's date.** With `clock: real` a subject's clock runs at the machine's pace, but is set
//! to the world's date at exec, so objects on a fork have the age that they had. Where a clock can't be set, or is to
//! be `untouched`, no world is forked and every trial runs from the beginning. The first world is still of when the
//! campaign began, so objects look older than they are by as much as has passed since; the report says so.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use subject::ClockReader;
use tower::{ServiceExt, util::BoxCloneSyncService};
use trace::Time;

/// A world's server, and the clocks that it follows: of the programs `K`.
#[derive(Clone)]
pub(crate) struct Following<K> {
    /// None: a remote cluster has its own time.
    server: Option<cluster::Server>,
    clocks: Arc<Mutex<BTreeMap<K, ClockReader>>>,
}

impl<K: Ord + Clone + Send + 'static> Following<K> {
    pub fn new(server: Option<cluster::Server>) -> Following<K> {
        Following { server, clocks: Arc::default() }
    }

    fn clocks(&self) -> std::sync::MutexGuard<'_, BTreeMap<K, ClockReader>> {
        self.clocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another start of one of them.
    pub fn started(&self, member: K, clock: ClockReader) {
        self.clocks().insert(member, clock);
    }

    /// One of them ended.
    pub fn ended(&self, member: K) {
        self.clocks().remove(&member);
    }

    /// Brings the world's clock to where theirs are.
    pub fn catch_up(&self) {
        let Some(server) = &self.server else { return };
        let clocks = self.clocks();
        if let Some(latest) = clocks.values().filter_map(ClockReader::wall).max() {
            server.advance_to(Time(latest));
        }
    }

    /// The same API, before each request of which the world's clock catches up.
    pub fn before(&self, upstream: proxy::Upstream) -> proxy::Upstream {
        let this = self.clone();
        BoxCloneSyncService::new(upstream.map_request(move |request| {
            this.catch_up();
            request
        }))
    }
}
