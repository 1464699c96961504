//! The hundred cases: which objects, controllers, faults and bounds each has, and what is expected of it.

use std::sync::Arc;

use controllers::Controller;
use serde_json::Value;

use super::{
    client::{Arbitrary, Edits, Scales},
    manifests,
};
use crate::cluster::{ClientSetup, Consistency, Granularity, Setup, events::Event, state::Budgets};

/// A model: an initial state, and what may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Model {
    /// A Deployment of two pods, with annotations.
    NewDeployment,
    /// The same; its pods are available after 4 s.
    DeploymentRollingUpdate,
    /// A paused Deployment of one pod.
    PausedDeployment,
    /// A ReplicaSet of two pods.
    ReplicaSetSpecReplicasChange,
    /// Two ReplicaSets with one selector.
    OverlappingReplicaSets,
    /// A StatefulSet of two pods, on one node.
    StatefulSetSpecReplicasChange,
    /// A StatefulSet of four pods, on one node.
    StatefulSetAvailable,
    /// A StatefulSet of one pod, on two nodes (kubernetes#59848).
    StaleReads,
    /// A Job.
    NonParallelJob,
    /// A Job of so many pods at a time.
    ParallelJob(u32),
}

impl Model {
    /// All of them, the Job with two pods: Themelios' has five, and more states than can be seen in a minute.
    pub const ALL: [Model; 10] = [
        Model::NewDeployment,
        Model::DeploymentRollingUpdate,
        Model::PausedDeployment,
        Model::ReplicaSetSpecReplicasChange,
        Model::OverlappingReplicaSets,
        Model::StatefulSetSpecReplicasChange,
        Model::StatefulSetAvailable,
        Model::StaleReads,
        Model::NonParallelJob,
        Model::ParallelJob(2),
    ];

