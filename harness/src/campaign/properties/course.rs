//! The course of a trial: the worlds that it went through, and the steps between them.
//!
//! Each commit leads to a world, but for Leases, Events and heartbeats. Starts, ends of processes and steps of the workload
//! lead to a state with the same objects.

use std::{collections::BTreeSet, fmt};

use trace::{Actor, Change, Cursor, Event, ProcessHappening, Revision, StepState, Time};

use super::{Passed, Properties, before};
use crate::{
    campaign::{expression::Objects, judge},
    trial::{RunEnd, TrialRun},
};

/// What a trial went through.
#[derive(Debug, Clone)]
pub struct Course {
    /// Where it was, in order.
    pub states: Vec<State>,
    /// What led from each state to the next.
    pub steps: Vec<Step>,
    /// How it goes on behind its last state.
    pub ending: Ending,
}

/// Where a trial was.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// The world.
    pub revision: Revision,
    /// When it came to be.
    pub since: Time,
    /// How far the workload was.
    pub cursor: Cursor,
    /// How many of the controller's replicas ran.
    pub up: u32,
    /// The values of all expressions, in the order of the properties and of their parts.
    pub truths: Vec<bool>,
    /// What has passed, this state included.
    pub passed: Passed,
}

/// One step of a trial.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Who: `controller`, `user`, `environment/‹name›`, `trommel`.
    pub actor: String,
    /// What it did: `create`, `update`, `delete`, `start`, `crash`, `exit`, `step`, `disturb`.
    pub verb: &'static str,
    /// To what: a folded key, a step's title, or nothing.
    pub object: String,
}

/// How a trial goes on behind its last state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Nothing happens any more: all had settled.
    Settled,
    /// It was stopped, and never came to rest.
    Restless,
    /// Not known.
    Unknown,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { actor, verb, object } = self;
        match *verb {
            "disturb" => write!(f, "let {object}"),
            "step" => write!(f, "{actor}: {object}"),
            _ if object.is_empty() => write!(f, "{verb} of {actor}"),
            _ => write!(f, "{actor}: {verb} {object}"),
        }
    }
}

impl Course {
    /// The course of a trial.
    ///
    /// # Errors
    /// An expression has no value in one of its worlds: which, why, and where.
    pub fn of(run: &TrialRun, properties: &Properties) -> Result<Course, String> {
        let folder = judge::run_view(run).folder();
        let mut objects = Objects::of(run.before.iter());
        let start = run.started_at;
        let mut first = State {
            revision: start.revision,
            since: start.time,
            cursor: start.cursor,
            up: 0,
            truths: properties.truths(&objects)?,
            passed: before(run),
        };
        first.passed = properties.through(first.passed, &first.truths);
        let mut course = Course { states: vec![first], steps: vec![], ending: ending(run) };
        let mut running = BTreeSet::new();
        for record in &run.history.records {
            let mut next = course.last().clone();
            let step = match &record.event {
                Event::Commit(commit) => {
                    match commit.change {
                        Change::Deleted => objects.remove(&commit.key),
                        _ => objects.set(&commit.key, &commit.object),
                    }
                    if commit.is_bookkeeping() {
                        continue;
                    }
                    (next.revision, next.since) = (commit.revision, record.at);
                    let step =
                        Step::new(&commit.actor, verb(commit.change), folder.key(&commit.key));
                    next.truths = properties
                        .truths(&objects)
                        .map_err(|why| format!("{why}; after {step}"))?;
                    next.passed = properties.through(next.passed, &next.truths);
                    step
                }
                Event::Process(process) if process.actor.is_subject() => {
                    let (verb, is_new) = match process.what {
                        ProcessHappening::Started { .. } => {
                            ("start", running.insert(&process.actor))
                        }
                        ProcessHappening::Killed => ("crash", running.remove(&process.actor)),
                        ProcessHappening::Exited { .. } => ("exit", running.remove(&process.actor)),
                        _ => continue,
                    };
                    if !is_new {
                        continue; // the end of a process that was killed
                    }
                    next.up = running.len() as u32;
                    Step::new(&process.actor, verb, String::new())
                }
                Event::Step(moved) if moved.state == StepState::Done => {
                    next.cursor = moved.cursor;
                    Step::new(&Actor::User, "step", moved.title.clone())
                }
                Event::Perturbed { text, .. } => {
                    Step::new(&Actor::Trommel, "disturb", text.clone())
                }
                _ => continue,
            };
            course.steps.push(step);
            course.states.push(next);
        }
        Ok(course)
    }

    /// The last state.
    pub fn last(&self) -> &State {
        self.states.last().expect("a course has a first state")
    }
}

impl Step {
    /// For a sentence: `the controller's update of configmaps/default/a`.
    pub fn noun(&self) -> String {
        let Step { actor, verb, object } = self;
        match *verb {
            "disturb" | "step" => object.clone(),
            _ if object.is_empty() => format!("the {actor}'s {verb}"),
            _ => format!("the {actor}'s {verb} of {object}"),
        }
    }

    /// What is done to nothing in particular.
    pub fn of(actor: &str, verb: &'static str) -> Step {
        Step { actor: actor.to_owned(), verb, object: String::new() }
    }

    /// A write.
    pub fn of_commit(actor: String, change: Change, object: String) -> Step {
        Step { actor, verb: verb(change), object }
    }

    fn new(actor: &Actor, verb: &'static str, object: String) -> Step {
        let actor = match actor {
            Actor::Subject(0) => "controller".to_owned(),
            Actor::Subject(replica) => format!("controller/{replica}"),
            other => other.to_string(),
        };
        Step { actor, verb, object }
    }
}

fn verb(change: Change) -> &'static str {
    match change {
        Change::Created => "create",
        Change::Updated => "update",
        Change::Deleted => "delete",
    }
}

fn ending(run: &TrialRun) -> Ending {
    let settled = run.history.settles().last().is_some_and(|last| last.end);
    match run.end {
        RunEnd::Completed if settled => Ending::Settled,
        RunEnd::NeverSettled(_) => Ending::Restless,
        _ => Ending::Unknown,
    }
}
