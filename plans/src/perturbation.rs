//! One legal anomaly: what is done to the subject, when, and why a real cluster may do it too.
//!
//! Each family stands in a file of its own below `perturbation/`: the value, what it says of itself ([`Anomaly`]), and
//! the argument for its legality. The list at the end of this file is the only other place here that names one; how it
//! is carried out stands in the file of the same name below `harness/src/trial/perturbation/`.
//!
//! Not here yet: a restart in the middle of what the built-in controllers do *while the controller is down* (a further
//! [`Restart`]; counted in the report until then, and such a campaign is not called closed).

pub mod crash;
pub mod stale_state;
pub mod unobserved_state;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use trace::History;

pub use self::{
    crash::{Crash, DroppedCall, Restart},
    stale_state::{Behind, CatchUp, StaleState},
    unobserved_state::{Release, UnobservedState},
};
use crate::{moment::Moment, plan::Weight};

/// Why a real cluster may show this: a rule and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// The rule in one sentence.
    pub rule: String,
    /// KEP, API page or paper section.
    pub source: String,
    /// Where it takes certain servers or clients; none where every cluster may do it (and in files of before).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal_on: Option<LegalOn>,
}

/// What an anomaly takes, and how it comes about there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegalOn {
    /// Versions and feature gates of the servers, and of the client.
    pub servers: String,
    /// What happens, a clause each, in order.
    pub steps: Vec<String>,
}

/// What each family says of one of its perturbations.
pub trait Anomaly: fmt::Display {
    /// When it begins.
    fn moment(&self) -> &Moment;

    /// The argument for its legality, in a run that it was carried out in.
    fn citation(&self, shown: &History) -> Citation;

    /// How much it adds to a plan's weight, besides being one perturbation more.
    fn weight(&self) -> Weight;

    /// Whether it takes time by itself, so that behind two of them no two worlds are exactly the same age.
    fn takes_time(&self) -> bool {
        false
    }

    /// Perturbations that are one notch simpler, simplest first.
    fn simpler(&self) -> Vec<Perturbation>;

    /// What of it alone can't be carried out, whatever the controller does: for plans that people edit.
    fn wrong(&self) -> Option<String>;

    /// User steps for which it lasts after its beginning.
    fn lasts(&self) -> u32 {
        0
    }

    /// The kill with which it begins, if it begins with one: then it can be carried out on a fork of the world that the
    /// kill leaves.
    fn crash(&self) -> Option<&Crash>;

    /// The same, to change.
    fn crash_mut(&mut self) -> Option<&mut Crash>;
}

/// Makes the two lists of families out of one.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident $name:literal: $kind:ident,)*) => {
        /// The families of design §7, as far as they are built.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Family {
            $($(#[$doc])* #[serde(rename = $name)] $family,)*
        }

        impl Family {
            /// Every family that can be asked for, cheapest first.
            pub const ALL: &[Family] = &[$(Family::$family),*];

            /// As users write it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Family::$family => $name,)*
                }
            }
        }

        impl Family {
            /// Whether what it does restarts the subject: then all of it together is explored to closure, because whoever is
            /// restarted remembers nothing. If not, its plans are enumerated from what happened in undisturbed runs.
            pub fn restarts(self) -> bool {
                self != Family::UnobservedState
            }
        }

        /// One legal anomaly.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum Perturbation {
            $($(#[$doc])* $kind($kind),)*
        }

        impl Perturbation {
            /// Its family.
            pub fn family(&self) -> Family {
                match self {
                    $(Perturbation::$kind(_) => Family::$family,)*
                }
            }

            /// What its family says of it.
            pub fn anomaly(&self) -> &dyn Anomaly {
                match self {
                    $(Perturbation::$kind(one) => one,)*
                }
            }

            fn anomaly_mut(&mut self) -> &mut dyn Anomaly {
                match self {
                    $(Perturbation::$kind(one) => one,)*
                }
            }
        }

        $(impl From<$kind> for Perturbation {
            fn from(one: $kind) -> Perturbation {
                Perturbation::$kind(one)
            }
        })*
    };
}

impl Perturbation {
    /// See [`Anomaly::moment`].
    pub fn moment(&self) -> &Moment {
        self.anomaly().moment()
    }

    /// See [`Anomaly::citation`].
    pub fn citation(&self, shown: &History) -> Citation {
        self.anomaly().citation(shown)
    }

    /// See [`Anomaly::crash`].
    pub fn crash(&self) -> Option<&Crash> {
        self.anomaly().crash()
    }

    /// Whether it is a plain restart on a world that has settled at the end.
    pub fn restarts_when_settled(&self) -> bool {
        matches!(self, Perturbation::Crash(crash) if crash.at == Moment::Settled)
    }

    /// See [`Anomaly::crash_mut`].
    pub fn crash_mut(&mut self) -> Option<&mut Crash> {
        self.anomaly_mut().crash_mut()
    }
}

impl fmt::Display for Perturbation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.anomaly().fmt(f)
    }
}

/// A name that no family has; holds those that there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no family of perturbations: those that exist are {0}")]
pub struct UnknownFamily(pub String);

impl FromStr for Family {
    type Err = UnknownFamily;
    fn from_str(text: &str) -> Result<Family, UnknownFamily> {
        let found = Family::ALL.iter().copied().find(|family| family.name() == text);
        let names = || Family::ALL.iter().map(|family| family.name()).collect::<Vec<_>>();
        found.ok_or_else(|| UnknownFamily(names().join(", ")))
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

families! {
    /// Killed at a revision or between two calls, and started again.
    IntermediateState "intermediate-state": Crash,
    /// Killed, and started again in front of an API server whose watch caches are behind.
    StaleState "stale-state": StaleState,
    /// Kept from seeing what was true for a while only.
    UnobservedState "unobserved-state": UnobservedState,
}
