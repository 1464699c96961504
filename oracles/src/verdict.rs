//! What an oracle says of a trial.

mod model;
mod older;
mod property;

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Actor, Change, Cursor, Path, Revision};

pub use self::{model::Parted, property::Broken};
use crate::{
    cause::{self, Cause},
    restart_writes::RestartWrite,
};

/// The part of a fingerprint that names the first wrong write begins so.
const CAUSE: &str = "cause: ";

/// The oracles, in the order in which they judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oracle {
    /// Did the perturbations happen, did the subject act, did all settle? Never violated.
    Assumptions,
    /// Did each operation of the workload succeed?
    Workload,
    /// Is the world at each settle the references' world?
    EndState,
    /// Did what lives to the end in all references live on?
    ObjectLives,
    /// Does a restart when all has settled write nothing?
    RestartWrites,
    /// Does the controller stay up once it was started again?
    Exits,
    /// Does it come to rest?
    Livelock,
    /// Did a field go back to an earlier value and forward again?
    Rollback,
    /// Does the controller do what its model does?
    Model,
    /// Does it have the properties that the campaign asks for?
    Property,
}

/// How much a violation matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The cluster stays wrong, or something was lost.
    #[default]
    Lasting,
    /// It was wrong for a while, and is right in the end.
    Transient,
}

impl Oracle {
    /// How much its violations matter.
    pub fn severity(self) -> Severity {
        match self {
            Oracle::Rollback => Severity::Transient,
            _ => Severity::Lasting,
        }
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Oracle::Assumptions => "assumptions",
            Oracle::Exits => "exits",
            Oracle::Livelock => "livelock",
            Oracle::Model => "model",
            Oracle::Property => "property",
            Oracle::Workload => "workload",
            Oracle::EndState => "end-state",
            Oracle::ObjectLives => "object-lives",
            Oracle::RestartWrites => "restart-writes",
            Oracle::Rollback => "rollback",
        })
    }
}

/// Three values: a run that proves nothing has not passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictValue {
    /// Looked, and nothing is wrong.
    Held,
    /// Could not look.
    Unknown,
    /// Looked, and something is wrong.
    Violated,
}

impl fmt::Display for VerdictValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VerdictValue::Held => "held",
            VerdictValue::Unknown => "unknown",
            VerdictValue::Violated => "violated",
        })
    }
}

/// One oracle's judgement of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Who says it.
    pub oracle: Oracle,
    /// What it says.
    pub value: VerdictValue,
    /// In one sentence, without a full stop.
    pub title: String,
    /// What it is based on.
    pub evidence: Vec<Evidence>,
    /// What findings are grouped by; empty unless violated.
    pub fingerprint: Fingerprint,
}

impl Verdict {
    pub(crate) fn held(oracle: Oracle, title: impl Into<String>) -> Verdict {
        Verdict {
            oracle,
            value: VerdictValue::Held,
            title: title.into(),
            evidence: Vec::new(),
            fingerprint: Fingerprint::default(),
        }
    }

    /// What a restart when all had settled wrote and should not.
    pub fn restart_writes(&self) -> impl Iterator<Item = &RestartWrite> {
        self.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::Restart(write) => Some(write),
            _ => None,
        })
    }

    /// The revision of the first wrong write.
    pub fn wrong_write(&self) -> Option<Revision> {
        self.evidence.iter().find_map(|evidence| match evidence {
            Evidence::WrongWrite { revision, .. } => Some(*revision),
            _ => None,
        })
    }

    /// Whether the cluster stays wrong.
    pub fn is_lasting_violation(&self) -> bool {
        self.value == VerdictValue::Violated && self.oracle.severity() == Severity::Lasting
    }

    pub(crate) fn unknown(oracle: Oracle, title: impl Into<String>) -> Verdict {
        Verdict { value: VerdictValue::Unknown, ..Verdict::held(oracle, title) }
    }
}

