//! Every older state that the watch caches of an API server could stand at when a subject is started on a world.
//!
//! A cache of one type goes through the states that the type went through. Of those, a subject can tell apart the ones
//! that differ in what it sees: its namespaces and selectors decide that.

mod names;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use trace::{Change, Commit, GroupResource, ObjectKey, Revision};

pub use self::names::{Names, Part, is_landmark};
use crate::{moment::Occurred, perturbation::Behind};

/// A change of the store's log.
#[derive(Debug, Clone, Copy)]
pub struct Logged<'a> {
    /// The revision that it made.
    pub revision: Revision,
    /// What happened.
    pub change: Change,
    /// To which object.
    pub key: &'a ObjectKey,
    /// The object after it; its last state for deletions.
    pub object: &'a Arc<Value>,
    /// The object before it, if there was one.
    pub previous: Option<&'a Arc<Value>>,
}

/// Objects by key.
pub type Objects = BTreeMap<ObjectKey, Arc<Value>>;

/// An older state that a subject can tell from the present one.
#[derive(Debug, Clone, PartialEq)]
pub struct StaleView {
    /// In words that hold in every run.
    pub behind: Behind,
    /// The revision that it is (a cache of where that was in this world).
    pub revision: Revision,
    /// What the caches that are behind hold of what the subject sees, by type.
    pub objects: BTreeMap<GroupResource, Objects>,
}

/// What [`stale_views`] found.
#[derive(Debug, Clone, Default)]
pub struct StaleViews {
    /// The latest first: the least stale.
    pub views: Vec<StaleView>,
    /// Older states that show the subject nothing but the present one, or one that stands here already.
    pub alike: u64,
}

/// The states that caches of the types in `log` could stand at. `first` is what the subject sees of them in the first
/// world of the campaign, at `since`; `log` is all that happened to them from there on, in order. `sees` says whether the
/// subject sees an object, `generated` the `generateName` prefix of a generated name.
///
/// With `every`, views that are alike are told each for itself: a test of what is left out.
pub fn stale_views(
    every: bool,
    since: Revision,
    first: &BTreeMap<GroupResource, Objects>,
    log: &[Logged<'_>],
    sees: &dyn Fn(&ObjectKey, &Value) -> bool,
    generated: &dyn Fn(&str) -> Option<String>,
) -> StaleViews {
    let states = states(since, first, log, sees, generated);
    let Some((present, older)) = states.split_last() else { return StaleViews::default() };
    let mut found = StaleViews::default();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (at, state) in older.iter().enumerate().rev() {
        let differing: BTreeMap<GroupResource, Objects> = state
            .objects
            .iter()
            .filter(|(resource, objects)| {
                every || !alike(objects, present.objects.get(*resource).unwrap_or(&Objects::new()))
            })
            .map(|(resource, objects)| (resource.clone(), objects.clone()))
            .collect();
        let mut add = |resource: Option<&GroupResource>, objects: BTreeMap<_, Objects>| {
            if objects.is_empty() || (!every && !known.insert(text(&objects))) {
                found.alike += 1;
                return;
            }
            let later = states[at + 1..].iter().filter_map(|state| state.up_to.as_ref());
            let behind = behind(state.up_to.as_ref(), resource, later);
            found.views.push(StaleView { behind, revision: state.revision, objects });
        };
        // A change of one type is news of that type only.
        let news = state.up_to.as_ref().map(|up_to| &up_to.change.resource);
        for (resource, objects) in &differing {
            if every || news.is_none_or(|news| news == resource) {
                add(Some(resource), [(resource.clone(), objects.clone())].into());
            }
        }
        if differing.len() > 1 {
            add(None, differing);
        } else {
            found.alike += 1;
        }
    }
    found
}

/// What the state after a change is called, of the cache of one type, or of all; `later` are the changes after it, in
/// order.
pub(crate) fn behind<'o>(
    up_to: Option<&'o Occurred>,
    resource: Option<&GroupResource>,
    mut later: impl Iterator<Item = &'o Occurred>,
) -> Behind {
    let of_type = |what: &&Occurred| resource.is_none_or(|of| *of == what.change.resource);
    let next = later.find(of_type).filter(|next| is_landmark(next));
    let resource = resource.cloned();
    match (up_to, next) {
        (Some(up_to), Some(next)) if !is_landmark(up_to) => {
            Behind { resource, up_to: Some(next.clone()), before: true }
        }
        (up_to, _) => Behind { resource, up_to: up_to.cloned(), before: false },
    }
}

