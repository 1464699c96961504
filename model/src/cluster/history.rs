//! Which stores a client may read: consistency models.
//!
//! Five models are those of Themelios (thesis UCAM-CL-TR-998), their rules stand in [`reading`]; reference:
//! `docs/models.md`. Each write makes a revision, which knows the revisions that it follows: its causal past. A client
//! has a cursor, the past of what it read last, and none when it has just started.
//!
//! Bounds that make histories finite: [`super::Setup::lag_max`] revisions are readable besides the newest, or, with
//! [`super::Setup::one_behind`], the newest and one older one, of any age, by one client. Then a causal history has at
//! most two revisions that nothing follows. No history has more than 128 revisions.

use std::sync::Arc;

use super::{
    kinds::{KindId, KindSet},
    objects::{Id, Objects},
    store::Store,
};

mod past;
mod reading;
#[cfg(test)]
mod tests;

pub use past::Past;
pub(super) use past::REVISIONS_MAX;
pub(super) use reading::Reader;
pub use reading::{Cursor, Read};

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
    /// Writes follow what was read; clients read any revision that they don't know yet, and what concurrent ones come to
    /// together. Can't occur on etcd.
    Causal,
    /// Each type has a cursor of its own, as informers have: a client may know a new pod and not yet the node that it
    /// is on.
    PerKind {
        /// Whether a client that starts may read anything that was ever stored; else the newest.
        resettable: bool,
    },
}

/// The place of a revision in a history: no revision follows one of a greater place.
pub type Place = u16;

/// A store and the places of all revisions that it follows, its own among them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Revision {
    store: Store,
    past: Past,
}

/// The revisions that somebody may still read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct History {
    revisions: Arc<[Revision]>,
    head: Store,
    /// Where at most one client may be behind: which may read the revision at place 0, and how many writes ago that was
    /// the newest, as far as that is bounded.
    pub(super) behind: Option<(u16, u16)>,
}

impl History {
    /// A history that begins with this store.
    pub fn new(store: Store) -> History {
        let first = Revision { store: store.clone(), past: Past::of(0) };
        History { revisions: [first].into(), head: store, behind: None }
    }

    /// What is stored: the newest store, or what those that nothing follows come to together.
    pub fn head(&self) -> &Store {
        &self.head
    }

    /// The place of the newest revision.
    pub fn newest(&self) -> Place {
        (self.revisions.len() - 1) as Place
    }

    /// The store at a place.
    pub fn at(&self, place: Place) -> &Store {
        &self.revisions[usize::from(place)].store
    }

    /// All stores.
    pub fn stores(&self) -> impl Iterator<Item = &Store> {
        self.revisions.iter().map(|revision| &revision.store)
    }

    /// Whether this client is the one that is behind.
    pub(super) fn is_behind(&self, client: u16) -> bool {
        self.behind.is_some_and(|(behind, _)| behind == client)
    }

    fn past(&self, place: Place) -> Past {
        self.revisions[usize::from(place)].past
    }

    /// The places of the revisions that nothing follows.
    pub(super) fn maxima(&self) -> Past {
        let newest_first = self.revisions.iter().enumerate().rev();
        let (maxima, _) =
            newest_first.fold((Past::NONE, Past::NONE), |(maxima, seen), (at, one)| {
                let place = at as Place;
                let maxima = if seen.has(place) { maxima } else { maxima.with(place) };
                (maxima, seen.and(one.past))
            });
        maxima
    }

    /// What stands for the newest of all.
    pub(super) fn latest(&self) -> Read {
        let maxima = self.maxima();
        if maxima.len() > 1 { Read::Merged(maxima) } else { Read::At(self.newest()) }
    }

    /// What is read.
    pub fn store(&self, objects: &Objects, read: &Read) -> Store {
        match read {
            Read::At(place) => self.at(*place).clone(),
            Read::Merged(places) => self.merged(objects, *places),
            Read::Kinds(kinds) => {
                let newest = self.at(self.newest());
                let chosen: Vec<KindId> = kinds.iter().map(|(kind, _)| *kind).collect();
                let others =
                    newest.ids().iter().filter(|id| !chosen.contains(&objects.get(**id).kind));
                let theirs = kinds.iter().flat_map(|(kind, place)| {
                    self.at(*place).of_kind(objects, *kind).map(|(id, _)| id)
                });
                Store::of(objects, others.copied().chain(theirs))
            }
        }
    }

    /// Of each object the newest version that one of these stores has; so what one of them has no longer comes back with
    /// another that still has it.
    fn merged(&self, objects: &Objects, places: Past) -> Store {
        let mut ids: Vec<Id> =
            places.places().flat_map(|place| self.at(place).ids().to_vec()).collect();
        // Stable: of equal versions, which are the same object, the first stays.
        let order = |id: &Id| {
            let stored = objects.get(*id);
            (stored.place(), std::cmp::Reverse(stored.version))
        };
        ids.sort_by(|one, other| order(one).cmp(&order(other)));
        ids.dedup_by(|one, other| objects.get(*one).place() == objects.get(*other).place());
        Store::of(objects, ids)
    }

