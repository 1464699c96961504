//! The cluster's objects at a revision of a recorded run.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value as Json;
use trace::{Change, Commit, History, ObjectKey, Revision};

/// Objects of a run, moved from revision to revision.
pub(super) struct World<'r> {
    before: &'r [(ObjectKey, Arc<Json>)],
    /// In the order of revisions; what is observed of other clusters may be recorded in another.
    commits: Vec<&'r Commit>,
    /// How many of them are in it.
    applied: usize,
    /// With the number of its creation.
    objects: BTreeMap<ObjectKey, (usize, Arc<Json>)>,
    created: usize,
}

impl<'r> World<'r> {
    /// The world at the run's start.
    pub fn new(before: &'r [(ObjectKey, Arc<Json>)], history: &'r History) -> World<'r> {
        let mut commits: Vec<&Commit> = history.commits().collect();
        commits.sort_by_key(|commit| commit.revision);
        let mut world = World { before, commits, applied: 0, objects: BTreeMap::new(), created: 0 };
        world.rewind();
        world
    }

    fn rewind(&mut self) {
        self.applied = 0;
        self.objects.clear();
        for (key, object) in self.before {
            self.objects.insert(key.clone(), (0, object.clone()));
        }
    }

    /// The objects at a revision, in the order of their creation.
    pub fn at(&mut self, revision: Revision) -> Vec<Arc<Json>> {
        let behind = self.applied.checked_sub(1).map(|last| self.commits[last].revision);
        if behind.is_some_and(|behind| behind > revision) {
            self.rewind();
        }
        while let Some(commit) = self.commits.get(self.applied)
            && commit.revision <= revision
        {
            self.applied += 1;
            self.apply(commit);
        }
        let mut objects: Vec<&(usize, Arc<Json>)> = self.objects.values().collect();
        objects.sort_by_key(|(created, _)| *created);
        objects.into_iter().map(|(_, object)| object.clone()).collect()
    }

    fn apply(&mut self, commit: &Commit) {
        match commit.change {
            Change::Deleted => drop(self.objects.remove(&commit.key)),
            Change::Created | Change::Updated => {
                self.created += 1;
                let number = self.objects.get(&commit.key).map_or(self.created, |(at, _)| *at);
                self.objects.insert(commit.key.clone(), (number, commit.object.clone()));
            }
        }
    }
}
