//! Which controllers exist, and what they share.

use std::time::Duration;

use trace::{ObjectKey, Time};

use crate::{
    calls::{self, Calls, Next, Response},
    deployment, garbage_collector, kubelet, namespace,
    object::Object,
    replica_set, scheduler,
    view::View,
};

/// A built-in controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Controller {
    /// Deletes what lost its owners; lets go of and waits for dependents.
    GarbageCollector,
    /// Empties and finalizes namespaces that are being deleted.
    Namespace,
    /// Rolls out Deployments through ReplicaSets.
    Deployment,
    /// Keeps as many pods as a ReplicaSet asks for.
    ReplicaSet,
    /// Binds pods to nodes.
    Scheduler,
    /// Runs the pods of all nodes.
    Kubelet,
}

/// A change of one object of the store.
#[derive(Debug, Clone)]
pub struct Change<'a> {
    /// Which object.
    pub key: &'a ObjectKey,
    /// Before; none for a creation.
    pub before: Option<&'a Object>,
    /// After; none for a removal.
    pub after: Option<&'a Object>,
}

/// A key that a change puts on a controller's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected {
    /// Which.
    pub key: ObjectKey,
    /// After how long.
    pub after: Duration,
}

impl Affected {
    /// At once.
    pub(crate) fn now(key: &ObjectKey) -> Affected {
        Affected { key: key.clone(), after: Duration::ZERO }
    }
}

impl Controller {
    /// What runs in `environment: minimal`.
    pub const MINIMAL: &'static [Controller] =
        &[Controller::GarbageCollector, Controller::Namespace];

    /// What runs in `environment: full`.
    pub const FULL: &'static [Controller] = &[
        Controller::GarbageCollector,
        Controller::Namespace,
        Controller::Deployment,
        Controller::ReplicaSet,
        Controller::Scheduler,
        Controller::Kubelet,
    ];

    /// Its name, as upstream's `--controllers` names it.
    pub fn name(self) -> &'static str {
        match self {
            Controller::GarbageCollector => "garbage-collector-controller",
            Controller::Namespace => "namespace-controller",
            Controller::Deployment => "deployment-controller",
            Controller::ReplicaSet => "replicaset-controller",
            Controller::Scheduler => "scheduler",
            Controller::Kubelet => "kubelet",
        }
    }

    /// The controller of this name.
    pub fn named(name: &str) -> Option<Controller> {
        Controller::FULL.iter().copied().find(|controller| controller.name() == name)
    }

    /// The program that it is part of: the first part of its user agent, and so the name under which the
    /// fields that it writes are managed.
    pub fn program(self) -> &'static str {
        match self {
            Controller::Scheduler => "kube-scheduler",
            Controller::Kubelet => "kubelet",
            _ => "kube-controller-manager",
        }
    }

    /// The longest back-off of its queue; the first is 5 ms, each failure doubles it
    /// (`workqueue.DefaultTypedControllerRateLimiter`).
    pub fn longest_backoff(self) -> Duration {
        match self {
            Controller::Namespace => Duration::from_secs(60),
            _ => Duration::from_secs(1000),
        }
    }

    /// What it does next with `key`, which it took up on `view` at `now`, having had these responses.
    pub fn next(self, view: &View, key: &ObjectKey, now: Time, responses: &[Response]) -> Next {
        let calls = &mut Calls::new(responses);
        calls::next(match self {
            Controller::GarbageCollector => garbage_collector::reconcile(view, key, calls),
            Controller::Namespace => namespace::reconcile(view, key, now, calls),
            Controller::Deployment => deployment::reconcile(view, key, now, calls),
            Controller::ReplicaSet => replica_set::reconcile(view, key, now, calls),
            Controller::Scheduler => scheduler::reconcile(view, key, now, calls),
            Controller::Kubelet => kubelet::reconcile(view, key, now, calls),
        })
    }

    /// Which keys a change puts on its queue; `view` is the store after it.
    pub fn keys_affected(self, view: &View, change: &Change<'_>) -> Vec<Affected> {
        match self {
            Controller::GarbageCollector => garbage_collector::keys_affected(view, change),
            Controller::Namespace => namespace::keys_affected(change),
            Controller::Deployment => deployment::keys_affected(view, change),
            Controller::ReplicaSet => replica_set::keys_affected(view, change),
            Controller::Scheduler => scheduler::keys_affected(view, change),
            Controller::Kubelet => kubelet::keys_affected(view, change),
        }
    }
}