    /// What `read` knows of the revisions.
    fn known_by(&self, read: &Read) -> Past {
        match read {
            Read::At(place) => self.past(*place),
            Read::Merged(places) => {
                places.places().fold(Past::NONE, |all, place| all.and(self.past(place)))
            }
            Read::Kinds(kinds) => {
                let newest = kinds.iter().map(|(_, place)| *place).max();
                newest.map_or(Past::NONE, Past::up_to)
            }
        }
    }

    /// The history after a write that came to `store`, by somebody who read `read`; and the places that are kept of this
    /// one, if not all are.
    pub(super) fn followed_by(
        &self,
        of: Consistency,
        objects: &Objects,
        store: Store,
        read: &Read,
    ) -> (History, Option<Past>) {
        let (kept, parents) = match of {
            Consistency::OptimisticLinear => (self.known_by(read), self.known_by(read)),
            Consistency::Causal => (self.all(), self.known_by(read)),
            _ => (self.all(), self.all()),
        };
        let kept_all = kept == self.all();
        let mut next = if kept_all { self.clone() } else { self.only(kept) };
        let place = next.newest() + 1;
        let past = parents.within(kept).with(place);
        let fresh = Revision { store: store.clone(), past };
        next.revisions = next.revisions.iter().cloned().chain([fresh]).collect();
        let maxima = next.maxima();
        next.head = if maxima.len() > 1 { next.merged(objects, maxima) } else { store };
        (next, (!kept_all).then_some(kept))
    }

    /// All places.
    pub(super) fn all(&self) -> Past {
        Past::up_to(self.newest())
    }

    /// How far this is behind, in words for a label.
    pub(super) fn told(&self, read: &Read) -> String {
        let all = self.all().len();
        match read {
            Read::At(place) if *place == self.newest() => String::new(),
            Read::At(place) if self.maxima().has(*place) => {
                format!(", on branch {} of {}", place + 1, all)
            }
            Read::At(place) => match self.newest() - place {
                1 => ", 1 write behind".to_owned(),
                behind => format!(", {behind} writes behind"),
            },
            Read::Merged(places) => {
                let places: Vec<String> = places.places().map(|at| (at + 1).to_string()).collect();
                format!(", on what branches {} of {all} come to", places.join(" and "))
            }
            Read::Kinds(kinds) => {
                let older = |(kind, place): &(KindId, Place)| {
                    let kind_set = kind.bit();
                    let newest = self.at(self.newest()).sum_of(kind_set);
                    let differs = self.at(*place).sum_of(kind_set) != newest;
                    differs.then(|| format!("{} {} behind", kind.kind(), self.newest() - place))
                };
                let older: Vec<String> = kinds.iter().filter_map(older).collect();
                if older.is_empty() { String::new() } else { format!(", {}", older.join(", ")) }
            }
        }
    }

    /// Those beside which there is another that neither follows nor is followed.
    pub(super) fn beside_another(&self) -> Past {
        let beside = |one: &Place| {
            let apart = |other: Place| !self.past(*one).has(other) && !self.past(other).has(*one);
            self.all().places().any(apart)
        };
        self.all().places().filter(beside).fold(Past::NONE, Past::with)
    }

    /// The history in which each store is replaced by what `of` makes of it.
    pub(super) fn map(&self, mut of: impl FnMut(&Store) -> Store) -> History {
        let all = self.revisions.iter();
        let revisions: Arc<[Revision]> =
            all.map(|one| Revision { store: of(&one.store), past: one.past }).collect();
        let newest = &self.revisions[usize::from(self.newest())].store;
        let head = match self.head == *newest {
            true => revisions[usize::from(self.newest())].store.clone(),
            false => of(&self.head),
        };
        History { revisions, head, behind: self.behind }
    }

    /// The history of these places alone.
    pub(super) fn only(&self, kept: Past) -> History {
        let of = |place: Place| {
            let Revision { store, past } = &self.revisions[usize::from(place)];
            Revision { store: store.clone(), past: past.within(kept) }
        };
        let revisions = kept.places().map(of).collect();
        History { revisions, head: self.head.clone(), behind: self.behind }
    }

    /// Those places among which a client chooses for one type, newest first: of equal stores the newest.
    fn different(&self, kind: KindSet, places: Past) -> Vec<Place> {
        let mut chosen: Vec<Place> = Vec::new();
        for place in places.places_newest_first() {
            let is_known =
                |other: &Place| self.at(*other).sum_of(kind) == self.at(place).sum_of(kind);
            if !chosen.iter().any(is_known) {
                chosen.push(place);
            }
        }
        chosen
    }
}
