//! How many pods there are of a kind, so that whoever only counts them need not look at each.

use std::ops::Bound;

use rpds::RedBlackTreeMapSync;

use crate::{
    object::{Labels, Object, Text},
    pod::Pod,
};

/// What makes pods alike for those who count them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Alike {
    /// Whether they have ended for good.
    pub ended: bool,
    /// Whether they are being deleted.
    pub deleted: bool,
    /// Whether they are ready.
    pub ready: bool,
    /// Their namespace.
    pub namespace: Text,
    /// Their labels.
    pub labels: Labels,
}

impl Alike {
    pub(super) fn of(namespace: &Text, object: &Object, pod: &Pod) -> Alike {
        Alike {
            ended: pod.has_ended(),
            deleted: object.meta.is_deleted(),
            ready: pod.ready_since.is_some(),
            namespace: namespace.clone(),
            labels: object.meta.labels.clone(),
        }
    }
}

/// Numbers of pods that are alike, by something that they have in common: a controller, a node.
#[derive(Debug, Clone)]
pub(super) struct Tally(RedBlackTreeMapSync<(Text, Alike), usize>);

impl Default for Tally {
    fn default() -> Tally {
        Tally(RedBlackTreeMapSync::new_sync())
    }
}

impl Tally {
    /// The pods of one place, each kind with its number.
    pub(super) fn of<'a>(
        &'a self,
        place: &str,
    ) -> impl Iterator<Item = (&'a Alike, usize)> + use<'a> {
        let place = Text::from(place);
        self.0
            .range((Bound::Included((place.clone(), Alike::default())), Bound::Unbounded))
            .take_while(move |((at, _), _)| *at == place)
            .map(|((_, alike), count)| (alike, *count))
    }

    /// A pod that was in one place, and as these, is in another now.
    pub(super) fn change(&mut self, old: Option<(Text, Alike)>, new: Option<(Text, Alike)>) {
        if old == new {
            return;
        }
        if let Some(old) = old {
            match self.0.get(&old) {
                Some(1) | None => drop(self.0.remove_mut(&old)),
                Some(count) => self.0.insert_mut(old, *count - 1),
            }
        }
        if let Some(new) = new {
            let count = self.0.get(&new).copied().unwrap_or(0);
            self.0.insert_mut(new, count + 1);
        }
    }
}
