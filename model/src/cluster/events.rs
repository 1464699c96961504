//! What happens to a cluster that its controllers don't do: users, and the failures of nodes.

use std::{fmt, sync::Arc};

use super::{api::Api, objects::Objects, store::Store};

/// When an event can happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// At any time.
    #[default]
    Anytime,
    /// When no controller has anything to do.
    Stable,
    /// When none will have anything to do either, but for those that look again by the clock (autoscalers, the
    /// descheduler): pods that come to be ready after some time are.
    Settled,
    /// Before anything else.
    First,
}

/// When an event can happen, and what it keeps from happening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// When it can happen.
    pub when: When,
    /// Whether nothing else happens as long as it can.
    pub is_urgent: bool,
}

impl Modifiers {
    /// Of an event that keeps nothing else from happening.
    pub fn at(when: When) -> Modifiers {
        Modifiers { when, is_urgent: false }
    }
}

/// One way in which an event can happen.
#[derive(Debug, Clone)]
pub struct Choice {
    /// What happens, in words.
    pub told: Arc<str>,
    /// What is stored afterwards.
    pub store: Store,
    /// How far the event is afterwards.
    pub progress: u64,
}

/// Something that can happen.
pub trait Event: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// When it can happen.
    fn modifiers(&self) -> Modifiers {
        Modifiers::default()
    }

    /// Whether it happens some day if it can again and again.
    fn is_fair(&self) -> bool {
        false
    }

    /// In how many seconds it can happen though nothing else does before; none if never. Time passes until then only
    /// if no controller has anything to do.
    fn due(&self, _objects: &Objects, _store: &Store, _progress: u64) -> Option<u32> {
        None
    }

    /// How far it is after so many seconds in which nothing happened.
    fn waited(&self, progress: u64, _seconds: u32) -> u64 {
        progress
    }

    /// All ways in which it can happen on `store`, if it is so far; 0 at the start. Writes go through the API server.
    fn choices(&self, api: &Api<'_>, store: &Store, progress: u64) -> Vec<Choice>;
}

/// What is kept of a run that its states don't show.
pub trait Monitor: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// What is kept at the start.
    fn begin(&self, objects: &Objects, store: &Store) -> u64;

    /// What is kept after a step from one store to another, with the label `told`.
    fn step(&self, objects: &Objects, kept: u64, step: &Step<'_>) -> u64;
}

/// A step as monitors see it.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// What was stored.
    pub before: &'a Store,
    /// What is.
    pub after: &'a Store,
    /// The name of the client, or of the event; empty where time passes.
    pub by: &'a str,
    /// What it did.
    pub told: &'a str,
}
