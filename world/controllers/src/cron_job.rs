//! The CronJob controller (`pkg/controller/cronjob`, Kubernetes 1.36): starts a Job at each time of its schedule,
//! unless one still runs and may not; forgets the oldest that are over.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    job::{Job, jobs},
    object::{Body, Meta, Object, Text},
    read,
    replica_set::controller_ref,
    request::{Propagation, Request},
    view::View,
    write,
};

mod schedule;

use schedule::Schedule;

/// The scheduled time, on the Job (`batch.CronJobScheduledTimestampAnnotation`).
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
/// So long after a scheduled time it is looked at (`nextScheduleDelta`).
const DELTA: Duration = Duration::from_millis(100);

/// A CronJob.
#[derive(Debug, Clone, PartialEq)]
pub struct CronJob {
    /// `spec.schedule`.
    pub schedule: Text,
    /// `spec.timeZone`; UTC without one.
    pub zone: Option<Text>,
    /// `spec.suspend`.
    pub suspend: bool,
    /// `spec.startingDeadlineSeconds`.
    pub deadline_seconds: Option<i64>,
    /// `spec.concurrencyPolicy`.
    pub concurrency: Text,
    /// `spec.successfulJobsHistoryLimit`.
    pub keep_successful: Option<i64>,
    /// `spec.failedJobsHistoryLimit`.
    pub keep_failed: Option<i64>,
    /// `spec.jobTemplate`.
    pub template: Arc<Value>,
    /// `status`.
    pub status: CronJobStatus,
}

/// A CronJob's status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CronJobStatus {
    /// `active`: Jobs that run, as references.
    pub active: Vec<ActiveJob>,
    /// `lastScheduleTime`.
    pub last_schedule: Option<Time>,
    /// `lastSuccessfulTime`.
    pub last_success: Option<Time>,
}

/// A reference to a Job that runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActiveJob {
    /// `name`.
    pub name: Text,
    /// `uid`.
    pub uid: Text,
    /// `resourceVersion` when it was started.
    pub revision: Text,
}

impl CronJob {
    pub(crate) fn read(object: &Value) -> CronJob {
        let (spec, status) = (&object["spec"], &object["status"]);
        let number = |field: &str| spec.get(field).and_then(Value::as_i64);
        let active = |reference: &Value| ActiveJob {
            name: read::text(reference, "name"),
            uid: read::text(reference, "uid"),
            revision: read::text(reference, "resourceVersion"),
        };
        CronJob {
            schedule: read::text(spec, "schedule"),
            zone: spec.get("timeZone").and_then(Value::as_str).map(Text::from),
            suspend: read::flag(spec, "suspend"),
            deadline_seconds: number("startingDeadlineSeconds"),
            concurrency: read::text(spec, "concurrencyPolicy"),
            keep_successful: number("successfulJobsHistoryLimit"),
            keep_failed: number("failedJobsHistoryLimit"),
            template: Arc::new(spec["jobTemplate"].clone()),
            status: CronJobStatus {
                active: read::list(status, "active").map(active).collect(),
                last_schedule: read::time(status, "lastScheduleTime"),
                last_success: read::time(status, "lastSuccessfulTime"),
            },
        }
    }

    /// The last scheduled time that was not met yet, and when to look again (`mostRecentScheduleTime`,
    /// `nextScheduleTimeDuration`); never, for a schedule that names no day there is.
    fn times(
        &self,
        created: Time,
        schedule: &Schedule,
        now: Time,
    ) -> (Option<Time>, Option<Duration>) {
        let earliest = self.status.last_schedule.unwrap_or(created);
        let deadline = self
            .deadline_seconds
            .map(|seconds| Time(now.0 - seconds.max(0).saturating_mul(1_000_000_000)));
        let from = deadline.map_or(earliest, |deadline| deadline.max(earliest));
        let due = schedule.last_until(from, now);
        let met = schedule.last_until(earliest, now).unwrap_or(earliest);
        let next = schedule.next(met).map(|next| next.plus(DELTA).since(now));
        (due, next)
    }
}

impl CronJobStatus {
    fn forget(&mut self, uid: &str) -> bool {
        let before = self.active.len();
        self.active.retain(|job| *job.uid != *uid);
        before != self.active.len()
    }

