//! What a controller asks of the API server: one write, or one list, in terms of what controllers see.
//!
//! Whoever runs a controller turns these into calls; what a request does not name stays as it is stored.

use std::time::Duration;

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Revision, Time};

use crate::{
    autoscaler::Recent,
    deployment::DeploymentStatus,
    namespace::Condition,
    object::{Labels, Owner, Text},
    replica_set::ReplicaSetStatus,
    selector::Selector,
    signing_request::NewCertificate,
    template::Template,
};

/// A ReplicaSet to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewReplicaSet {
    /// Where, and its name.
    pub key: ObjectKey,
    /// Who controls it.
    pub owner: Owner,
    /// `metadata.annotations`.
    pub annotations: Labels,
    /// `spec.replicas`.
    pub replicas: i64,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// Its Deployment's `spec.selector`.
    pub selector: Selector,
    /// Its Deployment's `spec.template`.
    pub template: Template,
    /// The `pod-template-hash` that selector, labels and template get.
    pub hash: Text,
}

/// `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents are let go first.
    Orphan,
    /// The object goes at once, its dependents later.
    Background,
    /// Blocking dependents go first.
    Foreground,
}

/// What containers do that run while others of their pod wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// Whether their startup probes have succeeded.
    pub started: bool,
    /// Whether they are ready.
    pub ready: bool,
    /// How often they were started again.
    pub restarts: i64,
}

/// What the containers of a pod do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodState {
    /// They wait to be started.
    Waits {
        /// Containers that lack something of their environment, and what; empty where volumes are missing.
        lacks: Vec<(Text, Text)>,
        /// How often they were started again.
        restarts: i64,
        /// What those do that lack nothing; none if they wait too.
        beside: Option<Beside>,
    },
    /// They run.
    Running {
        /// Whether their startup probes have succeeded.
        started: bool,
        /// Whether they are ready.
        ready: bool,
        /// How often they were started again.
        restarts: i64,
    },
    /// They have ended.
    Ended {
        /// What they exited with.
        code: i64,
        /// How often they were started again.
        restarts: i64,
        /// After how long they are started again; none if never.
        again: Option<Duration>,
    },
    /// Some were ended, because the pod names another image for them, and started again with it. The others do what they
    /// did.
    Replaced {
        /// Names of those that were.
        containers: Vec<Text>,
        /// Whether their startup probes have succeeded.
        started: bool,
        /// Whether they are ready.
        ready: bool,
    },
    /// What they did. What the pod's spec says has changed, and is seen.
    Same,
    /// They were ended, because the pod had run for longer than it may (`spec.activeDeadlineSeconds`).
    TooLong {
        /// How often they were started again.
        restarts: i64,
    },
}

