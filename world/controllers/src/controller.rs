//! Which controllers exist, and what they share.

use std::time::Duration;

use trace::{ObjectKey, Time};

use crate::{
    account_token, autoscaler,
    calls::{self, Calls, Next, Response},
    cluster_role, cron_job, daemon_set, deployment, descheduler, disruption, garbage_collector,
    job, kubelet, namespace, node_lease, node_lifecycle,
    object::{Body, Object},
    pod_gc, quota, replica_set, root_ca, scheduler, service_account, services, signing_request,
    stateful_set, taint_eviction, token_cleaner,
    view::View,
    volumes,
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
    /// Keeps as many pods as a ReplicationController asks for.
    ReplicationController,
    /// Keeps the pods of StatefulSets, in order, with their claims.
    StatefulSet,
    /// Keeps a pod of each DaemonSet on each node that it is for.
    DaemonSet,
    /// Runs Jobs to their end.
    Job,
    /// Starts Jobs by schedule.
    CronJob,
    /// Deletes Jobs some time after their end.
    TtlAfterFinished,
    /// Tells of the pods behind Services, in EndpointSlices.
    EndpointSlice,
    /// The same, in Endpoints.
    Endpoints,
    /// Copies Endpoints that users write into EndpointSlices.
    EndpointSliceMirroring,
    /// Says how many pods may be evicted.
    Disruption,
    /// Gives every namespace its default ServiceAccount.
    ServiceAccount,
    /// Fills Secrets with tokens of ServiceAccounts.
    AccountToken,
    /// Deletes tokens of ServiceAccounts that nobody uses.
    TokenCleaner,
    /// Gives every namespace the API server's certificate.
    RootCa,
    /// Puts ClusterRoles together from others.
    ClusterRoleAggregation,
    /// Approves what kubelets ask to have signed.
    RequestApprover,
    /// Signs what is approved.
    RequestSigner,
    /// Deletes old requests for certificates.
    RequestCleaner,
    /// Deletes pods whose nodes are gone.
    PodGc,
    /// Taints nodes that are not well.
    NodeLifecycle,
    /// Deletes pods from nodes whose taints they don't tolerate.
    TaintEviction,
    /// Binds claims and volumes.
    VolumeBinder,
    /// Makes volumes for claims.
    Provisioner,
    /// Says which driver is to let a claim grow.
    Expand,
    /// Makes the claims of pods' own volumes.
    EphemeralVolume,
    /// Keeps claims that are in use.
    ClaimProtection,
    /// Keeps volumes that are bound.
    VolumeProtection,
    /// Scales workloads by what their pods use.
    Autoscaler,
    /// Counts what namespaces hold.
    Quota,
    /// Binds pods to nodes.
    Scheduler,
    /// Runs the pods of all nodes.
    Kubelet,
    /// Renews the leases of all nodes. In no profile: a timer that comes again for ever.
    NodeLease,
    /// Evicts pods by a policy. In no profile: no part of Kubernetes, and a timer that comes again for ever.
    Descheduler,
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
        Controller::ReplicationController,
        Controller::StatefulSet,
        Controller::DaemonSet,
        Controller::Job,
        Controller::CronJob,
        Controller::TtlAfterFinished,
        Controller::EndpointSlice,
        Controller::Endpoints,
        Controller::EndpointSliceMirroring,
        Controller::Disruption,
        Controller::ServiceAccount,
        Controller::AccountToken,
        Controller::TokenCleaner,
        Controller::RootCa,
        Controller::ClusterRoleAggregation,
        Controller::RequestApprover,
        Controller::RequestSigner,
        Controller::RequestCleaner,
        Controller::PodGc,
        Controller::NodeLifecycle,
        Controller::TaintEviction,
        Controller::VolumeBinder,
        Controller::Provisioner,
        Controller::Expand,
        Controller::EphemeralVolume,
        Controller::ClaimProtection,
        Controller::VolumeProtection,
        Controller::Autoscaler,
        Controller::Quota,
        Controller::Scheduler,
        Controller::Kubelet,
    ];

    /// What runs where it is asked for only.
    pub const BY_NAME: [Controller; 2] = [Controller::NodeLease, Controller::Descheduler];

    /// Its name, as upstream's `--controllers` names it.
    pub fn name(self) -> &'static str {
        match self {
            Controller::GarbageCollector => "garbage-collector-controller",
            Controller::Namespace => "namespace-controller",
            Controller::Deployment => "deployment-controller",
            Controller::ReplicaSet => "replicaset-controller",
            Controller::ReplicationController => "replicationcontroller-controller",
            Controller::StatefulSet => "statefulset-controller",
            Controller::DaemonSet => "daemonset-controller",
            Controller::Job => "job-controller",
            Controller::CronJob => "cronjob-controller",
            Controller::TtlAfterFinished => "ttl-after-finished-controller",
            Controller::EndpointSlice => "endpointslice-controller",
            Controller::Endpoints => "endpoints-controller",
            Controller::EndpointSliceMirroring => "endpointslice-mirroring-controller",
            Controller::Disruption => "disruption-controller",
            Controller::ServiceAccount => "serviceaccount-controller",
            Controller::AccountToken => "serviceaccount-token-controller",
            Controller::TokenCleaner => "legacy-serviceaccount-token-cleaner-controller",
            Controller::RootCa => "root-ca-certificate-publisher-controller",
            Controller::ClusterRoleAggregation => "clusterrole-aggregation-controller",
            Controller::RequestApprover => "certificatesigningrequest-approving-controller",
            Controller::RequestSigner => "certificatesigningrequest-signing-controller",
            Controller::RequestCleaner => "certificatesigningrequest-cleaner-controller",
            Controller::PodGc => "pod-garbage-collector-controller",
            Controller::NodeLifecycle => "node-lifecycle-controller",
            Controller::TaintEviction => "taint-eviction-controller",
            Controller::VolumeBinder => "persistentvolume-binder-controller",
            Controller::Provisioner => "external-provisioner",
            Controller::Expand => "persistentvolume-expander-controller",
            Controller::EphemeralVolume => "ephemeral-volume-controller",
            Controller::ClaimProtection => "persistentvolumeclaim-protection-controller",
            Controller::VolumeProtection => "persistentvolume-protection-controller",
            Controller::Autoscaler => "horizontal-pod-autoscaler-controller",
            Controller::Quota => "resourcequota-controller",
            Controller::Scheduler => "scheduler",
            Controller::Kubelet => "kubelet",
            Controller::NodeLease => "node-lease",
            Controller::Descheduler => "descheduler",
        }
    }

    /// The controller of this name, which may leave out that it is a controller.
    pub fn named(name: &str) -> Option<Controller> {
        let all = Controller::FULL.iter().copied().chain(Controller::BY_NAME);
        let is = |of: &Controller| of.name() == name || of.short_name() == name;
        all.into_iter().find(is)
    }

    /// Its name without the word `controller`, as people write it.
    pub fn short_name(self) -> &'static str {
        self.name().strip_suffix("-controller").unwrap_or(self.name())
    }

    /// The program that it is part of: the first part of its user agent, and so the name under which the
    /// fields that it writes are managed.
    pub fn program(self) -> &'static str {
        match self {
            Controller::Scheduler => "kube-scheduler",
            Controller::Kubelet | Controller::NodeLease => "kubelet",
            Controller::Provisioner => "csi-provisioner",
            Controller::Descheduler => "descheduler",
            _ => "kube-controller-manager",
        }
    }

    /// The longest back-off of its queue; the first is 5 ms, each failure doubles it
    /// (`workqueue.DefaultTypedControllerRateLimiter`).
    pub fn longest_backoff(self) -> Duration {
        match self {
            Controller::Namespace => Duration::from_secs(60),
            // A program that ends at once is started again by its kubelet.
            Controller::Descheduler => Duration::from_secs(300),
            _ => Duration::from_secs(1000),
        }
    }

    /// How soon a key's turn comes among those on its queue: the greatest first, then the one that has waited
    /// longest. The scheduler goes by the priority of pods (PrioritySort); none where nothing is more urgent.
    pub fn urgency(self, view: &View, key: &ObjectKey) -> Option<i64> {
        match (self, view.get(key).map(|object| &object.body)) {
            (Controller::Scheduler, Some(Body::Pod(pod))) => Some(pod.placing.priority),
            (Controller::Scheduler, _) => Some(0),
            _ => None,
        }
    }

    /// What it does next with `key`, which it took up on `view` at `now`, having had these responses.
    pub fn next(self, view: &View, key: &ObjectKey, now: Time, responses: &[Response]) -> Next {
        let calls = &mut Calls::new(responses);
        calls::next(match self {
            Controller::GarbageCollector => garbage_collector::reconcile(view, key, calls),
            Controller::Namespace => namespace::reconcile(view, key, now, calls),
            Controller::Deployment => deployment::reconcile(view, key, now, calls),
            Controller::ReplicaSet | Controller::ReplicationController => {
                replica_set::reconcile(view, key, now, calls)
            }
            Controller::StatefulSet => stateful_set::reconcile(view, key, now, calls),
            Controller::DaemonSet => daemon_set::reconcile(view, key, now, calls),
            Controller::Job => job::reconcile(view, key, now, calls),
            Controller::CronJob => cron_job::reconcile(view, key, now, calls),
            Controller::TtlAfterFinished => job::ttl::reconcile(view, key, now, calls),
            Controller::EndpointSlice => services::slices::reconcile(view, key, calls),
            Controller::Endpoints => services::endpoints::reconcile(view, key, calls),
            Controller::EndpointSliceMirroring => services::mirror::reconcile(view, key, calls),
            Controller::Disruption => disruption::reconcile(view, key, now, calls),
            Controller::ServiceAccount => service_account::reconcile(view, key, calls),
            Controller::AccountToken => account_token::reconcile(view, key, calls),
            Controller::TokenCleaner => token_cleaner::reconcile(view, key, now, calls),
            Controller::RootCa => root_ca::reconcile(view, key, calls),
            Controller::ClusterRoleAggregation => cluster_role::reconcile(view, key, calls),
            Controller::RequestApprover => signing_request::approve(view, key, calls),
            Controller::RequestSigner => signing_request::sign(view, key, now, calls),
            Controller::RequestCleaner => signing_request::clean(view, key, now, calls),
            Controller::PodGc => pod_gc::reconcile(view, now, calls),
            Controller::NodeLifecycle => node_lifecycle::reconcile(view, key, now, calls),
            Controller::TaintEviction => taint_eviction::reconcile(view, key, now, calls),
            Controller::VolumeBinder => volumes::binder::reconcile(view, key, calls),
            Controller::Provisioner => volumes::provisioner::reconcile(view, key, calls),
            Controller::Expand => volumes::expand::reconcile(view, key, calls),
            Controller::EphemeralVolume => volumes::ephemeral::reconcile(view, key, calls),
            Controller::ClaimProtection | Controller::VolumeProtection => {
                volumes::protection::reconcile(view, key, calls)
            }
            Controller::Autoscaler => autoscaler::reconcile(view, key, now, calls),
            Controller::Quota => quota::reconcile(view, key, now, calls),
            Controller::Scheduler => scheduler::reconcile(view, key, now, calls),
            Controller::Kubelet => kubelet::reconcile(view, key, now, calls),
            Controller::NodeLease => node_lease::reconcile(view, key, now, calls),
            Controller::Descheduler => descheduler::reconcile(view, key, now, calls),
        })
    }

    /// Which keys a change puts on its queue; `view` is the store after it, at `now`.
    pub fn keys_affected(self, view: &View, change: &Change<'_>, now: Time) -> Vec<Affected> {
        match self {
            Controller::GarbageCollector => garbage_collector::keys_affected(view, change),
            Controller::Namespace => namespace::keys_affected(change),
            Controller::Deployment => deployment::keys_affected(view, change),
            Controller::ReplicaSet => {
                replica_set::keys_affected(view, change, &replica_set::replica_sets())
            }
            Controller::ReplicationController => {
                replica_set::keys_affected(view, change, &replica_set::replication_controllers())
            }
            Controller::StatefulSet => stateful_set::keys_affected(view, change),
            Controller::DaemonSet => daemon_set::keys_affected(view, change),
            Controller::Job => job::keys_affected(view, change),
            Controller::CronJob => cron_job::keys_affected(view, change, now),
            Controller::TtlAfterFinished => job::ttl::keys_affected(change),
            Controller::EndpointSlice => services::slices::keys_affected(view, change),
            Controller::Endpoints => services::endpoints::keys_affected(view, change),
            Controller::EndpointSliceMirroring => services::mirror::keys_affected(change),
            Controller::Disruption => disruption::keys_affected(view, change),
            Controller::ServiceAccount => service_account::keys_affected(change),
            Controller::AccountToken => account_token::keys_affected(change),
            Controller::TokenCleaner => token_cleaner::keys_affected(view, change),
            Controller::RootCa => root_ca::keys_affected(change),
            Controller::ClusterRoleAggregation => cluster_role::keys_affected(view, change),
            Controller::RequestApprover
            | Controller::RequestSigner
            | Controller::RequestCleaner => signing_request::keys_affected(change),
            Controller::PodGc => pod_gc::keys_affected(view, change, now),
            Controller::NodeLifecycle => node_lifecycle::keys_affected(view, change),
            Controller::TaintEviction => taint_eviction::keys_affected(view, change),
            Controller::VolumeBinder => volumes::binder::keys_affected(view, change),
            Controller::Provisioner => volumes::provisioner::keys_affected(view, change),
            Controller::Expand => volumes::expand::keys_affected(change),
            Controller::EphemeralVolume => volumes::ephemeral::keys_affected(view, change),
            Controller::ClaimProtection => volumes::protection::keys_affected_claims(view, change),
            Controller::VolumeProtection => volumes::protection::keys_affected_volumes(change),
            Controller::Autoscaler => autoscaler::keys_affected(change),
            Controller::Quota => quota::keys_affected(view, change),
            Controller::Scheduler => scheduler::keys_affected(view, change),
            Controller::Kubelet => kubelet::keys_affected(view, change),
            Controller::NodeLease => node_lease::keys_affected(change),
            Controller::Descheduler => descheduler::keys_affected(change),
        }
    }
}
