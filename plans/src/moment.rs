//! When a perturbation happens: told by *what* happened, never by a revision number alone.

mod request;

use std::fmt;

use serde::{Deserialize, Serialize};
use trace::{Actor, Answer, Call, Change, Commit, Cursor, GroupResource, ObjectKey, Verb};

pub use self::request::{OnItsWay, RequestMatch, Verbs};
use crate::stale_views::Part;

/// A name, or the part of it that is the same in every run: `foo-*` for a name made by `generateName: foo-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamePattern(pub String);

impl NamePattern {
    /// Whether `name` is one of those meant. Only a trailing `*` is special.
    pub fn matches(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix) && name.len() > prefix.len(),
            None => self.0 == name,
        }
    }

    /// Whether each name that `other` means is meant here, too.
    pub fn covers(&self, other: &NamePattern) -> bool {
        match (self.0.strip_suffix('*'), other.0.strip_suffix('*')) {
            (Some(prefix), Some(longer)) => longer.starts_with(prefix),
            (_, Some(_)) => false,
            (_, None) => self.matches(&other.0),
        }
    }
}

/// Calls of the subject that are the same action in every run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallMatch {
    /// What it asks for.
    pub verb: Verb,
    /// On which type.
    pub resource: GroupResource,
    /// `status`, …; empty for the object itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// In which namespace; empty for cluster scope.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// On which object; none where the call names none (lists, deletecollection).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<NamePattern>,
}

impl CallMatch {
    /// The action that `call` is. `generated` tells whether a name was made from `generateName`, and from
    /// which prefix.
    pub fn of(call: &Call, generated: &dyn Fn(&str) -> Option<String>) -> Option<CallMatch> {
        let pattern = |name: &str| match generated(name) {
            Some(prefix) => NamePattern(format!("{prefix}*")),
            None => NamePattern(name.to_owned()),
        };
        Some(CallMatch {
            verb: call.verb,
            resource: call.resource.clone()?,
            subresource: call.subresource.clone(),
            namespace: call.namespace.clone(),
            name: Named::by(call).map(|named| match named {
                Named::Given(name) => pattern(name),
                Named::Prefix(prefix) => NamePattern(format!("{prefix}*")),
            }),
        })
    }

    /// Whether `call` is this action.
    pub fn matches(&self, call: &Call) -> bool {
        call.verb == self.verb
            && call.resource.as_ref() == Some(&self.resource)
            && call.subresource == self.subresource
            && call.namespace == self.namespace
            && match (&self.name, Named::by(call)) {
                (None, None) => true,
                (Some(pattern), Some(Named::Given(name))) => pattern.matches(name),
                (Some(pattern), Some(Named::Prefix(prefix))) => {
                    pattern.0.strip_suffix('*') == Some(prefix)
                }
                _ => false,
            }
    }
}

/// What a call says of its object's name: in the path, or in the body of a create.
enum Named<'c> {
    Given(&'c str),
    /// The server is to choose a name that begins so.
    Prefix(&'c str),
}

impl Named<'_> {
    fn by(call: &Call) -> Option<Named<'_>> {
        if !call.name.is_empty() {
            return Some(Named::Given(&call.name));
        }
        let metadata = call.body.json().filter(|_| call.verb == Verb::Create)?.get("metadata")?;
        let text = |field| metadata.get(field)?.as_str().filter(|text: &&str| !text.is_empty());
        text("name").map(Named::Given).or_else(|| text("generateName").map(Named::Prefix))
    }
}

impl fmt::Display for CallMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.verb, self.resource)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        if let Some(name) = &self.name {
            write!(f, "/{}", name.0)?;
        }
        if !self.subresource.is_empty() {
            write!(f, " ({})", self.subresource)?;
        }
        Ok(())
    }
}

/// Writes of a built-in controller that are the same in every run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommitMatch {
    /// The controller, by name.
    pub by: String,
    /// What it did.
    pub change: Change,
    /// To which type.
    pub resource: GroupResource,
    /// In which namespace; empty for cluster scope.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// To which object.
    pub name: NamePattern,
}

