//! Heartbeats: fields by which a controller says again and again that it lives.
//!
//! Leases are known to be that, and so is client-go's lock before Leases: an annotation of a ConfigMap or an Endpoints
//! ([`LOCKS`]). Others keep a time elsewhere, for example in the status of a type of their own (kopf's peering). A store
//! in which one beats would never settle, and each beat would make another world. They are never guessed: what looks
//! like a heartbeat may be what a controller that undoes its own work counts up. So the campaign names the *fields*, and
//! a commit is a beat only if it
//! - updates an object that is there, and changes nothing of it but these fields;
//! - comes a second at least after the change before, by the world's clock: whoever writes faster works;
//! - is not the user's.
//!
//! All other commits to the same object count as ever.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    call::Actor,
    commit::{Change, Commit},
    comparison::Accepted,
    key::ObjectKey,
    time::Time,
};

/// So long an object stayed as it was before it beats.
pub const PAUSE: Duration = Duration::from_secs(1);

/// Where client-go before 0.24 keeps who leads (`LeaderElectionRecordAnnotationKey` of `tools/leaderelection/resourcelock`).
pub const LOCKS: [&str; 2] = [
    "configmaps/* .metadata.annotations[\"control-plane.alpha.kubernetes.io/leader\"]",
    "endpoints/* .metadata.annotations[\"control-plane.alpha.kubernetes.io/leader\"]",
];

/// The fields that beat; each names a part of some objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeats(Vec<Accepted>);

impl Default for Heartbeats {
    fn default() -> Heartbeats {
        Heartbeats::new(Vec::new())
    }
}

impl Heartbeats {
    /// Those fields and [`LOCKS`]. One that names no part of an object hides nothing.
    pub fn new(mut fields: Vec<Accepted>) -> Heartbeats {
        fields.extend(LOCKS.map(|lock| lock.parse().expect("a path of ours")));
        Heartbeats(fields)
    }

    /// Its fields.
    pub fn fields(&self) -> &[Accepted] {
        &self.0
    }

    /// The object without what beats in it, and without the generation that may count the beats; none if nothing beats
    /// in it.
    pub fn without(&self, key: &ObjectKey, object: &Value) -> Option<Value> {
        if !self.0.iter().any(|field| field.may_be_about(&key.resource)) {
            return None;
        }
        let key = key.to_string();
        let mut fields = self.0.iter().filter(|field| field.is_about(&key)).peekable();
        fields.peek()?;
        let mut rest = object.clone();
        fields.for_each(|field| field.cut(&mut rest));
        remove(&mut rest, "generation");
        Some(rest)
    }
}

fn remove(object: &mut Value, field: &str) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove(field);
    }
}

/// Tells beats from other commits, in their order.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    heartbeats: Heartbeats,
    /// What objects are beside what beats in them, and when they did.
    known: BTreeMap<ObjectKey, (Value, Option<Time>)>,
}

