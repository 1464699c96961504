//! Names that a controller draws by itself, without `generateName`: `uuid4().hex` at the end of a name.
//!
//! They can't be told by their looks. They are learnt: undisturbed runs of the same workload make as many objects of
//! such a name, and no run makes one that another made.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::key::{GroupResource, ObjectKey};

/// Kinds of names that are drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DrawnNames(BTreeSet<Kind>);

/// One kind: `crunch-worker-` and ten more characters, of any pod in `default`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Kind {
    resource: GroupResource,
    namespace: String,
    prefix: String,
    /// Bytes that are drawn.
    drawn: usize,
}

/// So many are drawn at least: what is shorter may mean something.
const DRAWN_MIN: usize = 5;

impl DrawnNames {
    /// Learns from what the subject created in each run, server-generated names left out. Needs two runs.
    pub fn learn(runs: &[BTreeSet<ObjectKey>]) -> DrawnNames {
        let of_runs: Vec<BTreeMap<Kind, usize>> = runs.iter().map(|run| kinds(run, runs)).collect();
        let Some((first, others)) = of_runs.split_first().filter(|(_, others)| !others.is_empty())
        else {
            return DrawnNames::default();
        };
        let everywhere = |(kind, count): &(&Kind, &usize)| {
            others.iter().all(|other| other.get(*kind) == Some(*count))
        };
        DrawnNames(first.iter().filter(everywhere).map(|(kind, _)| kind.clone()).collect())
    }

    /// Whether nothing is known to be drawn.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this object's name was drawn.
    pub fn has(&self, key: &ObjectKey) -> bool {
        !self.0.is_empty() && kind_of(key).is_some_and(|kind| self.0.contains(&kind))
    }
}

/// Kinds of names that only this run has, and how many of each.
fn kinds(run: &BTreeSet<ObjectKey>, all: &[BTreeSet<ObjectKey>]) -> BTreeMap<Kind, usize> {
    let mut kinds = BTreeMap::new();
    for key in run {
        if all.iter().filter(|other| other.contains(key)).count() == 1
            && let Some(kind) = kind_of(key)
        {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    kinds
}

/// What kind a name would be of if it were drawn.
fn kind_of(key: &ObjectKey) -> Option<Kind> {
    let drawn = drawn_part(&key.name)?;
    Some(Kind {
        resource: key.resource.clone(),
        namespace: key.namespace.to_string(),
        prefix: key.name[..key.name.len() - drawn].to_owned(),
        drawn,
    })
}

/// Bytes after the last separator, if they may be drawn: nothing but letters and digits, and not too few.
pub(crate) fn drawn_part(name: &str) -> Option<usize> {
    let begin = name.rfind(['-', '.']).map_or(0, |at| at + 1);
    let part = &name[begin..];
    let letters = part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (begin > 0 && part.len() >= DRAWN_MIN && letters).then_some(part.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(keys: &[&str]) -> BTreeSet<ObjectKey> {
        keys.iter().map(|key| key.parse().unwrap()).collect()
    }

    #[test]
    fn what_every_run_calls_otherwise_is_drawn() {
        let runs = [
            run(&["pods/a/web-0a1b2c3d4e", "pods/a/web-ffffffffff", "pods/a/db-server"]),
            run(&["pods/a/web-0123456789", "pods/a/web-abcdefabcd", "pods/a/db-server"]),
        ];
        let drawn = DrawnNames::learn(&runs);
        let has = |key: &str| drawn.has(&key.parse().unwrap());
        assert!(has("pods/a/web-1111111111"));
        assert!(!has("pods/a/web-111") && !has("pods/b/web-1111111111"));
        assert!(!has("secrets/a/web-1111111111") && !has("pods/a/db-server"));
        // Another number of them is no such kind; one run alone says nothing.
        let other = [runs[0].clone(), run(&["pods/a/web-0123456789", "pods/a/db-server"])];
        assert!(DrawnNames::learn(&other).is_empty() && DrawnNames::learn(&runs[..1]).is_empty());
        // A name that two of them share is no drawn one.
        let shared = [run(&["pods/a/web-00000"]), run(&["pods/a/web-00000"])];
        assert!(DrawnNames::learn(&shared).is_empty());
    }
}
