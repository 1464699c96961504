//! An object as controllers see it: its metadata, and of its content only what some controller reads or owns.
//!
//! Compact and shared: cloning an [`Object`] copies two pointers.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use trace::{ObjectKey, Revision, Time};

use crate::{
    account_token::{Account, TokenSecret},
    autoscaler::{Autoscaler, ExternalMetric, MetricValue, PodMetrics},
    cluster_role::ClusterRole,
    cron_job::CronJob,
    daemon_set::DaemonSet,
    data::Keys,
    deployment::Deployment,
    descheduler::PolicyMap,
    disruption::Budget,
    history::Revision as PastTemplate,
    job::Job,
    namespace::Namespace,
    pod::Pod,
    quota::Quota,
    read,
    replica_set::ReplicaSet,
    root_ca::RootCa,
    scheduler::Node,
    selector::Selector,
    services::{Service, Slice, endpoints::Endpoints},
    signing_request::SigningRequest,
    stateful_set::StatefulSet,
    token_cleaner::Tracking,
    volumes::{Claim, Class, Volume},
};

/// Text that is shared, not copied.
pub type Text = Arc<str>;
/// Labels, annotations, selectors of equality.
pub type Labels = BTreeMap<Text, Text>;

/// Keeps an object until its dependents were let go (`metav1.FinalizerOrphanDependents`).
pub const ORPHAN: &str = "orphan";
/// Keeps an object until its blocking dependents are gone (`metav1.FinalizerDeleteDependents`).
pub const FOREGROUND: &str = "foregroundDeletion";

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// What every object has.
    pub meta: Arc<Meta>,
    /// What its kind has.
    pub body: Body,
}

/// Of `metadata`, what controllers read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meta {
    /// `uid`.
    pub uid: Text,
    /// `resourceVersion`.
    pub revision: Revision,
    /// `generation`; 0 where the kind has none.
    pub generation: i64,
    /// `creationTimestamp`.
    pub created: Time,
    /// `deletionTimestamp`.
    pub deleted: Option<Time>,
    /// `deletionGracePeriodSeconds`.
    pub grace_seconds: Option<i64>,
    /// `finalizers`, in order.
    pub finalizers: Vec<Text>,
    /// `ownerReferences`, in order.
    pub owners: Vec<Owner>,
    /// `labels`.
    pub labels: Labels,
    /// `annotations`.
    pub annotations: Labels,
}

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// `apiVersion`.
    pub api_version: Text,
    /// `kind`.
    pub kind: Text,
    /// `name`.
    pub name: Text,
    /// `uid`.
    pub uid: Text,
    /// `controller`.
    pub controller: bool,
    /// `blockOwnerDeletion`.
    pub blocks: bool,
}

/// Of an object's content, what some controller reads or owns.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// No controller looks inside.
    Opaque,
    /// A Namespace.
    Namespace(Arc<Namespace>),
    /// A Pod.
    Pod(Arc<Pod>),
    /// A Node.
    Node(Arc<Node>),
    /// A ReplicaSet.
    ReplicaSet(Arc<ReplicaSet>),
    /// A Deployment.
    Deployment(Arc<Deployment>),
    /// A StatefulSet.
    StatefulSet(Arc<StatefulSet>),
    /// A DaemonSet.
    DaemonSet(Arc<DaemonSet>),
    /// A Job.
    Job(Arc<Job>),
    /// A CronJob.
    CronJob(Arc<CronJob>),
    /// A PodDisruptionBudget.
    Budget(Arc<Budget>),
    /// A Service.
    Service(Arc<Service>),
    /// An EndpointSlice.
    Slice(Arc<Slice>),
    /// Endpoints.
    Endpoints(Arc<Endpoints>),
    /// A ConfigMap or Secret of which nobody reads more than which keys it has.
    Data(Arc<Keys>),
    /// The ConfigMap `kube-root-ca.crt`.
    RootCa(Arc<RootCa>),
    /// The ConfigMap that says since when it is known which tokens are used.
    Tracking(Arc<Tracking>),
    /// The ConfigMap with the descheduler's policy.
    DeschedulerPolicy(Arc<PolicyMap>),
    /// A ControllerRevision.
    Revision(Arc<PastTemplate>),
    /// A PersistentVolumeClaim.
    Claim(Arc<Claim>),
    /// A PersistentVolume.
    Volume(Arc<Volume>),
    /// A PriorityClass: its value.
    PriorityClass(i64),
    /// A StorageClass.
    Class(Arc<Class>),
    /// A ServiceAccount.
    Account(Arc<Account>),
    /// A Secret with a token of a ServiceAccount.
    TokenSecret(Arc<TokenSecret>),
    /// A CertificateSigningRequest.
    SigningRequest(Arc<SigningRequest>),
    /// A ClusterRole.
    ClusterRole(Arc<ClusterRole>),
    /// A HorizontalPodAutoscaler.
    Autoscaler(Arc<Autoscaler>),
    /// A PodMetrics.
    PodMetrics(Arc<PodMetrics>),
    /// An ExternalMetricValue.
    ExternalMetric(Arc<ExternalMetric>),
    /// A MetricValue.
    MetricValue(Arc<MetricValue>),
    /// A ResourceQuota.
    Quota(Arc<Quota>),
}

impl Body {
    /// By what it selects the objects that it controls.
    pub(crate) fn selector(&self) -> Option<&Selector> {
        match self {
            Body::ReplicaSet(set) => Some(&set.selector),
            Body::Deployment(deployment) => Some(&deployment.selector),
            Body::StatefulSet(set) => Some(&set.selector),
            Body::DaemonSet(set) => Some(&set.selector),
            Body::Job(job) => Some(&job.selector),
            _ => None,
        }
    }

    /// How long a pod that has not ended is given to end, in seconds; none for other kinds.
    pub(crate) fn grace_seconds(&self) -> Option<i64> {
        match self {
            Body::Pod(pod) if !pod.has_ended() => Some(pod.termination_grace_seconds),
            _ => None,
        }
    }
}

impl Object {
    /// The object as controllers see it. `value` is the stored object: JSON in its storage version.
    pub fn read(key: &ObjectKey, value: &Value) -> Object {
        Object { meta: Arc::new(read::meta(value)), body: read::body(key, value) }
    }
}

impl Meta {
    /// Whether it is being deleted.
    pub fn is_deleted(&self) -> bool {
        self.deleted.is_some()
    }

    /// Whether it has this finalizer.
    pub fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers.iter().any(|finalizer| **finalizer == *name)
    }

    /// Whether its deletion waits for its dependents to be deleted.
    pub fn deletes_dependents(&self) -> bool {
        self.is_deleted() && self.has_finalizer(FOREGROUND)
    }

    /// Whether its deletion waits for its dependents to be let go.
    pub fn orphans_dependents(&self) -> bool {
        self.is_deleted() && self.has_finalizer(ORPHAN)
    }

    /// Its finalizers without one.
    pub fn finalizers_without(&self, name: &str) -> Vec<Text> {
        self.finalizers.iter().filter(|finalizer| ***finalizer != *name).cloned().collect()
    }

    /// The reference to the owner that controls it.
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.controller)
    }
}
