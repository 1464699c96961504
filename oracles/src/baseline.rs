//! What undisturbed runs agree on.
//!
//! Masks are learnt from disagreement between references, and only for leaf scalars; whatever else differs
//! between them (objects, list lengths, keys, phases, conditions, replica counts) is a [`Disagreement`] that
//! stops the campaign unless the user accepts it by path. So a mask never hides an object or a condition.

mod copies;
mod later;
mod lives;
mod payloads;
mod settles;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{
    Accepted, Change, Commit, Cursor, Event, Folder, Mask, Masks, Path, StepState, fold_key,
};

pub use self::lives::{Life, Span};
pub use self::settles::SettledWorld;
pub(crate) use self::{
    lives::segment,
    settles::{count, fold_path},
};
use crate::{
    examine::{self, Failing},
    flips,
    restart_writes::RestartWrites,
    role::starred,
    run::{Run, by},
};

/// Version of the baseline file that this code writes and reads.
pub const VERSION: u32 = 1;

/// What N references agree on. Stored as one file that shards of a campaign share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// Of the format.
    pub version: u32,
    /// How many references it was learnt from.
    pub references: usize,
    /// What comparisons overlook.
    pub masks: Masks,
    /// Why each learnt mask is there.
    pub evidence: Vec<LearntMask>,
    /// The world at each settle, in order of cursor, in comparison form.
    pub settles: Vec<SettledWorld>,
    /// Worlds at the same settles in a run that waited for longer, where they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<SettledWorld>,
    /// What became of each object, by folded canonical key.
    pub lives: BTreeMap<String, Life>,
    /// Payloads of Secrets that are drawn at random: folded key and field, `secrets/default/db password`.
    #[serde(default)]
    pub random_payloads: BTreeSet<String>,
    /// The same of those that a run changed, to another random one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub changing_payloads: BTreeSet<String>,
    /// Fields that the subject changes and changes back in undisturbed runs: folded key and path.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub flips: BTreeSet<String>,
    /// Objects, by folded key, of which undisturbed runs seem to have too many: a trial with fewer is no worse.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub doubled: BTreeSet<String>,
    /// Objects, by folded key, that never become ready in undisturbed runs: a trial in which they do is no worse.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub not_ready: BTreeSet<String>,
    /// Settles at which the controller went on failing in every reference: statuses are as they were before that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<Failing>,
    /// What restarts on the worlds at their ends write, where that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<RestartWrites>,
    /// Digest of each commit in folded form → the most often that a reference made it.
    pub commits: BTreeMap<String, u32>,
    /// The writes of the first reference, in order: what comes next where a trial stops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<Written>,
}

/// A write of a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Written {
    /// Of the commit in folded form.
    pub digest: String,
    /// In words: `subject/0 updated bars.example.com/default/bar`.
    pub text: String,
}

/// Why a stored baseline can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Another version wrote it.
    #[error("baseline of format version {0}, but this program reads version {VERSION}")]
    Version(u64),
    /// It is no baseline.
    #[error("not a baseline")]
    Damaged(#[from] serde_json::Error),
}

impl Baseline {
    /// Whether references keep a copy of a resourceVersion there, in a label or an annotation: that one run has it and
    /// another not yet means no more than its value.
    pub(crate) fn is_mark_of_revision(&self, object: &str, path: &Path) -> bool {
        let here = Mask { object: fold_key(object), path: fold_path(path) };
        let copies = self.evidence.iter().filter(|learnt| learnt.copy_of.is_some());
        copies::is_mark(path) && copies.into_iter().any(|learnt| learnt.mask == here)
    }

    /// Reads a stored baseline.
    pub fn from_json(text: &str) -> Result<Baseline, BaselineError> {
        let value: Value = serde_json::from_str(text)?;
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version != u64::from(VERSION) => Err(BaselineError::Version(version)),
            _ => Ok(serde_json::from_value(value)?),
        }
    }
}

