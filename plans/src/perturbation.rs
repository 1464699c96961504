//! One legal anomaly: what is done to the subject, when, and why a real cluster may do it too.
//!
//! Not here yet: a restart in the middle of what the built-in controllers do *while the controller is down* (a further
//! [`Restart`]; counted in the report until then, and such a campaign is not called closed). More perturbations are
//! variants of [`Perturbation`], carried out in `harness/src/trial.rs` through the proxy's holds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::moment::{CallMatch, Moment};

/// The families of design §7, as far as they are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Killed at a revision or between two calls, and started again.
    IntermediateState,
}

impl Family {
    /// Every family that can be asked for.
    pub const ALL: [Family; 1] = [Family::IntermediateState];
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Family::IntermediateState => f.write_str("intermediate-state"),
        }
    }
}

/// Why a real cluster may show this: a rule and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The rule in one sentence.
    pub rule: String,
    /// KEP, API page or paper section.
    pub source: String,
}

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

/// The subject is killed (SIGKILL) at a moment and started again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crash {
    /// When it is killed.
    pub at: Moment,
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

/// One legal anomaly.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Perturbation {
    /// See [`Crash`].
    Crash(Crash),
}

impl Perturbation {
    /// Its family.
    pub fn family(&self) -> Family {
        match self {
            Perturbation::Crash(_) => Family::IntermediateState,
        }
    }

    /// When it happens.
    pub fn moment(&self) -> &Moment {
        match self {
            Perturbation::Crash(crash) => &crash.at,
        }
    }

    /// The argument for its legality.
    pub fn citation(&self) -> Citation {
        match self {
            Perturbation::Crash(crash) if crash.dropped.is_empty() => Citation {
                rule: "a controller's process may end at any instruction, and what it had committed stays".into(),
                source: "Kubernetes documentation, Pod lifecycle (a Pod may be evicted, OOM-killed or lose its node at any time)".into(),
            },
            Perturbation::Crash(_) => Citation {
                rule: "requests sent on different connections may reach the server in any order, so of two writes under way the second may commit and the first not".into(),
                source: "Kubernetes API concepts: no order across requests; RFC 9112 §9.3 (order only within one connection)".into(),
            },
        }
    }
}

impl fmt::Display for Perturbation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Perturbation::Crash(crash) => {
                write!(f, "killed {}", crash.at)?;
                for dropped in &crash.dropped {
                    write!(f, ", its {} under way lost", dropped.call)?;
                }
                write!(f, ", {}", crash.restart)
            }
        }
    }
}