/// All types at one revision.
struct State {
    up_to: Option<Occurred>,
    revision: Revision,
    objects: BTreeMap<GroupResource, Objects>,
}

fn states(
    since: Revision,
    first: &BTreeMap<GroupResource, Objects>,
    log: &[Logged<'_>],
    sees: &dyn Fn(&ObjectKey, &Value) -> bool,
    generated: &dyn Fn(&str) -> Option<String>,
) -> Vec<State> {
    let mut objects = first.clone();
    for logged in log {
        objects.entry(logged.key.resource.clone()).or_default();
    }
    let mut states = vec![State { up_to: None, revision: since, objects: objects.clone() }];
    let mut names = Names::default();
    for logged in log {
        let part = Part::of(logged.change, logged.previous.map(|object| &**object), logged.object);
        let up_to = Some(names.next(logged.change, logged.key, part, generated));
        let of_type = objects.entry(logged.key.resource.clone()).or_default();
        let gone = logged.change == Change::Deleted || !sees(logged.key, logged.object);
        let news = match gone {
            true => of_type.remove(logged.key).is_some(),
            false => {
                of_type.insert(logged.key.clone(), logged.object.clone());
                true
            }
        };
        if news {
            let objects = objects.clone();
            states.push(State { up_to, revision: logged.revision, objects });
        }
    }
    states
}

/// The revision at which caches stand that are so far behind, in a run that began with these objects; none if what names
/// it did not happen.
pub fn revision_of<'c>(
    behind: &Behind,
    began: Revision,
    before: &[(ObjectKey, Arc<Value>)],
    commits: impl Iterator<Item = &'c Commit>,
) -> Option<Revision> {
    let Some(Occurred { change: meant, occurrence }) = &behind.up_to else { return Some(began) };
    let mut objects: BTreeMap<&ObjectKey, &Arc<Value>> =
        before.iter().map(|(key, object)| (key, object)).collect();
    let mut seen = 0;
    for commit in commits.filter(|commit| meant.is_about(&commit.key)) {
        let previous = match commit.change {
            Change::Deleted => objects.remove(&commit.key),
            _ => objects.insert(&commit.key, &commit.object),
        };
        let part = || Part::of(commit.change, previous.map(|object| &**object), &commit.object);
        let counts = !commit.heartbeat && meant.is(commit);
        if !counts || meant.part.is_some_and(|meant| part() != Some(meant)) {
            continue;
        }
        seen += 1;
        if seen == *occurrence {
            return match behind.before {
                true => commit.revision.0.checked_sub(1).map(Revision),
                false => Some(commit.revision),
            };
        }
    }
    None
}

/// Whether they say the same, revisions and who wrote what apart.
fn alike(some: &Objects, others: &Objects) -> bool {
    some.len() == others.len()
        && some.iter().zip(others).all(|((key, object), (other_key, other))| {
            key == other_key && (Arc::ptr_eq(object, other) || said(object) == said(other))
        })
}

/// What an object says, its revision and who wrote what apart.
pub fn said(object: &Value) -> Value {
    let mut said = object.clone();
    if let Some(metadata) = said.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    said
}