/// Something that a verdict is based on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Evidence {
    /// At a settle there are more or fewer objects of a kind than in the references.
    Count {
        /// Which settle.
        cursor: Cursor,
        /// Folded canonical key: `foos.example.com/default/foo-‹*›`.
        objects: String,
        /// Kind and name of who manages them, where their names are generated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        /// How many the references have.
        references: usize,
        /// How many the trial has.
        trial: usize,
    },
    /// At a settle a field differs.
    Field {
        /// Which settle.
        cursor: Cursor,
        /// Canonical key of the object.
        object: String,
        /// Which field.
        path: Path,
        /// What the references have there.
        references: Option<Value>,
        /// What the trial has there.
        trial: Option<Value>,
    },
    /// An object that lives to the end in all references was deleted.
    Deleted {
        /// Its key, with its real name.
        object: String,
        /// By whom.
        actor: Actor,
        /// At which revision.
        revision: Revision,
        /// Whether something of that name was created again afterwards.
        recreated: bool,
    },
    /// More creations than in any reference: reported, not judged.
    Surplus {
        /// Folded canonical key.
        objects: String,
        /// The most that a reference created, those that stood there at its start included.
        references: u32,
        /// How many this trial knows of.
        trial: u32,
    },
    /// The first wrong write: the commit that led to the difference.
    WrongWrite {
        /// The key of its object, with the real name.
        object: String,
        /// Who made it.
        actor: Actor,
        /// What it did.
        change: Change,
        /// The revision that it made.
        revision: Revision,
    },
    /// A field went back and forward again.
    Rollback {
        /// The key of its object, with the real name.
        object: String,
        /// Which field.
        path: Path,
        /// Its value before and afterwards.
        from: Value,
        /// Its value meanwhile.
        to: Value,
        /// The revision that brought it forward again.
        back: Revision,
        /// Seconds of the world's time in between.
        lasted: f64,
        /// Pods of the object that built-in controllers deleted because of it.
        replaced: usize,
    },
    /// Restarted when all had settled, the controller wrote what no undisturbed one does.
    Restart(RestartWrite),
    /// An operation of the workload failed.
    Step {
        /// Which.
        cursor: Cursor,
        /// Its title.
        title: String,
        /// What was expected and what was found.
        message: String,
    },
    /// What happened in a run that does not have a property.
    Path {
        /// A step each.
        steps: Vec<String>,
        /// The step with which the endless part begins, counted from 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cycle: Option<usize>,
    },
    /// Why nothing can be said.
    Reason {
        /// The sentence.
        text: String,
    },
}

/// What stays the same of a finding from run to run and from cluster to cluster: the oracle, the kind of difference, the
/// object by its role, the field, and the first wrong write. No drawn names, no counts, no values, and no perturbations:
/// one bug shows by many.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub Vec<String>);

impl Fingerprint {
    pub(crate) fn new(
        oracle: Oracle,
        differences: impl IntoIterator<Item = String>,
    ) -> Fingerprint {
        let differences: BTreeSet<String> = differences.into_iter().collect();
        Fingerprint([format!("oracle {oracle}")].into_iter().chain(differences).collect())
    }

    /// The same, with the write that led to it.
    pub(crate) fn caused_by(mut self, cause: &Cause) -> Fingerprint {
        self.0.push(format!("{CAUSE}{cause}"));
        self
    }

    /// Its cause in words: `the controller deleted persistentvolumeclaims/default/data-0`, `nobody created
    /// configmaps/default/a`. None where nothing is known of it.
    pub fn cause(&self) -> Option<&str> {
        self.0.iter().find_map(|part| part.strip_prefix(CAUSE))
    }

    /// Whether both have the same cause: the same first wrong write; or the same write never came, of a field or of the
    /// whole object that has it.
    pub fn has_cause_of(&self, other: &Fingerprint) -> bool {
        let (Some(one), Some(other)) = (self.cause(), other.cause()) else { return false };
        one == other || cause::is_part_of(one, other) || cause::is_part_of(other, one)
    }

    /// Twelve hexadecimal digits.
    pub fn id(&self) -> String {
        let hash = blake3::hash(self.0.join("\n").as_bytes());
        hash.to_hex()[..12].to_owned()
    }
}
