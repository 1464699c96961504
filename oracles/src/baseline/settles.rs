//! The world at each settle: what references have in common, and the masks for the rest.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{
    Accepted, Cursor, Mask, Masks, Path, WorldForm,
    comparison::Segment,
    diff::{Difference, differences},
    fold_key,
};

use super::{Disagreement, DisagreementKind, LearntMask, copies};
use crate::run::Run;

/// The world at one settle, in comparison form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettledWorld {
    /// Where the workload stood.
    pub cursor: Cursor,
    /// Whether it had ended.
    pub end: bool,
    /// Canonical key → object.
    pub world: WorldForm,
}

pub(super) struct Agreed {
    pub masks: Masks,
    pub evidence: Vec<LearntMask>,
    pub worlds: Vec<SettledWorld>,
    pub added: Vec<usize>,
}

/// Masking can change which sibling is which, so worlds are compared again under new masks. Each round adds
/// a mask or ends; masks are finite, but nobody needs more than a few rounds.
const ROUNDS_MAX: usize = 8;

/// Finds masks and disagreements.
pub(super) fn agree(runs: &[Run], accepted: &[Accepted]) -> (Agreed, Vec<Disagreement>) {
    let mut masks = Masks { learnt: Vec::new(), accepted: accepted.to_vec() };
    let mut teachers: BTreeMap<Mask, usize> = BTreeMap::new();
    for _ in 0..ROUNDS_MAX {
        let before = teachers.len();
        for (at, mask) in compare_all(runs, &masks).0 {
            teachers.entry(mask).or_insert(at);
        }
        masks.learnt = teachers.keys().cloned().collect();
        if teachers.len() == before {
            break;
        }
    }
    drop_needless(runs, &mut masks);
    let mut evidence = evidence(runs, &masks);
    evidence.extend(copies::copied(runs, &masks));
    masks.learnt = evidence.iter().map(|learnt| learnt.mask.clone()).collect();
    let mut disagreements = differing_settles(runs);
    disagreements.extend(compare_all(runs, &masks).1);
    let mut added = vec![0; runs.len()];
    let teaching = masks.learnt.iter().filter_map(|mask| teachers.get(mask));
    teaching.for_each(|at| added[*at] += 1);
    let agreed = Agreed {
        evidence,
        worlds: runs.first().map(|run| worlds(run, &masks)).unwrap_or_default(),
        masks,
        added,
    };
    (agreed, disagreements)
}

/// One random field can put siblings in another order, so that fields which tell them apart seem random
/// too. Once the random one is masked, the masks for the others hide things for nothing.
fn drop_needless(runs: &[Run], masks: &mut Masks) {
    let known = compare_all(runs, masks).1.len();
    for mask in masks.learnt.clone() {
        if !mask.object.contains("‹*›") {
            continue;
        }
        let mut fewer = masks.clone();
        fewer.learnt.retain(|other| *other != mask);
        let (missing, disagreements) = compare_all(runs, &fewer);
        if missing.is_empty() && disagreements.len() <= known {
            *masks = fewer;
        }
    }
}

/// Compares each reference with the first: masks that are missing, each with the reference that shows it,
/// and disagreements.
fn compare_all(runs: &[Run], masks: &Masks) -> (Vec<(usize, Mask)>, Vec<Disagreement>) {
    let (mut missing, mut disagreements) = (Vec::new(), BTreeMap::new());
    let first = runs.first().map(|run| worlds(run, masks)).unwrap_or_default();
    for (at, run) in runs.iter().enumerate().skip(1) {
        let found = compare(&first, &worlds(run, masks), at, &mut disagreements);
        missing.extend(found.into_iter().map(|mask| (at, mask)));
    }
    (missing, disagreements.into_values().collect())
}

/// One world a cursor: the last settle there counts.
pub(super) fn worlds(run: &Run, masks: &Masks) -> Vec<SettledWorld> {
    let last: BTreeMap<Cursor, &trace::Settled> =
        run.history.settles().map(|settled| (settled.cursor, settled)).collect();
    let world = |settled: &trace::Settled| SettledWorld {
        cursor: settled.cursor,
        end: settled.end,
        world: run.world_at(settled, masks),
    };
    last.into_values().map(world).collect()
}

fn differing_settles(runs: &[Run]) -> Vec<Disagreement> {
    let cursors: Vec<BTreeSet<(Cursor, bool)>> = runs
        .iter()
        .map(|run| run.history.settles().map(|settled| (settled.cursor, settled.end)).collect())
        .collect();
    let all: BTreeSet<(Cursor, bool)> = cursors.iter().flatten().copied().collect();
    let has = |at: usize, cursor: &(Cursor, bool)| cursors[at].contains(cursor);
    let mut found: Vec<Disagreement> = all
        .into_iter()
        .filter(|cursor| !(0..runs.len()).all(|at| has(at, cursor)))
        .map(|cursor| Disagreement {
            kind: DisagreementKind::Settles,
            cursor: cursor.0,
            object: if cursor.1 { "the end" } else { "a settle of the workload" }.to_owned(),
            path: Path::default(),
            values: (0..runs.len())
                .map(|at| (at, has(at, &cursor).then(|| Value::from("settled"))))
                .collect(),
        })
        .collect();
    if !runs.is_empty() && cursors.iter().all(|cursors| !cursors.iter().any(|(_, end)| *end)) {
        found.push(Disagreement {
            kind: DisagreementKind::Settles,
            cursor: Cursor::default(),
            object: "the end".to_owned(),
            path: Path::default(),
            values: (0..runs.len()).map(|at| (at, None)).collect(),
        });
    }
    found
}

/// What a disagreement is about: cursor, kind, object, path.
type About = (Cursor, DisagreementKind, String, Path);