/// What a controller keeps without telling the API server.
#[derive(Debug, Clone, PartialEq)]
pub enum Memory {
    /// Of an autoscaler: what it did.
    Scaled(Box<Recent>),
    /// Of a pod that tolerates a taint for a while: when it has to go; none if it may stay now.
    GoesAt(Option<Time>),
    /// Of a node: since when nobody has heard of it; none if somebody does, or all know.
    SilentSince(Option<Time>),
    /// Of a node that pods name and that is not there: until when that may pass; none when it is looked for.
    MissedUntil(Option<Time>),
    /// Of Endpoints that are not mirrored: that no slice mirrors them.
    NoSlices,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// DELETE of one object.
    Delete {
        /// Which.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// Precondition: its revision.
        revision: Option<Revision>,
        /// What becomes of its dependents; none: as the type's default.
        propagation: Option<Propagation>,
        /// `gracePeriodSeconds`, in seconds; none: as the object says.
        grace_seconds: Option<i64>,
    },
    /// DELETE of all objects of a type in a namespace.
    DeleteCollection {
        /// The type.
        resource: GroupResource,
        /// The namespace.
        namespace: Text,
        /// What becomes of their dependents.
        propagation: Propagation,
    },
    /// LIST of a type in a namespace; answered with [`crate::Response::Listed`].
    List {
        /// The type.
        resource: GroupResource,
        /// The namespace.
        namespace: Text,
    },
    /// PATCH that removes owner references.
    RemoveOwners {
        /// From which object.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// Uids of the owners.
        owners: Vec<Text>,
    },
    /// PATCH that makes every owner reference of an object non-blocking.
    UnblockOwners {
        /// Of which object.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
    },
    /// PATCH that sets the finalizers of an object.
    SetFinalizers {
        /// Of which object.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// All that are to stay.
        finalizers: Vec<Text>,
    },
    /// PATCH that takes one finalizer off an object.
    RemoveFinalizer {
        /// Of which object.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// Which.
        name: &'static str,
    },
    /// PATCH that adds a controller to an object that has none.
    Adopt {
        /// Which object.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// The reference.
        owner: Owner,
        /// A finalizer that it gets with it.
        finalizer: Option<&'static str>,
    },
    /// POST of an object.
    Create {
        /// Where, and its name; without one where the server is to make it.
        key: ObjectKey,
        /// All of it.
        object: Box<Value>,
    },
    /// PATCH that applies these fields with force, in the controller's name.
    Apply {
        /// To which object.
        key: ObjectKey,
        /// The fields.
        object: Box<Value>,
    },
    /// PUT of what is stored with some fields set.
    Update {
        /// Which.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// Empty for the object itself.
        subresource: &'static str,
        /// JSON pointers and what stands there afterwards; null for nothing.
        fields: Vec<(&'static str, Value)>,
    },
    /// POST of a SubjectAccessReview; answered with [`crate::Response::Reviewed`].
    Review {
        /// `spec`.
        spec: Box<Value>,
    },
    /// GET of the `scale` of an object; answered with [`crate::Response::Scale`].
    GetScale {
        /// Of which object.
        key: ObjectKey,
    },
    /// PUT of the `scale` of an object.
    SetScale {
        /// Of which object.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// `spec.replicas`.
        replicas: i64,
    },
    /// No request to the API server: a controller keeps something for its next turn.
    Remember {
        /// About which object.
        key: ObjectKey,
        /// What.
        memory: Memory,
    },
    /// PUT of a Secret with a new token of a ServiceAccount, its namespace and the API server's authority.
    FillToken {
        /// Which Secret.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// The account's name.
        account: Text,
        /// The account's uid.
        uid: Text,
        /// `ca.crt` in base64, where one is known.
        authority: Option<Text>,
    },
    /// PUT of the status of a CertificateSigningRequest: a certificate of the cluster's authority.
    IssueCertificate {
        /// Which request.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// What it says.
        certificate: Box<NewCertificate>,
    },
    /// POST of a pod.
    CreatePod {
        /// Where.
        namespace: Text,
        /// `metadata.generateName`.
        generate_name: Text,
        /// Who controls it.
        owner: Owner,
        /// What it is made from.
        template: Template,
    },
    /// POST of a pod's `binding`.
    Bind {
        /// Which pod.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// To which node.
        node: Text,
    },
    /// POST of a pod's `eviction`. Without a precondition: whichever pod has the name by then.
    Evict {
        /// Which pod.
        key: ObjectKey,
        /// The profile of the descheduler, which says why.
        profile: Text,
        /// The plugin that chose it.
        plugin: &'static str,
        /// `gracePeriodSeconds`, in seconds; none: as the pod says.
        grace_seconds: Option<i64>,
    },
    /// PATCH of a pod's or node's status.
    PatchStatus {
        /// Which.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// A strategic merge patch of `status`.
        status: Box<Value>,
    },
    /// PATCH of a pod's status: a condition.
    PodCondition {
        /// Which pod.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// `type`; empty where only the phase changes.
        kind: &'static str,
        /// `status`.
        status: &'static str,
        /// `reason`.
        reason: &'static str,
        /// `message`.
        message: Text,
        /// `lastTransitionTime`.
        since: Time,
        /// `status.phase`, where that changes with it.
        phase: Option<&'static str>,
    },
    /// PATCH of a pod's status: its containers run, or have ended.
    PodPhase {
        /// Which pod.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// What they do.
        state: PodState,
        /// Since when.
        since: Time,
    },
    /// POST of a ReplicaSet.
    CreateReplicaSet(Box<NewReplicaSet>),
    /// PUT of a ReplicaSet's size and annotations.
    UpdateReplicaSet {
        /// Which.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// `spec.replicas`.
        replicas: i64,
        /// `spec.minReadySeconds`.
        min_ready_seconds: i64,
        /// `metadata.annotations`, all of them.
        annotations: Labels,
    },
    /// PUT of a ReplicaSet's status.
    ReplicaSetStatus {
        /// Which.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// `status`.
        status: ReplicaSetStatus,
    },
    /// PUT of a Deployment's status, and with it of its annotations.
    DeploymentStatus {
        /// Which.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// `metadata.annotations`, all of them.
        annotations: Labels,
        /// `status`.
        status: Box<DeploymentStatus>,
    },
    /// PUT of a namespace's status.
    NamespaceStatus {
        /// Which.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// `status.phase`.
        phase: Text,
        /// `status.conditions`, all of them.
        conditions: Vec<Condition>,
    },
    /// PUT of a namespace's `finalize` subresource.
    NamespaceFinalize {
        /// Which.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// `spec.finalizers` that are to stay.
        finalizers: Vec<Text>,
    },
}

impl Request {
    /// DELETE of the object with this uid, as its type and the object itself say.
    pub(crate) fn delete(key: ObjectKey, uid: Text) -> Request {
        Request::Delete { key, uid, revision: None, propagation: None, grace_seconds: None }
    }
}
