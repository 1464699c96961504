//! A Deployment's status and conditions (`progress.go`, `sync.go`).

use serde_json::Value;
use trace::Time;

use super::{Set, Work, after_deadline, available_of, replicas_of};
use crate::{
    calls::{Reconciled, Stop},
    object::Text,
    read,
};

const PROGRESSING: &str = "Progressing";
const AVAILABLE: &str = "Available";
const FAILURE: &str = "ReplicaFailure";

/// A Deployment's status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeploymentStatus {
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// `replicas`.
    pub replicas: i64,
    /// `updatedReplicas`.
    pub updated: i64,
    /// `readyReplicas`.
    pub ready: i64,
    /// `availableReplicas`.
    pub available: i64,
    /// `unavailableReplicas`.
    pub unavailable: i64,
    /// `terminatingReplicas`.
    pub terminating: Option<i64>,
    /// `collisionCount`.
    pub collisions: Option<i64>,
    /// `conditions`, in order.
    pub conditions: Vec<DeploymentCondition>,
}

/// A condition of a Deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentCondition {
    /// `type`.
    pub kind: Text,
    /// `status`: True, False or Unknown.
    pub status: Text,
    /// `lastUpdateTime`.
    pub updated: Time,
    /// `lastTransitionTime`.
    pub since: Time,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Text,
}

