//! A difference in one sentence: the object by its role, the field, what was found and what was expected.

use std::fmt;

use serde_json::Value;
use trace::{Event, Path, StepState, comparison::Segment};

use super::{Judged, Worst};
use crate::{cause::is_uuid, role::Role, run::Trial, verdict::Evidence};

pub(super) fn title(trial: &Trial, worst: &Worst<'_>, judged: &Judged<'_>) -> String {
    let mut title = match worst.evidence {
        Evidence::Count { references, trial, .. } => count(&worst.role, *references, *trial),
        Evidence::Field { object, path, references, trial, .. } => {
            let place = Place { path, of: judged.any(object), exactly: true };
            format!("{} {}", worst.role, field(&place, references.as_ref(), trial.as_ref()))
        }
        _ => String::new(),
    };
    if !judged.settled.end {
        title += &match step_before(trial, judged) {
            Some(step) => format!(", when it had settled after {step}"),
            // A fork begins after it.
            None => ", when it had settled on the way".to_owned(),
        };
    }
    title
}

/// The last step that was done before a settle.
fn step_before<'t>(trial: &'t Trial, judged: &Judged<'_>) -> Option<&'t str> {
    let cursor = judged.settled.cursor;
    let mut steps = trial.run.history.records.iter().filter_map(|record| match &record.event {
        Event::Step(step) if step.state == StepState::Done && step.cursor <= cursor => {
            Some(&*step.title)
        }
        _ => None,
    });
    steps.next_back()
}

fn count(role: &Role, references: usize, trial: usize) -> String {
    let number = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
    if !role.is_generated() && references + trial == 1 {
        return match trial {
            0 => format!("{role} is missing; undisturbed runs have it"),
            _ => format!("{role} exists; undisturbed runs do not have it"),
        };
    }
    let plural = if trial == 1 { "object" } else { "objects" };
    let found = if trial == 0 { "no".to_owned() } else { trial.to_string() };
    format!("{found} {plural} {role}; undisturbed runs have {}", number(references))
}

fn field(place: &Place<'_>, references: Option<&Value>, trial: Option<&Value>) -> String {
    if let Some(counted) = counted(place.path) {
        let times = |value: Option<&Value>| match value.map(plain).as_deref() {
            None => "never".to_owned(),
            Some("1") => "once".to_owned(),
            Some(times) => format!("{times} times"),
        };
        return format!(
            "was {counted} {}; undisturbed runs do it {}",
            times(trial),
            times(references)
        );
    }
    match (place.path.last_key(), references, trial) {
        (Some("deletionTimestamp" | "deletionGracePeriodSeconds"), None, Some(_)) => {
            "is being deleted; in undisturbed runs it is not".to_owned()
        }
        (Some("deletionTimestamp" | "deletionGracePeriodSeconds"), Some(_), None) => {
            "is not being deleted; in undisturbed runs it is".to_owned()
        }
        (_, Some(expected), Some(found)) => {
            let (found, expected) = beside(found, expected);
            format!("has {place} {found}; undisturbed runs have {expected}")
        }
        (_, Some(expected), None) => {
            format!("lacks {place}; undisturbed runs have {}", short(expected))
        }
        (_, None, found) => {
            let found = found.map_or("nothing".to_owned(), short);
            format!("has {place} {found}; undisturbed runs do not have it")
        }
    }
}

/// What a counter of built-in controllers counts: rollouts of a Deployment (`deployment.kubernetes.io/revision`) and
/// templates of a DaemonSet or StatefulSet (`ControllerRevision.revision`).
pub(super) fn counted(path: &Path) -> Option<&'static str> {
    match &path.0[..] {
        [.., Segment::Key(key)] if key == "deployment.kubernetes.io/revision" => Some("rolled out"),
        [Segment::Key(key)] if key == "revision" => Some("made"),
        _ => None,
    }
}

/// A path in an object. Items of lists are called by their type or name, as conditions and containers are.
pub(super) struct Place<'v> {
    pub path: &'v Path,
    pub of: Option<&'v Value>,
    /// Others by their position; if not, all alike.
    pub exactly: bool,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at = self.of;
        for segment in &self.path.0 {
            let mut shown = segment.clone();
            at = match segment {
                Segment::Key(key) => at.and_then(|at| at.get(key)),
                Segment::Index(index) => at.and_then(|at| at.get(index)),
                Segment::Any => None,
            };
            if let Segment::Index(_) = segment {
                let name = at.and_then(|item| item["type"].as_str().or(item["name"].as_str()));
                if let Some(name) = name {
                    write!(f, "[{name}]")?;
                    continue;
                }
                shown = if self.exactly { shown } else { Segment::Any };
            }
            write!(f, "{}", Path(vec![shown]))?;
        }
        Ok(())
    }
}

/// Two values of a sentence. Of long texts the part from their first difference on is shown.
pub(in crate::judge) fn beside(one: &Value, other: &Value) -> (String, String) {
    let (Value::String(left), Value::String(right)) = (one, other) else {
        return (short(one), short(other));
    };
    let same = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    let from = |text: &str| match same {
        0..=LENGTH_MAX => short(&text.into()),
        _ => short(&format!("…{}", text.chars().skip(same).collect::<String>()).into()),
    };
    (from(left), from(right))
}

/// So many characters of a value fit into a sentence.
const LENGTH_MAX: usize = 60;

/// A value as it fits into a sentence.
fn short(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(map) => format!("a map of {}", map.len()),
        // Of an object that is gone: another one in each run.
        Value::String(text) if is_uuid(text) => "another uid".to_owned(),
        scalar => {
            let text = scalar.to_string();
            match text.char_indices().nth(LENGTH_MAX) {
                // A text keeps its closing quote.
                Some((end, _)) if scalar.is_string() => format!("{}…\"", &text[..end]),
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            }
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}
