//! Which stores a client may read: consistency models.
//!
//! The models are those of Themelios (thesis UCAM-CL-TR-998); reference: `docs/models.md`. A client has a cursor, the
//! place behind the store that it read last, and none when it has just started. Writes are checked against the newest store and follow
//! it, but where a model says otherwise. The newest store can always be read again, by whoever has read it already:
//! then it is about another key, or a request was refused.

use std::sync::Arc;

use super::store::Store;

/// What clients may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// The newest store.
    Synchronous,
    /// What is newer than what they read last; when they start, the newest: an informer whose first list is consistent.
    MonotonicSession,
    /// The same, but when they start anything that was ever stored, as behind an API server that lags.
    ResettableSession,
    /// Writes follow the store that was read, and what others wrote since then is lost. Can't occur on etcd.
    OptimisticLinear,
}

/// The stores that somebody may still read, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct History(Arc<[Store]>);

/// The place of a store in a history.
pub type Place = u16;

impl History {
    /// A history that begins with this store.
    pub fn new(store: Store) -> History {
        History([store].into())
    }

    /// The newest store.
    pub fn head(&self) -> &Store {
        self.0.last().expect("a history is never empty")
    }

    /// The place of the newest store.
    pub fn newest(&self) -> Place {
        (self.0.len() - 1) as Place
    }

    /// The store at a place.
    pub fn at(&self, place: Place) -> &Store {
        &self.0[usize::from(place)]
    }

    /// All of them.
    pub fn stores(&self) -> &[Store] {
        &self.0
    }

    /// The history after a write that came to `store`, by somebody who read the one at `read`.
    pub(super) fn followed_by(&self, of: Consistency, store: Store, read: Place) -> History {
        let kept = match of {
            Consistency::OptimisticLinear => &self.0[..=usize::from(read)],
            _ => &self.0[..],
        };
        History(kept.iter().cloned().chain([store]).collect())
    }

    /// The history in which each store is replaced by what `of` makes of it.
    pub(super) fn map(&self, of: impl FnMut(&Store) -> Store) -> History {
        History(self.0.iter().map(of).collect())
    }

    /// The history from a place on.
    pub(super) fn from(&self, oldest: Place) -> History {
        if oldest == 0 { self.clone() } else { History(self.0[usize::from(oldest)..].into()) }
    }
}

/// What a client may read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    pub of: Consistency,
    /// The first place behind what it read last.
    pub next: Option<Place>,
    /// By how many stores it may be behind.
    pub lag_max: Place,
}

impl Reader {
    /// The places of stores that it may read, newest first.
    pub(super) fn visible(self, history: &History) -> impl Iterator<Item = Place> + use<> {
        let newest = history.newest();
        (self.oldest(newest)..=newest).rev()
    }

    /// The oldest place that it may read.
    pub(super) fn oldest(self, newest: Place) -> Place {
        let behind = newest.saturating_sub(self.lag_max);
        match (self.of, self.next) {
            (Consistency::Synchronous, _) | (Consistency::MonotonicSession, None) => newest,
            (Consistency::ResettableSession | Consistency::OptimisticLinear, None) => behind,
            (_, Some(next)) => next.min(newest).max(behind),
        }
    }

    /// The first place behind what it reads now; none where that does not matter.
    pub(super) fn after(self, read: Place) -> Option<Place> {
        (self.of != Consistency::Synchronous).then_some(read + 1)
    }
}
