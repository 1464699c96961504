//! The new ReplicaSet of a Deployment: found or made, its annotations and revision kept
//! (`sync.go`, `deployment_util.go`).

use trace::ObjectKey;

use super::{Set, Work, replicas_of, scale};
use crate::{
    calls::{Response, Stop},
    object::{Labels, Text},
    replica_set::{controller_ref, replica_sets},
    request::{NewReplicaSet, Request},
};

/// `deploymentutil.RevisionAnnotation`.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// Longest revision history in characters.
const HISTORY_LIMIT: usize = 2000;

/// Annotations that a ReplicaSet does not get from its Deployment.
const SKIPPED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    scale::DESIRED,
    scale::MAX,
    "deprecated.deployment.rollback.to",
];

/// Longest name of an object (`DNS1123SubdomainMaxLength`).
const NAME_LIMIT: usize = 253;

pub(super) fn revision_of(set: &Set) -> i64 {
    set.meta().annotations.get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Work<'_, '_> {
    /// `getAllReplicaSetsAndSyncRevision`: the new ReplicaSet and the old ones. What it writes shows in `sets`.
    pub(super) fn sets_and_revision(
        &mut self,
        sets: &mut [Set],
        create: bool,
    ) -> Result<(Option<Set>, Vec<Set>), Stop> {
        let wanted = self.spec.template.hash;
        let at = sets.iter().position(|set| set.set().template.hash == wanted);
        let others = sets.iter().enumerate().filter(|(index, _)| Some(*index) != at);
        let old: Vec<Set> = others.map(|(_, set)| set.clone()).collect();
        let next = old.iter().map(revision_of).max().unwrap_or(0).max(0) + 1;
        let new = match at {
            Some(at) => {
                sets[at] = self.keep_new(sets[at].clone(), next)?;
                Some(sets[at].clone())
            }
            None if create => Some(self.make_new(&old, next)?),
            None => None,
        };
        Ok((new, old))
    }

    /// The new ReplicaSet exists.
    fn keep_new(&mut self, new: Set, next: i64) -> Result<Set, Stop> {
        let annotations = self.annotate(&new.meta().annotations, next);
        let seconds = self.spec.min_ready_seconds;
        if annotations != new.meta().annotations || new.set().min_ready_seconds != seconds {
            branch!(DeploymentKeepsSet);
            return self.update_set(&new, new.replicas(), seconds, annotations);
        }
        let revision = new.meta().annotations.get(REVISION).cloned().unwrap_or_else(|| "".into());
        let mut changed = self.set_revision(&revision);
        if self.spec.progress_deadline_seconds.is_some() && self.status.progressing().is_none() {
            branch!(DeploymentFindsSet);
            let message = format!("Found new replica set {:?}", new.key.name);
            self.status.progress("True", "FoundNewReplicaSet", &message, self.now);
            changed = true;
        }
        if changed {
            self.update_status()?;
        }
        Ok(new)
    }

    fn make_new(&mut self, old: &[Set], next: i64) -> Result<Set, Stop> {
        let hash = self.spec.template.suffix(self.status.collisions);
        let room = NAME_LIMIT.saturating_sub(hash.len() + 1).min(self.key.name.len());
        let name = format!("{}-{hash}", &self.key.name[..room]);
        let key = ObjectKey::new(replica_sets(), &self.key.namespace, &name);
        let replicas = self.new_replicas(replicas_of(old), 0);
        let mut annotations = self.annotate(&Labels::new(), next);
        scale::annotate(&mut annotations, self.spec);
        let new = NewReplicaSet {
            key: key.clone(),
            owner: controller_ref("apps/v1", "Deployment", self.key, self.meta),
            annotations,
            replicas,
            min_ready_seconds: self.spec.min_ready_seconds,
            selector: self.spec.selector.clone(),
            template: self.spec.template.clone(),
            hash,
        };
        let made = match self.calls.send(|| Request::CreateReplicaSet(Box::new(new)))? {
            Response::Written(Some(made)) => {
                branch!(DeploymentMakesSet);
                Set::new(key, made.clone())
            }
            Response::Refused { code: 409, message, .. } => {
                // What this Deployment controls was looked at already, so the name is another's.
                branch!(DeploymentCollision);
                self.status.collisions = Some(self.status.collisions.unwrap_or(0) + 1);
                self.update_status()?;
                return Err(Stop::Failed(message.to_string()));
            }
            Response::Refused { reason, message, .. } => {
                if **reason != *"NamespaceTerminating"
                    && self.spec.progress_deadline_seconds.is_some()
                {
                    let message = format!("Failed to create new replica set {name:?}: {message}");
                    self.status.progress("False", "ReplicaSetCreateError", &message, self.now);
                    self.update_status()?;
                }
                return Err(Stop::Failed(message.to_string()));
            }
            _ => None,
        };
        let Some(made) = made else { return Err(Stop::Failed("it is gone already".to_owned())) };
        let mut changed = self.set_revision(&next.to_string());
        if self.spec.progress_deadline_seconds.is_some() {
            let message = format!("Created new replica set {name:?}");
            self.status.progress("True", "NewReplicaSetCreated", &message, self.now);
            changed = true;
        }
        if changed {
            self.update_status()?;
        }
        Ok(made)
    }

    /// `SetDeploymentRevision`.
    fn set_revision(&mut self, revision: &str) -> bool {
        let before = self.annotations.insert(REVISION.into(), revision.into());
        before.as_deref() != Some(revision)
    }

    /// `NewRSNewReplicas`: how large the new ReplicaSet may be, with so many pods wanted in all others and `now`
    /// in it.
    pub(super) fn new_replicas(&self, others: i64, now: i64) -> i64 {
        let super::Strategy::Rolling { surge, .. } = self.spec.strategy else {
            return self.spec.replicas;
        };
        let most = self.spec.replicas + surge.of(self.spec.replicas, true);
        match most - (others + now) {
            room if room <= 0 => {
                branch!(DeploymentNoRoom);
                now
            }
            room => now + room.min(self.spec.replicas - now),
        }
    }

    /// `SetNewReplicaSetAnnotations`.
    fn annotate(&self, before: &Labels, next: i64) -> Labels {
        let mut annotations = before.clone();
        let given = self.annotations.iter().filter(|(key, _)| !SKIPPED.contains(&&***key));
        annotations.extend(given.map(|(key, value)| (key.clone(), value.clone())));
        let old = before.get(REVISION);
        let parsed = match old.map(|text| text.parse::<i64>()) {
            Some(Err(_)) => return annotations,
            Some(Ok(number)) => number,
            None => 0,
        };
        if parsed < next {
            annotations.insert(REVISION.into(), next.to_string().into());
            if let Some(old) = old {
                branch!(DeploymentRevisionAgain);
                let history = before.get(REVISION_HISTORY).map_or("", |text| text);
                annotations.insert(REVISION_HISTORY.into(), history_with(history, old));
            }
        }
        annotations
    }
}

/// A history with one more revision, cut at its beginning where it gets too long.
fn history_with(history: &str, revision: &str) -> Text {
    if history.is_empty() {
        return revision.into();
    }
    let mut left = history;
    while left.len() + 1 + revision.len() > HISTORY_LIMIT {
        left = left.split_once(',').map_or("", |(_, rest)| rest);
    }
    format!("{left},{revision}").trim_start_matches(',').into()
}
