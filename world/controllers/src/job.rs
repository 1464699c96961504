//! The Job controller (`pkg/controller/job`, Kubernetes 1.36): NonIndexed and Indexed, back-off limits in all and per
//! index, pod failure and success policies, deadlines, suspension. What ended is counted with the tracking finalizer
//! (KEP-2307): first noted in the status, then let go, then added up.
//!
//! How long to wait after a failure is computed from the pods that still exist; upstream remembers failures since the
//! last success. Who could notice: after a pod was removed that had failed, its back-off is over at once. Jobs of
//! another controller (`managedBy`) are left alone. Not there: `WorkloadWithJob` (off by default).

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    object::{Body, Meta, Object, Owner, Text},
    pod::Pod,
    replica_set::{candidates, claim_if, controller_ref, owners_of},
    request::Request,
    view::View,
};

mod backoff;
mod finish;
mod indexes;
mod manage;
mod orphans;
mod policy;
mod spec;
mod track;
pub(crate) mod ttl;

use indexes::Indexes;
pub use policy::{Action, FailureRule, On, SuccessRule};
pub use spec::{Job, JobCondition, JobStatus};

/// `batch.JobTrackingFinalizer`.
pub(crate) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// `batch.JobCompletionIndexAnnotation`, also a label.
pub(crate) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Changes of pods are looked at together (`syncJobBatchPeriod`).
const BATCH_PERIOD: Duration = Duration::from_secs(1);

pub(crate) fn jobs() -> GroupResource {
    GroupResource::new("batch", "jobs")
}

/// A pod of a Job.
struct Member<'v> {
    key: ObjectKey,
    object: &'v Object,
    pod: &'v Pod,
    /// Whether it has the tracking finalizer.
    tracked: bool,
    /// Its completion index.
    index: Option<i64>,
}

impl Member<'_> {
    fn is_active(&self) -> bool {
        !self.pod.has_ended() && !self.object.meta.is_deleted()
    }

    fn is_terminating(&self) -> bool {
        !self.pod.has_ended() && self.object.meta.is_deleted()
    }

    fn has_succeeded(&self) -> bool {
        *self.pod.phase == *"Succeeded"
    }

    fn uid(&self) -> &Text {
        &self.object.meta.uid
    }
}

/// What one sync of a Job knows and has found out.
struct Sync<'v, 'c, 'r> {
    key: &'v ObjectKey,
    meta: &'v Meta,
    job: &'v Job,
    owner: Owner,
    now: Time,
    calls: &'c mut Calls<'r>,
    pods: Vec<Member<'v>>,
    /// What will be written.
    status: JobStatus,
    active: i64,
    /// Of those: pods that a terminating namespace refused.
    expected: i64,
    ready: i64,
    terminating: i64,
    succeeded: i64,
    failed: i64,
    before: Indexes,
    done: Indexes,
    lost: Option<Indexes>,
    /// Uids noted, but not added up yet, when the sync began.
    uncounted: (BTreeSet<Text>, BTreeSet<Text>),
    finished: Option<JobCondition>,
    next: Option<Duration>,
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let job = match &object.body {
        Body::Pod(_) => return orphans::reconcile(view, key, object, calls),
        Body::Job(job) if !job.of_others && job.finished().is_none() => job,
        _ => return Ok(None),
    };
    let owner = controller_ref("batch/v1", "Job", key, &object.meta);
    let mut sync = Sync {
        key,
        meta: &object.meta,
        job,
        owner,
        now,
        calls,
        pods: vec![],
        status: job.status.clone(),
        active: 0,
        expected: 0,
        ready: 0,
        terminating: 0,
        succeeded: 0,
        failed: 0,
        before: Indexes::default(),
        done: Indexes::default(),
        lost: None,
        uncounted: Default::default(),
        finished: None,
        next: None,
    };
    sync.find_pods(view)?;
    sync.count();
    sync.find_end();
    let (told, failed) = sync.act()?;
    sync.track(told)?;
    match failed {
        Some(why) => Err(Stop::Failed(why)),
        None => Ok(sync.next),
    }
}

impl<'v> Sync<'v, '_, '_> {
    fn find_pods(&mut self, view: &'v View) -> Result<(), Stop> {
        let resource = GroupResource::new("", "pods");
        let found = candidates(view, &resource, &self.key.namespace, &self.meta.uid);
        for (key, object) in found {
            let Body::Pod(pod) = &object.body else { continue };
            let selector = &self.job.selector;
            let matches = !selector.is_empty() && selector.matches(&object.meta.labels);
            let adopts = object.meta.controller().is_none();
            let (of, deleted) = (&self.owner, self.meta.is_deleted());
            if claim_if(matches, (&key, object), of, deleted, Some(TRACKING), self.calls)? {
                let tracked = adopts || object.meta.has_finalizer(TRACKING);
                let index = object.meta.annotations.get(INDEX);
                let index = index.and_then(|text| text.parse().ok()).filter(|index| *index >= 0);
                self.pods.push(Member { key, object, pod, tracked, index });
            }
        }
        Ok(())
    }

