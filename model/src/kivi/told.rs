//! States and runs in words.

use std::collections::BTreeMap;

use super::{description::Description, pods};
use crate::{
    Run, System,
    cluster::{Action, Cluster, State, kinds::KindId},
};

/// A run that violates an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Each state, one more than there are steps.
    pub states: Vec<Snapshot>,
    /// Each step, in words.
    pub steps: Vec<String>,
    /// For a run without end: the state from which on it goes on for ever, as the last one is the same. The last one's
    /// own place means that nothing happens any more.
    pub loops_to: Option<usize>,
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
    fn of(of: &Description, cluster: &Cluster, state: &State) -> Snapshot {
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
        steps: run.actions.iter().map(|action| cluster.label(action)).collect(),
        loops_to: run.loops_to,
    }
}
