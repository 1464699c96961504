//! A plan: what one trial does, by value.

mod wrong;

use std::fmt;

use serde::{Deserialize, Serialize};
use trace::GroupResource;

pub use self::wrong::{OperationShape, Surroundings, Wrong};
use crate::perturbation::{Crash, Family, Perturbation};

/// Perturbations in the order in which they are armed: each only after the one before was carried out.
/// Carried out from the beginning (prefix), or from the world that the earlier ones lead to (fork): both
/// mean the same plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plan {
    /// In order. Empty: an undisturbed run.
    pub perturbations: Vec<Perturbation>,
}

/// Names a plan by its content: the same plan has the same id on every machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(pub String);

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How simple a plan is: less is simpler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Weight {
    /// Its depth.
    pub perturbations: usize,
    /// How much passes before the subject is started again: two for each user step, one for the environment's rest.
    pub waits: u32,
    /// Kills of one replica, with others that go on.
    pub members: u32,
    /// Writes under way that never reach the store.
    pub dropped: usize,
    /// Caches that are behind: one for a type, two for all, and two for each user step that they stay so.
    pub stale: u32,
    /// States that are never seen: one for a relist, two for a burst.
    pub unobserved: u32,
}

impl Plan {
    /// The undisturbed plan.
    pub fn undisturbed() -> Plan {
        Plan::default()
    }

    /// This plan and one perturbation more.
    pub fn and(&self, next: impl Into<Perturbation>) -> Plan {
        let mut perturbations = self.perturbations.clone();
        perturbations.push(next.into());
        Plan { perturbations }
    }

    /// Its name: the first 12 hexadecimal digits of the hash of its JSON.
    pub fn id(&self) -> PlanId {
        let bytes = serde_json::to_vec(self).expect("a plan is plain data");
        PlanId(blake3::hash(&bytes).to_hex()[..12].to_owned())
    }

    /// Whether it ends with a restart in front of an old cache of this type, and of no other.
    pub fn is_behind(&self, resource: &GroupResource) -> bool {
        match self.perturbations.last() {
            Some(Perturbation::StaleState(stale)) => {
                stale.behind.resource.as_ref() == Some(resource)
            }
            _ => false,
        }
    }

    /// How many perturbations it combines.
    pub fn depth(&self) -> usize {
        self.perturbations.len()
    }

    /// How simple it is.
    pub fn weight(&self) -> Weight {
        let none = Weight { perturbations: self.depth(), ..Weight::default() };
        let each = self.perturbations.iter().map(|one| one.anomaly().weight());
        each.fold(none, |sum, one| Weight {
            perturbations: sum.perturbations,
            waits: sum.waits + one.waits,
            members: sum.members + one.members,
            dropped: sum.dropped + one.dropped,
            stale: sum.stale + one.stale,
            unobserved: sum.unobserved + one.unobserved,
        })
    }

    /// The last perturbation's kill, to change.
    pub fn last_crash_mut(&mut self) -> Option<&mut Crash> {
        self.perturbations.last_mut()?.crash_mut()
    }

    /// Whether one of its perturbations takes time: see [`crate::Anomaly::takes_time`].
    pub fn takes_time(&self) -> bool {
        self.perturbations.iter().any(|one| one.anomaly().takes_time())
    }

    /// Whether it ends with a plain restart on the world that has settled at the end.
    pub fn restarts_when_settled(&self) -> bool {
        self.perturbations.last().is_some_and(Perturbation::restarts_when_settled)
    }

    /// User steps for which its last perturbation lasts.
    pub fn lasts(&self) -> u32 {
        self.perturbations.last().map_or(0, |last| last.anomaly().lasts())
    }

    /// All its families, each once, in the order of its perturbations, joined with `+`; `undisturbed` if it has none.
    pub fn families(&self) -> String {
        if self.perturbations.is_empty() {
            return "undisturbed".to_owned();
        }
        let mut names: Vec<&str> = vec![];
        for name in self.perturbations.iter().map(|one| one.family().name()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join("+")
    }

    /// The family of its last perturbation, by which it is counted.
    pub fn family(&self) -> Option<Family> {
        self.perturbations.last().map(Perturbation::family)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.perturbations.is_empty() {
            return f.write_str("undisturbed");
        }
        for (index, perturbation) in self.perturbations.iter().enumerate() {
            let joint = if index > 0 { "; then " } else { "" };
            write!(f, "{joint}{perturbation}")?;
        }
        Ok(())
    }
}
