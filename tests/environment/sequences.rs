//! Which changes the objects of a scenario went through, in a form in which two arms may be compared: what upstream puts
//! in an order is told in that order, what upstream leaves to chance on the way is not told.
//!
//! The real controllers run side by side, with twenty workers and caches that lag behind; ours come one after the other.
//! So counts on the way are coalesced in one arm and not in the other. There are three forms ([`forms`]):
//!
//! - **exact**: each value where it differs from the one before. Equal arms wrote the same values in the same order.
//! - **turns**: of numbers, only where they begin, turn round and end. How many steps a rise takes is chance; that it is a
//!   rise is not.
//! - **firsts**: each value once, in the order in which they came.
//!
//! | of | what | form | because upstream |
//! |---|---|---|---|
//! | everything but pods | whether it is being deleted, its finalizers, and what it owned that is still there when it goes | exact | `garbagecollector.go`: `processDeletingDependentsItem` lets an owner go when nobody blocks it any more, `attemptToDeleteItem` looks at dependents when their owner is gone; `registry/rest/delete.go`: `BeforeDelete` |
//! | Namespace | phase, which conditions there are, `spec.finalizers` | exact | `namespaced_resources_deleter.go`: `Delete`: `updateNamespaceStatusFunc`, `deleteAllContent`, `finalizeNamespace`. Not whether conditions hold: while pods are left, `status_condition_utils.go` calls all else done |
//! | Deployment | revision | exact | `deployment/sync.go`: `getNewReplicaSet`; `SetDeploymentRevision` |
//! | Deployment | Progressing (under way, or its reason), Available | exact | `deployment/progress.go`: `syncRolloutStatus`; `sync.go`: `checkPausedConditions`, `calculateStatus` |
//! | Deployment | how far `spec.replicas` of its sets exceed `maxSurge`, and how many ready pods are missing for `maxUnavailable`, at the worst moment of each generation | exact ([`bounds`]) | `deployment_util.go`: `NewRSNewReplicas`, `MaxUnavailable`; `rolling.go`: `reconcileOldReplicaSets` |
//! | Deployment, StatefulSet, DaemonSet | `observedGeneration` | turns | it never falls; generations may be skipped |
//! | ReplicaSet | revision | exact | `deployment_util.go`: `SetNewReplicaSetAnnotations` |
//! | ReplicaSet, ReplicationController | `spec.replicas` | turns | `rolling.go`: an old set only shrinks, the new one only grows; `sync.go`: `scale` writes each set once |
//! | the same, of no Deployment | `status.replicas` | turns | `replica_set.go`: `syncReplicaSet` counts before it acts, and one after the other. Of a Deployment's sets no: how far they got when the next size comes is chance |
//! | StatefulSet | current and update revision | exact | `stateful_set_control.go`: `getStatefulSetRevisions`, `completeRollingUpdate` |
//! | StatefulSet | its pods coming and going: all in one order, or each by itself where `Parallel` | exact ([`pods`]) | the same: `updateStatefulSet`; `runForAll` is monotonic, or `slowStartBatch` |
//! | DaemonSet | the lives of its pods | exact ([`pods`]) | `daemon/update.go`: `rollingUpdate` goes through nodes in no order |
//! | Job | conditions, with whether it has a time of completion | exact | `job_controller.go`: `trackJobStatusAndRemoveFinalizers` writes the interim condition, `enactJobFinished` the last one after the finalizers |
//! | Job | whether it has a start time | exact | `syncJob`: set, taken back while suspended |
//! | Job | succeeded, failed, how many indexes of each | turns | `cleanUncountedPodsWithoutFinalizers` only adds. Not `active`: a sync that waits for its own pods counts fewer |
//! | Job | whether pods are uncounted | firsts | `flushUncountedAndRemoveFinalizers`: by how many at once is chance |
//! | Job | whether a pod that ended was told in the status before it lost its finalizer | set ([`jobs`]) | the same |
//! | PersistentVolume, PersistentVolumeClaim | phase | exact | `pv_controller.go`: `syncVolume`, `syncClaim` |
//! | PersistentVolumeClaim | who named whom first when it was bound | exact ([`volumes`]) | the same: `bind` |
//! | CertificateSigningRequest | conditions, and whether there is a certificate | exact | `certificates/approver/sarapprove.go`, `signer/signer.go` |
//!
//! What is said of an object that is being deleted, or in a namespace that is, is a race with its end: of these only
//! finalizers are told. Not told at all, because upstream's depends on how caches lag: the counts in the status of
//! Deployments, StatefulSets, DaemonSets and Jobs on the way, `ReplicaFailure` (a quota may be late), pods of ReplicaSets
//! and Jobs one by one, and whatever endpoints, budgets, quotas and autoscalers say before they are at rest.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::watched::Happened;

mod bounds;
mod forms;
mod jobs;
mod lives;
mod pods;
mod rows;
#[cfg(test)]
mod sample;
mod volumes;

/// All of them, by what they are of. Changes must be in the order of their revisions.
pub fn of(happened: &[Arc<Happened>]) -> Value {
    let until = lives::end_of_namespace(happened);
    let living: Vec<&Happened> =
        happened.iter().map(|event| &**event).filter(|event| event.revision < until).collect();
    let mut told = Map::new();
    for life in lives::of(happened) {
        let mut rows = rows::of(&life, until);
        rows.insert("life".to_owned(), lives::course(&life, &living, until));
        told.insert(life.name, Value::Object(rows));
    }
    for (what, found) in [
        ("pods in order", json!(pods::of(&living))),
        ("bounds", json!(bounds::of(&living))),
        ("pods of Jobs", json!(jobs::of(&living))),
        ("bindings", json!(volumes::of(&living))),
    ] {
        told.insert(what.to_owned(), found);
    }
    Value::Object(told)
}
