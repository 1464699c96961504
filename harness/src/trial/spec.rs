//! What a trial is to do, where it starts, and what it leaves behind.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use cluster::World;
use plans::{Perturbation, Plan, StartPoint};
use trace::{Cursor, DrawnNames, History, Revision};

use super::phases::Phases;
use crate::campaign::{
    properties::{Course, Passed},
    settle::Waits,
};

/// What a trial is to do.
#[derive(Clone)]
pub struct TrialSpec {
    /// What it means: where its start came from, and what it carries out.
    pub plan: Plan,
    /// Where it starts.
    pub start: Start,
    /// Perturbations still to be carried out in this trial (all of the plan's from the beginning, none on
    /// a fork that already lies behind them).
    pub armed: Vec<Perturbation>,
    /// Which repeat this is: chooses name suffixes and their order.
    pub repeat: u64,
    /// How long it waits for its world to settle.
    pub waits: Waits,
    /// When to stop waiting for it, by this machine's clock: it proves nothing then. None: never.
    pub until: Option<Instant>,
    /// Where to keep its files; none: nowhere.
    pub folder: Option<PathBuf>,
}

/// Where a trial starts.
#[derive(Clone)]
pub enum Start {
    /// From the beginning.
    Beginning,
    /// On a fork.
    Fork(Box<Fork>),
}

/// A world that a trial starts on.
#[derive(Clone)]
pub struct Fork {
    /// The world.
    pub world: World,
    /// How far the workload is.
    pub cursor: Cursor,
    /// For how long the operation there has been under way; none if it has not begun.
    pub begun: Option<Duration>,
    /// The revision at which watch caches stand that the plan's last perturbation sets back.
    pub behind: Option<Revision>,
    /// What of the campaign's properties has happened before.
    pub passed: Passed,
}

impl TrialSpec {
    /// A trial on the world to which the whole plan leads.
    pub fn on(fork: Fork, plan: &Plan, repeat: u64, waits: Waits) -> TrialSpec {
        let start = Start::Fork(Box::new(fork));
        TrialSpec {
            plan: plan.clone(),
            start,
            armed: vec![],
            repeat,
            waits,
            until: None,
            folder: None,
        }
    }
}

/// What a trial left behind.
pub struct TrialRun {
    /// What it did.
    pub spec: TrialSpec,
    /// Every object at its start.
    pub before: Arc<Vec<(trace::ObjectKey, Arc<serde_json::Value>)>>,
    /// Where world and workload stood at its start.
    pub started_at: StartPoint,
    /// Everything that happened.
    pub history: Arc<History>,
    /// Names in it that the subject drew by itself.
    pub drawn_names: BTreeSet<String>,
    /// How it ended.
    pub end: RunEnd,
    /// What of the plan had not happened when it ended, or not as planned.
    pub(super) left_undone: Option<String>,
    /// The embedded server: any world of the run can be forked from it.
    pub server: Option<cluster::Server>,
    /// Real time from the start of the first process to the end.
    pub real: Duration,
    /// On what that was spent.
    pub phases: Phases,
    /// CPU time of the subject's processes.
    pub subject_cpu: Duration,
    /// Its files.
    pub folder: PathBuf,
    /// What it went through, where somebody asked.
    pub course: OnceLock<Result<Course, String>>,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEnd {
    /// The workload was played and all settled.
    Completed,
    /// A step could not be done.
    StepFailed(String),
    /// The controller ended by itself, again and again.
    SubjectGone(String),
    /// It never became quiet, or the store never stopped changing.
    NeverSettled(String),
    /// A perturbation's moment never came.
    NeverFired(String),
    /// A perturbation can't be carried out in this run, for this reason; it proves nothing, and nothing is wrong.
    NotPossible(String),
    /// The trial itself failed: nothing about the controller.
    Broken(String),
}

impl TrialRun {
    /// Why not all of its plan was carried out; none: all was.
    pub fn undone(&self) -> Option<&str> {
        match &self.end {
            RunEnd::NeverFired(why) | RunEnd::NotPossible(why) => Some(why),
            _ => self.left_undone.as_deref(),
        }
    }

    /// Finds the names in it that the subject drew.
    pub fn tell_drawn_names(&mut self, drawn: &DrawnNames) {
        let before = self.before.iter().map(|(key, _)| key);
        let keys = before.chain(self.history.commits().map(|commit| &commit.key));
        let names = keys.filter(|key| drawn.has(key)).map(|key| key.name.to_string());
        self.drawn_names = names.collect();
    }
}