    /// Its name in Themelios.
    pub fn name(self) -> &'static str {
        match self {
            Model::NewDeployment => "new_deployment",
            Model::DeploymentRollingUpdate => "deployment_rolling_update",
            Model::PausedDeployment => "paused_deployment",
            Model::ReplicaSetSpecReplicasChange => "replicaset_spec_replicas_change",
            Model::OverlappingReplicaSets => "overlapping_replicasets",
            Model::StatefulSetSpecReplicasChange => "statefulset_spec_replicas_change",
            Model::StatefulSetAvailable => "statefulset_available",
            Model::StaleReads => "stale_reads",
            Model::NonParallelJob => "nonparallel_job",
            Model::ParallelJob(_) => "parallel_job",
        }
    }

    fn controllers(self) -> &'static [Controller] {
        match self {
            Model::NewDeployment | Model::DeploymentRollingUpdate | Model::PausedDeployment => {
                &[Controller::Deployment, Controller::ReplicaSet]
            }
            Model::ReplicaSetSpecReplicasChange | Model::OverlappingReplicaSets => {
                &[Controller::ReplicaSet]
            }
            Model::StatefulSetSpecReplicasChange
            | Model::StatefulSetAvailable
            | Model::StaleReads => &[Controller::StatefulSet],
            Model::NonParallelJob | Model::ParallelJob(_) => &[Controller::Job],
        }
    }

    /// How many nodes it has with so many instances of each controller.
    fn nodes(self, instances: usize) -> usize {
        match self {
            Model::StatefulSetSpecReplicasChange | Model::StatefulSetAvailable => 1,
            Model::StaleReads => 2,
            _ => instances,
        }
    }

    fn workloads(self) -> Vec<Value> {
        match self {
            Model::NewDeployment => vec![manifests::deployment(2)],
            Model::DeploymentRollingUpdate => {
                let mut deployment = manifests::deployment(2);
                deployment["spec"]["minReadySeconds"] = 4.into();
                vec![deployment]
            }
            Model::PausedDeployment => {
                let mut deployment = manifests::deployment(1);
                deployment["spec"]["paused"] = true.into();
                deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1.into();
                vec![deployment]
            }
            Model::ReplicaSetSpecReplicasChange => vec![manifests::replica_set("rs", 2)],
            Model::OverlappingReplicaSets => {
                vec![manifests::replica_set("rs-1", 1), manifests::replica_set("rs-2", 2)]
            }
            Model::StatefulSetSpecReplicasChange => vec![manifests::stateful_set(2)],
            Model::StatefulSetAvailable => vec![manifests::stateful_set(4)],
            Model::StaleReads => vec![manifests::stateful_set(1), manifests::spare_pod()],
            Model::NonParallelJob => vec![manifests::job(1)],
            Model::ParallelJob(parallelism) => vec![manifests::job(parallelism)],
        }
    }

    /// What users do.
    fn events(self) -> Vec<Box<dyn Event>> {
        let client =
            |edits, most| -> Vec<Box<dyn Event>> { vec![Box::new(Arbitrary { edits, most })] };
        let scale = Edits { scale: true, ..Edits::default() };
        match self {
            Model::NewDeployment => client(Edits { image: true, pause: true, ..scale }, 1),
            Model::DeploymentRollingUpdate => client(Edits { image: true, ..Edits::default() }, 1),
            Model::PausedDeployment => client(Edits { pause: true, ..Edits::default() }, 2),
            Model::ReplicaSetSpecReplicasChange => vec![Box::new(Scales { to: vec![3, 0, 2] })],
            Model::OverlappingReplicaSets | Model::StatefulSetSpecReplicasChange => {
                client(scale, 1)
            }
            // A pod of the same name comes back only when the set was scaled down and up.
            Model::StaleReads => vec![Box::new(Scales { to: vec![0, 1] })],
            Model::StatefulSetAvailable | Model::NonParallelJob | Model::ParallelJob(_) => vec![],
        }
    }

    /// How often controllers and nodes start again, where all read what is newest.
    fn restarts(self) -> u8 {
        match self {
            Model::PausedDeployment
            | Model::ReplicaSetSpecReplicasChange
            | Model::OverlappingReplicaSets => 0,
            _ => 1,
        }
    }

    /// Whether there are so many ways to go on that bounds must be narrower.
    fn is_large(self) -> bool {
        matches!(
            self,
            Model::NewDeployment
                | Model::DeploymentRollingUpdate
                | Model::ReplicaSetSpecReplicasChange
                | Model::OverlappingReplicaSets
        )
    }
}

/// A model under a consistency model, with so many instances of each controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Case {
    /// The model.
    pub model: Model,
    /// What clients may read.
    pub consistency: Consistency,
    /// How many instances of each controller there are, 1 or 2; and how many nodes, where the model leaves that open.
    pub instances: usize,
}

impl Case {
    /// Themelios' consistency models, in its order.
    pub const CONSISTENCIES: [Consistency; 5] = [
        Consistency::Synchronous,
        Consistency::MonotonicSession,
        Consistency::ResettableSession,
        Consistency::OptimisticLinear,
        Consistency::Causal,
    ];

    /// All hundred.
    pub fn all() -> Vec<Case> {
        let with = |model| {
            Case::CONSISTENCIES.into_iter().flat_map(move |consistency| {
                [1, 2].map(|instances| Case { model, consistency, instances })
            })
        };
        Model::ALL.into_iter().flat_map(with).collect()
    }

    /// `model/consistency/instances`.
    pub fn name(self) -> String {
        let consistency = match self.consistency {
            Consistency::Synchronous => "synchronous",
            Consistency::MonotonicSession => "monotonic",
            Consistency::ResettableSession => "resettable",
            Consistency::OptimisticLinear => "optimistic",
            Consistency::Causal => "causal",
            Consistency::PerKind { resettable: false } => "per_kind",
            Consistency::PerKind { resettable: true } => "per_kind_resettable",
        };
        format!("{}/{consistency}/{}", self.model.name(), self.instances)
    }