impl CommitMatch {
    /// The action that `commit` is; none if it is no built-in controller's, or bookkeeping. `generated` as in
    /// [`CallMatch::of`].
    pub fn of(commit: &Commit, generated: &dyn Fn(&str) -> Option<String>) -> Option<CommitMatch> {
        let Actor::Environment(by) = &commit.actor else { return None };
        let name = match generated(&commit.key.name) {
            Some(prefix) => format!("{prefix}*"),
            None => commit.key.name.to_string(),
        };
        (!commit.is_bookkeeping()).then(|| CommitMatch {
            by: by.to_string(),
            change: commit.change,
            resource: commit.key.resource.clone(),
            namespace: commit.key.namespace.to_string(),
            name: NamePattern(name),
        })
    }

    /// Whether `commit` is this action.
    pub fn matches(&self, commit: &Commit) -> bool {
        matches!(&commit.actor, Actor::Environment(by) if **by == *self.by)
            && commit.change == self.change
            && commit.key.resource == self.resource
            && *commit.key.namespace == *self.namespace
            && self.name.matches(&commit.key.name)
    }
}

impl fmt::Display for CommitMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = match self.change {
            Change::Created => "create",
            Change::Updated => "update",
            Change::Deleted => "delete",
        };
        write!(f, "{change} of {}", self.resource)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{} by the {}", self.name.0, self.by)
    }
}

/// Who changed an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The user.
    User,
    /// The controller under test.
    Subject,
    /// A built-in controller.
    Environment,
}

impl By {
    /// Whose writes these are; none of Trommel itself, nor where it is not known yet (what is observed of another
    /// cluster is said to be the cluster's).
    pub fn of(actor: &Actor) -> Option<By> {
        match actor {
            Actor::User => Some(By::User),
            Actor::Subject(_) => Some(By::Subject),
            Actor::Environment(name) if **name != *"cluster" => Some(By::Environment),
            Actor::Environment(_) | Actor::Trommel => None,
        }
    }
}

/// A change of one object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeMatch {
    /// What happened to it.
    pub change: Change,
    /// Of which type it is.
    pub resource: GroupResource,
    /// In which namespace; empty for cluster scope.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Which object.
    pub name: NamePattern,
    /// Who made it; none: anybody. How often the subject changes an object may depend on what it sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// What an update changes; none: anything. Only older states are named by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

impl ChangeMatch {
    /// What happened to this object. `generated` as in [`CallMatch::of`].
    pub fn of(
        change: Change,
        key: &ObjectKey,
        generated: &dyn Fn(&str) -> Option<String>,
    ) -> ChangeMatch {
        let name = match generated(&key.name) {
            Some(prefix) => format!("{prefix}*"),
            None => key.name.to_string(),
        };
        ChangeMatch {
            change,
            resource: key.resource.clone(),
            namespace: key.namespace.to_string(),
            name: NamePattern(name),
            by: None,
            part: None,
        }
    }

    /// The same by whoever made this commit.
    pub fn by(self, actor: &Actor) -> ChangeMatch {
        ChangeMatch { by: By::of(actor), ..self }
    }

    /// Whether this commit is one.
    pub fn is(&self, commit: &Commit) -> bool {
        let by = self.by.is_none_or(|by| By::of(&commit.actor).is_none_or(|found| found == by));
        by && self.matches(commit.change, &commit.key)
    }

    /// Whether this happened to such an object.
    pub fn matches(&self, change: Change, key: &ObjectKey) -> bool {
        self.change == change && self.is_about(key)
    }

    /// Whether it is about this object.
    pub fn is_about(&self, key: &ObjectKey) -> bool {
        key.resource == self.resource
            && *key.namespace == *self.namespace
            && self.name.matches(&key.name)
    }
}

