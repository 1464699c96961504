//! The rules: which revisions a client may read, by what it read before.
//!
//! | model | just started | later |
//! |---|---|---|
//! | Synchronous | newest | newest |
//! | MonotonicSession | newest | what follows what it read last |
//! | ResettableSession | all | the same |
//! | OptimisticLinear | all | the same; all, if what it read was lost |
//! | Causal | all | what is not in the past of what it read, and merges of two or more concurrent revisions of which one is not |
//! | PerKind | newest, or all | for each type what follows what it read of it last |
//!
//! Where nothing follows what a client has read, Themelios lets it wait; here it may read the newest again: it is then
//! about another key, or a request was refused. Nothing is written in both.

use std::sync::Arc;

use super::{Consistency, History, Past, Place};
use crate::cluster::kinds::{KindId, KindSet};

/// What a client reads in a step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Read {
    /// The revision at a place.
    At(Place),
    /// What these revisions come to together, of which none follows another.
    Merged(Past),
    /// The objects of each of these types from a revision of their own; all others from the newest.
    Kinds(Arc<[(KindId, Place)]>),
}

/// What a client read last.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cursor {
    /// The revisions that it knows.
    Past(Past),
    /// For each type, the revisions that it knows.
    Kinds(Arc<[(KindId, Past)]>),
}

impl Cursor {
    /// The cursor after all places but `kept` are gone.
    pub(in crate::cluster) fn within(&self, kept: Past) -> Cursor {
        match self {
            Cursor::Past(past) => Cursor::Past(past.within(kept)),
            Cursor::Kinds(kinds) => {
                Cursor::Kinds(kinds.iter().map(|(kind, past)| (*kind, past.within(kept))).collect())
            }
        }
    }

    /// What it knows of one type.
    fn of(&self, kind: KindId) -> Past {
        match self {
            Cursor::Past(past) => *past,
            Cursor::Kinds(kinds) => {
                let found = kinds.iter().find(|(of, _)| *of == kind);
                found.map_or(Past::NONE, |(_, past)| *past)
            }
        }
    }

    /// Whether it knows no revision.
    pub(in crate::cluster) fn is_nothing(&self) -> bool {
        match self {
            Cursor::Past(past) => past.is_empty(),
            Cursor::Kinds(kinds) => kinds.iter().all(|(_, past)| past.is_empty()),
        }
    }

    /// What it knows of all types.
    pub(in crate::cluster) fn of_all(&self) -> Past {
        match self {
            Cursor::Past(past) => *past,
            Cursor::Kinds(kinds) => {
                let pasts = kinds.iter().map(|(_, past)| *past);
                pasts.reduce(Past::both).unwrap_or(Past::NONE)
            }
        }
    }
}

/// Who reads.
#[derive(Debug, Clone, Copy)]
pub(in crate::cluster) struct Reader<'a> {
    pub of: Consistency,
    /// What it read last.
    pub cursor: Option<&'a Cursor>,
    /// By how many revisions it may be behind.
    pub lag_max: Place,
    /// Of a history of which one client alone may be behind: whether it is this one.
    pub one_behind: Option<bool>,
    /// The types that it reads.
    pub kinds: KindSet,
}

impl Reader<'_> {
    /// What it may read, newest first.
    pub(in crate::cluster) fn visible(self, history: &History) -> Vec<Read> {
        let newest = Past::of(history.newest());
        let reach = self.reach(history);
        let known = self.cursor.map_or(Past::NONE, Cursor::of_all);
        let single = match (self.of, self.cursor) {
            (Consistency::Synchronous, _) | (Consistency::MonotonicSession, None) => newest,
            (Consistency::PerKind { .. }, _) => return self.of_kinds(history, reach),
            (Consistency::Causal, _) => return causal(history, reach, known, self.one_behind),
            _ => reach.without(known),
        };
        let single = if single.is_empty() { newest } else { single };
        single.places_newest_first().map(Read::At).collect()
    }

    /// Those places that bounds let it read.
    pub(in crate::cluster) fn reach(self, history: &History) -> Past {
        match self.one_behind {
            Some(false) => history.maxima(),
            Some(true) => history.maxima().with(0),
            None => {
                let oldest = history.newest().saturating_sub(self.lag_max);
                let older = oldest.checked_sub(1).map_or(Past::NONE, Past::up_to);
                history.all().without(older)
            }
        }
    }

    /// For each type a place; together all choices that differ.
    fn of_kinds(self, history: &History, reach: Past) -> Vec<Read> {
        let newest = history.newest();
        let fresh = match self.of {
            Consistency::PerKind { resettable: true } => reach,
            _ => Past::of(newest),
        };
        let mut all: Vec<Vec<(KindId, Place)>> = vec![vec![]];
        for kind in self.kinds.kinds() {
            let open = self.cursor.map_or(fresh, |cursor| reach.without(cursor.of(kind)));
            let open = if open.is_empty() { Past::of(newest) } else { open };
            let places = history.different(kind.bit(), open);
            let with = |choice: &Vec<(KindId, Place)>| {
                let choice = choice.clone();
                places.iter().map(move |place| [&choice[..], &[(kind, *place)]].concat()).collect()
            };
            all = all
                .iter()
                .flat_map(|choice| -> Vec<Vec<(KindId, Place)>> { with(choice) })
                .collect();
        }
        all.into_iter().map(|choice| Read::Kinds(choice.into())).collect()
    }

    /// What it has read, after it reads this; none where that does not matter.
    pub(in crate::cluster) fn after(self, history: &History, read: &Read) -> Option<Cursor> {
        match (self.of, read) {
            (Consistency::Synchronous, _) => None,
            (_, Read::Kinds(kinds)) => {
                let known = |(kind, place): &(KindId, Place)| (*kind, Past::up_to(*place));
                Some(Cursor::Kinds(kinds.iter().map(known).collect()))
            }
            _ => Some(Cursor::Past(history.known_by(read))),
        }
    }
}

/// Revisions of `reach` that are not `known`, and what concurrent ones come to together of which one is not.
fn causal(history: &History, reach: Past, known: Past, one_behind: Option<bool>) -> Vec<Read> {
    let mut sets: Vec<Past> = vec![];
    for place in reach.places() {
        let concurrent = |set: &&Past| {
            let apart =
                |other: Place| !history.past(place).has(other) && !history.past(other).has(place);
            set.places().all(apart)
        };
        let with: Vec<Past> = sets.iter().filter(concurrent).map(|set| set.with(place)).collect();
        sets.push(Past::of(place));
        sets.extend(with);
    }
    sets.retain(|set| !set.without(known).is_empty());
    if sets.is_empty() {
        sets.push(history.maxima());
    }
    // A write after it leaves so many revisions that nothing follows.
    let maxima = history.maxima();
    let read = |set: Past| {
        if set.len() > 1 { Read::Merged(set) } else { Read::At(set.last().unwrap_or(0)) }
    };
    let left = |set: &Past| maxima.without(history.known_by(&read(*set))).len() + 1;
    sets.retain(|set| one_behind.is_none() || left(set) <= MAXIMA_MAX);
    sets.sort_unstable_by_key(|set| std::cmp::Reverse(*set));
    sets.into_iter().map(read).collect()
}

/// How many revisions that nothing follows a causal history has of which one client alone may be behind.
const MAXIMA_MAX: u32 = 2;
