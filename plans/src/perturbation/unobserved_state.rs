//! unobserved-state: what is true for a while only is never seen by the subject.
//!
//! Deliveries of one type are held from one event of an object until a later one of the same object that cancels it:
//! created and deleted, changed and changed back, changed twice. Then they come in one burst, or the watch is cut and a
//! relist shows only the state after both.

use std::fmt;

use serde::{Deserialize, Serialize};
use trace::History;

use super::{Anomaly, Citation, Crash, Perturbation};
use crate::{
    moment::{ChangeMatch, Moment, Occurred},
    plan::Weight,
};

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnobservedState {
    /// From which event on deliveries of its type are held: a [`Moment::Delivery`].
    pub from: Moment,
    /// Until this has happened, counted as `from` is, and all is quiet.
    pub until: Occurred,
    /// How the subject learns of it then.
    pub release: Release,
}

/// How held deliveries end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Release {
    /// All are delivered at once, in order.
    Burst,
    /// The watch is cut, the next one is told that its revision is too old (410), and the client lists anew.
    Relist,
}

impl Anomaly for UnobservedState {
    fn moment(&self) -> &Moment {
        &self.from
    }

    fn citation(&self, _shown: &History) -> Citation {
        match self.release {
            Release::Burst => Citation {
                rule: "a watch may lag without bound; events stay complete and in order".into(),
                source: "Kubernetes API concepts, efficient detection of changes; KEP-5647, motivation".into(),
                legal_on: None,
            },
            Release::Relist => Citation {
                rule: "a watch may end at any time, and a resource version that the watch cache no longer holds is answered with 410 Gone, after which the client lists the present state; what lay between is never shown".into(),
                source: "Kubernetes API concepts, 410 Gone responses; kubernetes.io/docs/reference/using-api/api-concepts".into(),
                legal_on: None,
            },
        }
    }

    fn wrong(&self) -> Option<String> {
        let Moment::Delivery { event } = &self.from else {
            return Some(
                "from: write which event is held first, as delivery: {event: …}".to_owned(),
            );
        };
        let (first, last) = (&event.change, &self.until.change);
        let object = |change: &ChangeMatch| {
            (change.resource.clone(), change.namespace.clone(), change.name.clone())
        };
        if object(first) != object(last) {
            return Some(format!("from and until are about one object, not {first} and {last}"));
        }
        let counts = [event.occurrence, self.until.occurrence];
        if counts.contains(&0) {
            return Some("occurrences count from 1".to_owned());
        }
        // Who made it may be left open: then at least as many have happened.
        let open = ChangeMatch { by: None, ..first.clone() };
        let alike = first == last || open == *last;
        (alike && self.until.occurrence <= event.occurrence).then(|| {
            format!(
                "until comes after from, and both are counted from the same place: write occurrence: {} or more in until",
                event.occurrence + 1
            )
        })
    }

    fn weight(&self) -> Weight {
        let release = match self.release {
            Release::Relist => 1,
            Release::Burst => 2,
        };
        Weight { unobserved: release, ..Weight::default() }
    }

    fn takes_time(&self) -> bool {
        true
    }

    fn simpler(&self) -> Vec<Perturbation> {
        vec![]
    }

    fn crash(&self) -> Option<&Crash> {
        None
    }

    fn crash_mut(&mut self) -> Option<&mut Crash> {
        None
    }
}

impl fmt::Display for UnobservedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kept from seeing {} until {}, then ", self.from, self.until)?;
        f.write_str(match self.release {
            Release::Burst => "all delivered at once",
            Release::Relist => "made to list anew",
        })
    }
}
