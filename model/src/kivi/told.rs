//! States and runs in words.

use std::collections::BTreeMap;

use super::{description::Description, events::MEASURED, pods};
use crate::{
    Run, System,
    cluster::{Action, Cluster, State, kinds::KindId},
};

/// A run that violates an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Each state, one more than there are steps.
    pub states: Vec<Snapshot>,
    /// Each step.
    pub steps: Vec<Told>,
    /// For a run without end: the state from which on it goes on for ever, as the last one is the same. The last one's
    /// own place means that nothing happens any more.
    pub loops_to: Option<usize>,
}

/// A step in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// In how detailed a report it is told, from 1: what users and nodes do, what controllers do, time and measuring.
    pub detail: u8,
    /// What happens.
    pub text: String,
}

impl Told {
    pub(super) fn of(cluster: &Cluster, action: &Action) -> Told {
        let detail = match action {
            Action::Event { event, .. } => {
                let name = cluster.setup.events[usize::from(*event)].name();
                if name == MEASURED { 3 } else { 1 }
            }
            Action::Acts(_) => 2,
            _ => 3,
        };
        Told { detail, text: cluster.label(action) }
    }
}

/// From this detail on (`-v`), it is told what each step comes to.
const STATES: u8 = 4;

impl Trace {
    /// The run, a line a step, with as many stars as it takes detail to be told.
    pub fn lines(&self, detail: u8) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, step) in self.steps.iter().enumerate().filter(|(_, step)| step.detail <= detail) {
            if self.loops_to == Some(at) {
                lines.push("from here on for ever:".to_owned());
            }
            lines.push(format!("[{}] {}", "*".repeat(step.detail.into()), step.text));
            if let Some(state) = self.states.get(at + 1).filter(|_| detail >= STATES) {
                lines.push(format!("[{}] {state}", "*".repeat(STATES.into())));
            }
        }
        lines
    }
}

/// What matters of a state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Of each deployment that is there: `spec.replicas`, and its pods that run or will.
    pub deployments: BTreeMap<String, (i64, usize)>,
    /// Pods of deployments on each node.
    pub nodes: BTreeMap<String, usize>,
    /// Nodes that are out of service or not ready.
    pub out: Vec<String>,
    /// Pods without a node.
    pub waiting: usize,
}

impl Snapshot {
    pub(super) fn of(of: &Description, cluster: &Cluster, state: &State) -> Snapshot {
        let (objects, store) = (&cluster.objects, state.store());
        let mut snapshot = Snapshot::default();
        for (_, node) in store.of_kind(objects, KindId::NODE) {
            snapshot.nodes.insert(node.key.name.to_string(), 0);
            let body = node.seen().map(|seen| &seen.body);
            if !matches!(body, Some(controllers::Body::Node(node)) if node.ready && !node.unschedulable)
            {
                snapshot.out.push(node.key.name.to_string());
            }
        }
        let names = of
            .deployments
            .iter()
            .map(|one| &one.name)
            .chain(of.written.iter().map(|one| &one.name));
        for name in names {
            let Some(replicas) = super::events::replicas(objects, store, name) else { continue };
            let live: Vec<_> = pods::live(objects, store, name).collect();
            let known = snapshot.deployments.insert(name.clone(), (replicas, live.len()));
            if known.is_some() {
                continue;
            }
            for found in live {
                match snapshot.nodes.get_mut(&*found.pod.node) {
                    Some(count) => *count += 1,
                    None => snapshot.waiting += 1,
                }
            }
        }
        snapshot
    }
}

impl std::fmt::Display for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let deployments = self.deployments.iter();
        let mut parts: Vec<String> = deployments
            .map(|(name, (spec, pods))| format!("{name}: {pods} of {spec} pods"))
            .collect();
        parts.extend(self.nodes.iter().map(|(name, pods)| {
            let out = if self.out.contains(name) { " (out)" } else { "" };
            format!("{name}{out}: {pods}")
        }));
        if self.waiting > 0 {
            parts.push(format!("{} without a node", self.waiting));
        }
        write!(f, "{}", parts.join(", "))
    }
}

/// A run in words.
pub(super) fn trace(of: &Description, cluster: &Cluster, run: &Run<State, Action>) -> Trace {
    Trace {
        states: run.states.iter().map(|state| Snapshot::of(of, cluster, state)).collect(),
        steps: run.actions.iter().map(|action| Told::of(cluster, action)).collect(),
        loops_to: run.loops_to,
    }
}
