//! What the controllers of EndpointSlices remember: slices that they wrote and that somebody gave away, by another
//! label (`EndpointSliceTracker`, `StaleSlices`, Kubernetes 1.36).
//!
//! Upstream keeps which slices a controller has written. Where one of them no longer stands among those of its Service,
//! and was not seen to go, the controller takes what it sees for out of date: it writes nothing until the slice is
//! back, the Service is gone, or it starts anew. (It tries again fifteen times, each of which ends in the same way.)
//!
//! Simplification: a slice that the Service owns counts as written by the controller. Who could notice: whoever gives a
//! slice away after the controllers started anew, before they wrote it.

use std::ops::Bound;

use trace::ObjectKey;

use super::View;
use crate::{
    object::{Object, Text},
    services::{is_slice, told_of},
};

/// Whose a slice was (a Service, or mirrored Endpoints), and its uid.
pub(super) type Stray = (ObjectKey, Text);

impl View {
    /// Whether slices were given away that told of this Service, or mirrored these Endpoints.
    pub(crate) fn misses_slices(&self, of: &ObjectKey) -> bool {
        self.strays_of(of).next().is_some()
    }

    /// Whose slices were given away, and each slice's key where it is still there.
    pub fn all_strays(&self) -> impl Iterator<Item = (&ObjectKey, Option<&ObjectKey>)> {
        self.strays.iter().map(|(of, uid)| (of, self.by_uid.get(uid)))
    }

    fn strays_of<'a>(&'a self, of: &ObjectKey) -> impl Iterator<Item = &'a Stray> + use<'a> {
        let of = of.clone();
        self.strays
            .range((Bound::Included((of.clone(), Text::from(""))), Bound::Unbounded))
            .take_while(move |(whose, _)| *whose == of)
    }

    /// From now on no slice counts as given away by these.
    pub(super) fn forget_slices(&mut self, of: &ObjectKey) {
        let known: Vec<Stray> = self.strays_of(of).cloned().collect();
        for stray in &known {
            self.strays.remove_mut(stray);
        }
    }

    pub(super) fn index_slices(
        &mut self,
        key: &ObjectKey,
        before: Option<&Object>,
        after: Option<&Object>,
    ) {
        match (before, after) {
            (Some(before), Some(after)) if is_slice(key) => self.move_slice(key, before, after),
            (Some(_), None) if !self.strays.is_empty() => self.forget_slices(key),
            _ => {}
        }
    }

    fn move_slice(&mut self, key: &ObjectKey, before: &Object, after: &Object) {
        if before.meta.labels == after.meta.labels {
            return;
        }
        let (was, is) = (told_of(key, before), told_of(key, after));
        if was == is {
            return;
        }
        let owns = |of: &ObjectKey| {
            let owner = self.get(of).map(|owner| &owner.meta.uid);
            before.meta.owners.iter().any(|reference| Some(&reference.uid) == owner)
        };
        if let Some(was) = was.filter(owns) {
            self.strays.insert_mut((was, after.meta.uid.clone()));
        }
        if let Some(is) = is {
            self.strays.remove_mut(&(is, after.meta.uid.clone()));
        }
    }
}
