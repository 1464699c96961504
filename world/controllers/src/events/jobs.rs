//! What is told of Jobs and CronJobs.

use serde_json::Value;
use trace::ObjectKey;

use super::{Answered, Note, sets};
use crate::{
    Request,
    object::{Body, Object},
    read,
};

/// The status that was written.
fn status<'a>(of: &Answered<'a>) -> Option<&'a Value> {
    match of.request {
        Request::Update { key, subresource: "status", fields, .. }
            if key == of.key && of.refused().is_none() =>
        {
            fields.iter().find(|(pointer, _)| *pointer == "/status").map(|(_, value)| value)
        }
        _ => None,
    }
}

/// A Job: its pods, and conditions that are new (`recordJobFinished`, `syncJob`).
pub(super) fn of_job(of: &Answered<'_>, object: &Object) -> Vec<Note> {
    let meta = &*object.meta;
    let (Some(status), Body::Job(job)) = (status(of), &object.body) else {
        return sets::of_pod(of, meta).into_iter().collect();
    };
    let mut notes = Vec::new();
    for condition in read::list(status, "conditions") {
        let text = |field: &str| condition[field].as_str().unwrap_or("");
        let is_same = |known: &crate::job::JobCondition| {
            *known.kind == *text("type") && *known.status == *text("status")
        };
        if job.status.conditions.iter().any(is_same) {
            continue;
        }
        match (text("type"), text("status")) {
            ("Complete", "True") => {
                if job.completions.is_some_and(|most| read::number(status, "succeeded") > most) {
                    let message = "Too many succeeded pods running after completion count reached";
                    notes.push(of.warning(meta, "TooManySucceededPods", message.to_owned()));
                }
                notes.push(of.normal(meta, "Completed", "Job completed".to_owned()));
            }
            ("Failed", "True") => {
                notes.push(of.warning(meta, text("reason"), text("message").to_owned()));
            }
            ("Suspended", "True") => {
                notes.push(of.normal(meta, "Suspended", "Job suspended".to_owned()));
            }
            ("Suspended", "False") => {
                notes.push(of.normal(meta, "Resumed", "Job resumed".to_owned()));
            }
            _ => {}
        }
    }
    notes
}

/// A CronJob (`syncCronJob`, `deleteJob`).
pub(super) fn of_cron_job(of: &Answered<'_>, object: &Object) -> Vec<Note> {
    let meta = &*object.meta;
    if of.creates("jobs").is_some() {
        let note = match of.refused() {
            None => of.normal(meta, "SuccessfulCreate", format!("Created job {}", of.written)),
            Some((_, "AlreadyExists" | "NamespaceTerminating", _)) => return vec![],
            Some((_, _, why)) => {
                of.warning(meta, "FailedCreate", format!("Error creating job: {why}"))
            }
        };
        return vec![note];
    }
    if let Some(job) = of.deletes("jobs") {
        let note = match of.refused() {
            None => of.normal(meta, "SuccessfulDelete", format!("Deleted job {}", job.name)),
            Some((_, _, why)) => of.warning(meta, "FailedDelete", format!("Deleted job: {why}")),
        };
        return vec![note];
    }
    let (Some(status), Body::CronJob(cron)) = (status(of), &object.body) else { return vec![] };
    let is_active = |uid: &str| read::list(status, "active").any(|one| one["uid"] == uid);
    let left = cron.status.active.iter().filter(|job| !is_active(&job.uid));
    left.filter_map(|job| forgotten(of, object, &job.name)).collect()
}

/// A Job that its CronJob no longer calls active, because it is over or gone; not one that it has deleted itself.
fn forgotten(of: &Answered<'_>, object: &Object, name: &str) -> Option<Note> {
    let key = ObjectKey::new(crate::job::jobs(), &of.key.namespace, name);
    let Some(job) = of.before.get(&key) else {
        let message = format!("Active job went missing: {name}");
        return Some(of.normal(&object.meta, "MissingJob", message));
    };
    let goes = of.after.get(&key).is_none_or(|job| job.meta.is_deleted());
    let Body::Job(job) = &job.body else { return None };
    let condition = &job.finished().filter(|_| !goes)?.kind;
    let message = format!("Saw completed job: {name}, condition: {condition}");
    Some(of.normal(&object.meta, "SawCompletedJob", message))
}
