//! What was not well in a run that nothing disturbed.
//!
//! Trials are compared with undisturbed runs, so what is broken there stays unseen: a request that is refused in all of
//! them, an object that never becomes ready, a name that nobody resolves. Nothing here is a verdict. It is told before
//! anything is explored, so that its user can say whether it is meant to be so.

mod failing;
mod log;
mod made;
mod objects;
mod requests;

use serde::{Deserialize, Serialize};

use crate::run::Run;

pub use self::{
    failing::{Failing, failing},
    log::{LoggedError, errors, unresolved},
    made::{Doubled, Endless, doubled, endless},
    objects::{NotReady, is_ready, not_ready},
    requests::{Refused, refused},
};

/// What was not well. All lists are in order of their first occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Examination {
    /// Equal objects that several replicas made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubled: Vec<Doubled>,
    /// Objects that it makes and deletes without end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endless: Vec<Endless>,
    /// Settles at which it went on failing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<Failing>,
    /// Requests of the controller that were refused, without what controllers ask for to learn that it is not there
    /// (404 to a get or delete) or that somebody was faster (409).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// Lines by which the controller logged an error, alike ones together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logged: Vec<LoggedError>,
    /// Host names that it could not resolve, as it logged it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<String>,
    /// Objects that say of themselves that they are not ready, and never were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_ready: Vec<NotReady>,
    /// What it writes when it is restarted when all had settled, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart_writes: Vec<String>,
    /// Steps of the workload that check nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked_steps: Vec<String>,
}

impl Examination {
    /// Of a run that was not disturbed.
    pub fn of(run: &Run) -> Examination {
        let history = &run.history;
        let lines = log::lines(history);
        Examination {
            doubled: doubled(run),
            endless: endless(run),
            failing: failing(run),
            refused: requests::refused(history),
            logged: log::errors(lines.iter().copied()),
            unresolved: log::unresolved(lines.iter().copied()),
            not_ready: objects::not_ready(history),
            restart_writes: vec![],
            unchecked_steps: vec![],
        }
    }

    /// Whether all was well.
    pub fn is_clean(&self) -> bool {
        *self == Examination::default()
    }

    /// One sentence each, the most telling first.
    pub fn sentences(&self) -> Vec<String> {
        let doubled = self.doubled.iter().map(ToString::to_string);
        let endless = self.endless.iter().map(ToString::to_string);
        let failing = self.failing.iter().map(ToString::to_string);
        let unresolved =
            self.unresolved.iter().map(|name| format!("the name {name} could not be resolved"));
        let refused = self.refused.iter().map(ToString::to_string);
        let not_ready = self.not_ready.iter().map(ToString::to_string);
        let unchecked = self
            .unchecked_steps
            .iter()
            .map(|step| format!("{step} checks nothing: no assert, error or wait"));
        let logged = self.logged.iter().map(ToString::to_string);
        let restart = self.restart_writes.iter().cloned();
        let told = doubled
            .chain(endless)
            .chain(failing)
            .chain(refused)
            .chain(unresolved)
            .chain(not_ready)
            .chain(restart);
        told.chain(logged).chain(unchecked).collect()
    }
}