impl fmt::Display for ChangeMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = match (self.change, self.part) {
            (Change::Created, _) => "creation",
            (Change::Updated, None) => "update",
            (Change::Updated, Some(Part::DeletionMark)) => "deletion mark",
            (Change::Updated, Some(Part::Spec)) => "change of the spec",
            (Change::Deleted, _) => "deletion",
        };
        write!(f, "{change} of {}", self.resource)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}", self.name.0)?;
        match self.by {
            Some(By::User) => f.write_str(" by the user"),
            Some(By::Subject) => f.write_str(" by the controller"),
            Some(By::Environment) => f.write_str(" by a built-in controller"),
            None => Ok(()),
        }
    }
}

/// The how-manieth change of its kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Occurred {
    /// What happened.
    pub change: ChangeMatch,
    /// Which time, from 1.
    pub occurrence: u32,
}

impl fmt::Display for Occurred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.occurrence {
            1 => write!(f, "the first {}", self.change),
            n => write!(f, "the {} {}", ordinal(n), self.change),
        }
    }
}

/// A point in a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Moment {
    /// The `occurrence`-th call (from 1) of this kind that changed the store since the previous
    /// perturbation (or the beginning) has been committed, and its sender has not yet heard.
    #[serde(rename_all = "camelCase")]
    Committed {
        /// Which calls.
        call: CallMatch,
        /// Which of them, from 1.
        occurrence: u32,
    },
    /// The `occurrence`-th write (from 1) of a built-in controller of this kind while the subject ran, since the
    /// previous perturbation (or the beginning), has been committed, and the subject has seen nothing of it.
    #[serde(rename_all = "camelCase")]
    Environment {
        /// Which writes.
        write: CommitMatch,
        /// Which of them, from 1.
        occurrence: u32,
    },
    /// The `occurrence`-th request (from 1) of this kind since the previous perturbation (or the beginning) is there on
    /// its way. Only schedules of models say so: what is sent and reaches nobody leaves no world of its own.
    #[serde(rename_all = "camelCase")]
    Request {
        /// Which requests.
        request: RequestMatch,
        /// How far it has come.
        at: OnItsWay,
        /// Which of them, from 1.
        occurrence: u32,
    },
    /// This change (counted since the previous perturbation, or the beginning) has been committed, and the subject has
    /// seen nothing of it: its event is the next of its watch.
    #[serde(rename_all = "camelCase")]
    Delivery {
        /// Which event.
        event: Occurred,
    },
    /// The workload has just reached this position; the subject has seen nothing of the step that led there.
    #[serde(rename_all = "camelCase")]
    Step {
        /// The position reached.
        cursor: Cursor,
        /// The step that led there, as a person calls it. It only explains: the position decides.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        after: String,
    },
    /// The workload has been played, and all has settled: what is started then has nothing left to do.
    Settled,
}

impl Moment {
    /// Which time of its kind, where that is counted.
    pub fn occurrence(&self) -> Option<u32> {
        match self {
            Moment::Committed { occurrence, .. }
            | Moment::Environment { occurrence, .. }
            | Moment::Request { occurrence, .. } => Some(*occurrence),
            Moment::Delivery { event } => Some(event.occurrence),
            Moment::Step { .. } | Moment::Settled => None,
        }
    }
}

/// Counts matching calls; says when the moment has come.
#[derive(Debug, Clone)]
pub struct MomentCounter {
    moment: Moment,
    seen: u32,
}

impl MomentCounter {
    /// Starts counting at zero.
    pub fn new(moment: Moment) -> MomentCounter {
        MomentCounter { moment, seen: 0 }
    }

    /// Tells it of an answered call; `changed` says whether the call made a revision.
    pub fn answered(&mut self, call: &Call, answer: &Answer, changed: bool) -> bool {
        let (matches, occurrence) = match &self.moment {
            Moment::Committed { call: wanted, occurrence } => {
                (answer.succeeded() && changed && wanted.matches(call), *occurrence)
            }
            Moment::Request { request, at: OnItsWay::CarriedOut, occurrence } => {
                (request.matches(call), *occurrence)
            }
            _ => return false,
        };
        self.seen += u32::from(matches);
        matches && self.seen == occurrence
    }