/// A mask, and the values that made it necessary: others in each run, or copies of a resourceVersion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LearntMask {
    /// What is masked.
    pub mask: Mask,
    /// Reference (from 0) and what it has there. At least two values differ, but for copies.
    pub values: Vec<(usize, Value)>,
    /// The object, by folded key, whose `metadata.resourceVersion` is copied there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

impl fmt::Display for LearntMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.mask)?;
        if let Some(source) = &self.copy_of {
            write!(f, "a copy of the resourceVersion of {}: ", starred(source))?;
        }
        for (at, (run, value)) in self.values.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{value} in run {run}")?;
        }
        Ok(())
    }
}

/// Something in which references differ and that no mask may hide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disagreement {
    /// What kind of thing.
    pub kind: DisagreementKind,
    /// At which settle or operation.
    pub cursor: Cursor,
    /// Folded canonical key, or the operation's title.
    pub object: String,
    /// Where in it; empty for the object itself.
    pub path: Path,
    /// Reference (from 0) and what it has there. For objects: how many.
    pub values: Vec<(usize, Option<Value>)>,
}

/// What references may differ in, but not silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DisagreementKind {
    /// An operation of the workload failed undisturbed. Can't be accepted.
    Workload,
    /// A reference did not settle where another did. Can't be accepted.
    Settles,
    /// One has an object that another has not.
    Objects,
    /// A list is longer in one.
    ListLength,
    /// A field is there in one only, or is of another type.
    Keys,
    /// A phase, a condition's type, status or reason, or a count of replicas.
    Outcome,
}

