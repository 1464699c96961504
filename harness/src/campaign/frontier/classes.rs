//! Classes of worlds, and what exploring merged worlds showed of them.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use serde_json::Value;
use trace::{Level, identity::Identity};

use super::Frontier;
use crate::campaign::{identities::COARSE, node::Node, setup::Setup};

/// What a trial of a world wrote and came to, as far as another world of its class must have done the same.
pub type Writes = BTreeSet<String>;

#[derive(Default)]
pub(super) struct Class {
    /// Worlds of it that are explored, or just being so.
    pub(super) taken: u64,
    /// What worlds of it wrote.
    wrote: BTreeSet<Writes>,
    /// One of its worlds wrote nothing that another did.
    split: bool,
}

/// What exploring merged worlds showed of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Audit {
    /// Worlds that were explored although their class had been.
    pub audited: u64,
    /// Those none of whose trials wrote what a trial of another did.
    pub disagreed: u64,
}

/// How much of a level is explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Which.
    pub level: Level,
    /// Classes met; at the finest level worlds.
    pub classes: u64,
    /// Those of which a world was explored.
    pub explored: u64,
    /// What merging showed.
    pub audit: Audit,
}

impl Frontier {
    /// How far each level is explored, coarse ones first.
    pub fn coverage(&self) -> Vec<Coverage> {
        let of = |(at, level): (usize, &Level)| {
            let classes = self.classes[at].values().filter(|class| !class.split);
            Coverage {
                level: *level,
                classes: classes.clone().count() as u64,
                explored: classes.filter(|class| class.taken > 0).count() as u64,
                audit: self.audits[at],
            }
        };
        let mut all: Vec<Coverage> = COARSE.iter().enumerate().map(of).collect();
        let (met, left) = (self.worlds.len() as u64, self.waiting() as u64);
        let audit = Audit::default();
        all.push(Coverage { level: Level::Exact, classes: met, explored: met - left, audit });
        all
    }

    /// A world was explored: what its trials wrote and came to, one entry for each way. None of a world whose trials
    /// proved nothing.
    pub fn explored(&mut self, at: usize, wrote: BTreeSet<Writes>) {
        if wrote.is_empty() {
            return;
        }
        // One that is repeated further was audited before.
        let again = !self.worlds[at].wrote.is_empty();
        for level in COARSE {
            let class = self.class_mut(level, at);
            if class.wrote.is_empty() || again {
                continue;
            }
            let agrees = !class.wrote.is_disjoint(&wrote);
            let audit = &mut self.audits[level as usize];
            audit.audited += 1;
            audit.disagreed += u64::from(!agrees);
            if !agrees {
                let plan = &self.worlds[at].node.plan;
                tracing::debug!("a class of {level} is split by the world after: {plan}");
            }
        }
        self.worlds[at].wrote.extend(wrote);
        if COARSE.into_iter().any(|level| self.classify_one(level, at)) {
            self.classify_all();
        }
    }

    /// Tells worlds apart by the present footprint. Most hold nothing of what it has more than theirs.
    pub(super) fn classify_anew(&mut self, setup: &Setup) {
        let (lens, before) = (self.lens.clone(), &self.before);
        // An object is in many worlds, and the same one as long as it is held.
        let mut known: HashMap<(u64, *const Value), (bool, Arc<Value>)> = HashMap::new();
        for world in self.worlds.iter_mut().filter(|world| world.version != lens.version) {
            let version = std::mem::replace(&mut world.version, lens.version);
            let Some(packed) = &world.node.world else { continue };
            let Some(old) = before.get(version as usize).map(|lens| &lens.footprint) else {
                continue;
            };
            let objects = packed.objects_of(|resource| lens.footprint.asks_more(old, resource));
            let more = objects.iter().any(|(key, object)| {
                let seen = || {
                    let more = !old.covers(key, object) && lens.footprint.covers(key, object);
                    (more, object.clone())
                };
                known.entry((version, Arc::as_ptr(object))).or_insert_with(seen).0
            });
            if more && let Some(classes) = lens.classes(setup, &world.node.unpack()) {
                world.node.classes = classes;
            }
        }
        self.classify_all();
    }

    /// Counts classes from the worlds in them, until none is split by that. What was split stays so.
    pub(super) fn classify_all(&mut self) {
        loop {
            for classes in &mut self.classes {
                classes.retain(|_, class| class.split);
                for class in classes.values_mut() {
                    *class = Class { split: true, ..Class::default() };
                }
            }
            let mut splits = false;
            for at in 0..self.worlds.len() {
                splits |= self.classify(at);
            }
            if !splits {
                break;
            }
        }
        self.waiting.clear();
        for at in 0..self.worlds.len() {
            if !self.worlds[at].taken {
                self.wait(at);
            }
        }
    }

    /// Counts a world in its classes. Whether it splits one.
    pub(super) fn classify(&mut self, at: usize) -> bool {
        let mut splits = false;
        for level in COARSE {
            let taken = self.worlds[at].taken;
            self.class_mut(level, at).taken += u64::from(taken);
            splits |= self.classify_one(level, at);
        }
        splits
    }

    /// Adds what a world wrote to its class. Whether that splits it.
    fn classify_one(&mut self, level: Level, at: usize) -> bool {
        let wrote = self.worlds[at].wrote.clone();
        if wrote.is_empty() {
            return false;
        }
        let class = self.class_mut(level, at);
        let splits = !class.split && !class.wrote.is_empty() && class.wrote.is_disjoint(&wrote);
        class.split |= splits;
        class.wrote.extend(wrote);
        splits
    }

    /// The class of a world at a level: of one that was split, its class at the next.
    pub(super) fn class_of(&self, level: Level, at: usize) -> Identity {
        let Node { classes, identity, .. } = &self.worlds[at].node;
        let is_split = |level: &Level| {
            let class = self.classes[*level as usize].get(&classes.at(*level));
            class.is_some_and(|class| class.split)
        };
        let finer = COARSE.into_iter().skip(level as usize);
        finer.skip_while(is_split).map(|level| classes.at(level)).next().unwrap_or(*identity)
    }

    pub(super) fn class_mut(&mut self, level: Level, at: usize) -> &mut Class {
        let class = self.class_of(level, at);
        self.classes[level as usize].entry(class).or_default()
    }
}
