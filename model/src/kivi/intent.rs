//! What must hold: Kivi's intents, by their names in configurations (external) and in its models (internal).

use super::expression::Expression;

/// Something that must hold. Deployments are places in the description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// The scheduler finds a node for each pod. Asked always.
    AlwaysSchedulable,
    /// No node breaks down again and again.
    NoKernelPanic,
    /// The number of pods does not go up and down again and again.
    NoReplicaOscillation {
        /// Of which deployment.
        deployment: usize,
    },
    /// Once there are as many pods as the autoscaler's least, or as the spec says, there are never fewer.
    MeetMinimum {
        /// Of which deployment.
        deployment: usize,
    },
    /// Once there are as many pods as expected, there are never fewer.
    MeetExpected {
        /// Of which deployment.
        deployment: usize,
        /// How many.
        expected: Expression,
    },
    /// Pods are not evicted and made again for ever.
    NoEvictionCycle {
        /// Of which deployment.
        deployment: usize,
    },
    /// Whenever a pod comes to a node, the nodes that are ready differ by no more pods than this.
    Balance {
        /// Of which deployment.
        deployment: usize,
        /// By how many.
        max_skew: u32,
    },
    /// The cluster comes to rest (Kivi's group `loop`).
    NoLoop,
    /// Where nothing can happen any more, all pods run (invalid end states).
    ValidEnds,
}

/// External name, internal name.
const NAMES: [(&str, &str); 9] = [
    ("pod_always_schedulable", "no_feasible_node"),
    ("no_kernel_panic", "kernel_panic"),
    ("no_oscillation_replica_num", "checkOscillationReplicaNum"),
    ("replica_num_always_meet_min", "checkMinReplicas"),
    ("replica_num_always_meet_exp", "checkExpReplicas"),
    ("no_oscillation_eviction", "checkEvictionCycle"),
    ("pod_balance_across_node", "checkBalanceNode"),
    ("loop", "loop"),
    ("valid_end_state", "valid_end_state"),
];

impl Intent {
    /// All external names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, ..)| *name)
    }

    /// The external name of an external or internal name.
    pub fn known(name: &str) -> Option<&'static str> {
        let is = |row: &&(&'static str, &str)| row.0 == name || row.1 == name;
        NAMES.iter().find(is).map(|row| row.0)
    }

    /// Its external name.
    pub fn name(&self) -> &'static str {
        NAMES[self.row()].0
    }

    /// Its internal name.
    pub fn internal_name(&self) -> &'static str {
        NAMES[self.row()].1
    }

    fn row(&self) -> usize {
        match self {
            Intent::AlwaysSchedulable => 0,
            Intent::NoKernelPanic => 1,
            Intent::NoReplicaOscillation { .. } => 2,
            Intent::MeetMinimum { .. } => 3,
            Intent::MeetExpected { .. } => 4,
            Intent::NoEvictionCycle { .. } => 5,
            Intent::Balance { .. } => 6,
            Intent::NoLoop => 7,
            Intent::ValidEnds => 8,
        }
    }

    /// The deployment that it is about.
    pub fn deployment(&self) -> Option<usize> {
        match self {
            Intent::NoReplicaOscillation { deployment }
            | Intent::MeetMinimum { deployment }
            | Intent::MeetExpected { deployment, .. }
            | Intent::NoEvictionCycle { deployment }
            | Intent::Balance { deployment, .. } => Some(*deployment),
            _ => None,
        }
    }
}
