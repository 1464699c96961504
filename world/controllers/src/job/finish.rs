//! Whether a Job is over, and why: what was decided before, failures, deadlines, indexes, successes, in that order.

use std::time::Duration;

use super::{Indexes, JobCondition, Sync, policy};
use crate::job::Action;

impl Sync<'_, '_, '_> {
    /// Sets `finished`, and what is known of indexes.
    pub(super) fn find_end(&mut self) {
        let decided = self.job.status.holds("SuccessCriteriaMet").cloned();
        let target = self.job.status.holds("FailureTarget");
        self.finished = decided
            .or_else(|| target.map(|found| self.condition("Failed", &found.reason, &found.message)))
            .or_else(|| self.failed_by_policy());
        if self.finished.is_none() {
            self.finished = self.failed_by_limits();
        }
        if self.job.indexed {
            self.look_at_indexes();
        }
    }

    fn failed_by_policy(&self) -> Option<JobCondition> {
        self.job.failure_rules.as_ref()?;
        let failed = self.pods.iter().filter(|pod| self.job.counts_as_failed(pod));
        let why = failed.into_iter().find_map(|pod| policy::judge(self.job, pod).0)?;
        branch!(JobFailsByPolicy);
        Some(self.condition("FailureTarget", "PodFailurePolicy", &why))
    }

    fn failed_by_limits(&mut self) -> Option<JobCondition> {
        if self.failed > self.job.backoff_limit || self.restarted_too_often() {
            branch!(JobFailsByLimit);
            let message = "Job has reached the specified backoff limit";
            return Some(self.condition("FailureTarget", "BackoffLimitExceeded", message));
        }
        let seconds = self.job.deadline_seconds.filter(|_| !self.job.suspend)?;
        let allowed = Duration::from_secs(seconds.unsigned_abs());
        let active = self.now.since(self.status.start?);
        if active >= allowed {
            branch!(JobFailsByDeadline);
            let message = "Job was active longer than specified deadline";
            return Some(self.condition("FailureTarget", "DeadlineExceeded", message));
        }
        self.come_back(allowed - active);
        None
    }

    pub(super) fn come_back(&mut self, after: Duration) {
        self.next = Some(self.next.map_or(after, |next| next.min(after)));
    }

    /// `pastBackoffLimitOnFailure`.
    fn restarted_too_often(&self) -> bool {
        if !self.job.restarts_in_pod {
            return false;
        }
        let running =
            self.pods.iter().filter(|pod| matches!(&*pod.pod.phase, "Running" | "Pending"));
        let restarts: i64 = running
            .flat_map(|pod| pod.pod.init_containers.iter().chain(&pod.pod.containers))
            .map(|container| container.restarts)
            .sum();
        match self.job.backoff_limit {
            0 => {
                branch!(JobRestarts);
                restarts > 0
            }
            limit => restarts >= limit,
        }
    }

    fn look_at_indexes(&mut self) {
        let completions = self.job.completions.unwrap_or(0);
        self.before = Indexes::parse(&self.job.status.completed_indexes, completions);
        let placed = || self.pods.iter().filter(|pod| pod.tracked && self.job.has_place(pod));
        let new = placed().filter(|pod| pod.has_succeeded()).filter_map(|pod| pod.index);
        self.done = self.before.and(&new.collect());
        self.succeeded = self.done.count();
        if let Some(limit) = self.job.backoff_limit_per_index {
            let text = self.job.status.failed_indexes.as_deref().unwrap_or("");
            let failed = placed().filter(|pod| {
                let (_, counts, action) = policy::judge(self.job, pod);
                let failed = self.job.counts_as_failed(pod);
                let at_once = failed && action == Some(Action::FailIndex);
                at_once || failed && counts && super::backoff::failures(pod.object).0 >= limit
            });
            let new: Indexes = failed.filter_map(|pod| pod.index).collect();
            let lost = Indexes::parse(text, completions).and(&new);
            if self.finished.is_none() {
                self.finished = self.failed_by_indexes(&lost, completions);
            }
            self.lost = Some(lost);
        }
        if self.finished.is_none()
            && let Some(message) = policy::success(self.job, &self.done)
        {
            branch!(JobSucceedsByPolicy);
            self.finished = Some(self.condition("SuccessCriteriaMet", "SuccessPolicy", &message));
        }
    }

    fn failed_by_indexes(&self, lost: &Indexes, completions: i64) -> Option<JobCondition> {
        let (reason, message) = match lost.count() {
            count if self.job.max_failed_indexes.is_some_and(|most| count > most) => {
                branch!(JobFailsByIndexes);
                (
                    "MaxFailedIndexesExceeded",
                    "Job has exceeded the specified maximal number of failed indexes",
                )
            }
            count if count > 0 && count + self.done.count() >= completions => {
                branch!(JobFailedIndexes);
                ("FailedIndexes", "Job has failed indexes")
            }
            _ => return None,
        };
        Some(self.condition("FailureTarget", reason, message))
    }
}