/// Masks for what differs between reference 0 and reference `at`; what no mask may hide goes to `found`.
fn compare(
    reference: &[SettledWorld],
    others: &[SettledWorld],
    at: usize,
    found: &mut BTreeMap<About, Disagreement>,
) -> Vec<Mask> {
    let mut masks = Vec::new();
    for settled in reference {
        let Some(other) = others.iter().find(|other| other.cursor == settled.cursor) else {
            continue;
        };
        for difference in differences(&settled.world, &other.world) {
            let object = fold_key(&difference.object);
            let path = fold_path(&difference.path);
            let Some(kind) = kind(&difference) else {
                masks.push(Mask { object, path });
                continue;
            };
            let (left, right) = match kind {
                DisagreementKind::Objects => {
                    let count = |world: &WorldForm| Some(Value::from(count(world, &object)));
                    (count(&settled.world), count(&other.world))
                }
                DisagreementKind::ListLength => (length(difference.left), length(difference.right)),
                _ => (difference.left, difference.right),
            };
            let about = (settled.cursor, kind, object.clone(), path.clone());
            let entry = found.entry(about).or_insert_with(|| Disagreement {
                kind,
                cursor: settled.cursor,
                object,
                path,
                values: vec![(0, left)],
            });
            if !entry.values.iter().any(|(run, _)| *run == at) {
                entry.values.push((at, right));
            }
        }
    }
    masks
}

/// `None`: a leaf scalar that may be masked.
fn kind(difference: &Difference) -> Option<DisagreementKind> {
    let scalar = |value: &Value| !value.is_array() && !value.is_object();
    match (&difference.left, &difference.right) {
        _ if difference.path.0.is_empty() => Some(DisagreementKind::Objects),
        (Some(Value::Array(_)), Some(Value::Array(_))) => Some(DisagreementKind::ListLength),
        (Some(left), Some(right)) if scalar(left) && scalar(right) => {
            is_outcome(&difference.path).then_some(DisagreementKind::Outcome)
        }
        _ => Some(DisagreementKind::Keys),
    }
}

/// Phases, condition types, statuses and reasons, counts of replicas: what users look at first.
fn is_outcome(path: &Path) -> bool {
    let in_conditions =
        path.0.iter().any(|segment| matches!(segment, Segment::Key(key) if key == "conditions"));
    let key = path.last_key().unwrap_or_default();
    key == "phase"
        || key.to_ascii_lowercase().ends_with("replicas")
        || key.starts_with("number")
        || (in_conditions && matches!(key, "type" | "status" | "reason"))
}

fn length(value: Option<Value>) -> Option<Value> {
    Some(Value::from(format!("{} elements", value?.as_array()?.len())))
}

/// Objects of this folded key.
pub(crate) fn count(world: &WorldForm, folded: &str) -> usize {
    world.objects().filter(|(key, _)| fold_key(key) == folded).count()
}

/// The place in any list element, with generated names in keys folded.
pub(crate) fn fold_path(path: &Path) -> Path {
    let fold = |segment: Segment| match segment {
        Segment::Key(key) => Segment::Key(fold_key(&key)),
        other => other,
    };
    Path(path.any_index().0.into_iter().map(fold).collect())
}

/// What each reference has where a mask is: the first settle at which they differ.
fn evidence(runs: &[Run], masks: &Masks) -> Vec<LearntMask> {
    let bare = Masks { learnt: Vec::new(), accepted: masks.accepted.clone() };
    let worlds: Vec<Vec<SettledWorld>> = runs.iter().map(|run| worlds(run, &bare)).collect();
    let values = |mask: &Mask| -> Vec<(usize, Value)> {
        let settles = worlds.iter().map(Vec::len).max().unwrap_or(0);
        let at = |settle: usize| -> Vec<(usize, Value)> {
            let of_run = |(run, worlds): (usize, &Vec<SettledWorld>)| {
                Some((run, values_at(&worlds.get(settle)?.world, mask)?))
            };
            worlds.iter().enumerate().filter_map(of_run).collect()
        };
        let differ = |values: &Vec<(usize, Value)>| {
            values.iter().any(|(_, value)| Some(value) != values.first().map(|(_, value)| value))
        };
        (0..settles).map(at).find(differ).unwrap_or_default()
    };
    masks
        .learnt
        .iter()
        .map(|mask| LearntMask { mask: mask.clone(), values: values(mask), copy_of: None })
        .collect()
}

/// The leaf at the mask, or the list of leaves if it matches several.
fn values_at(world: &WorldForm, mask: &Mask) -> Option<Value> {
    let mut leaves = Vec::new();
    for (key, object) in world.objects() {
        if fold_key(key) == mask.object {
            collect(object, &mask.path.0, &mut leaves);
        }
    }
    match leaves.len() {
        0 => None,
        1 => leaves.pop(),
        _ => Some(Value::Array(leaves)),
    }
}

fn collect(value: &Value, path: &[Segment], leaves: &mut Vec<Value>) {
    let Some((segment, rest)) = path.split_first() else { return leaves.push(value.clone()) };
    match (value, segment) {
        (Value::Object(map), Segment::Any) => {
            map.values().for_each(|inner| collect(inner, rest, leaves));
        }
        (Value::Object(map), Segment::Key(key)) => map
            .iter()
            .filter(|(name, _)| fold_key(name) == *key)
            .for_each(|(_, inner)| collect(inner, rest, leaves)),
        (Value::Array(items), Segment::Any) => {
            items.iter().for_each(|inner| collect(inner, rest, leaves));
        }
        (Value::Array(items), Segment::Index(index)) => {
            items.get(*index).into_iter().for_each(|inner| collect(inner, rest, leaves));
        }
        _ => {}
    }
}
