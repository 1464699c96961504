//! Sets of places in a history.

use super::Place;

/// A set of places: what a revision follows, or what a client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Past(u128);

/// How many revisions a history has at most.
pub(in crate::cluster) const REVISIONS_MAX: Place = 128;

impl Past {
    /// No place.
    pub const NONE: Past = Past(0);

    /// One place.
    pub fn of(place: Place) -> Past {
        Past(1 << place)
    }

    /// All places up to this one.
    pub fn up_to(place: Place) -> Past {
        Past(u128::MAX >> (REVISIONS_MAX - 1 - place))
    }

    /// Whether there is no place in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many there are.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether this one is among them.
    pub fn has(self, place: Place) -> bool {
        self.0 >> place & 1 == 1
    }

    /// With one more.
    pub fn with(self, place: Place) -> Past {
        Past(self.0 | 1 << place)
    }

    /// Those that are here or there.
    pub fn and(self, others: Past) -> Past {
        Past(self.0 | others.0)
    }

    /// Those that are here and there.
    pub fn both(self, others: Past) -> Past {
        Past(self.0 & others.0)
    }

    /// Those that are here and not there.
    pub fn without(self, others: Past) -> Past {
        Past(self.0 & !others.0)
    }

    /// The last one; none if there is none.
    pub fn last(self) -> Option<Place> {
        (self.0 != 0).then(|| 127 - self.0.leading_zeros() as Place)
    }

    /// In order.
    pub fn places(self) -> impl Iterator<Item = Place> + use<> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let place = (left != 0).then(|| left.trailing_zeros() as Place)?;
            left &= left - 1;
            Some(place)
        })
    }

    /// The last one first.
    pub fn places_newest_first(self) -> impl Iterator<Item = Place> + use<> {
        let mut left = self;
        std::iter::from_fn(move || {
            let place = left.last()?;
            left = left.without(Past::of(place));
            Some(place)
        })
    }

    /// Their places after all places but `kept` are gone.
    pub fn within(self, kept: Past) -> Past {
        if kept.0 & kept.0.wrapping_add(1) == 0 {
            return Past(self.0 & kept.0);
        }
        let places = kept.places().enumerate().filter(|(_, place)| self.has(*place));
        Past(places.fold(0, |all, (now, _)| all | 1 << now))
    }
}
