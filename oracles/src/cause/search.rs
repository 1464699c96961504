//! Looks for the cause of a difference among the commits of a trial.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trace::{
    Actor, Change, Commit, Cursor, Event, Folder, Path, comparison::Segment, diff, fold_key,
};

use super::{Cause, Found, Wrong, is_uuid, owners, uid, whose};
use crate::{
    baseline::{Baseline, count, did, digest, fold_path},
    run::Trial,
};

/// Commits of a trial, to look for causes in.
pub(crate) struct Causes<'t> {
    trial: &'t Trial,
    baseline: &'t Baseline,
    folder: &'t Folder,
    commits: Vec<&'t Commit>,
    /// Folded keys of them.
    keys: Vec<String>,
    /// The first after the last perturbation.
    after: usize,
    /// Objects at the last perturbation, by folded key.
    standing: BTreeMap<String, usize>,
}

impl<'t> Causes<'t> {
    pub fn new(trial: &'t Trial, baseline: &'t Baseline, folder: &'t Folder) -> Causes<'t> {
        let records = &trial.run.history.records;
        let of = |records: &'t [trace::Record]| {
            records.iter().filter_map(|record| match &record.event {
                Event::Commit(commit) if !commit.is_bookkeeping() => Some(commit),
                _ => None,
            })
        };
        let (before, later) = records.split_at(trial.after_last_perturbation());
        let mut commits: Vec<&Commit> = of(before).collect();
        let after = commits.len();
        commits.extend(of(later));
        let keys: Vec<String> = commits.iter().map(|commit| folder.key(&commit.key)).collect();
        let mut standing: BTreeMap<String, usize> = BTreeMap::new();
        for (key, _) in trial.run.start.iter() {
            *standing.entry(folder.key(key)).or_default() += 1;
        }
        for (commit, key) in commits[..after].iter().zip(&keys) {
            let count = standing.entry(key.clone()).or_default();
            match commit.change {
                Change::Created => *count += 1,
                Change::Deleted => *count = count.saturating_sub(1),
                Change::Updated => {}
            }
        }
        Causes { trial, baseline, folder, commits, keys, after, standing }
    }

    /// Why objects of this folded key differ.
    ///
    /// A write counts as wrong if references don't make it so often. Whether a legal one came before the perturbation or
    /// after it depends on the plan, and so can't tell one cause from another.
    pub fn of(&self, object: &str, wrong: Wrong<'_>) -> Found<'t> {
        match wrong {
            Wrong::Missing => self.missing(object),
            Wrong::Extra(at) => self.extra(object, at),
            Wrong::Field { path, expected } => self.field(object, path, expected),
        }
    }

    fn missing(&self, object: &str) -> Found<'t> {
        let deleted: Vec<usize> =
            self.about(object).filter(|at| self.did(*at, Change::Deleted)).collect();
        let legal = self.baseline.lives.get(object).map_or(0, |life| life.deleted.max as usize);
        match deleted.last() {
            Some(last) if deleted.len() > legal => self.write(*last),
            _ => never("created", object),
        }
    }

