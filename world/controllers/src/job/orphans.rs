//! Pods that no Job counts any more are let go (`syncOrphanPod`).

use trace::ObjectKey;

use super::{TRACKING, jobs};
use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Body, Object},
    request::Request,
    view::View,
};

/// Whether the pod has the finalizer and no Job that still counts it.
fn is_orphan(view: &View, object: &Object) -> bool {
    if !object.meta.has_finalizer(TRACKING) {
        return false;
    }
    let Some(owner) = object.meta.controller() else { return true };
    if *owner.kind != *"Job" || *owner.api_version != *"batch/v1" {
        return false;
    }
    match view.by_uid(&owner.uid).map(|(_, job)| &job.body) {
        Some(Body::Job(job)) => !job.of_others && job.finished().is_some(),
        _ => true,
    }
}

pub(super) fn reconcile(
    view: &View,
    key: &ObjectKey,
    object: &Object,
    calls: &mut Calls<'_>,
) -> Reconciled {
    if is_orphan(view, object) {
        branch!(JobOrphan);
        calls.need(|| Request::RemoveFinalizer {
            key: key.clone(),
            uid: object.meta.uid.clone(),
            name: TRACKING,
        })?;
    }
    Ok(None)
}

pub(super) fn keys_affected_by_pod(view: &View, change: &Change<'_>) -> Option<Affected> {
    change.after.filter(|pod| is_orphan(view, pod)).map(|_| Affected::now(change.key))
}

pub(super) fn keys_affected_by_job(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let Some(job) = change.after.or(change.before) else { return vec![] };
    debug_assert_eq!(change.key.resource, jobs());
    let pods = view.dependents(&job.meta.uid).filter(|(_, pod)| is_orphan(view, pod));
    pods.map(|(key, _)| Affected::now(key)).collect()
}
