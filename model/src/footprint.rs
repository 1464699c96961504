//! What a step reads and writes, from which follows which steps can be swapped.
//!
//! A place is one thing of a kind, or all things of a kind. Two footprints are independent if neither writes what the
//! other touches; then their steps lead to the same state in either order and neither disables or enables the other
//! (Valmari 1990, Godefroid 1996, chapter 3).

use std::collections::BTreeSet;

/// A set of places that can be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Places {
    /// Every place there is: what is true when nothing is known.
    Every,
    /// These only: a kind, and a name in it or the whole kind.
    Only(BTreeSet<(u32, Option<u64>)>),
}

impl Places {
    /// No place.
    pub fn none() -> Places {
        Places::Only(BTreeSet::new())
    }

    /// These places.
    pub fn only(places: impl IntoIterator<Item = (u32, Option<u64>)>) -> Places {
        Places::Only(places.into_iter().collect())
    }

    /// Whether some place is in both.
    pub fn meets(&self, other: &Places) -> bool {
        match (self, other) {
            (Places::Every, Places::Every) => true,
            (Places::Every, Places::Only(places)) | (Places::Only(places), Places::Every) => {
                !places.is_empty()
            }
            (Places::Only(mine), Places::Only(theirs)) => {
                mine.iter().any(|place| theirs.iter().any(|their| overlap(*place, *their)))
            }
        }
    }

    /// Adds the places of `other`.
    pub fn add(&mut self, other: &Places) {
        match (&mut *self, other) {
            (Places::Every, _) => {}
            (_, Places::Every) => *self = Places::Every,
            (Places::Only(mine), Places::Only(theirs)) => mine.extend(theirs),
        }
    }
}

fn overlap(one: (u32, Option<u64>), other: (u32, Option<u64>)) -> bool {
    one.0 == other.0 && (one.1 == other.1 || one.1.is_none() || other.1.is_none())
}

/// What is read and what is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// What decides whether the step is possible and what it does.
    pub reads: Places,
    /// What is different afterwards.
    pub writes: Places,
}

impl Footprint {
    /// Reads and writes every place: depends on every step.
    pub fn everything() -> Footprint {
        Footprint { reads: Places::Every, writes: Places::Every }
    }

    /// Reads and writes nothing: takes no step.
    pub fn nothing() -> Footprint {
        Footprint { reads: Places::none(), writes: Places::none() }
    }

    /// Whether neither writes what the other touches.
    pub fn independent(&self, other: &Footprint) -> bool {
        !self.writes.meets(&other.writes)
            && !self.writes.meets(&other.reads)
            && !self.reads.meets(&other.writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footprints_depend_where_one_writes_what_the_other_touches() {
        let one = (1, Some(7));
        let check = |reads: Places, writes: Places, expect: bool| {
            let reader = Footprint { reads: Places::only([one]), writes: Places::none() };
            let other = Footprint { reads, writes };
            assert_eq!(reader.independent(&other), expect, "{other:?}");
            assert_eq!(other.independent(&reader), expect, "{other:?}");
        };
        check(Places::only([one]), Places::none(), true);
        check(Places::none(), Places::only([one]), false);
        check(Places::none(), Places::only([(1, None)]), false);
        check(Places::none(), Places::only([(1, Some(8)), (2, None)]), true);
        check(Places::none(), Places::Every, false);
        check(Places::Every, Places::none(), true);
    }
}
