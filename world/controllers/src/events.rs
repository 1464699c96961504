//! What the built-in controllers tell people, as Events (Kubernetes 1.36).
//!
//! Controllers know nothing of it: what upstream's say follows from a request and its answer, so it is read off these
//! ([`told`]) by whoever sends them and wants Events. No reconcile takes another turn for it, and where nobody wants
//! Events they cost nothing.
//!
//! Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job, CronJob and scheduler tell something.
//! Who could notice: whoever waits for an Event of others (autoscaler, budgets, nodes, volumes, kubelets), or for what
//! upstream says without sending anything (of CronJobs `JobAlreadyActive`, `MissSchedule` and what else keeps them from
//! starting). Why a pod fits nowhere is told when the words change, upstream with each attempt.

use trace::{ObjectKey, Revision};

use crate::{
    Controller, Request, Response,
    object::{Body, Meta, Text},
    pod::Pod,
    view::View,
};

mod jobs;
mod scheduling;
mod sets;

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// Who sent it.
    pub controller: Controller,
    /// The key that it looks at.
    pub key: &'a ObjectKey,
    /// What it began with.
    pub before: &'a View,
    /// What there is now.
    pub after: &'a View,
    /// What it sent.
    pub request: &'a Request,
    /// What came of it.
    pub response: &'a Response,
    /// The name of what was written; empty where nothing was.
    pub written: &'a str,
}

/// What people are told of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Of which object.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Text,
    /// At which revision.
    pub revision: Revision,
    /// Whether it is of type `Warning`, not `Normal`.
    pub is_warning: bool,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: String,
    /// `action`, of those who say so: the scheduler.
    pub action: &'static str,
}

impl Note {
    fn new(of: (&ObjectKey, &Meta), is_warning: bool, reason: &str, message: String) -> Note {
        let (key, meta) = of;
        Note {
            key: key.clone(),
            uid: meta.uid.clone(),
            revision: meta.revision,
            is_warning,
            reason: reason.into(),
            message,
            action: "",
        }
    }
}

/// The component that its Events are of: the `Component` of its `EventSource`, or its `reportingController`.
pub fn component(controller: Controller) -> &'static str {
    match controller {
        Controller::ReplicationController => "replication-controller",
        Controller::Scheduler => "default-scheduler",
        other => other.name(),
    }
}

/// What people are told when this is answered, in order.
pub fn told(of: &Answered<'_>) -> Vec<Note> {
    let Some(object) = of.before.get(of.key) else { return vec![] };
    let meta = &*object.meta;
    match of.controller {
        Controller::Deployment => sets::of_deployment(of, meta).into_iter().collect(),
        Controller::ReplicaSet | Controller::ReplicationController => {
            sets::of_pod(of, meta).into_iter().collect()
        }
        Controller::DaemonSet => {
            sets::of_ended_pod(of, meta).into_iter().chain(sets::of_pod(of, meta)).collect()
        }
        Controller::StatefulSet => sets::of_stateful(of, meta),
        Controller::Job => jobs::of_job(of, object),
        Controller::CronJob => jobs::of_cron_job(of, object),
        Controller::Scheduler => scheduling::of_pod(of, meta).into_iter().collect(),
        _ => vec![],
    }
}

impl<'a> Answered<'a> {
    fn normal(&self, meta: &Meta, reason: &str, message: String) -> Note {
        Note::new((self.key, meta), false, reason, message)
    }

    fn warning(&self, meta: &Meta, reason: &str, message: String) -> Note {
        Note::new((self.key, meta), true, reason, message)
    }

    /// Why it was refused: status, reason and message.
    fn refused(&self) -> Option<(u16, &'a str, &'a str)> {
        match self.response {
            Response::Refused { code, reason, message } => Some((*code, reason, message)),
            _ => None,
        }
    }

    /// The object that is to be deleted, where it is of this type.
    fn deletes(&self, resource: &str) -> Option<&'a ObjectKey> {
        match self.request {
            Request::Delete { key, .. } if *key.resource.resource == *resource => Some(key),
            _ => None,
        }
    }

    /// Where an object of this type is to be created.
    fn creates(&self, resource: &str) -> Option<&'a ObjectKey> {
        match self.request {
            Request::Create { key, .. } if *key.resource.resource == *resource => Some(key),
            _ => None,
        }
    }

    fn pod(&self, key: &ObjectKey) -> Option<&'a Pod> {
        match &self.before.get(key)?.body {
            Body::Pod(pod) => Some(pod),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