    /// Whether Themelios expects that some property is violated.
    pub fn expects_violation(self) -> bool {
        let goes_back = matches!(
            self.consistency,
            Consistency::ResettableSession | Consistency::OptimisticLinear | Consistency::Causal
        );
        let goes_on = self.consistency == Consistency::MonotonicSession;
        match (self.model, self.instances) {
            (Model::StatefulSetSpecReplicasChange | Model::StatefulSetAvailable, _) => false,
            (Model::StaleReads, 1) => goes_back,
            (Model::StaleReads, _) => goes_back || goes_on,
            (_, instances) => instances > 1 && goes_back,
        }
    }

    /// The cluster.
    pub fn setup(self) -> Setup {
        let nodes = self.model.nodes(self.instances);
        let mut objects: Vec<Value> = (0..nodes).map(manifests::node).collect();
        objects.extend(self.model.workloads());
        let shared = [Controller::Scheduler, Controller::PodGc];
        let kinds = self.model.controllers().iter().chain(&shared);
        let mut clients: Vec<ClientSetup> = kinds.flat_map(|of| self.instances_of(*of)).collect();
        clients.extend((0..nodes).map(|node| ClientSetup::kubelet_of(&manifests::node_name(node))));
        if self.lags_kubelets_only() {
            clients.iter_mut().for_each(|client| client.lags = client.node.is_some());
        }
        Setup {
            objects,
            clients,
            granularity: Granularity::Step,
            consistency: self.consistency,
            one_behind: true,
            lag_max: self.lag_max(),
            budgets: Budgets { restarts: self.restarts(), lags: 1, ..Budgets::default() },
            events: if self.has_users() { self.model.events() } else { vec![] },
            all_ties: nodes > 1,
            ..Setup::default()
        }
    }

    /// Bounds below are such that all is seen in a minute, as far as that is possible: all that a model has where clients
    /// read what is newest; else one client falls behind, once, by some writes, and large models have users only with
    /// one instance of each controller, or where a violation is found soon.
    fn has_users(self) -> bool {
        match self.consistency {
            _ if !self.model.is_large() => true,
            Consistency::Synchronous => true,
            Consistency::MonotonicSession | Consistency::OptimisticLinear => self.instances == 1,
            Consistency::ResettableSession => self.model == Model::NewDeployment,
            _ => false,
        }
    }

    fn restarts(self) -> u8 {
        let is_deployment =
            matches!(self.model, Model::NewDeployment | Model::DeploymentRollingUpdate);
        match self.consistency {
            Consistency::Synchronous if is_deployment && self.instances > 1 => 0,
            Consistency::Synchronous => self.model.restarts(),
            Consistency::MonotonicSession if self.model == Model::StaleReads => 0,
            // Only who starts again reads what is older than what it knows.
            Consistency::ResettableSession | Consistency::PerKind { resettable: true } => 1,
            Consistency::MonotonicSession | Consistency::PerKind { .. }
                if !self.model.is_large() =>
            {
                self.model.restarts()
            }
            _ => 0,
        }
    }

    fn lag_max(self) -> u16 {
        match (self.consistency, self.model) {
            (Consistency::Causal, _) => 1,
            (Consistency::OptimisticLinear, _) => 3,
            (_, Model::OverlappingReplicaSets) => 1,
            // Scaled down, deleted twice, and the node gone.
            (Consistency::ResettableSession, Model::StaleReads) => 4,
            // Bound, and running: who is behind could bind the pod once more.
            (Consistency::ResettableSession, _) => 2,
            _ => 3,
        }
    }

    /// Whether only kubelets fall behind: what is looked for is a pod that starts again where it was before.
    fn lags_kubelets_only(self) -> bool {
        (self.consistency, self.model) == (Consistency::ResettableSession, Model::StaleReads)
    }

    fn instances_of(self, controller: Controller) -> Vec<ClientSetup> {
        let of = ClientSetup::of(controller);
        let name = |number: usize| -> Arc<str> { format!("{}/{number}", of.name).into() };
        match self.instances {
            1 => vec![of],
            instances => {
                let with = |number| ClientSetup { name: name(number), ..of.clone() };
                (1..=instances).map(with).collect()
            }
        }
    }
}
