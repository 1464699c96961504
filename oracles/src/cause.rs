//! The first wrong write: which commit made an object differ from the references, and whose doing that was.
//!
//! **Follow-ups.** A built-in controller does what objects ask of it. A deletion by the garbage collector comes from
//! the deletion of an owner, a Pod that the ReplicaSet controller creates from a change of the ReplicaSet. So a commit
//! of a built-in controller is traced back to the commit that asked for it: through the object itself and its owners
//! (`metadata.ownerReferences`), to the last one that somebody else made.

mod search;

use std::fmt;

use serde_json::Value;
use trace::{Actor, Commit, Cursor, Path};

pub(crate) use self::search::Causes;
use crate::{role::starred, verdict::Evidence};

/// The actor of a write that never came.
pub(crate) const NOBODY: &str = "nobody";

/// Whether one of two causes is a field that nobody wrote, of the object that according to the other nobody created.
pub(crate) fn is_part_of(field: &str, whole: &str) -> bool {
    let object = whole.strip_prefix(NOBODY).and_then(|whole| whole.strip_prefix(" created "));
    let written = field.strip_prefix(NOBODY).and_then(|field| field.strip_prefix(" wrote "));
    let of = written.and_then(|written| Some(written.rsplit_once(" of ")?.1));
    object.is_some() && object == of
}

/// How an object differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong<'e> {
    /// Fewer than in the references.
    Missing,
    /// More than there, when the workload stood here.
    Extra(Cursor),
    /// This field differs.
    Field {
        path: &'e Path,
        /// What the references have there, if that is known.
        expected: Option<&'e Value>,
    },
}

/// Why it differs, the same from run to run: no drawn names, no values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// A commit after the last perturbation.
    Write {
        /// `the controller`, `the user`, `the garbage-collector`.
        actor: String,
        /// `created`, `deleted`, `wrote .spec.replicas of`.
        did: String,
        /// Folded key.
        object: String,
    },
    /// None: what the references write never came. `created`, `deleted`, `wrote .spec.x`.
    Never {
        /// What nobody did.
        did: String,
        /// Folded key.
        object: String,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Write { actor, did, object } => {
                write!(f, "{actor} {did} {}", starred(object))
            }
            Cause::Never { did, object } => {
                write!(f, "{NOBODY} {did} {}", starred(object))
            }
        }
    }
}

/// A cause, and the commit where there is one.
pub(crate) struct Found<'t> {
    pub cause: Cause,
    pub commit: Option<&'t Commit>,
}

impl Found<'_> {
    /// The commit as evidence.
    pub fn evidence(&self) -> Option<Evidence> {
        let commit = self.commit?;
        Some(Evidence::WrongWrite {
            object: commit.key.to_string(),
            actor: commit.actor.clone(),
            change: commit.change,
            revision: commit.revision,
        })
    }
}

/// Whose doing, without the number of a replica.
pub(crate) fn whose(actor: &Actor) -> String {
    match actor {
        Actor::Subject(_) => "the controller".to_owned(),
        Actor::User => "the user".to_owned(),
        Actor::Environment(name) => format!("the {name}"),
        Actor::Trommel => "Trommel".to_owned(),
    }
}

/// Whether a text is a UUID in its usual form, as uids are (RFC 9562).
pub(crate) fn is_uuid(text: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match HYPHENS.contains(&at) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
}

/// The uid of an object as it is stored.
pub(crate) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// The uids of its owners.
pub(crate) fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str())
}
