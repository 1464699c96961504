//! intermediate-state: the subject is killed between two of its calls and started again.

use std::fmt;

use serde::{Deserialize, Serialize};
use trace::History;

use super::{Anomaly, Citation, Perturbation};
use crate::{
    moment::{CallMatch, Moment},
    plan::Weight,
};

/// When a killed subject is started again.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum Restart {
    /// At once, on the world as the crash left it.
    #[default]
    Immediately,
    /// When the built-in controllers have nothing left to do.
    EnvironmentQuiet,
    /// When the user has done this many further writes (documents of acting steps), from 1.
    AfterUserStep(u32),
    /// The same, and then when the built-in controllers have nothing left to do.
    QuietAfterUserStep(u32),
}

impl Restart {
    /// How much passes before it: two for each user step, one for the environment's rest.
    fn waits(self) -> u32 {
        match self {
            Restart::Immediately => 0,
            Restart::EnvironmentQuiet => 1,
            Restart::AfterUserStep(steps) => 2 * steps,
            Restart::QuietAfterUserStep(steps) => 2 * steps + 1,
        }
    }

    /// Why nobody can wait so.
    fn wrong(self) -> Option<&'static str> {
        match self {
            Restart::AfterUserStep(0) => {
                Some("restart.afterUserStep counts from 1: write immediately for none")
            }
            Restart::QuietAfterUserStep(0) => {
                Some("restart.quietAfterUserStep counts from 1: write environmentQuiet for none")
            }
            _ => None,
        }
    }

    /// One user step later.
    pub fn later(self) -> Restart {
        match self {
            Restart::AfterUserStep(steps) | Restart::QuietAfterUserStep(steps) => {
                Restart::AfterUserStep(steps + 1)
            }
            Restart::Immediately | Restart::EnvironmentQuiet => Restart::AfterUserStep(1),
        }
    }

    /// The same, when the environment is quiet.
    pub fn quiet(self) -> Restart {
        match self {
            Restart::AfterUserStep(steps) => Restart::QuietAfterUserStep(steps),
            _ => Restart::EnvironmentQuiet,
        }
    }
}

impl fmt::Display for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Restart::Immediately => f.write_str("started again at once"),
            Restart::EnvironmentQuiet => f.write_str("started again when the environment is quiet"),
            Restart::AfterUserStep(1) => f.write_str("started again after the user's next step"),
            Restart::AfterUserStep(n) => {
                write!(f, "started again after the user's next {n} steps")
            }
            Restart::QuietAfterUserStep(n) => {
                write!(f, "{}, when the environment is quiet", Restart::AfterUserStep(*n))
            }
        }
    }
}

/// The subject is killed (SIGKILL) at a moment and started again: all of its replicas, or one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crash {
    /// When it is killed.
    pub at: Moment,
    /// Which replica is killed, from 0, while the others go on; none: all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
    /// Writes under way at that moment that never reach the store; every other one committed before is kept.
    /// Legal only for writes on other connections than the last committed one ([`crate::schedule`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedCall>,
    /// When it is started again.
    #[serde(default)]
    pub restart: Restart,
}

/// A write that is under way when its sender is killed, and never reaches the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DroppedCall {
    /// Which calls.
    pub call: CallMatch,
    /// Which of them, from 1, counted as received since the previous perturbation (or the beginning).
    pub occurrence: u32,
}

impl Crash {
    /// All of the subject is killed at a moment, and started again at once.
    pub fn at(at: Moment) -> Crash {
        Crash { at, member: None, dropped: vec![], restart: Restart::Immediately }
    }

    /// Killed when all had settled at the end, and started again at once: it has nothing to do.
    pub fn when_settled() -> Crash {
        Crash::at(Moment::Settled)
    }

    /// Crashes that are one notch simpler.
    pub(super) fn notches(&self) -> Vec<Crash> {
        let mut simpler = Vec::new();
        if self.member.is_some() {
            simpler.push(Crash { member: None, ..self.clone() });
        }
        if self.restart != Restart::Immediately {
            simpler.push(Crash { restart: Restart::Immediately, ..self.clone() });
        }
        if !self.dropped.is_empty() {
            simpler.push(Crash { dropped: vec![], ..self.clone() });
        }
        simpler
    }
}

impl Anomaly for Crash {
    fn moment(&self) -> &Moment {
        &self.at
    }

    fn citation(&self, _shown: &History) -> Citation {
        if self.dropped.is_empty() {
            return Citation {
                rule: "a controller's process may end at any instruction, and what it had committed stays".into(),
                source: "Kubernetes documentation, Pod lifecycle (a Pod may be evicted, OOM-killed or lose its node at any time)".into(),
                legal_on: None,
            };
        }
        Citation {
            rule: "requests sent on different connections may reach the server in any order, so of two writes under way the second may commit and the first not".into(),
            source: "Kubernetes API concepts: no order across requests; RFC 9112 §9.3 (order only within one connection)".into(),
            legal_on: None,
        }
    }

    fn wrong(&self) -> Option<String> {
        let counts = self.dropped.iter().map(|dropped| dropped.occurrence);
        let zero = counts.chain(self.at.occurrence()).any(|occurrence| occurrence == 0);
        match self.at {
            Moment::Delivery { .. } => {
                Some("a crash can't wait for a delivery: name the write that makes it".to_owned())
            }
            Moment::Settled if !self.dropped.is_empty() => {
                Some("no write is under way when all has settled".to_owned())
            }
            Moment::Settled if self.restart != Restart::Immediately => {
                Some("nothing comes after all has settled: start it again immediately".to_owned())
            }
            _ if zero => Some("occurrences count from 1".to_owned()),
            _ => self.restart.wrong().map(str::to_owned),
        }
    }

    fn weight(&self) -> Weight {
        let waits = self.restart.waits();
        let members = u32::from(self.member.is_some());
        Weight { waits, dropped: self.dropped.len(), members, ..Weight::default() }
    }

    fn simpler(&self) -> Vec<Perturbation> {
        self.notches().into_iter().map(Perturbation::from).collect()
    }

    fn crash(&self) -> Option<&Crash> {
        Some(self)
    }

    fn crash_mut(&mut self) -> Option<&mut Crash> {
        Some(self)
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(member) = self.member {
            write!(f, "replica {member} alone ")?;
        }
        write!(f, "killed {}", self.at)?;
        for dropped in &self.dropped {
            write!(f, ", its {} under way lost", dropped.call)?;
        }
        write!(f, ", {}", self.restart)
    }
}
