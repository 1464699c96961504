//! Differences from undisturbed runs that are known to be wrong themselves, or left half-way: they are told, and the trial is
//! not called the wrong one.

use serde_json::Value;
use trace::{Cursor, comparison::Segment, fold_key};

use crate::{baseline::Baseline, examine, role::starred, verdict::Evidence};

/// Whether the trial has fewer of what undisturbed runs have too many of, or an object is ready that never is there.
/// `found`: the trial's object at a settle, by canonical key.
pub(super) fn is<'w>(
    evidence: &Evidence,
    baseline: &Baseline,
    found: impl Fn(Cursor, &str) -> Option<&'w Value>,
) -> bool {
    match evidence {
        Evidence::Count { objects, references, trial, .. } => {
            trial < references && *trial > 0 && baseline.doubled.contains(objects)
        }
        Evidence::Field { cursor, object, .. } => {
            let ready = || found(*cursor, object).is_some_and(|it| examine::is_ready(object, it));
            baseline.not_ready.contains(&fold_key(object)) && ready()
        }
        _ => false,
    }
}

/// The difference in words.
pub(super) fn title(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Count { objects, references, trial, .. } => format!(
            "{trial} instead of {references} objects {}, which several replicas made",
            starred(objects)
        ),
        Evidence::Field { object, .. } => format!(
            "{} became ready, as it never does in undisturbed runs",
            starred(&fold_key(object))
        ),
        _ => String::new(),
    }
}

/// Whether it is in a status that undisturbed runs don't bring up to date, because the controller fails there.
pub(super) fn is_left_over(evidence: &Evidence, baseline: &Baseline) -> bool {
    let Evidence::Field { cursor, object, path, .. } = evidence else { return false };
    let in_status = matches!(path.0.first(), Some(Segment::Key(key)) if key == "status");
    let mut failing = baseline.failing.iter().filter(|failing| failing.cursor == *cursor);
    in_status && failing.any(|failing| failing.statuses.contains(&fold_key(object)))
}

/// That difference in words.
pub(super) fn left_over(evidence: &Evidence) -> String {
    let Evidence::Field { object, path, .. } = evidence else { return String::new() };
    format!(
        "{} {path} differs, but the controller still fails there in undisturbed runs and leaves the status as it was",
        starred(&fold_key(object))
    )
}