    fn count(&mut self) {
        let status = &self.job.status;
        self.uncounted = (
            status.uncounted_succeeded.iter().cloned().collect(),
            status.uncounted_failed.iter().cloned().collect(),
        );
        self.active = self.pods.iter().filter(|pod| pod.is_active()).count() as i64;
        let ready = |pod: &&Member<'_>| pod.is_active() && pod.pod.ready_since.is_some();
        self.ready = self.pods.iter().filter(ready).count() as i64;
        self.terminating = self.pods.iter().filter(|pod| pod.is_terminating()).count() as i64;
        let succeeded = self.valid(&self.uncounted.0).filter(|pod| pod.has_succeeded()).count();
        let failed = self
            .valid(&self.uncounted.1)
            .filter(|pod| self.job.counts_as_failed(pod) && policy::judge(self.job, pod).1);
        let failed = failed.count();
        self.succeeded =
            status.succeeded + succeeded as i64 + status.uncounted_succeeded.len() as i64;
        self.failed = status.failed + failed as i64 + status.uncounted_failed.len() as i64;
        if self.status.start.is_none() && !self.job.suspend {
            self.status.start = Some(self.now);
        }
    }

    /// Tracked pods with a place in the Job, without these.
    fn valid<'a>(&'a self, without: &'a BTreeSet<Text>) -> impl Iterator<Item = &'a Member<'v>> {
        self.pods
            .iter()
            .filter(|pod| pod.tracked && !without.contains(pod.uid()) && self.job.has_place(pod))
    }

    /// Deletes what runs after the end, or makes and deletes pods as wanted. Whether the status has news, and why that
    /// failed.
    fn act(&mut self) -> Result<(bool, Option<String>), Stop> {
        let (mut news, mut failed) = (false, None);
        if self.finished.is_some() {
            let active = self.active;
            let (deleted, why) = self.delete_active()?;
            if deleted != active {
                self.finished = None;
            }
            failed = why;
        } else {
            let manages = !self.meta.is_deleted();
            if manages {
                failed = self.manage()?;
            }
            let complete = match self.job.completions {
                None => self.succeeded > 0 && self.active == 0,
                Some(wanted) => self.succeeded >= wanted && self.active == 0,
            };
            if complete {
                let message = "Reached expected number of succeeded pods";
                self.finished =
                    Some(self.condition("SuccessCriteriaMet", "CompletionsReached", message));
            } else if manages {
                news = self.suspend_or_resume();
            }
        }
        if self.expected > 0 && (news || self.has_news()) {
            // Upstream goes on expecting the pods that a terminating namespace refused, for five minutes. This status is
            // written, brings about the next sync, and that one manages nothing and does not count them.
            self.active -= std::mem::take(&mut self.expected);
        }
        news |= self.has_news();
        let status = &mut self.status;
        status.active = self.active;
        status.ready = Some(self.ready);
        status.terminating = Some(self.terminating);
        Ok((news, failed))
    }

    fn has_news(&self) -> bool {
        let status = &self.status;
        self.active != status.active
            || status.ready != Some(self.ready)
            || status.terminating != Some(self.terminating)
    }

    fn suspend_or_resume(&mut self) -> bool {
        let now = self.now;
        if self.job.suspend {
            branch!(JobTellsSuspended);
            let set = self.status.ensure("Suspended", "True", "JobSuspended", "Job suspended", now);
            if set {
                self.status.start = None;
            }
            return set;
        }
        let set = self.status.ensure("Suspended", "False", "JobResumed", "Job resumed", now);
        if set {
            self.status.start = Some(now);
        }
        set
    }

    /// A condition that holds now.
    fn condition(&self, kind: &str, reason: &str, message: &str) -> JobCondition {
        JobCondition {
            kind: kind.into(),
            status: "True".into(),
            reason: reason.into(),
            message: message.into(),
            since: self.now,
        }
    }

    fn write_status(&mut self, revision: &mut trace::Revision) -> Result<(), Stop> {
        let (status, key, at) = (&self.status, self.key, *revision);
        let written = self.calls.must(|| Request::Update {
            key: key.clone(),
            revision: at,
            subresource: "status",
            fields: vec![("/status", status.write())],
        })?;
        *revision = written.map_or(at, |object| object.meta.revision);
        Ok(())
    }
}

/// The environment variable that tells a container its index.
fn index_variable() -> Value {
    json!({"name": "JOB_COMPLETION_INDEX", "valueFrom": {
        "fieldRef": {"fieldPath": format!("metadata.labels['{INDEX}']")},
    }})
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let mut affected = Vec::new();
    if change.key.resource == jobs() {
        affected.push(Affected::now(change.key));
        affected.extend(orphans::keys_affected_by_job(view, change));
    }
    if *change.key.resource.resource == *"pods" && change.key.resource.group.is_empty() {
        let batched = change.before.is_some();
        for object in [change.before, change.after].into_iter().flatten() {
            for mut one in owners_of(view, &jobs(), change.key, object) {
                one.after = if batched { BATCH_PERIOD } else { Duration::ZERO };
                affected.push(one);
            }
        }
        affected.extend(orphans::keys_affected_by_pod(view, change));
    }
    affected.dedup();
    affected
}

#[cfg(test)]
mod tests;
