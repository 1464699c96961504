//! Copies of a `metadata.resourceVersion` in other objects: a label, an annotation, a field.
//!
//! A resourceVersion is opaque (API concepts, Resource versions) and is another one in each cluster. Undisturbed runs on the
//! embedded cluster count alike, so that their copies are equal by chance, and each write more or less changes them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trace::{Actor, Folder, Mask, Masks, Path, Revision, comparison::Segment};

use super::{LearntMask, settles::fold_path};
use crate::run::Run;

/// Metadata of the API server itself, which comparisons leave out anyway.
const LEFT_OUT: [&str; 3] = ["resourceVersion", "managedFields", "uid"];

/// Where a run keeps a copy: folded key and place of the copy.
type Place = (String, Path);

/// Fields that hold, in each run, an earlier resourceVersion of the same object, but for those that are masked.
pub(super) fn copied(runs: &[Run], masks: &Masks) -> Vec<LearntMask> {
    let all: Vec<Copies> = runs.iter().map(Copies::of).collect();
    let Some((first, rest)) = all.split_first() else { return vec![] };
    let everywhere = first.places.iter().filter(|(place, (source, _))| {
        let same = |other: &Copies| other.places.get(place).is_some_and(|(it, _)| it == source);
        rest.iter().all(same)
    });
    let learnt = everywhere.map(|(place, (source, _))| LearntMask {
        mask: Mask { object: place.0.clone(), path: place.1.clone() },
        values: all.iter().map(|run| run.places[place].1.clone()).enumerate().collect(),
        copy_of: Some(source.clone()),
    });
    learnt.filter(|learnt| !masks.learnt.contains(&learnt.mask)).collect()
}

/// Copies in one run's settled worlds.
struct Copies {
    /// The object whose resourceVersion it is, by folded key, and the value.
    places: BTreeMap<Place, (String, Value)>,
}

impl Copies {
    fn of(run: &Run) -> Copies {
        let folder = run.folder();
        let sources = Sources::of(run, &folder);
        let mut copies = Copies { places: BTreeMap::new() };
        for settled in run.history.settles() {
            for (key, object) in run.state_at(settled) {
                let own = object["metadata"]["resourceVersion"].as_str();
                let Some(own) = own.and_then(Revision::parse) else { continue };
                let look = Look { sources: &sources, holder: folder.key(&key), own };
                look.through(object, &Path::default(), &mut copies);
            }
        }
        copies
    }
}

/// Resource versions of objects that controllers copy them from: those that the user wrote, ConfigMaps and Secrets.
struct Sources(BTreeMap<Revision, BTreeSet<String>>);

impl Sources {
    fn of(run: &Run, folder: &Folder) -> Sources {
        let commits = || run.history.commits().filter(|commit| !commit.is_bookkeeping());
        let written = commits().filter(|commit| commit.actor == Actor::User);
        let by_user: BTreeSet<_> = written.map(|commit| &commit.key).collect();
        let mut versions: BTreeMap<Revision, BTreeSet<String>> = BTreeMap::new();
        for commit in commits() {
            let configures = matches!(&*commit.key.resource.resource, "configmaps" | "secrets");
            if configures || by_user.contains(&commit.key) {
                versions.entry(commit.revision).or_default().insert(folder.key(&commit.key));
            }
        }
        Sources(versions)
    }
}

/// A walk through one object.
struct Look<'l> {
    sources: &'l Sources,
    /// The folded key of the object.
    holder: String,
    /// Its own resourceVersion: what it holds is older.
    own: Revision,
}

impl Look<'_> {
    fn through(&self, value: &Value, path: &Path, copies: &mut Copies) {
        match value {
            Value::Object(map) => {
                let kept = map.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
                kept.for_each(|(name, inner)| self.through(inner, &path.key(name), copies));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.for_each(|(at, item)| self.through(item, &path.index(at), copies));
            }
            Value::String(text) => {
                let older = Revision::parse(text).filter(|revision| *revision < self.own);
                let sources = older.and_then(|revision| self.sources.0.get(&revision));
                let mut sources = sources.into_iter().flatten();
                let Some(source) = sources.find(|source| **source != self.holder) else { return };
                let place = (self.holder.clone(), fold_path(path));
                copies.places.insert(place, (source.clone(), value.clone()));
            }
            _ => {}
        }
    }
}

/// Whether it is a label or an annotation, which one run may have and another not yet.
pub(crate) fn is_mark(path: &Path) -> bool {
    let marks = |segment: &Segment| matches!(segment, Segment::Key(key) if matches!(&**key, "labels" | "annotations"));
    path.0.iter().rev().nth(1).is_some_and(marks)
}