    fn write(&self, namespace: &str) -> Value {
        let mut value = json!({});
        let reference = |job: &ActiveJob| {
            json!({
                "apiVersion": "batch/v1", "kind": "Job", "namespace": namespace, "name": job.name,
                "uid": job.uid, "resourceVersion": job.revision,
            })
        };
        if !self.active.is_empty() {
            value["active"] = self.active.iter().map(reference).collect();
        }
        let times =
            [("lastScheduleTime", self.last_schedule), ("lastSuccessfulTime", self.last_success)];
        for (field, time) in times {
            if let Some(time) = time {
                value[field] = json!(time.rfc3339());
            }
        }
        value
    }
}

fn cron_jobs() -> GroupResource {
    GroupResource::new("batch", "cronjobs")
}

type Child<'v> = (&'v ObjectKey, &'v Object, &'v Job);

struct Work<'v, 'c, 'r> {
    view: &'v View,
    key: &'v ObjectKey,
    meta: &'v Meta,
    cron: &'v CronJob,
    now: Time,
    calls: &'c mut Calls<'r>,
    status: CronJobStatus,
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::CronJob(cron) = &object.body else { return Ok(None) };
    let children: Vec<Child<'_>> = view
        .dependents(&object.meta.uid)
        .filter(|(_, child)| {
            child.meta.controller().is_some_and(|owner| owner.uid == object.meta.uid)
        })
        .filter_map(|(key, child)| match &child.body {
            Body::Job(job) => Some((key, child, &**job)),
            _ => None,
        })
        .collect();
    let status = cron.status.clone();
    let mut work = Work { view, key, meta: &object.meta, cron, now, calls, status };
    let deleted = work.forget_old(&children)?;
    work.note_ends(&children);
    let synced = work.start(&children)?;
    if deleted || work.status != cron.status {
        work.calls.must(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "status",
            fields: vec![("/status", work.status.write(&key.namespace))],
        })?;
    }
    synced.map_err(Stop::Failed)
}

/// When to look again; inner error: why no Job could be started.
type Started = Result<Option<Duration>, String>;

