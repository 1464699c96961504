//! How closely worlds are told apart, and what each level ignores.
//!
//! Exploring begins with the coarsest level: each class of a level is explored before a second world of the same class.
//! So new behaviour comes early, and what is claimed is claimed by level. That a level merges two worlds is an
//! assumption: worlds that were merged are run as well, and a class whose worlds write differently is split (the
//! campaign's audit).
//!
//! | | `shape` | `scale` | `age` | `exact` |
//! |---|---|---|---|---|
//! | objects | those that the subject has asked about, without what built-in controllers made | those that it has asked about | as `scale` | all |
//! | of each | name, owners, finalizers, whether it goes; phases, conditions (type and status), counts of replicas that are asked for | all, but: | as `scale` | all |
//! | what built-in controllers made; a `status` that they wrote, or nobody | nothing | as `shape` has other objects, with numbers, reasons of conditions and states of containers | as `scale` | all |
//! | other times, also in longer texts | none | that there is one | < 1 s, < 1 min, < 10 min, < 1 h, more | whole seconds |
//! | `creationTimestamp` | none | none | none | whole seconds |
//! | `deletionGracePeriodSeconds` | none | none | none | the number |
//! | `generation` | none | only whether `observedGeneration` is behind | as `scale` | the number |
//! | `managedFields` | none | none | none | all but times |
//! | lists that are sets | their length | no order | no order | in order |
//! | objects whose names are drawn and alike otherwise | no order | no order | no order | in order |
//! | template hashes in names | no | no | no | yes |
//! | nodes that the scheduler chose | no | only where Nodes are seen; otherwise that there is one | as `scale` | yes |
//! | values that differ undisturbed too | none | masked | masked | as they are |
//! | random payloads of Secrets that the subject replaces | none | which are equal | as `scale` | as they are |
//! | CustomResourceDefinitions | names, served versions, conditions | the same | the same | all |
//! | built-in controllers | nothing | nothing | nothing | their queues and timers |
//! | the workload (`harness`) | what it does next, without checks | as `shape` | its position; since when it is there, as times | its position; since when, in whole seconds |
//!
//! So `shape` is what the user and the subject wrote; `scale` tells apart how far the built-in controllers are with it as
//! well. Who wrote is known by `managedFields`. `age` adds what time has passed: in three of four campaigns that did not
//! close, ages kept most classes apart, and few subjects act on them. No footprint shows whether one does, so worlds that
//! differ in ages are merged first, and `age` comes after `scale` is closed.
//!
//! What the built-in controllers, left alone, would make of a world is not worked out before it is merged: that costs
//! more than a look at a hundred worlds. It follows from the objects nearly always, and the audit is for the rest.
//!
//! A count in a status says how far the objects below it are, and they count themselves: so at `shape` it does not. A
//! controller that keeps one as its memory (the most replicas there ever were) is told apart from `scale` on.
//!
//! A field of a status that only the subject writes and never uses can't be told from one that it reads back: both come
//! in the same answer. So such fields count from `scale` on.
//!
//! The workload's position is nothing that the subject sees, and counts all the same: what a trial writes goes on to the
//! workload's end, so worlds at two positions write differently, and the audit would split each class that holds both.
//!
//! Subjects that act on what a level ignores are in `tests/campaigns`: `age` (seconds), `creation-order`,
//! `observed-generation`, `managed-fields`. All are found by default, because the default goes on into `exact`.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{key::ObjectKey, made::Made, time::Time};

/// How closely worlds are told apart; see the module's documentation. Each level tells apart what the ones before do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Which objects exist, and how far the user's and the subject's are.
    Shape,
    /// All that the subject can see, lists roughly and without times.
    Scale,
    /// The same, with times roughly.
    Age,
    /// All that any subject could see.
    #[default]
    Exact,
}

impl Level {
    /// Coarse ones first.
    pub const ALL: [Level; 4] = [Level::Shape, Level::Scale, Level::Age, Level::Exact];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Shape => "shape",
            Level::Scale => "scale",
            Level::Age => "age",
            Level::Exact => "exact",
        })
    }
}

/// What counts of an object at a level; none if nothing does.
pub(super) fn reduce<'v>(
    level: Level,
    key: &ObjectKey,
    object: &'v Value,
) -> Option<Cow<'v, Value>> {
    if level == Level::Exact {
        return Some(Cow::Borrowed(object));
    }
    if &*key.resource.resource == "customresourcedefinitions" {
        return Some(Cow::Owned(type_of(object)));
    }
    let made = Made::of(object);
    Some(match (level, made) {
        (Level::Shape, Made::ByEnvironment) => return None,
        (_, Made::ByEnvironment) => Cow::Owned(shape(object, Some(Numbers::All))),
        (Level::Shape, Made::StatusByEnvironment) => Cow::Owned(shape(object, None)),
        (Level::Shape, Made::ByOthers) => Cow::Owned(shape(object, Some(Numbers::None))),
        _ => {
            let mut seen = without_counters(object, generation(object));
            if let Some(Value::Object(metadata)) = seen.get_mut("metadata") {
                metadata.remove("managedFields");
                metadata.remove("creationTimestamp");
                metadata.remove("deletionGracePeriodSeconds");
            }
            if made == Made::StatusByEnvironment
                && let Some(Value::Object(status)) = seen.get_mut("status")
            {
                *status = progress(status, Numbers::All);
            }
            Cow::Owned(seen)
        }
    })
}

