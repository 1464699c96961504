//! Connections of which it is not known whose they are: how long one may wait, and how many.
//!
//! Everybody on this machine can connect. Until a request of theirs was let in, they are strangers: one that lets too
//! much time pass before its next request is there as a whole (handshake, head and body) is dropped, and of too many that
//! wait, the oldest. So they can't keep others out, whatever they send, and however slowly. A connection on which one
//! request was let in is never dropped from here: its watches last as long as both sides want.
//!
//! All peers are this machine's, whatever address of loopback they come from, so that there is one bound for all.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::timeout};

/// How long a stranger may take for each request: as long as Go's clients do for a TLS handshake
/// (`net/http.DefaultTransport`). kube-apiserver gives 32 s for a handshake, and for a head (`ReadHeaderTimeout`,
/// `k8s.io/apiserver/pkg/server/secure_serving.go`), to clients that may be far away.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// So many strangers may wait at the same time.
pub(super) const WAITING_MAX: usize = 256;

/// Those of one listener that wait, by age.
#[derive(Default)]
pub struct Strangers {
    known: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    so_far: u64,
    waiting: BTreeMap<u64, watch::Sender<Standing>>,
}

/// How it stands with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// A stranger has yet to send its next request.
    Waits,
    /// Its request is being answered.
    Asks,
    /// It was let in.
    Known,
    /// It has to make room.
    Unwanted,
}

/// One connection.
pub struct Stranger {
    number: u64,
    standing: watch::Sender<Standing>,
    all: Arc<Strangers>,
}

impl Strangers {
    /// One more, which waits. If too many do, the oldest has to make room.
    pub fn welcome(self: &Arc<Self>) -> Stranger {
        let mut locked = self.lock();
        locked.so_far += 1;
        let number = locked.so_far;
        let stranger =
            Stranger { number, standing: watch::Sender::new(Standing::Waits), all: self.clone() };
        locked.add(number, &stranger.standing);
        stranger
    }

    /// The one that has waited for longest has to make room; `false` if none waits.
    pub fn drop_oldest(&self) -> bool {
        self.lock().drop_oldest()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, number: u64, standing: &watch::Sender<Standing>) {
        self.waiting.insert(number, standing.clone());
        if self.waiting.len() > WAITING_MAX {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) -> bool {
        let oldest = self.waiting.pop_first();
        if let Some((_, standing)) = &oldest {
            standing.send_replace(Standing::Unwanted);
        }
        oldest.is_some()
    }
}

impl Stranger {
    /// Its request is there as a whole.
    pub fn asks(&self) {
        self.becomes(Standing::Asks);
    }

    /// Its request is answered. Whoever was let in is no stranger any more.
    pub fn is_answered(&self, let_in: bool) {
        self.becomes(if let_in { Standing::Known } else { Standing::Waits });
    }

    fn becomes(&self, new: Standing) {
        let mut locked = self.all.lock();
        if matches!(*self.standing.borrow(), Standing::Known | Standing::Unwanted) {
            return;
        }
        self.standing.send_replace(new);
        match new {
            Standing::Waits => locked.add(self.number, &self.standing),
            _ => drop(locked.waiting.remove(&self.number)),
        }
    }

    /// Ends when the connection is to be dropped.
    pub async fn outstays(&self) {
        let mut standing = self.standing.subscribe();
        loop {
            let now = *standing.borrow_and_update();
            match now {
                Standing::Unwanted => return,
                Standing::Waits if timeout(PATIENCE, standing.changed()).await.is_err() => return,
                Standing::Waits => {}
                // It can't fail: the sender is here.
                Standing::Asks | Standing::Known => drop(standing.changed().await),
            }
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.all.lock().waiting.remove(&self.number);
    }
}
