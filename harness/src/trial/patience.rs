//! How long what stands may last in front of a subject that works on and on at what it sees: no cluster keeps caches
//! behind, or events back, for as long.
//!
//! The bound counts requests and not time, so that it comes at the same request in each repeat, on a busy machine too: the
//! first request beyond it waits at the gate until what stands has ended. By that the subject becomes quiet, if it never
//! was.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use proxy::{Gate, Hold, Passing};

/// Requests without a rest.
const REQUESTS: usize = 500;

/// Requests of the subject since it last rested. Dropping it lets go on what waits.
pub(super) struct Patience {
    used: Arc<AtomicUsize>,
    _hold: Hold,
}

impl Patience {
    /// All of it is left.
    pub fn new(gate: &Gate) -> Patience {
        let used = Arc::new(AtomicUsize::new(0));
        let counted = used.clone();
        let hold = gate.hold(move |passing| match passing {
            Passing::Request(_) => counted.fetch_add(1, Ordering::Relaxed) >= REQUESTS,
            _ => false,
        });
        Patience { used, _hold: hold }
    }

    /// Whether a request waits for what stands to end.
    pub fn is_over(&self) -> bool {
        self.used.load(Ordering::Relaxed) > REQUESTS
    }

    /// The subject rests.
    pub fn renew(&self) {
        self.used.store(0, Ordering::Relaxed);
    }
}