    /// Tells it of a request that has not gone on yet; says whether that is the one.
    pub fn sent(&mut self, call: &Call) -> bool {
        let Moment::Request { request, at: OnItsWay::Sent, occurrence } = &self.moment else {
            return false;
        };
        let (matches, occurrence) = (request.matches(call), *occurrence);
        self.seen += u32::from(matches);
        matches && self.seen == occurrence
    }

    /// Tells it of a commit; says whether that was the one.
    pub fn committed(&mut self, commit: &Commit) -> bool {
        let (matches, occurrence) = match &self.moment {
            Moment::Environment { write, occurrence } => (write.matches(commit), *occurrence),
            Moment::Delivery { event } => {
                let matches = event.change.is(commit);
                (matches && !commit.heartbeat, event.occurrence)
            }
            Moment::Committed { .. }
            | Moment::Request { .. }
            | Moment::Step { .. }
            | Moment::Settled => return false,
        };
        self.seen += u32::from(matches);
        matches && self.seen == occurrence
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Committed { call, occurrence: 1 } => write!(f, "after the first {call}"),
            Moment::Committed { call, occurrence } => {
                write!(f, "after the {} {call}", ordinal(*occurrence))
            }
            Moment::Environment { write, occurrence: 1 } => write!(f, "after the first {write}"),
            Moment::Environment { write, occurrence } => {
                write!(f, "after the {} {write}", ordinal(*occurrence))
            }
            Moment::Request { request, at, occurrence } => {
                let when = match at {
                    OnItsWay::Sent => "before",
                    OnItsWay::CarriedOut => "after",
                };
                match occurrence {
                    1 => write!(f, "{when} the first {request}"),
                    n => write!(f, "{when} the {} {request}", ordinal(*n)),
                }
            }
            Moment::Delivery { event } => event.fmt(f),
            Moment::Step { cursor, .. } if *cursor == Cursor::default() => {
                f.write_str("when it had connected, before its first write")
            }
            Moment::Step { cursor, after } if after.is_empty() => {
                write!(f, "when the workload stood at {cursor}")
            }
            // Of an operation that sends several documents.
            Moment::Step { cursor: Cursor { document: document @ 1.., .. }, after } => {
                write!(f, "after the user's {} document of {after}", ordinal(*document))
            }
            Moment::Step { after, .. } => write!(f, "after the user's {after}"),
            Moment::Settled => f.write_str("when all had settled at the end"),
        }
    }
}

fn ordinal(n: u32) -> String {
    let suffix = match (n % 10, n % 100) {
        (1, x) if x != 11 => "st",
        (2, x) if x != 12 => "nd",
        (3, x) if x != 13 => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn steps_are_called_by_their_names() {
        let check = |operation: u32, document: u32, after: &str, expect: &str| {
            let after = after.to_owned();
            let moment = Moment::Step { cursor: Cursor { operation, document }, after };
            assert_eq!(moment.to_string(), expect);
        };
        check(0, 0, "", "when it had connected, before its first write");
        let title = "step 1 \"create a\": apply foos/default/a";
        check(1, 0, title, &format!("after the user's {title}"));
        check(1, 2, title, &format!("after the user's 2nd document of {title}"));
        check(1, 0, "", "when the workload stood at 1.0");
    }

    use super::*;

    #[test]
    fn patterns_match_generated_names_only_by_prefix() {
        let pattern = NamePattern("foo-*".into());
        assert!(pattern.matches("foo-abcde"));
        assert!(!pattern.matches("foo-"));
        assert!(!pattern.matches("bar-foo-x"));
        assert!(NamePattern("foo".into()).matches("foo"));
        assert!(!NamePattern("foo".into()).matches("foo-x"));
    }

    #[test]
    fn ordinals_read_well() {
        let read: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal).to_vec();
        assert_eq!(read, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]);
    }
}