fn text(objects: &BTreeMap<GroupResource, Objects>) -> String {
    let mut text = String::new();
    for (resource, objects) in objects {
        text.push_str(&resource.to_string());
        for (key, object) in objects {
            text.push_str(&format!("\n{key} {}", said(object)));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trace::{Actor, GroupResource};

    use super::*;
    use crate::moment::{By, ChangeMatch};

    #[test]
    fn a_change_counts_by_whoever_is_named() {
        let key = ObjectKey::new(GroupResource::new("", "foos"), "default", "a");
        let commit = |revision: u64, actor: Actor| Commit {
            revision: Revision(revision),
            change: Change::Updated,
            key: key.clone(),
            object: Arc::new(json!({"value": revision})),
            actor,
            call: None,
            heartbeat: false,
        };
        let commits = [commit(2, Actor::User), commit(3, Actor::Environment("kubelet".into()))];
        let check = |by: Option<By>, occurrence: u32, expect: Option<u64>| {
            let change = ChangeMatch { by, ..ChangeMatch::of(Change::Updated, &key, &|_| None) };
            let up_to = Some(Occurred { change, occurrence });
            let behind = Behind { resource: None, up_to, before: false };
            let found = revision_of(&behind, Revision(1), &[], commits.iter());
            assert_eq!(found, expect.map(Revision), "{by:?} {occurrence}");
        };
        check(None, 1, Some(2));
        check(None, 2, Some(3));
        check(Some(By::User), 1, Some(2));
        check(Some(By::Environment), 1, Some(3));
        check(Some(By::User), 2, None);
        check(Some(By::Subject), 1, None);
    }

    type Entry = (u64, Change, &'static str, &'static str, u32);

    fn check(entries: &[Entry], expect: &[&str]) {
        let log: Vec<(ObjectKey, Arc<Value>)> = entries
            .iter()
            .map(|(revision, _, resource, name, value)| {
                let key = ObjectKey::new(GroupResource::new("", resource), "default", name);
                let metadata = json!({"resourceVersion": revision.to_string()});
                (key, Arc::new(json!({"metadata": metadata, "value": value})))
            })
            .collect();
        let logged: Vec<Logged<'_>> = entries
            .iter()
            .zip(&log)
            .map(|((revision, change, ..), (key, object))| Logged {
                revision: Revision(*revision),
                change: *change,
                key,
                object,
                previous: None,
            })
            .collect();
        let first = BTreeMap::new();
        let sees = |key: &ObjectKey, _: &Value| !key.name.starts_with("hidden");
        let generated = |name: &str| name.strip_suffix("-abcde").map(|name| format!("{name}-"));
        let found = stale_views(false, Revision(1), &first, &logged, &sees, &generated);
        let views: Vec<String> = found
            .views
            .iter()
            .map(|view| format!("{} @{}", view.behind, view.revision.0))
            .collect();
        assert_eq!(views, expect);
    }

    #[test]
    fn each_type_alone_and_all_together() {
        use Change::{Created, Updated};
        check(
            &[
                (2, Created, "foos", "a", 1),
                (3, Created, "pods", "p-abcde", 1),
                (4, Updated, "foos", "a", 2),
            ],
            &[
                "the cache of foos as of the first creation of foos/default/a @2",
                "all caches as of the first creation of foos/default/a @2",
                "the cache of foos as of the beginning @1",
                "the cache of pods as of the beginning @1",
                "all caches as of the beginning @1",
            ],
        );
    }

    #[test]
    fn what_the_subject_does_not_see_makes_no_state() {
        use Change::{Created, Updated};
        check(&[(2, Created, "foos", "hidden", 1), (3, Updated, "foos", "hidden", 2)], &[]);
    }

    #[test]
    fn what_was_changed_back_is_the_present() {
        use Change::{Created, Deleted, Updated};
        check(
            &[
                (2, Created, "foos", "a", 1),
                (3, Updated, "foos", "a", 2),
                (4, Updated, "foos", "a", 1),
            ],
            &[
                "the cache of foos as of the first update of foos/default/a @3",
                "the cache of foos as of the beginning @1",
            ],
        );
        check(
            &[(2, Created, "foos", "a", 1), (3, Deleted, "foos", "a", 1)],
            &["the cache of foos as of the first creation of foos/default/a @2"],
        );
    }
}
