//! Jobs that are over go some time later (`pkg/controller/ttlafterfinished`, KEP-592).

use std::time::Duration;

use trace::{ObjectKey, Time};

use super::jobs;
use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::Body,
    request::{Propagation, Request},
    view::View,
};

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Job(job) = &object.body else { return Ok(None) };
    let (Some(seconds), Some(end)) = (job.ttl_seconds, job.finished()) else { return Ok(None) };
    if object.meta.is_deleted() {
        return Ok(None);
    }
    let left = Duration::from_secs(seconds.unsigned_abs()).saturating_sub(now.since(end.since));
    if !left.is_zero() {
        branch!(TtlWaits);
        return Ok(Some(left));
    }
    branch!(TtlDeletes);
    calls.need(|| Request::Delete {
        key: key.clone(),
        uid: object.meta.uid.clone(),
        revision: Some(object.meta.revision),
        propagation: Some(Propagation::Foreground),
        grace_seconds: None,
    })?;
    Ok(None)
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    match change.key.resource == jobs() {
        true => vec![Affected::now(change.key)],
        false => vec![],
    }
}