impl Work<'_, '_, '_> {
    /// Deletes the oldest Jobs that are over, beyond the limits. Whether there were any.
    fn forget_old(&mut self, children: &[Child<'_>]) -> Result<bool, Stop> {
        let mut deleted = false;
        let limits = [("Complete", self.cron.keep_successful), ("Failed", self.cron.keep_failed)];
        for (kind, limit) in limits {
            let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { continue };
            let over =
                |child: &&Child<'_>| child.2.finished().is_some_and(|end| *end.kind == *kind);
            let mut old: Vec<&Child<'_>> = children.iter().filter(over).collect();
            old.sort_by(|a, b| {
                let start =
                    |child: &Child<'_>| (child.2.status.start.is_none(), child.2.status.start);
                start(a).cmp(&start(b)).then_with(|| a.0.name.cmp(&b.0.name))
            });
            for (key, object, _) in old.iter().take(old.len().saturating_sub(limit)) {
                branch!(CronForgets);
                deleted |= self.delete(key, &object.meta)?;
            }
        }
        Ok(deleted)
    }

    fn delete(&mut self, key: &ObjectKey, meta: &Meta) -> Result<bool, Stop> {
        let sent = self.calls.send(|| Request::Delete {
            key: key.clone(),
            uid: meta.uid.clone(),
            revision: None,
            propagation: Some(Propagation::Background),
            grace_seconds: None,
        })?;
        let gone = !matches!(sent, Response::Refused { .. });
        if gone {
            self.status.forget(&meta.uid);
        }
        Ok(gone)
    }

    /// Which of its Jobs still run, and when one last went well.
    fn note_ends(&mut self, children: &[Child<'_>]) {
        for (_, object, job) in children {
            let Some(end) = job.finished() else { continue };
            self.status.forget(&object.meta.uid);
            let completion = job.status.completion;
            if *end.kind == *"Complete" && completion > self.status.last_success {
                self.status.last_success = completion;
            }
        }
        let (view, namespace) = (self.view, &self.key.namespace);
        self.status.active.retain(|job| {
            let key = ObjectKey::new(jobs(), namespace, &job.name);
            children.iter().any(|(_, child, _)| child.meta.uid == job.uid)
                || view.get(&key).is_some()
        });
    }

    fn start(&mut self, children: &[Child<'_>]) -> Result<Started, Stop> {
        if self.meta.is_deleted() || self.cron.suspend {
            return Ok(Ok(None));
        }
        let schedule = Schedule::parse(&self.cron.schedule, self.cron.zone.as_deref());
        let Some(schedule) = schedule else { return Ok(Ok(None)) };
        let (due, next) = self.cron.times(self.meta.created, &schedule, self.now);
        let next = Ok(next);
        let Some(due) = due else { return Ok(next) };
        let late = self.cron.deadline_seconds.is_some_and(|seconds| {
            due.plus(Duration::from_secs(seconds.unsigned_abs())) < self.now
        });
        let name = format!("{}-{}", self.key.name, due.seconds().div_euclid(60));
        let known = self.status.active.iter().any(|job| *job.name == *name)
            || self.status.last_schedule == Some(due);
        let busy = *self.cron.concurrency == *"Forbid" && !self.status.active.is_empty();
        if late || known || busy {
            branch!(CronSkips);
            return Ok(next);
        }
        if *self.cron.concurrency == *"Replace"
            && let Err(why) = self.replace(children)?
        {
            return Ok(Err(why));
        }
        self.create(&name, due, &schedule).map(|made| made.and(next))
    }

    /// Deletes what still runs.
    fn replace(&mut self, children: &[Child<'_>]) -> Result<Result<(), String>, Stop> {
        branch!(CronReplaces);
        for job in self.status.active.clone() {
            let child = children.iter().find(|(_, child, _)| child.meta.uid == job.uid);
            let Some((key, object, _)) = child else {
                return Ok(Err(format!("job {} is gone", job.name)));
            };
            if !self.delete(key, &object.meta)? {
                return Ok(Err(format!("could not replace job {}", job.name)));
            }
        }
        Ok(Ok(()))
    }

    fn create(
        &mut self,
        name: &str,
        due: Time,
        schedule: &Schedule,
    ) -> Result<Result<(), String>, Stop> {
        let key = ObjectKey::new(jobs(), &self.key.namespace, name);
        let (cron, owner) = (self.cron, controller_ref("batch/v1", "CronJob", self.key, self.meta));
        let sent = self.calls.send(|| {
            let job = new_job(cron, name, &schedule.local(due), write::owner(&owner));
            Request::Create { key: key.clone(), object: Box::new(job) }
        })?;
        let made = match sent {
            Response::Written(Some(object)) => object,
            Response::Refused { reason, .. } if **reason == *"AlreadyExists" => {
                let uid = &self.meta.uid;
                let ours = self
                    .view
                    .get(&key)
                    .filter(|job| job.meta.controller().is_some_and(|owner| owner.uid == *uid));
                let Some(there) = ours else { return Ok(Ok(())) };
                there
            }
            Response::Refused { message, .. } => return Ok(Err(message.to_string())),
            _ => return Ok(Ok(())),
        };
        if self.status.active.iter().any(|job| job.uid == made.meta.uid) {
            return Ok(Ok(()));
        }
        self.status.active.push(ActiveJob {
            name: name.into(),
            uid: made.meta.uid.clone(),
            revision: made.meta.revision.to_string().into(),
        });
        branch!(CronStarts);
        self.status.last_schedule = Some(due);
        Ok(Ok(()))
    }
}

/// `getJobFromTemplate2`.
fn new_job(cron: &CronJob, name: &str, scheduled: &str, owner: Value) -> Value {
    let given = &cron.template["metadata"];
    let mut metadata = json!({"name": name, "ownerReferences": [owner]});
    for field in ["labels", "annotations"] {
        if let Some(value) = given.get(field) {
            metadata[field] = value.clone();
        }
    }
    metadata["annotations"][SCHEDULED] = json!(scheduled);
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
        "spec": cron.template["spec"],
    })
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>, now: Time) -> Vec<Affected> {
    if change.key.resource == cron_jobs() {
        return vec![Affected { key: change.key.clone(), after: after(change, now) }];
    }
    if change.key.resource != jobs() {
        return vec![];
    }
    let objects = [change.before, change.after].into_iter().flatten();
    let owners = objects.filter_map(|object| view.by_uid(&object.meta.controller()?.uid));
    let mut affected: Vec<Affected> = owners
        .filter(|(key, _)| key.resource == cron_jobs())
        .map(|(key, _)| Affected::now(key))
        .collect();
    affected.dedup();
    affected
}

/// A new schedule is not looked at before its next time (`updateCronJob`).
fn after(change: &Change<'_>, now: Time) -> Duration {
    let (Some(before), Some(after)) = (change.before, change.after) else { return Duration::ZERO };
    let (Body::CronJob(old), Body::CronJob(new)) = (&before.body, &after.body) else {
        return Duration::ZERO;
    };
    if (&old.schedule, &old.zone) == (&new.schedule, &new.zone) {
        return Duration::ZERO;
    }
    let schedule = Schedule::parse(&new.schedule, new.zone.as_deref());
    let next = schedule.and_then(|schedule| new.times(after.meta.created, &schedule, now).1);
    next.unwrap_or_default()
}
