//! Differences in which a trial is better than the undisturbed runs, as far as those are known to be wrong: they are told,
//! and the trial is not called the wrong one.

use serde_json::Value;
use trace::{Cursor, fold_key};

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
