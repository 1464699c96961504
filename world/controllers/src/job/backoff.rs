//! How long a Job waits after failures before it makes pods again (`backoff_utils.go`).

use std::{collections::BTreeMap, time::Duration};

use trace::Time;

use super::{Job, Member, Sync, policy};
use crate::object::Object;

/// `batch.JobIndexFailureCountAnnotation`.
const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// `batch.JobIndexIgnoredFailureCountAnnotation`.
const IGNORED: &str = "batch.kubernetes.io/job-index-ignored-failure-count";
/// After the first failure (`DefaultJobPodFailureBackOff`); each further one doubles it.
const FIRST: Duration = Duration::from_secs(10);
/// `MaxJobPodFailureBackOff`.
const LONGEST: Duration = Duration::from_secs(600);

/// How often the pod's index had failed before it, counted and ignored.
pub(super) fn failures(object: &Object) -> (i64, i64) {
    let number = |name: &str| {
        let text = object.meta.annotations.get(name);
        text.and_then(|text| text.parse::<i32>().ok()).filter(|n| *n >= 0).map_or(0, i64::from)
    };
    (number(FAILURES), number(IGNORED))
}

/// The annotations of a pod that comes after another one with its index.
pub(super) fn annotations(job: &Job, before: Option<&Member<'_>>) -> Vec<(&'static str, String)> {
    let (mut counted, mut ignored) = (0, 0);
    if let Some(pod) = before {
        (counted, ignored) = failures(pod.object);
        match policy::judge(job, pod).1 {
            true => counted += 1,
            false => ignored += 1,
        }
    }
    let mut annotations = vec![(FAILURES, counted.to_string())];
    if ignored > 0 {
        annotations.push((IGNORED, ignored.to_string()));
    }
    annotations
}

/// When a pod ended, as far as it can be known (`getFinishedTime`).
fn finished(pod: &Member<'_>) -> Time {
    let ends = pod.pod.containers.iter().map(|one| one.ended.as_ref().and_then(|(_, at)| *at));
    let last: Option<Vec<Time>> = ends.collect();
    if let Some(last) = last.and_then(|ends| ends.into_iter().max()) {
        return last;
    }
    let meta = &pod.object.meta;
    let deleted = meta.deleted.map(|at| {
        let grace = meta.grace_seconds.unwrap_or(0).max(0);
        Time(at.0 - grace * 1_000_000_000)
    });
    pod.pod.unready_since.or(deleted).unwrap_or(meta.created)
}

fn left(failures: i64, last: Time, now: Time) -> Duration {
    let doublings = u32::try_from(failures - 1).unwrap_or(0).min(16);
    let wait = (FIRST * 2u32.pow(doublings)).min(LONGEST);
    wait.saturating_sub(now.since(last))
}

impl<'v> Sync<'v, '_, '_> {
    /// How long no pod may be made.
    pub(super) fn backoff(&self) -> Duration {
        let tracked = |pod: &&Member<'_>| self.job.has_place(pod);
        let pods = || self.pods.iter().filter(tracked);
        let success = pods().filter(|pod| pod.has_succeeded()).map(finished).max();
        let failed = pods().filter(|pod| self.job.counts_as_failed(pod)).map(finished);
        let failed: Vec<Time> =
            failed.filter(|at| success.is_none_or(|success| *at > success)).collect();
        match failed.iter().max() {
            Some(last) => left(failed.len() as i64, *last, self.now),
            None => Duration::ZERO,
        }
    }

    /// How long no pod may be made in the place of this one.
    pub(super) fn backoff_after(&self, pod: &Member<'_>) -> Duration {
        let (counted, ignored) = failures(pod.object);
        left(counted + ignored + 1, finished(pod), self.now)
    }

    /// For each index without a pod that runs: the failed pod that is kept until its successor is there
    /// (`getPodsWithDelayedDeletionPerIndex`), as its place in `pods`.
    pub(super) fn kept_for_index(&self) -> BTreeMap<i64, usize> {
        let mut kept: BTreeMap<i64, usize> = BTreeMap::new();
        if self.job.backoff_limit_per_index.is_none() {
            return kept;
        }
        for (at, pod) in self.pods.iter().enumerate() {
            let Some(index) = pod.index.filter(|_| pod.tracked && self.job.has_place(pod)) else {
                continue;
            };
            let over = self.done.has(index)
                || self.lost.as_ref().is_some_and(|lost| lost.has(index))
                || self.pods.iter().any(|other| other.is_active() && other.index == Some(index));
            if over || !self.job.counts_as_failed(pod) {
                continue;
            }
            let order = |pod: &Member<'_>| {
                let (counted, ignored) = failures(pod.object);
                (counted + ignored, finished(pod))
            };
            let newer = kept.get(&index).is_none_or(|other| {
                let (old, new) = (order(&self.pods[*other]), order(pod));
                old.0 <= new.0 && new.1 >= old.1
            });
            if newer {
                kept.insert(index, at);
            }
        }
        kept
    }
}
