//! A Job as controllers see it, and how its status is written.

use serde_json::{Value, json};
use trace::Time;

use super::{FailureRule, Member, SuccessRule, policy};
use crate::{object::Text, read, selector::Selector, template::Template, write};

/// A Job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// `spec.parallelism`.
    pub parallelism: i64,
    /// `spec.completions`.
    pub completions: Option<i64>,
    /// Whether `spec.completionMode` is Indexed.
    pub indexed: bool,
    /// `spec.backoffLimit`.
    pub backoff_limit: i64,
    /// `spec.backoffLimitPerIndex`.
    pub backoff_limit_per_index: Option<i64>,
    /// `spec.maxFailedIndexes`.
    pub max_failed_indexes: Option<i64>,
    /// `spec.activeDeadlineSeconds`.
    pub deadline_seconds: Option<i64>,
    /// `spec.ttlSecondsAfterFinished`.
    pub ttl_seconds: Option<i64>,
    /// `spec.suspend`.
    pub suspend: bool,
    /// Whether another controller looks after it (`spec.managedBy`).
    pub of_others: bool,
    /// Whether a pod that is being deleted has failed only when it has ended (`spec.podReplacementPolicy`).
    pub only_ended_failed: bool,
    /// Whether containers are started again in their pod (`restartPolicy: OnFailure`).
    pub restarts_in_pod: bool,
    /// `spec.podFailurePolicy.rules`; none without a policy.
    pub failure_rules: Option<Vec<FailureRule>>,
    /// `spec.successPolicy.rules`.
    pub success_rules: Vec<SuccessRule>,
    /// `spec.selector`.
    pub selector: Selector,
    /// `spec.template`.
    pub template: Template,
    /// `status`.
    pub status: JobStatus,
}

/// A Job's status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobStatus {
    /// `active`.
    pub active: i64,
    /// `succeeded`.
    pub succeeded: i64,
    /// `failed`.
    pub failed: i64,
    /// `ready`.
    pub ready: Option<i64>,
    /// `terminating`.
    pub terminating: Option<i64>,
    /// `startTime`.
    pub start: Option<Time>,
    /// `completionTime`.
    pub completion: Option<Time>,
    /// `completedIndexes`.
    pub completed_indexes: Text,
    /// `failedIndexes`.
    pub failed_indexes: Option<Text>,
    /// `uncountedTerminatedPods.succeeded`.
    pub uncounted_succeeded: Vec<Text>,
    /// `uncountedTerminatedPods.failed`.
    pub uncounted_failed: Vec<Text>,
    /// `conditions`, in order.
    pub conditions: Vec<JobCondition>,
}

/// A condition of a Job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobCondition {
    /// `type`.
    pub kind: Text,
    /// `status`.
    pub status: Text,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Text,
    /// `lastTransitionTime`, and `lastProbeTime`.
    pub since: Time,
}

impl Job {
    pub(crate) fn read(object: &Value) -> Job {
        let spec = &object["spec"];
        let number = |field: &str| spec.get(field).and_then(Value::as_i64);
        let rules = spec["podFailurePolicy"].get("rules").and_then(Value::as_array);
        let manager = spec.get("managedBy").and_then(Value::as_str);
        Job {
            parallelism: read::number(spec, "parallelism"),
            completions: number("completions"),
            indexed: spec["completionMode"] == "Indexed",
            backoff_limit: read::number(spec, "backoffLimit"),
            backoff_limit_per_index: number("backoffLimitPerIndex"),
            max_failed_indexes: number("maxFailedIndexes"),
            deadline_seconds: number("activeDeadlineSeconds"),
            ttl_seconds: number("ttlSecondsAfterFinished"),
            suspend: read::flag(spec, "suspend"),
            of_others: manager.is_some_and(|name| name != "kubernetes.io/job-controller"),
            only_ended_failed: rules.is_some() || spec["podReplacementPolicy"] == "Failed",
            restarts_in_pod: spec["template"]["spec"]["restartPolicy"] == "OnFailure",
            failure_rules: rules.map(|rules| rules.iter().map(policy::failure_rule).collect()),
            success_rules: read::list(&spec["successPolicy"], "rules")
                .map(policy::success_rule)
                .collect(),
            selector: Selector::read(&spec["selector"]),
            template: Template::read(&spec["template"]),
            status: JobStatus::read(&object["status"]),
        }
    }