impl Disagreement {
    /// What the campaign has to accept for this to be overlooked, if it can be.
    pub fn acceptable(&self) -> Option<Accepted> {
        let never = matches!(self.kind, DisagreementKind::Workload | DisagreementKind::Settles);
        let object = starred(&self.object);
        (!never).then(|| Accepted { object, path: self.path.clone() })
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            DisagreementKind::Workload => "the workload fails in an undisturbed run",
            DisagreementKind::Settles => "not all undisturbed runs settle",
            DisagreementKind::Objects => "undisturbed runs have different objects",
            DisagreementKind::ListLength => "undisturbed runs have lists of different length",
            DisagreementKind::Keys => "undisturbed runs have different fields",
            DisagreementKind::Outcome => "undisturbed runs have different outcomes",
        };
        write!(f, "{what}: {}", self.object)?;
        if !self.path.0.is_empty() {
            write!(f, " {}", self.path)?;
        }
        for (at, (run, value)) in self.values.iter().enumerate() {
            let text = value.as_ref().map_or("nothing".to_owned(), Value::to_string);
            write!(f, "{} {text} in run {run}", if at == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

/// What references teach.
#[derive(Debug, Clone, PartialEq)]
pub struct Learnt {
    /// What they agree on. Of use only if there is no disagreement.
    pub baseline: Baseline,
    /// What they do not agree on and nobody accepted.
    pub disagreements: Vec<Disagreement>,
    /// For each reference, how many masks it added to those before it.
    pub added: Vec<usize>,
}

/// Learns from undisturbed runs. `accepted` comes from the campaign.
pub fn learn(runs: &[Run], accepted: &[Accepted]) -> Learnt {
    let mut disagreements = failed_steps(runs);
    let (agreed, mut differing) = settles::agree(runs, accepted);
    disagreements.append(&mut differing);
    let masks = agreed.masks;
    let cursors: Vec<Cursor> = agreed.worlds.iter().map(|settled| settled.cursor).collect();
    let random = payloads::random(runs);
    let baseline = Baseline {
        version: VERSION,
        references: runs.len(),
        lives: lives::lives(runs, &cursors, &masks),
        random_payloads: random.constant,
        changing_payloads: random.changing,
        commits: commits(runs, &masks),
        flips: flips(runs),
        doubled: runs.iter().flat_map(examine::doubled).map(|one| one.objects).collect(),
        not_ready: runs.iter().flat_map(not_ready).collect(),
        failing: failing(runs),
        order: runs.first().map_or(vec![], |run| order(run, &masks)),
        settles: agreed.worlds,
        later: vec![],
        restart: None,
        evidence: agreed.evidence,
        masks,
    };
    Learnt { baseline, disagreements, added: agreed.added }
}

fn failed_steps(runs: &[Run]) -> Vec<Disagreement> {
    let mut found = Vec::new();
    for (run, reference) in runs.iter().enumerate() {
        for record in &reference.history.records {
            let Event::Step(step) = &record.event else { continue };
            if let StepState::Failed { message, .. } = &step.state {
                found.push(Disagreement {
                    kind: DisagreementKind::Workload,
                    cursor: step.cursor,
                    object: step.title.clone(),
                    path: Path::default(),
                    values: vec![(run, Some(Value::from(message.as_str())))],
                });
            }
        }
    }
    found
}

fn commits(runs: &[Run], masks: &Masks) -> BTreeMap<String, u32> {
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for run in runs {
        let folder = run.folder();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for commit in run.history.commits().filter(|commit| !commit.is_bookkeeping()) {
            *counts.entry(digest(commit, &folder, masks)).or_default() += 1;
        }
        for (digest, count) in counts {
            let known = most.entry(digest).or_default();
            *known = count.max(*known);
        }
    }
    most
}

fn not_ready(run: &Run) -> Vec<String> {
    let (folder, never) = (run.folder(), examine::not_ready(&run.history));
    never.iter().map(|one| folder.text(&one.object)).collect()
}

/// Settles at which all of them failed, with the statuses of all.
fn failing(runs: &[Run]) -> Vec<Failing> {
    let mut all = runs.iter().map(examine::failing);
    let mut common = all.next().unwrap_or_default();
    for others in all {
        common.retain_mut(|one| {
            let Some(other) = others.iter().find(|other| other.cursor == one.cursor) else {
                return false;
            };
            one.statuses.extend(other.statuses.iter().cloned());
            true
        });
    }
    common
}

fn flips(runs: &[Run]) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    for run in runs {
        let folder = run.folder();
        let start = run.start.iter().map(|(key, object)| (key, &**object));
        for flip in flips::flips(start, &run.history.records) {
            fields.insert(format!("{} {}", folder.key(&flip.away.0.key), fold_path(&flip.path)));
        }
    }
    fields
}

fn order(run: &Run, masks: &Masks) -> Vec<Written> {
    let folder = run.folder();
    let written = |commit: &Commit| Written {
        digest: digest(commit, &folder, masks),
        text: format!(
            "{} {} {}",
            by(&commit.actor),
            did(commit.change),
            starred(&folder.key(&commit.key))
        ),
    };
    run.moves().into_iter().map(|happened| written(happened.commit)).collect()
}

/// `created`, `updated`, `deleted`.
pub(crate) fn did(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Updated => "updated",
        Change::Deleted => "deleted",
    }
}

/// A commit in folded form, as sixteen hexadecimal digits.
pub(crate) fn digest(commit: &Commit, folder: &Folder, masks: &Masks) -> String {
    digest_as(commit.change, commit, folder, masks)
}

/// The same, of a commit that does this.
pub(crate) fn digest_as(change: Change, commit: &Commit, folder: &Folder, masks: &Masks) -> String {
    let change = did(change);
    let object = folder.object(&commit.key, &commit.object, masks);
    let text = format!("{change} {} {object}", folder.key(&commit.key));
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// References at least; see [`enough`].
pub const REFERENCES_MIN: usize = 3;
/// References at most.
pub const REFERENCES_MAX: usize = 10;

/// Whether to run another reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enough {
    /// Another one may teach something.
    More,
    /// The last two added no mask.
    Yes,
    /// There are as many as there may be, and the last two still added masks.
    NeverStable,
}

/// At least three references; stop when two in a row add no mask; at most ten.
pub fn enough(added: &[usize]) -> Enough {
    let quiet = added.len() >= 2 && added[added.len() - 2..].iter().all(|added| *added == 0);
    match added.len() {
        count if count < REFERENCES_MIN => Enough::More,
        _ if quiet => Enough::Yes,
        count if count < REFERENCES_MAX => Enough::More,
        _ => Enough::NeverStable,
    }
}

#[cfg(test)]
mod tests;
