//! Objects of which undisturbed runs make too many: by several replicas at once, or without end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Actor, Change, Commit, Event, Masks};

use crate::{
    role::{Role, starred},
    run::Run,
};

/// Replicas of the controller each made an object, and the objects are the same but for their names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Doubled {
    /// Folded key: `foos.example.com/default/foo-‹*›`.
    pub objects: String,
    /// How many replicas made one.
    pub replicas: usize,
}

impl fmt::Display for Doubled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = starred(&self.objects);
        write!(
            f,
            "{} replicas each made an equal object {objects}: do they share the work?",
            self.replicas
        )
    }
}

/// Objects of one kind that are made and deleted again, although nobody asks for anything new.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endless {
    /// The role of the objects, in words.
    pub objects: String,
    /// How many were created after the last step.
    pub created: usize,
    /// How many were deleted.
    pub deleted: usize,
    /// In how many seconds of the cluster's time.
    pub seconds: u64,
}

impl fmt::Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Endless { objects, created, deleted, seconds } = self;
        write!(
            f,
            "in the {seconds} s after the last step {created} objects {objects} were created and {deleted} deleted: how a run \
             ends depends on how long one waits"
        )
    }
}

/// What replicas made twice, of what stands at the end.
pub fn doubled(run: &Run) -> Vec<Doubled> {
    let folder = run.folder();
    let mut standing: BTreeMap<&trace::ObjectKey, &Commit> = BTreeMap::new();
    for commit in run.history.commits().filter(|commit| !commit.is_bookkeeping()) {
        match commit.change {
            Change::Created => drop(standing.insert(&commit.key, commit)),
            Change::Deleted => drop(standing.remove(&commit.key)),
            Change::Updated => {}
        }
    }
    let mut makers: BTreeMap<(String, String), BTreeSet<u32>> = BTreeMap::new();
    for (key, commit) in standing {
        if let Actor::Subject(replica) = commit.actor
            && folder.is_generated(key)
        {
            let object = folder.object(key, &commit.object, &Masks::default());
            makers.entry((folder.key(key), object.to_string())).or_default().insert(replica);
        }
    }
    let several = makers.into_iter().filter(|(_, replicas)| replicas.len() > 1);
    let found: BTreeSet<Doubled> = several
        .map(|((objects, _), replicas)| Doubled { objects, replicas: replicas.len() })
        .collect();
    found.into_iter().collect()
}

/// Objects that the controller goes on making, or deleting, after the last step.
pub fn endless(run: &Run) -> Vec<Endless> {
    /// A few may be the rest of its work.
    const OFTEN: usize = 3;
    let folder = run.folder();
    let records = &run.history.records;
    let steps = |event: &Event| {
        matches!(event, Event::Step(_))
            || matches!(event, Event::Commit(commit) if commit.actor == Actor::User)
    };
    let last = records.iter().rposition(|record| steps(&record.event));
    let Some((step, later)) = records[last.unwrap_or(0)..].split_first() else { return vec![] };
    let mut counts: BTreeMap<Role, (usize, usize, bool)> = BTreeMap::new();
    for record in later {
        let Event::Commit(commit) = &record.event else { continue };
        if commit.is_bookkeeping() || commit.change == Change::Updated {
            continue;
        }
        let value: Value = folder.object(&commit.key, &commit.object, &Masks::default());
        let count = counts.entry(Role::of(&folder.key(&commit.key), &value)).or_default();
        match commit.change {
            Change::Created => count.0 += 1,
            _ => count.1 += 1,
        }
        count.2 |= commit.actor.is_subject();
    }
    let seconds = records.last().map_or(0, |end| end.at.since(step.at).as_secs());
    let often = counts.into_iter().filter(|(_, (created, deleted, by_subject))| {
        *by_subject && *created >= OFTEN && *deleted + 1 >= OFTEN
    });
    often
        .map(|(role, (created, deleted, _))| Endless {
            objects: role.to_string(),
            created,
            deleted,
            seconds,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Builder, SUBJECT, foo, undisturbed};

    #[test]
    fn equal_objects_of_two_replicas_are_doubled() {
        let by = |replica: u32, suffix: &str, builder: Builder| {
            let key = format!("foos.example.com/default/foo-{suffix}");
            builder.put(Actor::Subject(replica), &key, foo())
        };
        assert_eq!(doubled(&undisturbed("aaaaa").run()), []);
        let both = by(1, "bbbbb", by(0, "aaaaa", Builder::new().bar())).settle(1, true);
        let objects = "foos.example.com/default/foo-‹*›".to_owned();
        assert_eq!(doubled(&both.run()), [Doubled { objects, replicas: 2 }]);
        // One replica may make as many as it is asked for.
        let one = by(0, "bbbbb", by(0, "aaaaa", Builder::new().bar())).settle(1, true);
        assert_eq!(doubled(&one.run()), []);
    }

    #[test]
    fn what_is_made_and_deleted_for_ever_is_endless() {
        let mut builder = undisturbed("aaaaa");
        assert_eq!(endless(&builder.clone().run()), []);
        for suffix in ["bbbbb", "ccccc", "ddddd", "eeeee"] {
            let key = format!("foos.example.com/default/foo-{suffix}");
            builder = builder.foo(suffix).delete(SUBJECT, &key);
        }
        let found = endless(&builder.settle(1, true).run());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].created, found[0].deleted), (5, 4), "the first one stays");
        assert_eq!(found[0].objects, "foos.example.com/default/foo-*");
    }
}