    /// The condition that it is over.
    pub(crate) fn finished(&self) -> Option<&JobCondition> {
        let over = |kind: &str| self.status.holds(kind);
        over("Complete").or_else(|| over("Failed"))
    }

    /// `isPodFailed`.
    pub(super) fn counts_as_failed(&self, pod: &Member<'_>) -> bool {
        let gone = pod.object.meta.is_deleted() && !pod.has_succeeded();
        *pod.pod.phase == *"Failed" || !self.only_ended_failed && gone
    }

    /// Whether the pod has an index of an indexed Job.
    pub(super) fn has_place(&self, pod: &Member<'_>) -> bool {
        !self.indexed || pod.index.is_some_and(|index| index < self.completions.unwrap_or(0))
    }
}

impl JobStatus {
    fn read(status: &Value) -> JobStatus {
        let uids = |field: &str| -> Vec<Text> {
            let list = read::list(&status["uncountedTerminatedPods"], field);
            list.filter_map(Value::as_str).map(Text::from).collect()
        };
        let condition = |condition: &Value| JobCondition {
            kind: read::text(condition, "type"),
            status: read::text(condition, "status"),
            reason: read::text(condition, "reason"),
            message: read::text(condition, "message"),
            since: read::time(condition, "lastTransitionTime").unwrap_or_default(),
        };
        JobStatus {
            active: read::number(status, "active"),
            succeeded: read::number(status, "succeeded"),
            failed: read::number(status, "failed"),
            ready: status.get("ready").and_then(Value::as_i64),
            terminating: status.get("terminating").and_then(Value::as_i64),
            start: read::time(status, "startTime"),
            completion: read::time(status, "completionTime"),
            completed_indexes: read::text(status, "completedIndexes"),
            failed_indexes: status.get("failedIndexes").and_then(Value::as_str).map(Text::from),
            uncounted_succeeded: uids("succeeded"),
            uncounted_failed: uids("failed"),
            conditions: read::list(status, "conditions").map(condition).collect(),
        }
    }

    /// A condition that is True.
    pub(super) fn holds(&self, kind: &str) -> Option<&JobCondition> {
        self.conditions.iter().find(|found| *found.kind == *kind && *found.status == *"True")
    }

    /// `ensureJobConditionStatus`: whether that changed anything.
    pub(super) fn ensure(
        &mut self,
        kind: &str,
        status: &str,
        reason: &str,
        message: &str,
        now: Time,
    ) -> bool {
        let new = JobCondition {
            kind: kind.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            since: now,
        };
        match self.conditions.iter_mut().find(|found| *found.kind == *kind) {
            Some(found) => {
                let same = JobCondition { since: found.since, ..new.clone() } == *found;
                if !same {
                    *found = new;
                }
                !same
            }
            None if status == "False" => false,
            None => {
                self.conditions.push(new);
                true
            }
        }
    }

    pub(super) fn write(&self) -> Value {
        let mut value = json!({"uncountedTerminatedPods": {}});
        write::counts(
            &mut value,
            &[("active", self.active), ("succeeded", self.succeeded), ("failed", self.failed)],
        );
        write::texts(&mut value, &[("completedIndexes", &self.completed_indexes)]);
        for (field, count) in [("ready", self.ready), ("terminating", self.terminating)] {
            if let Some(count) = count {
                value[field] = json!(count);
            }
        }
        for (field, time) in [("startTime", self.start), ("completionTime", self.completion)] {
            if let Some(time) = time {
                value[field] = json!(time.rfc3339());
            }
        }
        if let Some(indexes) = &self.failed_indexes {
            value["failedIndexes"] = json!(indexes);
        }
        let uncounted =
            [("succeeded", &self.uncounted_succeeded), ("failed", &self.uncounted_failed)];
        for (field, uids) in uncounted {
            if !uids.is_empty() {
                value["uncountedTerminatedPods"][field] = json!(uids);
            }
        }
        let condition = |condition: &JobCondition| {
            let since = condition.since.rfc3339();
            json!({
                "type": condition.kind, "status": condition.status, "lastProbeTime": since,
                "lastTransitionTime": since, "reason": condition.reason,
                "message": condition.message,
            })
        };
        if !self.conditions.is_empty() {
            value["conditions"] = self.conditions.iter().map(condition).collect();
        }
        value
    }
}
