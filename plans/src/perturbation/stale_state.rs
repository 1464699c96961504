//! stale-state: the subject is killed and started again in front of an API server whose watch caches are behind.
//!
//! An API server answers lists with `resourceVersion=0` (and *not older than*) and all watches from a watch cache, one
//! for each type, each with its own progress. So the restarted subject may meet a state of one type, or of all, that is
//! older than what its predecessor had seen. What a client may rightly expect to be fresh stays fresh: reads without
//! `resourceVersion` and all writes go to the store. How clients of today come to such a list: [`crate::stale_read`].

use std::fmt;

use serde::{Deserialize, Serialize};
use trace::{Change, GroupResource, History};

use super::{Anomaly, Citation, Crash, Perturbation};
use crate::{
    moment::{Moment, Occurred},
    plan::Weight,
    stale_read::StaleRead,
};

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaleState {
    /// The kill, and when the subject is started again.
    pub crash: Crash,
    /// How far behind the caches are then.
    pub behind: Behind,
    /// When they catch up.
    #[serde(default)]
    pub catch_up: CatchUp,
}

/// An older state that watch caches stand at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Behind {
    /// The type whose cache is behind; none: the caches of all types are, at the same revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<GroupResource>,
    /// The last change that they have taken in, counted from the beginning of the run; none: they stand where they stood
    /// when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Occurred>,
    /// They have taken in all that happened before that change, and not the change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before: bool,
}

impl Behind {
    /// Whether the cache of this type is.
    pub fn covers(&self, resource: &GroupResource) -> bool {
        match &self.resource {
            Some(behind) => behind == resource,
            None => !resource.is_bookkeeping(),
        }
    }
}

/// When watch caches that are behind catch up. At the latest when the user waits for the subject, and before the end is
/// judged.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum CatchUp {
    /// When the subject has done what it does about the old state, and all is quiet.
    #[default]
    Quiet,
    /// When the user has done this many further writes, from 1, and all is quiet.
    AfterUserStep(u32),
}

impl Anomaly for StaleState {
    fn moment(&self) -> &Moment {
        &self.crash.at
    }

    fn citation(&self, shown: &History) -> Citation {
        let read = StaleRead::shown_by(shown, &self.behind);
        let any = "Kubernetes API concepts, resource versions (\"Any\"); KEP-2523; kubernetes/kubernetes#59848";
        Citation {
            rule: "a restarted client may be served by an API server whose watch cache is behind: a list or watch with resourceVersion=0 is answered from any state of that cache, also one older than what the client had seen before".into(),
            source: format!("{any}{}", read.source()),
            legal_on: Some(read.legal_on(&self.behind)),
        }
    }

    fn wrong(&self) -> Option<String> {
        let resource = self.behind.resource.as_ref();
        if let Some(resource) = resource.filter(|resource| resource.is_bookkeeping()) {
            return Some(format!("behind.resource: caches of {resource} are never behind"));
        }
        if self.behind.up_to.as_ref().is_some_and(|up_to| up_to.occurrence == 0) {
            return Some("behind.upTo.occurrence counts from 1".to_owned());
        }
        if self.behind.before && self.behind.up_to.is_none() {
            return Some("behind.before: write in behind.upTo before which change".to_owned());
        }
        if self.behind.up_to.as_ref().is_some_and(is_part_of_no_update) {
            return Some("behind.upTo.change.part: only updates have parts".to_owned());
        }
        if self.catch_up == CatchUp::AfterUserStep(0) {
            return Some("catchUp.afterUserStep counts from 1: write quiet for none".to_owned());
        }
        self.crash.wrong()
    }

    fn weight(&self) -> Weight {
        Weight {
            stale: 1 + u32::from(self.behind.resource.is_none()) + 2 * self.lasts(),
            ..self.crash.weight()
        }
    }

    fn lasts(&self) -> u32 {
        match self.catch_up {
            CatchUp::Quiet => 0,
            CatchUp::AfterUserStep(steps) => steps,
        }
    }

    fn takes_time(&self) -> bool {
        true
    }

    fn simpler(&self) -> Vec<Perturbation> {
        // Without the staleness it is another family's.
        let mut simpler = vec![Perturbation::from(self.crash.clone())];
        if self.catch_up != CatchUp::Quiet {
            let sooner = StaleState { catch_up: CatchUp::Quiet, ..self.clone() };
            simpler.push(sooner.into());
        }
        if let (None, Some(up_to)) = (&self.behind.resource, &self.behind.up_to) {
            let resource = Some(up_to.change.resource.clone());
            let behind = Behind { resource, up_to: Some(up_to.clone()), ..self.behind };
            simpler.push(StaleState { behind, ..self.clone() }.into());
        }
        let crashes = self.crash.notches().into_iter();
        simpler.extend(crashes.map(|crash| StaleState { crash, ..self.clone() }.into()));
        simpler
    }

    fn crash(&self) -> Option<&Crash> {
        Some(&self.crash)
    }

    fn crash_mut(&mut self) -> Option<&mut Crash> {
        Some(&mut self.crash)
    }
}

fn is_part_of_no_update(what: &Occurred) -> bool {
    what.change.part.is_some() && what.change.change != Change::Updated
}

impl fmt::Display for StaleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}{}", self.crash, self.behind, self.catch_up)
    }
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.resource {
            Some(resource) => write!(f, "the cache of {resource}")?,
            None => f.write_str("all caches")?,
        }
        match &self.up_to {
            Some(up_to) if self.before => write!(f, " as of just before {up_to}"),
            Some(up_to) => write!(f, " as of {up_to}"),
            None => f.write_str(" as of the beginning"),
        }
    }
}

impl fmt::Display for CatchUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CatchUp::Quiet => Ok(()),
            CatchUp::AfterUserStep(1) => f.write_str(" until after the user's next step"),
            CatchUp::AfterUserStep(n) => write!(f, " until after the user's next {n} steps"),
        }
    }
}
