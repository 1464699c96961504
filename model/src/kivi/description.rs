//! What Kivi is asked about, whatever the form in which it was written: nodes, deployments, what may happen, what must
//! hold.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{intent::Intent, occurrence::Occurrence};

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// A cluster, what may happen to it, and what must hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    /// Its nodes. Of several that are equally good the first gets a pod.
    pub nodes: Vec<Node>,
    /// Its deployments.
    pub deployments: Vec<Deployment>,
    /// The pods of deployments.
    pub templates: Vec<PodTemplate>,
    /// What commands create or apply: the name of the deployment that is meant, and how many pods it is to have.
    pub written: Vec<Written>,
    /// The descheduler, where one runs.
    pub descheduler: Option<Descheduler>,
    /// What else there is: objects, whole.
    pub others: Vec<Value>,
    /// Events and commands.
    pub occurrences: Vec<Occurrence>,
    /// What must hold.
    pub intents: Vec<Intent>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its labels, but for that of its name.
    pub labels: Labels,
    /// Allocatable, in thousandths of a processor.
    pub cpu_milli: u64,
    /// Allocatable, in bytes.
    pub memory_bytes: u64,
    /// How much of both is taken by pods that are none of ours.
    pub taken: (u64, u64),
    /// How many pods it runs at most.
    pub pods_max: u32,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// Whether it is not ready at the start.
    pub is_down: bool,
}

/// A taint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taint {
    /// `key`.
    pub key: String,
    /// `value`.
    pub value: String,
    /// `effect`.
    pub effect: String,
}

/// A Deployment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Deployment {
    /// Its name.
    pub name: String,
    /// `spec.replicas`.
    pub replicas: u32,
    /// Its pods: a place in [`Description::templates`].
    pub template: usize,
    /// The nodes of pods that run at the start, by their places; none where all are still to be made.
    pub placed: Vec<usize>,
    /// `spec.strategy`; none for the default.
    pub strategy: Option<Value>,
    /// The `spec` of its HorizontalPodAutoscaler, without `scaleTargetRef`.
    pub autoscaler: Option<Value>,
    /// Whether it is not there before a command creates it.
    pub comes_later: bool,
}

impl Deployment {
    /// The bounds of its autoscaler.
    pub fn bounds(&self) -> Option<(u32, u32)> {
        let spec = self.autoscaler.as_ref()?;
        let number =
            |field: &str| spec[field].as_u64().and_then(|number| u32::try_from(number).ok());
        Some((number("minReplicas").unwrap_or(1), number("maxReplicas")?))
    }
}

/// The pods of a deployment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PodTemplate {
    /// `spec.template` of a Deployment, whole.
    pub value: Value,
    /// What a pod uses, from how many seconds after its start on, in thousandths of a processor. Empty: what it asks
    /// for.
    pub usage: Vec<(u32, u64)>,
}

/// What a user writes down for a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The deployment: a place in [`Description::deployments`]. One that is to be created anew has its pods.
    pub deployment: usize,
    /// The name of the one that is to be created.
    pub name: String,
    /// `spec.replicas`.
    pub replicas: u32,
}

/// A descheduler that runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descheduler {
    /// Its policy, as YAML.
    pub policy: String,
}