    fn extra(&self, object: &str, at: Cursor) -> Found<'t> {
        let created: Vec<usize> =
            self.about(object).filter(|at| self.did(*at, Change::Created)).collect();
        let standing = self.standing.get(object).copied().unwrap_or(0);
        let legal = self.made_by(object, at);
        if standing + created.len() <= legal {
            return never("deleted", object);
        }
        // Before the last perturbation it is not known whose doing it was.
        let first = created.get(legal.saturating_sub(standing)).or(created.first());
        let (actor, did) = ("somebody".to_owned(), did(Change::Created).to_owned());
        let cause = Cause::Write { actor, did, object: object.to_owned() };
        Found { cause, commit: first.and_then(|at| self.write(*at).commit) }
    }

    /// How many of them references have made by a place in the workload, as far as they tell.
    fn made_by(&self, object: &str, at: Cursor) -> usize {
        let Some(life) = self.baseline.lives.get(object) else { return 0 };
        let in_all = life.known_max() as usize;
        if life.made_at.is_none_or(|last| last <= at) {
            return in_all;
        }
        let settles = self.baseline.settles.iter().filter(|settled| settled.cursor <= at);
        settles.map(|settled| count(&settled.world, object)).max().unwrap_or(in_all)
    }

    /// The first creation or deletion beyond those of references that still shows: the cause where all that is known is
    /// that something was never written.
    pub fn first_surplus(&self) -> Option<Found<'t>> {
        let end = Cursor { operation: u32::MAX, document: 0 };
        let keys: BTreeSet<&String> = self.keys[self.after..].iter().collect();
        let of = |key: &String| {
            let about: Vec<usize> = self.about(key).collect();
            let undone =
                |at: usize, by: Change| about.iter().any(|one| *one > at && self.did(*one, by));
            let stands = |found: &Found<'t>, undone_by: Change| {
                let at = found.commit.and_then(|commit| self.position(commit))?;
                (!undone(at, undone_by)).then_some(at)
            };
            let (extra, missing) = (self.extra(key, end), self.missing(key));
            let extra = stands(&extra, Change::Deleted).map(|at| (at, extra));
            extra.or_else(|| stands(&missing, Change::Created).map(|at| (at, missing)))
        };
        keys.into_iter().filter_map(of).min_by_key(|(at, _)| *at).map(|(_, found)| found)
    }

    fn position(&self, commit: &Commit) -> Option<usize> {
        self.commits.iter().position(|one| one.revision == commit.revision)
    }

    fn field(&self, object: &str, path: &Path, expected: Option<&Value>) -> Found<'t> {
        let did = format!("wrote {} of", fold_path(path));
        let last = self.about(object).filter(|at| self.changes(*at, path)).last();
        match last.filter(|at| self.is_wrong(*at, object, path, expected)) {
            None => never(&did, object),
            Some(at) if self.asked_for(at) == at => self.found(at, did),
            Some(at) => self.write(at),
        }
    }

    /// Whether a write of a field is one that references don't make: it takes the expected value away, or gives a value
    /// that no reference has.
    fn is_wrong(&self, at: usize, object: &str, path: &Path, expected: Option<&Value>) -> bool {
        let Baseline { masks, settles, commits, .. } = self.baseline;
        let commit = self.commits[at];
        let folded = |value: &Value| self.folder.object(&commit.key, value, masks);
        let before = self.before(at).map(folded);
        if expected.is_some() && before.as_ref().and_then(|before| field(before, path)) == expected
        {
            return true;
        }
        let after = folded(&commit.object);
        let value = field(&after, path).map(without_uid);
        let known = settles.iter().flat_map(|settled| settled.world.objects());
        let mut known = known.filter(|(key, _)| fold_key(key) == object);
        !known.any(|(_, known)| field(known, path).map(without_uid) == value)
            && !commits.contains_key(&digest(commit, self.folder, masks))
    }

    /// Why this commit was made.
    pub fn of_commit(&self, commit: &Commit) -> Option<Found<'t>> {
        self.position(commit).map(|at| self.write(at))
    }

    /// Commits about it after the last perturbation.
    fn about<'s>(&'s self, object: &'s str) -> impl Iterator<Item = usize> + 's {
        (self.after..self.commits.len()).filter(move |at| self.keys[*at] == object)
    }

    fn did(&self, at: usize, change: Change) -> bool {
        self.commits[at].change == change
    }

    /// Whether a commit gives this field another value than it had before.
    fn changes(&self, at: usize, path: &Path) -> bool {
        let commit = self.commits[at];
        let before = self.before(at).and_then(|before| field(before, path));
        commit.change != Change::Deleted && before != field(&commit.object, path)
    }

    /// The object as it was before a commit.
    fn before(&self, at: usize) -> Option<&'t Value> {
        let key = &self.commits[at].key;
        let earlier = self.commits[..at].iter().rev().find(|one| one.key == *key);
        let start = || self.trial.run.start.iter().find(|(one, _)| one == key);
        match earlier {
            Some(commit) if commit.change == Change::Deleted => None,
            Some(commit) => Some(&commit.object),
            None => start().map(|(_, object)| &**object),
        }
    }

    /// The write that asked for a commit.
    fn write(&self, at: usize) -> Found<'t> {
        let at = self.asked_for(at);
        let commit = self.commits[at];
        let did = match commit.change {
            // The deletion waits for finalizers, or for the kubelet.
            Change::Updated if is_deleted(&commit.object) => did(Change::Deleted).to_owned(),
            Change::Updated => format!("wrote {} of", self.changed(at).join(", ")),
            change => did(change).to_owned(),
        };
        self.found(at, did)
    }

    fn found(&self, at: usize, did: String) -> Found<'t> {
        let commit = self.commits[at];
        let (actor, object) = (whose(&commit.actor), self.keys[at].clone());
        Found { cause: Cause::Write { actor, did, object }, commit: Some(commit) }
    }

    /// The fields that an update changed, the first ones.
    fn changed(&self, at: usize) -> Vec<String> {
        const SHOWN: usize = 3;
        let (commit, before) = (self.commits[at], self.before(at));
        let all = diff::object_differences("", before.unwrap_or(&Value::Null), &commit.object);
        let paths: BTreeSet<String> =
            all.iter().map(|one| fold_path(&one.path).to_string()).collect();
        let bookkeeping = |path: &String| {
            ["resourceVersion", "managedFields", "generation"]
                .iter()
                .any(|name| path.starts_with(&format!(".metadata.{name}")))
        };
        paths.into_iter().filter(|path| !bookkeeping(path)).take(SHOWN).collect()
    }

    /// The commit that asked for this one: itself, unless somebody else marked its object for deletion, or a built-in
    /// controller made it.
    fn asked_for(&self, at: usize) -> usize {
        let commit = self.commits[at];
        let earlier = || (self.after..at).rev();
        if commit.change == Change::Deleted
            && let Some(asked) = earlier().find(|other| self.asks_for_deletion(*other, commit))
        {
            return self.asked_for(asked);
        }
        if !matches!(commit.actor, Actor::Environment(_)) {
            return at;
        }
        let of_owner = |other: &usize| {
            let other = self.commits[*other];
            owners(&commit.object).any(|owner| owner == uid(&other.object))
        };
        let found = match commit.change {
            Change::Deleted => earlier().filter(of_owner).find(|at| self.ends(*at)),
            _ => {
                let by_others = |other: &usize| {
                    let other = self.commits[*other];
                    other.key == commit.key && !matches!(other.actor, Actor::Environment(_))
                };
                earlier().find(by_others).or_else(|| earlier().find(of_owner))
            }
        };
        found.map_or(at, |found| self.asked_for(found))
    }

    /// Whether an object is gone, or about to go, by this commit.
    fn ends(&self, at: usize) -> bool {
        let commit = self.commits[at];
        commit.change == Change::Deleted || is_deleted(&commit.object)
    }

    /// Whether this commit marks the other's object for deletion.
    fn asks_for_deletion(&self, at: usize, deleted: &Commit) -> bool {
        let commit = self.commits[at];
        if commit.key != deleted.key || !is_deleted(&commit.object) {
            return false;
        }
        self.before(at).is_none_or(|before| !is_deleted(before))
    }
}

fn never(did: &str, object: &str) -> Found<'static> {
    let (did, object) = (did.to_owned(), object.to_owned());
    Found { cause: Cause::Never { did, object }, commit: None }
}

/// A value in which a uid is any uid: a fork does not know those of objects that are gone.
fn without_uid(value: &Value) -> Value {
    let is_uid = |text: &str| text.starts_with("‹uid") || is_uuid(text);
    match value {
        Value::String(text) if is_uid(text) => "‹uid›".into(),
        other => other.clone(),
    }
}

fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// The value at a path of comparison form, in an object as it is stored. Names in it are folded, and list positions may
/// be others: the whole list stands for its items.
fn field<'v>(object: &'v Value, path: &Path) -> Option<&'v Value> {
    let mut at = object;
    for segment in &path.0 {
        at = match (segment, at) {
            (Segment::Key(key), Value::Object(map)) => match map.get(key) {
                Some(inner) => inner,
                None => {
                    map.iter().find(|(name, _)| fold_key(name) == *key).map(|(_, inner)| inner)?
                }
            },
            (_, Value::Array(_)) => return Some(at),
            _ => return None,
        };
    }
    Some(at)
}
