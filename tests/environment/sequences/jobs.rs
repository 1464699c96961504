//! A pod of a Job that has ended is told in the Job's status before it loses its finalizer: by its uid among the
//! uncounted ones, or by its index among the completed ones. Otherwise a controller that dies in between forgets it.
//! Upstream: `flushUncountedAndRemoveFinalizers` of `job_controller.go`. What a failure policy ignores is never told.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trace::Change;

use super::lives::{controller, is_ending};
use crate::watched::{Happened, uid};

const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// A Job as far as it was told.
#[derive(Default)]
struct Job<'a> {
    uncounted: BTreeSet<&'a str>,
    completed: &'a str,
}

/// Job → how its pods ended, and whether that was told in time.
pub fn of(living: &[&Happened]) -> BTreeMap<String, BTreeSet<String>> {
    let (mut jobs, mut tracked) = (BTreeMap::<&str, Job>::new(), BTreeSet::new());
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in living {
        let object = &event.object;
        match event.of {
            "jobs" if event.change == Change::Deleted || is_ending(object) => {
                jobs.remove(uid(object));
            }
            "jobs" => jobs.entry(uid(object)).or_default().learn(&object["status"]),
            "pods" if is_tracked(event) => {
                tracked.insert(uid(object));
            }
            "pods" if tracked.remove(uid(object)) => {
                let Some((_, name, job)) = controller(object) else { continue };
                if let (Some(job), Some(phase)) = (jobs.get(job), end(object)) {
                    let when = if job.knows(object) { "told before" } else { "not told" };
                    told.entry(name.to_owned()).or_default().insert(format!("{phase}, {when}"));
                }
            }
            _ => {}
        }
    }
    told
}

impl<'a> Job<'a> {
    fn learn(&mut self, status: &'a Value) {
        for list in ["succeeded", "failed"] {
            let uids = status["uncountedTerminatedPods"][list].as_array().into_iter().flatten();
            self.uncounted.extend(uids.filter_map(Value::as_str));
        }
        self.completed = status["completedIndexes"].as_str().unwrap_or("");
    }

    fn knows(&self, pod: &Value) -> bool {
        let index = pod["metadata"]["annotations"][INDEX].as_str();
        let index = index.and_then(|text| text.parse::<i64>().ok());
        let is_completed = |index: i64| {
            ranges(self.completed).any(|(first, last)| (first..=last).contains(&index))
        };
        self.uncounted.contains(uid(pod)) || index.is_some_and(is_completed)
    }
}

/// Whether the pod can't go before its Job has seen it.
fn is_tracked(event: &Happened) -> bool {
    let mut finalizers = event.object["metadata"]["finalizers"].as_array().into_iter().flatten();
    event.change != Change::Deleted && finalizers.any(|one| one == FINALIZER)
}

/// How it ended by itself.
fn end(pod: &Value) -> Option<&str> {
    pod["status"]["phase"].as_str().filter(|phase| matches!(*phase, "Succeeded" | "Failed"))
}

/// The ranges of a text such as `1,3-5`.
pub fn ranges(text: &str) -> impl Iterator<Item = (i64, i64)> + '_ {
    text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse().ok()?, last.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sequences::sample::{Story, owned};

    fn job(status: Value) -> Value {
        json!({"metadata": {"name": "work"}, "status": status})
    }

    fn pod(finalizers: &[&str]) -> Value {
        let metadata = json!({"name": "p", "finalizers": finalizers, "annotations": {INDEX: "1"}});
        owned("Job", "work", json!({"metadata": metadata, "status": {"phase": "Failed"}}))
    }

    fn told(status: Value, before: bool) -> Value {
        let start = Story::default().made("jobs", job(json!({}))).made("pods", pod(&[FINALIZER]));
        let end = match before {
            true => start.now("jobs", job(status)).now("pods", pod(&[])),
            false => start.now("pods", pod(&[])).now("jobs", job(status)),
        };
        end.told()["pods of Jobs"].clone()
    }

    #[test]
    fn a_pod_is_counted_before_it_is_let_go() {
        let uncounted = json!({"uncountedTerminatedPods": {"failed": ["p"]}});
        let two = json!({"uncountedTerminatedPods": {"failed": ["p", "q"]}});
        // Alone or with others.
        assert_eq!(told(uncounted.clone(), true), told(two, true));
        assert_eq!(told(uncounted.clone(), true), json!({"work": ["Failed, told before"]}));
        assert_eq!(told(uncounted, false), json!({"work": ["Failed, not told"]}));
        let indexes = |text: &str| told(json!({"completedIndexes": text}), true);
        assert_eq!(indexes("0-2"), json!({"work": ["Failed, told before"]}));
        assert_eq!(indexes("0,2-3"), json!({"work": ["Failed, not told"]}));
    }

    #[test]
    fn indexes_are_read() {
        assert_eq!(ranges("").count(), 0);
        assert_eq!(ranges("1,3-5").collect::<Vec<_>>(), [(1, 1), (3, 5)]);
    }
}
