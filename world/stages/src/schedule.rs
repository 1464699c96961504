//! Who waits for which stage (`preprocess` of kwok's controllers).
//!
//! Each change of an object chooses anew, also what it was waiting for before; a stage that was played is not played
//! again before the object has changed. Cloning a schedule copies some pointers.

use std::{sync::Arc, time::Duration};

use rpds::RedBlackTreeMapSync;
use serde_json::Value;
use trace::{GroupResource, ObjectKey, Time};

use crate::{chance::Chance, stages::Stages};

/// Objects and the stages that they wait for.
#[derive(Debug, Clone)]
pub struct Schedule {
    stages: Arc<Stages>,
    jobs: RedBlackTreeMapSync<ObjectKey, Job>,
}

/// What was chosen for an object as it is.
#[derive(Debug, Clone)]
struct Job {
    uid: String,
    revision: String,
    /// When, and how often before at the same time: a choice may lead back to itself.
    at: Time,
    again: u32,
    /// The stage, and when it is due; none where there is none, or it was played.
    waits: Option<(usize, Time)>,
}

/// What there is to do for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing, until it changes.
    Rest,
    /// Nothing, for so long.
    Wait(Duration),
    /// This stage is to be played, now.
    Play(usize),
}

impl Schedule {
    /// Nobody waits.
    pub fn new(stages: Arc<Stages>) -> Schedule {
        Schedule { stages, jobs: RedBlackTreeMapSync::new_sync() }
    }

    /// The stages.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Whether objects of this type have stages.
    pub fn covers(&self, resource: &GroupResource) -> bool {
        self.stages.cover(resource)
    }

    /// What there is to do for an object as it is now. A stage that is to be played counts as played. `who` names the
    /// object for [`Chance`]: what it says of it should not differ from run to run.
    pub fn look(
        &mut self,
        key: &ObjectKey,
        object: &Value,
        now: Time,
        who: &dyn Fn() -> String,
    ) -> Look {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or("");
        let known = self.jobs.get(key).filter(|job| job.uid == text("uid"));
        let same = known.filter(|job| job.revision == text("resourceVersion")).cloned();
        let mut job = same.unwrap_or_else(|| {
            let again =
                known.filter(|job| job.at == now).map_or(0, |job| job.again.saturating_add(1));
            let chance = || {
                let age = Time::parse_rfc3339(text("creationTimestamp"));
                let age = age.map_or(0, |created| now.since(created).as_secs());
                Chance::new(format!("{} {} {age} {again}", key.resource, who()))
            };
            let chosen = self.stages.choose(&key.resource, object, now, &chance);
            let waits = chosen.map(|(stage, after)| (stage, now.plus(after)));
            let (uid, revision) = (text("uid").to_owned(), text("resourceVersion").to_owned());
            Job { uid, revision, at: now, again, waits }
        });
        let look = match job.waits {
            None => Look::Rest,
            Some((_, due)) if due > now => Look::Wait(due.since(now)),
            Some((stage, _)) => Look::Play(stage),
        };
        if matches!(look, Look::Play(_)) {
            job.waits = None;
        }
        self.jobs.insert_mut(key.clone(), job);
        look
    }

    /// The object is gone.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.jobs.remove_mut(key);
    }

    /// Who waits, and for which stage; with how often a choice was made again at this time.
    pub fn waiting(&self, now: Time) -> impl Iterator<Item = (&ObjectKey, &str, u32)> {
        self.jobs.iter().filter_map(move |(key, job)| {
            let (stage, _) = job.waits?;
            let again = if job.at == now { job.again } else { 0 };
            Some((key, self.stages.name(&key.resource, stage), again))
        })
    }
}