/// An age as far as it counts at [`Level::Age`].
pub fn age(time: Time, now: Time) -> &'static str {
    let seconds = (i128::from(now.0) - i128::from(time.0)) / 1_000_000_000;
    match seconds {
        i128::MIN..=-3600 => "an hour or more ahead",
        -3599..=-600 => "less than an hour ahead",
        -599..=-60 => "less than ten minutes ahead",
        -59..=-1 => "less than a minute ahead",
        0 => "< 1 s",
        1..=59 => "< 1 min",
        60..=599 => "< 10 min",
        600..=3599 => "< 1 h",
        _ => "1 h or more",
    }
}

fn generation(object: &Value) -> Option<i64> {
    object["metadata"]["generation"].as_i64()
}

/// The object with each `observedGeneration` as whether it is the present one, and without the number itself.
fn without_counters(value: &Value, generation: Option<i64>) -> Value {
    match value {
        Value::Object(map) => {
            let mut out = Map::new();
            for (name, inner) in map {
                match (name.as_str(), inner) {
                    ("metadata", Value::Object(metadata)) => {
                        let mut metadata = metadata.clone();
                        metadata.remove("generation");
                        out.insert(name.clone(), metadata.into());
                    }
                    (_, Value::Number(number))
                        if name.to_ascii_lowercase().ends_with("observedgeneration") =>
                    {
                        let behind = number.as_i64() != generation;
                        out.insert(
                            name.clone(),
                            Value::from(if behind { "behind" } else { "current" }),
                        );
                    }
                    _ => {
                        out.insert(name.clone(), without_counters(inner, generation));
                    }
                }
            }
            out.into()
        }
        Value::Array(items) => {
            items.iter().map(|item| without_counters(item, generation)).collect()
        }
        scalar => scalar.clone(),
    }
}

fn type_of(definition: &Value) -> Value {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    json!({
        "names": definition["spec"]["names"],
        "scope": definition["spec"]["scope"],
        "versions": versions
            .map(|version| json!([version["name"], version["served"], version["storage"]]))
            .collect::<Vec<_>>(),
        "conditions": conditions(&definition["status"]["conditions"], false),
    })
}

/// Which numbers of a part of an object count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    None,
    /// Counts of replicas.
    Replicas,
    /// All but observed generations: a Job counts `succeeded` and `failed`. With them go the reasons of conditions, and how
    /// containers run and end.
    All,
}

/// Which object it is, and how far it is; with its `status` or without, and if with it, with which numbers there.
fn shape(object: &Value, of_status: Option<Numbers>) -> Value {
    let meta = &object["metadata"];
    let owners = meta["ownerReferences"].as_array().into_iter().flatten();
    let mut shape = json!({
        "metadata": {
            "goes": meta.get("deletionTimestamp").is_some(),
            "finalizers": meta["finalizers"],
            "owners": owners.map(|owner| json!([owner["kind"], owner["name"]])).collect::<Vec<_>>(),
        },
    });
    for (part, numbers) in [("spec", Some(Numbers::Replicas)), ("status", of_status)] {
        if let (Some(Value::Object(map)), Some(numbers)) = (object.get(part), numbers) {
            shape[part] = progress(map, numbers).into();
        }
    }
    shape
}

/// Phases, states, conditions and lengths of lists, at any depth of maps; and these numbers.
fn progress(map: &Map<String, Value>, numbers: Numbers) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, inner) in map {
        let lower = name.to_ascii_lowercase();
        let progresses = lower.contains("replicas") || lower.starts_with("ready");
        let kept = match inner {
            Value::Array(_) if name == "conditions" => {
                Some(conditions(inner, numbers == Numbers::All))
            }
            Value::Array(_) if numbers == Numbers::All && lower.ends_with("containerstatuses") => {
                Some(containers(inner))
            }
            Value::String(_) if lower.ends_with("phase") || lower.ends_with("state") => {
                Some(inner.clone())
            }
            Value::Number(_) if counts(numbers, &lower, progresses) => Some(inner.clone()),
            Value::Bool(_) if progresses => Some(inner.clone()),
            Value::Array(items) if !items.is_empty() => Some(items.len().into()),
            Value::Object(inner) => {
                Some(progress(inner, numbers)).filter(|inner| !inner.is_empty()).map(Value::from)
            }
            _ => None,
        };
        out.extend(kept.map(|kept| (name.clone(), kept)));
    }
    out
}

fn counts(numbers: Numbers, name: &str, progresses: bool) -> bool {
    match numbers {
        Numbers::None => false,
        Numbers::Replicas => progresses,
        Numbers::All => !name.starts_with("observed"),
    }
}

/// Of each container whether it waits, runs or has ended, and how.
fn containers(list: &Value) -> Value {
    let items = list.as_array().into_iter().flatten();
    let all = items.map(|item| {
        let state = item["state"].as_object().into_iter().flatten();
        let state = state.map(|(name, inner)| json!([name, inner["reason"], inner["exitCode"]]));
        json!([item["name"], state.collect::<Vec<_>>(), item["restartCount"]])
    });
    all.collect()
}

/// Each type with its status, in order of type; with the reason, if that is wanted.
fn conditions(list: &Value, with_reason: bool) -> Value {
    let items = list.as_array().into_iter().flatten();
    let one = |item: &Value| {
        let reason = if with_reason { text(&item["reason"]) } else { "" };
        format!("{} {} {reason}", text(&item["type"]), text(&item["status"])).trim_end().to_owned()
    };
    let mut all: Vec<String> = items.map(one).collect();
    all.sort();
    all.into()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}
