//! Is the world at each settle the world that all references have there?
//!
//! Only settles after the last perturbation count, and only those at which the references settle too. While
//! objects are missing or too many, fields that differ follow from that: they are listed, but neither name nor
//! group the finding.

use std::collections::BTreeMap;

use serde_json::Value;
use trace::{
    Event, Settled, WorldForm,
    diff::{Difference, differences},
    fold_key,
};

use crate::{
    baseline::{Baseline, SettledWorld, fold_path},
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

pub(super) fn judge(trial: &Trial, baseline: &Baseline) -> Verdict {
    let records = &trial.run.history.records[trial.after_last_perturbation()..];
    let mut judged = BTreeMap::new();
    for record in records {
        let Event::Settled(settled) = &record.event else { continue };
        let world = trial.run.world_at(settled, &baseline.masks);
        if let Some(known) = baseline.expected(settled.cursor, &world) {
            judged.insert(settled.cursor, (settled, world, known));
        }
    }
    let reached_end = judged.values().any(|(settled, ..)| settled.end);
    let evidence: Vec<Evidence> = judged
        .values()
        .flat_map(|(settled, world, known)| compare(settled, world, known))
        .collect();
    if let Some(title) = title(&evidence, judged.len(), baseline) {
        return Verdict {
            oracle: Oracle::EndState,
            value: VerdictValue::Violated,
            title,
            fingerprint: fingerprint(&evidence),
            evidence,
        };
    }
    match judged.len() {
        0 => Verdict::unknown(Oracle::EndState, "nothing settled where undisturbed runs do"),
        _ if !reached_end => Verdict::unknown(Oracle::EndState, "the end was not reached"),
        1 => Verdict::held(Oracle::EndState, "the end state is that of the undisturbed runs"),
        count => Verdict::held(
            Oracle::EndState,
            format!("the states at {count} settles are those of the undisturbed runs"),
        ),
    }
}

fn compare(settled: &Settled, world: &WorldForm, known: &SettledWorld) -> Vec<Evidence> {
    let cursor = settled.cursor;
    let (expected, found) = (counts(&known.world), counts(world));
    let mut evidence = Vec::new();
    let families: std::collections::BTreeSet<&String> =
        expected.keys().chain(found.keys()).collect();
    for objects in families {
        let count = |counts: &BTreeMap<String, usize>| counts.get(objects).copied().unwrap_or(0);
        let (references, trial) = (count(&expected), count(&found));
        if references != trial {
            evidence.push(Evidence::Count { cursor, objects: objects.clone(), references, trial });
        }
    }
    let fields = differences(&known.world, world).into_iter();
    evidence.extend(fields.filter(|difference| !difference.path.0.is_empty()).map(
        |Difference { object, path, left, right }| Evidence::Field {
            cursor,
            object,
            path,
            references: left,
            trial: right,
        },
    ));
    evidence
}

/// Objects by folded key.
fn counts(world: &WorldForm) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (key, _) in world.objects() {
        *counts.entry(fold_key(key)).or_default() += 1;
    }
    counts
}

/// The worst in one sentence: objects before fields, at the end before at a settle on the way.
fn title(evidence: &[Evidence], settles: usize, baseline: &Baseline) -> Option<String> {
    let at_end = |cursor| {
        settles <= 1 || baseline.settles.iter().any(|known| known.end && known.cursor == cursor)
    };
    let rank = |evidence: &Evidence| match evidence {
        Evidence::Count { cursor, .. } => (0, !at_end(*cursor)),
        Evidence::Field { cursor, .. } => (1, !at_end(*cursor)),
        _ => (2, false),
    };
    let worst = evidence.iter().min_by_key(|evidence| rank(evidence))?;
    let (cursor, mut title) = match worst {
        Evidence::Count { cursor, objects, references, trial } => {
            (*cursor, count_title(objects, *references, *trial))
        }
        Evidence::Field { cursor, object, path, references, trial } => {
            (*cursor, format!("{object} {}", field_title(&path.to_string(), references, trial)))
        }
        _ => return None,
    };
    if !at_end(cursor) {
        title += &format!(", when it settled at operation {}", cursor.operation);
    }
    Some(title)
}

fn count_title(objects: &str, references: usize, trial: usize) -> String {
    let number = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
    if !objects.contains("‹*›") && references + trial == 1 {
        return match trial {
            0 => format!("{objects} is missing; undisturbed runs have it"),
            _ => format!("{objects} exists; undisturbed runs do not have it"),
        };
    }
    let (resource, rest) = objects.split_once('/').unwrap_or((objects, ""));
    let place = rest.split_once('/').map(|(namespace, _)| format!(" in {namespace}"));
    let plural = if trial == 1 { "object" } else { "objects" };
    let trial = if trial == 0 { "no".to_owned() } else { trial.to_string() };
    let references = number(references);
    format!(
        "{trial} {plural} {resource}{}; undisturbed runs have {references}",
        place.unwrap_or_default()
    )
}

fn field_title(path: &str, references: &Option<Value>, trial: &Option<Value>) -> String {
    match (references, trial) {
        (Some(expected), Some(found)) => {
            format!("has {path} {}; undisturbed runs have {}", short(found), short(expected))
        }
        (Some(expected), None) => {
            format!("lacks {path}; undisturbed runs have {}", short(expected))
        }
        (_, found) => {
            let found = found.as_ref().map_or("nothing".to_owned(), short);
            format!("has {path} {found}; undisturbed runs do not have it")
        }
    }
}

/// A value as it fits into a sentence.
fn short(value: &Value) -> String {
    const LENGTH_MAX: usize = 60;
    match value {
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(map) => format!("a map of {}", map.len()),
        scalar => {
            let text = scalar.to_string();
            match text.char_indices().nth(LENGTH_MAX) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            }
        }
    }
}

fn fingerprint(evidence: &[Evidence]) -> Fingerprint {
    let objects: Vec<String> = evidence
        .iter()
        .filter_map(|evidence| match evidence {
            Evidence::Count { objects, references, trial, .. } => {
                let kind = if trial > references { "extra" } else { "missing" };
                Some(format!("{kind} {objects}"))
            }
            _ => None,
        })
        .collect();
    let fields = evidence.iter().filter_map(|evidence| match evidence {
        Evidence::Field { object, path, .. } => {
            Some(format!("field {} {}", fold_key(object), fold_path(path)))
        }
        _ => None,
    });
    let differences = if objects.is_empty() { fields.collect() } else { objects };
    Fingerprint::new(Oracle::EndState, differences)
}
