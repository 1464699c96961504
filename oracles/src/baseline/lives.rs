//! What became of each object in the references, by folded canonical key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trace::{Change, Cursor, Masks};

use crate::run::{Move, Run};

/// Least and most over the references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Least.
    pub min: u32,
    /// Most.
    pub max: u32,
}

impl Span {
    fn of(counts: impl Iterator<Item = u32> + Clone) -> Span {
        Span { min: counts.clone().min().unwrap_or(0), max: counts.max().unwrap_or(0) }
    }
}

/// How objects of one folded key live. Generated siblings are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Life {
    /// How many stood there at the start.
    pub started: Span,
    /// Creations.
    pub created: Span,
    /// Updates.
    pub updated: Span,
    /// Deletions.
    pub deleted: Span,
    /// How many there are at the end.
    pub ended: Span,
    /// How far the workload was at the earliest when the last of them was created; none if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<Cursor>,
    /// In which segment of the workload (see [`segment`]) the last deletion of any reference was.
    pub last_deleted: Option<usize>,
}

impl Life {
    /// The most that a reference knew of: those that stood there at its start, and those that it created.
    pub fn known_max(&self) -> u32 {
        self.started.max + self.created.max
    }

    /// Whether a deletion in `segment` is one that no reference makes, of something that all keep.
    pub fn lives_on(&self, segment: usize) -> bool {
        self.ended.min > 0 && self.last_deleted.is_none_or(|last| last < segment)
    }
}

/// Settles cut the workload into segments, from 0: what an operation causes ends before the next settle, in
/// every run. A run that began in the middle is given the earliest segment that it may be in.
pub(crate) fn segment(happened: &Move<'_>, run: &Run, settles: &[Cursor]) -> usize {
    match happened.settled {
        Some(cursor) => settles.iter().filter(|settle| **settle <= cursor).count(),
        None => settles.iter().filter(|settle| **settle < run.start_cursor).count(),
    }
}

#[derive(Default)]
struct Counts {
    started: u32,
    created: u32,
    updated: u32,
    deleted: u32,
    made_at: Option<Cursor>,
    last_deleted: Option<usize>,
}

pub(super) fn lives(runs: &[Run], settles: &[Cursor], masks: &Masks) -> BTreeMap<String, Life> {
    let counts: Vec<BTreeMap<String, Counts>> =
        runs.iter().map(|run| count(run, settles, masks)).collect();
    let keys: std::collections::BTreeSet<&String> =
        counts.iter().flat_map(BTreeMap::keys).collect();
    let none = Counts::default();
    let life = |key: &String| {
        let of = counts.iter().map(|counts| counts.get(key).unwrap_or(&none));
        Life {
            started: Span::of(of.clone().map(|count| count.started)),
            created: Span::of(of.clone().map(|count| count.created)),
            updated: Span::of(of.clone().map(|count| count.updated)),
            deleted: Span::of(of.clone().map(|count| count.deleted)),
            ended: Span::of(
                of.clone()
                    .map(|count| (count.started + count.created).saturating_sub(count.deleted)),
            ),
            made_at: of.clone().filter_map(|count| count.made_at).min(),
            last_deleted: of.filter_map(|count| count.last_deleted).max(),
        }
    };
    keys.into_iter().map(|key| (key.clone(), life(key))).collect()
}

fn count(run: &Run, settles: &[Cursor], masks: &Masks) -> BTreeMap<String, Counts> {
    let folder = run.folder();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for (key, _) in run.start.iter().filter(|(key, _)| !key.resource.is_bookkeeping()) {
        counts.entry(folder.key(key)).or_default().started += 1;
    }
    for happened in run.moves() {
        let count = counts.entry(folder.key(&happened.commit.key)).or_default();
        match happened.commit.change {
            Change::Created => {
                count.created += 1;
                count.made_at = count.made_at.max(Some(happened.cursor));
            }
            Change::Updated => count.updated += 1,
            Change::Deleted => {
                count.deleted += 1;
                count.last_deleted = count.last_deleted.max(Some(segment(&happened, run, settles)));
            }
        }
    }
    counts.retain(|key, _| !masks.leave_out(key));
    counts
}