impl Pulse {
    /// Before the first commit the store holds these.
    pub fn new<'a>(
        heartbeats: Heartbeats,
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    ) -> Pulse {
        let mut pulse = Pulse { heartbeats, known: BTreeMap::new() };
        for (key, object) in objects {
            if let Some(rest) = pulse.rest(key, object) {
                pulse.known.insert(key.clone(), (rest, None));
            }
        }
        pulse
    }

    /// Whether a commit is a beat.
    pub fn beats(&mut self, commit: &Commit, now: Time) -> bool {
        let Some(rest) = self.rest(&commit.key, &commit.object) else { return false };
        let before = match commit.change {
            Change::Deleted => self.known.remove(&commit.key),
            _ => self.known.insert(commit.key.clone(), (rest.clone(), Some(now))),
        };
        let Some((known, last)) = before else { return false };
        commit.change == Change::Updated
            && commit.actor != Actor::User
            && known == rest
            && last.is_none_or(|last| now.since(last) >= PAUSE)
    }

    fn rest(&self, key: &ObjectKey, object: &Value) -> Option<Value> {
        let mut rest = self.heartbeats.without(key, object)?;
        remove(&mut rest, "resourceVersion");
        remove(&mut rest, "managedFields");
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::key::Revision;

    const LOCK: &str = "configmaps/default/lock";

    fn pulse(fields: &[&str]) -> Pulse {
        let fields = fields.iter().map(|field| field.parse().unwrap()).collect();
        let before = [(LOCK.parse::<ObjectKey>().unwrap(), Arc::new(lock("me", 0, 1)))];
        Pulse::new(Heartbeats::new(fields), before.iter().map(|(key, object)| (key, object)))
    }

    fn lock(holder: &str, renewed: i64, revision: u64) -> Value {
        let metadata = json!({
            "annotations": {"example.com/renewed": renewed.to_string()},
            "resourceVersion": revision.to_string(),
            "generation": revision,
        });
        json!({"metadata": metadata, "data": {"holder": holder}})
    }

    fn commit(change: Change, object: Value, actor: Actor) -> Commit {
        let key = LOCK.parse().unwrap();
        let (revision, object) = (Revision(1), Arc::new(object));
        Commit { revision, change, key, object, actor, call: None, heartbeat: false }
    }

    const FIELD: &str = r#"configmaps/default/* .metadata.annotations["example.com/renewed"]"#;

    #[test]
    fn a_commit_that_changes_only_the_named_field_is_a_beat() {
        let subject = Actor::Subject(0);
        let second = |at: i64| Time(at * 1_000_000_000);
        let check = |fields: &[&str], commits: &[(i64, Change, Value, Actor)], expect: &[bool]| {
            let mut pulse = pulse(fields);
            let found: Vec<bool> = commits
                .iter()
                .map(|(at, change, object, actor)| {
                    pulse.beats(&commit(*change, object.clone(), actor.clone()), second(*at))
                })
                .collect();
            assert_eq!(found, expect, "{commits:?}");
        };
        let beat = |at: i64| (at, Change::Updated, lock("me", at, at as u64), subject.clone());
        check(&[FIELD], &[beat(2), beat(4), beat(6)], &[true; 3]);
        check(&[], &[beat(2), beat(4)], &[false; 2]);
        check(&["configmaps/default/other .data"], &[beat(2)], &[false]);
        // The object as a whole is no field.
        check(&["configmaps/default/lock"], &[beat(2)], &[false]);
        // Twice within a second.
        check(&[FIELD], &[beat(2), beat(2), beat(4)], &[true, false, true]);
        // Something else changes, and is counted once.
        let other = |at: i64| (at, Change::Updated, lock("you", at, 9), subject.clone());
        check(&[FIELD], &[beat(2), other(4), other(6), beat(8)], &[true, false, true, false]);
        // The user's, a deletion, and a creation.
        check(&[FIELD], &[(2, Change::Updated, lock("me", 2, 2), Actor::User)], &[false]);
        let deleted = (2, Change::Deleted, lock("me", 0, 1), subject.clone());
        let created = (4, Change::Created, lock("me", 4, 4), subject.clone());
        check(&[FIELD], &[deleted, created, beat(6)], &[false, false, true]);
    }

    #[test]
    fn the_lock_of_old_clients_beats_without_being_named() {
        let lock = |renewed: &str, mine: &str| {
            let annotations =
                json!({"control-plane.alpha.kubernetes.io/leader": renewed, "mine": mine});
            json!({"metadata": {"annotations": annotations}})
        };
        let key = || LOCK.parse::<ObjectKey>().unwrap();
        let before = [(key(), Arc::new(lock("0", "x")))];
        let objects = before.iter().map(|(key, object)| (key, object));
        let mut pulse = Pulse::new(Heartbeats::default(), objects);
        let mut beats = |at: i64, object: Value| {
            let commit = commit(Change::Updated, object, Actor::Subject(0));
            pulse.beats(&commit, Time(at * 1_000_000_000))
        };
        assert!(beats(2, lock("2", "x")));
        assert!(!beats(4, lock("4", "y")), "something else changed as well");
        assert!(beats(6, lock("6", "y")));
    }

    #[test]
    fn what_beats_is_cut_out_of_the_objects_that_have_it() {
        let pulse = pulse(&[FIELD]);
        let without = |key: &str| {
            let key: ObjectKey = key.parse().unwrap();
            pulse.heartbeats.without(&key, &lock("me", 1, 1))
        };
        let rest = json!({
            "metadata": {"annotations": {}, "resourceVersion": "1"},
            "data": {"holder": "me"},
        });
        assert_eq!(without(LOCK), Some(rest));
        assert_eq!(without("secrets/default/lock"), None);
    }
}
