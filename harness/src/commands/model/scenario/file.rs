//! What a scenario file says.

use std::{collections::BTreeMap, path::PathBuf};

use clap::ValueEnum;
use model::cluster;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    campaign::properties::{LeadsTo, NeverAfter},
    commands::model::confirm::Usage,
};

/// `spec`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::commands::model) struct ModelSpec {
    /// Files and folders of manifests, kustomizations too; relative to the scenario.
    #[serde(default)]
    pub manifests: Vec<PathBuf>,
    /// Further objects.
    #[serde(default)]
    pub objects: Vec<Value>,
    /// Nodes, besides those of the manifests.
    #[serde(default)]
    pub nodes: Vec<NodesSpec>,
    /// Who runs; left out: those that the manifests need.
    pub controllers: Option<Vec<ControllerSpec>>,
    /// How much is one step.
    #[serde(default)]
    pub granularity: Granularity,
    /// Of the controllers that are chosen because the manifests need them: kubelets act in the step that gives them cause,
    /// the scheduler takes pods in the order of their names, and Deployments have no deadline.
    #[serde(default)]
    pub coarse: bool,
    /// What controllers may have read.
    #[serde(default)]
    pub consistency: Consistency,
    /// By how many writes a controller may be behind; left out: by any number.
    pub lag_max: Option<u16>,
    /// What may go wrong.
    #[serde(default)]
    pub budgets: BudgetsSpec,
    /// What users do and nodes suffer.
    #[serde(default)]
    pub events: Vec<EventSpec>,
    /// What running pods use, which makes their PodMetrics; the first that fits a pod counts.
    #[serde(default)]
    pub usage: Vec<Usage>,
    /// How much time may pass, in seconds; left out: any.
    pub seconds: Option<u32>,
    /// Each of several nodes that are equally good is tried; else the scheduler takes the first by name.
    #[serde(default)]
    pub all_ties: bool,
    /// What is asked; left out: that the cluster comes to rest with all pods running.
    #[serde(default)]
    pub properties: Vec<PropertySpec>,
}

/// Some nodes that are alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::commands::model) struct NodesSpec {
    /// Their name, with a number behind it where there are several.
    pub name: String,
    #[serde(default = "one")]
    pub count: u32,
    /// `status.allocatable`.
    pub cpu: String,
    pub memory: String,
    #[serde(default = "pods")]
    pub pods: u32,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// `spec.taints`.
    #[serde(default)]
    pub taints: Vec<Value>,
}

impl NodesSpec {
    /// The name of each.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (1..=self.count).map(|number| match self.count {
            1 => self.name.clone(),
            _ => format!("{}-{number}", self.name),
        })
    }
}

fn one() -> u32 {
    1
}

/// A kubelet's default (`--max-pods`).
fn pods() -> u32 {
    110
}

/// A controller, by name or with more to say.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(in crate::commands::model) enum ControllerSpec {
    /// Its name.
    Name(String),
    /// Its name, and how it runs.
    Full {
        /// Its name.
        name: String,
        /// How many of it run.
        #[serde(default = "one")]
        instances: u32,
        /// Whether it acts in the step that gives it cause.
        #[serde(default, rename = "atOnce")]
        at_once: bool,
    },
}

#[derive(Debug, Clone, Copy, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(in crate::commands::model) enum Granularity {
    /// All that a controller has to do.
    Drain,
    /// All that a controller does with one object.
    Reconcile,
    /// One write.
    #[default]
    Write,
    /// A request, or its answer.
    Request,
    /// One write, and reading anew.
    Step,
}

impl From<Granularity> for cluster::Granularity {
    fn from(of: Granularity) -> Self {
        match of {
            Granularity::Drain => Self::Drain,
            Granularity::Reconcile => Self::Reconcile,
            Granularity::Write => Self::Write,
            Granularity::Request => Self::Request,
            Granularity::Step => Self::Step,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::commands::model) enum Consistency {
    #[default]
    Synchronous,
    MonotonicSession,
    ResettableSession,
    /// As `MonotonicSession`, with a cursor for each type.
    MonotonicPerKind,
    /// As `ResettableSession`, with a cursor for each type.
    ResettablePerKind,
    OptimisticLinear,
    Causal,
}

impl From<Consistency> for cluster::Consistency {
    fn from(of: Consistency) -> Self {
        match of {
            Consistency::Synchronous => Self::Synchronous,
            Consistency::MonotonicSession => Self::MonotonicSession,
            Consistency::ResettableSession => Self::ResettableSession,
            Consistency::MonotonicPerKind => Self::PerKind { resettable: false },
            Consistency::ResettablePerKind => Self::PerKind { resettable: true },
            Consistency::OptimisticLinear => Self::OptimisticLinear,
            Consistency::Causal => Self::Causal,
        }
    }
}

/// How often something may go wrong.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(in crate::commands::model) struct BudgetsSpec {
    pub crashes: u8,
    pub restarts: u8,
    pub conflicts: u8,
    pub lost_answers: u8,
    /// A controller falls behind what is stored, one at a time; no number: all may be behind at all times.
    pub lags: Option<u8>,
}

/// When an event may happen.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::commands::model) enum When {
    #[default]
    Anytime,
    Stable,
    Settled,
    First,
}

/// An event: what happens is one of the fields behind `times`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::commands::model) struct EventSpec {
    pub name: String,
    #[serde(default)]
    pub when: When,
    #[serde(default)]
    pub urgent: bool,
    #[serde(default = "once")]
    pub times: u64,
    /// Whole or partial objects.
    pub apply: Option<Vec<Value>>,
    pub patch: Option<PatchSpec>,
    pub scale: Option<ScaleSpec>,
    pub delete: Option<ObjectSpec>,
    pub node_fails: Option<String>,
    pub node_returns: Option<String>,
    pub drain: Option<String>,
    /// One of these nodes is drained until it is empty, and uncordoned then.
    pub maintenance: Option<Vec<String>>,
    pub uncordon: Option<String>,
    pub usage: Option<UsageSpec>,
}

fn once() -> u64 {
    1
}

/// Which object.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::commands::model) struct ObjectSpec {
    pub kind: String,
    pub name: String,
    pub namespace: Option<String>,
}

/// An object and merge patches of it, each one way.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::commands::model) struct PatchSpec {
    pub object: ObjectSpec,
    pub ways: Vec<Value>,
}

/// An object and numbers of replicas, each one way.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::commands::model) struct ScaleSpec {
    pub object: ObjectSpec,
    pub replicas: Vec<u32>,
}

/// What pods use.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::commands::model) struct UsageSpec {
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Each one way: `{cpu: 500m}`.
    pub ways: Vec<Value>,
}

/// A property: what is asked is one of the fields behind the name. Expressions are CEL over `objects`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::commands::model) struct PropertySpec {
    pub name: String,
    /// True of each state.
    pub always: Option<String>,
    /// True of some state.
    pub sometimes: Option<String>,
    /// True from some state on, for ever.
    pub eventually: Option<String>,
    /// True again and again.
    pub again_and_again: Option<String>,
    /// What is, or is followed by, what.
    pub leads_to: Option<LeadsTo>,
    /// What does not come after what.
    pub never_after: Option<NeverAfter>,
}