impl DeploymentCondition {
    fn new(kind: &str, status: &str, reason: &str, message: &str, now: Time) -> Self {
        DeploymentCondition {
            kind: kind.into(),
            status: status.into(),
            updated: now,
            since: now,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

impl DeploymentStatus {
    pub(crate) fn read(status: &Value) -> DeploymentStatus {
        let condition = |value: &Value| DeploymentCondition {
            kind: read::text(value, "type"),
            status: read::text(value, "status"),
            updated: read::time(value, "lastUpdateTime").unwrap_or_default(),
            since: read::time(value, "lastTransitionTime").unwrap_or_default(),
            reason: read::text(value, "reason"),
            message: read::text(value, "message"),
        };
        DeploymentStatus {
            observed_generation: read::number(status, "observedGeneration"),
            replicas: read::number(status, "replicas"),
            updated: read::number(status, "updatedReplicas"),
            ready: read::number(status, "readyReplicas"),
            available: read::number(status, "availableReplicas"),
            unavailable: read::number(status, "unavailableReplicas"),
            terminating: status.get("terminatingReplicas").and_then(Value::as_i64),
            collisions: status.get("collisionCount").and_then(Value::as_i64),
            conditions: read::list(status, "conditions").map(condition).collect(),
        }
    }

    fn get(&self, kind: &str) -> Option<&DeploymentCondition> {
        self.conditions.iter().find(|condition| *condition.kind == *kind)
    }

    fn remove(&mut self, kind: &str) {
        self.conditions.retain(|condition| *condition.kind != *kind);
    }

    /// `SetDeploymentCondition`: nothing where status and reason stay; the last transition only moves with the
    /// status.
    fn set(&mut self, mut condition: DeploymentCondition) {
        if let Some(old) = self.get(&condition.kind) {
            if old.status == condition.status && old.reason == condition.reason {
                return;
            }
            if old.status == condition.status {
                condition.since = old.since;
            }
        }
        self.remove(&condition.kind);
        self.conditions.push(condition);
    }

    pub(super) fn progressing(&self) -> Option<&DeploymentCondition> {
        self.get(PROGRESSING)
    }

    pub(super) fn progress(&mut self, status: &str, reason: &str, message: &str, now: Time) {
        self.set(DeploymentCondition::new(PROGRESSING, status, reason, message, now));
    }
}

impl Work<'_, '_> {
    /// `checkPausedConditions`.
    pub(super) fn check_paused_conditions(&mut self) -> Result<(), Stop> {
        let reason = self.status.progressing().map_or("", |condition| &condition.reason);
        if self.spec.progress_deadline_seconds.is_none() || reason == "ProgressDeadlineExceeded" {
            return Ok(());
        }
        let (reason, message) = match (self.spec.paused, reason == "DeploymentPaused") {
            (true, false) => {
                branch!(DeploymentPaused);
                ("DeploymentPaused", "Deployment is paused")
            }
            (false, true) => {
                branch!(DeploymentResumed);
                ("DeploymentResumed", "Deployment is resumed")
            }
            _ => return Ok(()),
        };
        self.status.progress("Unknown", reason, message, self.now);
        self.update_status()
    }

    /// `calculateStatus`.
    fn calculate(&self, sets: &[Set], new: Option<&Set>) -> DeploymentStatus {
        let available = available_of(sets);
        let count = |of: &dyn Fn(&Set) -> i64| sets.iter().map(of).sum();
        let terminating = sets.iter().try_fold(0, |sum, set| {
            let status = &set.set().status;
            match status.terminating {
                None if status.observed_generation == 0 => Some(sum),
                terminating => terminating.map(|more| sum + more),
            }
        });
        let mut status = DeploymentStatus {
            observed_generation: self.meta.generation,
            replicas: count(&|set| set.set().status.replicas),
            updated: new.map_or(0, |new| new.set().status.replicas),
            ready: count(&|set| set.set().status.ready),
            available,
            unavailable: (replicas_of(sets) - available).max(0),
            terminating,
            collisions: self.status.collisions,
            conditions: self.status.conditions.clone(),
        };
        let enough = available >= self.spec.replicas - self.spec.max_unavailable();
        let (value, reason, message) = match enough {
            true => ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
            false => {
                let message = "Deployment does not have minimum availability.";
                ("False", "MinimumReplicasUnavailable", message)
            }
        };
        status.set(DeploymentCondition::new(AVAILABLE, value, reason, message, self.now));
        status
    }

    /// `DeploymentComplete`.
    pub(super) fn is_complete(&self, status: &DeploymentStatus) -> bool {
        [status.updated, status.replicas, status.available] == [self.spec.replicas; 3]
            && status.observed_generation >= self.meta.generation
    }

    /// `syncDeploymentStatus`. The new ReplicaSet, if there is one, is the last of `sets`.
    pub(super) fn sync_deployment_status(&mut self, sets: &[Set]) -> Result<(), Stop> {
        let wanted = self.spec.template.hash;
        let new = sets.last().filter(|set| set.set().template.hash == wanted);
        let status = self.calculate(sets, new);
        self.write(status)
    }

    fn write(&mut self, status: DeploymentStatus) -> Result<(), Stop> {
        if status == self.status {
            return Ok(());
        }
        self.status = status;
        self.update_status()
    }

    /// `syncRolloutStatus`.
    pub(super) fn sync_rollout_status(&mut self, sets: &[Set], new: Option<&Set>) -> Reconciled {
        let mut status = self.calculate(sets, new);
        let deadline = self.spec.progress_deadline_seconds;
        let current = self.status.progressing().cloned();
        let done = status.replicas == status.updated
            && current.as_ref().is_some_and(|found| *found.reason == *"NewReplicaSetAvailable");
        match deadline {
            None => status.remove(PROGRESSING),
            Some(deadline) if !done => self.judge_progress(&mut status, new, deadline),
            Some(_) => {}
        }
        let failure = |set: &Set| set.set().status.failure.clone();
        match new.and_then(failure).or_else(|| sets.iter().find_map(failure)) {
            Some((since, reason, message)) => {
                branch!(DeploymentTellsFailure);
                status.set(DeploymentCondition::new(FAILURE, "True", &reason, &message, since));
            }
            None => status.remove(FAILURE),
        }
        if status != self.status {
            self.write(status)?;
            return Ok(None);
        }
        let waits = !self.is_complete(&status);
        Ok(match (deadline, current) {
            (Some(deadline), Some(current))
                if waits && *current.reason != *"ProgressDeadlineExceeded" =>
            {
                Some(after_deadline(current.updated, deadline, self.now))
            }
            _ => None,
        })
    }

    fn judge_progress(&self, status: &mut DeploymentStatus, new: Option<&Set>, deadline: i64) {
        let name = match new {
            Some(new) => format!("ReplicaSet {:?}", new.key.name),
            None => format!("Deployment {:?}", self.key.name),
        };
        let before = &self.spec.status;
        let old = |status: &DeploymentStatus| status.replicas - status.updated;
        let progressed = status.updated > before.updated
            || old(status) < old(before)
            || status.ready > before.ready
            || status.available > before.available;
        if self.is_complete(status) {
            branch!(DeploymentComplete);
            let message = format!("{name} has successfully progressed.");
            status.progress("True", "NewReplicaSetAvailable", &message, self.now);
        } else if progressed {
            let message = format!("{name} is progressing.");
            let mut condition = DeploymentCondition::new(
                PROGRESSING,
                "True",
                "ReplicaSetUpdated",
                &message,
                self.now,
            );
            if let Some(current) = self.status.progressing() {
                if *current.status == *"True" {
                    condition.since = current.since;
                }
                status.remove(PROGRESSING);
            }
            status.set(condition);
        } else if let Some(current) = status.progressing().cloned()
            && *current.reason != *"NewReplicaSetAvailable"
        {
            let limit = std::time::Duration::from_secs(deadline.unsigned_abs());
            let late = *current.reason == *"ProgressDeadlineExceeded"
                || self.now.since(current.updated) > limit;
            if late {
                branch!(DeploymentLate);
                let message = format!("{name} has timed out progressing.");
                status.progress("False", "ProgressDeadlineExceeded", &message, self.now);
            }
        }
    }
}
