//! A run that waited for longer than the references: what came of their worlds meanwhile is no fault either.
//!
//! References wait for a minute or so until a world counts as settled, some trials for ten. A Deployment whose pods never
//! become ready says `ProgressDeadlineExceeded` after ten: that is what undisturbed runs come to as well.

use std::borrow::Cow;

use trace::{Cursor, WorldForm};

use super::{Baseline, SettledWorld, commits, lives, settles};
use crate::run::Run;

impl Baseline {
    /// The same, of `references` from which it was learnt, and an undisturbed run that waited for longer.
    pub fn waited_longer(mut self, references: &[Run], later: &Run) -> Baseline {
        let all: Vec<Run> = references.iter().chain([later]).cloned().collect();
        let cursors: Vec<Cursor> = self.settles.iter().map(|settled| settled.cursor).collect();
        self.lives = lives::lives(&all, &cursors, &self.masks);
        self.commits = commits(&all, &self.masks);
        self.later = settles::worlds(later, &self.masks)
            .into_iter()
            .filter(|world| !self.settles.contains(world))
            .collect();
        self
    }

    /// The world that a trial is to have come to at a settle; none if references don't settle there. Objects that it has
    /// as a run that waited for longer are as they should be.
    pub fn expected(&self, cursor: Cursor, found: &WorldForm) -> Option<Cow<'_, SettledWorld>> {
        let known = self.settles.iter().find(|known| known.cursor == cursor)?;
        let mut expected = Cow::Borrowed(known);
        let of_cursor = |world: &&SettledWorld| world.cursor == cursor;
        for later in self.later.iter().filter(of_cursor) {
            let objects = known.world.objects().chain(later.world.objects());
            for (key, _) in objects {
                let (before, after) = (known.world.get(key), later.world.get(key));
                if before == after || found.get(key) != after {
                    continue;
                }
                expected.to_mut().world.set(key, after.cloned());
            }
        }
        Some(expected)
    }
}
