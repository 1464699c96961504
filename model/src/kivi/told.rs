//! States and runs in words.

use std::collections::BTreeMap;

use super::{description::Description, events::MEASURED, pods};
use crate::{
    Run, System,
    cluster::{Action, Cluster, State, kinds::KindId, objects::Stored},
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
    /// In how detailed a report it is told: from 1 what users and nodes do and all that changes numbers of pods, from 2
    /// what else controllers do, from 3 time and measuring.
    pub detail: u8,
    /// What happens.
    pub text: String,
    /// Objects that it changes, and their new values; looked for from [`OBJECTS`] on only.
    pub objects: Vec<(String, String)>,
}

/// From this detail on (`-v`), it is told what each step comes to, which objects it changes, and what they are then.
const STATES: u8 = 4;
const OBJECTS: u8 = 5;
const VALUES: u8 = 6;

impl Trace {
    /// The beginning of a run.
    pub(super) fn from(of: &Description, cluster: &Cluster, state: &State) -> Trace {
        let states = vec![Snapshot::of(of, cluster, state)];
        Trace { states, steps: vec![], loops_to: None }
    }

    /// A further step: from one state to the next.
    pub(super) fn push(
        &mut self,
        (of, cluster): (&Description, &Cluster),
        action: &Action,
        (before, after): (&State, &State),
        detail: u8,
    ) {
        let snapshot = Snapshot::of(of, cluster, after);
        let matters = self.states.last() != Some(&snapshot);
        let own = match action {
            Action::Event { event, .. } => {
                let name = cluster.setup.events[usize::from(*event)].name();
                if name == MEASURED { 3 } else { 1 }
            }
            Action::Acts(_) => 2 - u8::from(matters),
            _ => 3,
        };
        let objects = if detail >= OBJECTS { changed(cluster, before, after) } else { vec![] };
        self.steps.push(Told { detail: own, text: cluster.label(action), objects });
        self.states.push(snapshot);
    }

    /// The run, a line a step, with as many stars as it takes detail to be told, and what numbers it changes.
    pub fn lines(&self, detail: u8) -> Vec<String> {
        let mut lines = Vec::new();
        let line = |stars: u8, text: &str| format!("[{}] {text}", "*".repeat(stars.into()));
        for (at, step) in self.steps.iter().enumerate() {
            if self.loops_to == Some(at) {
                lines.push("from here on for ever:".to_owned());
            }
            if step.detail > detail {
                continue;
            }
            let changes = match detail < STATES {
                true => self.states[at + 1].since(&self.states[at]),
                false => String::new(),
            };
            let arrow = if changes.is_empty() { "" } else { " -> " };
            lines.push(line(step.detail, &format!("{}{arrow}{changes}", step.text)));
            if let Some(state) = self.states.get(at + 1).filter(|_| detail >= STATES) {
                lines.push(line(STATES, &state.to_string()));
            }
            for (what, value) in step.objects.iter().filter(|_| detail >= OBJECTS) {
                lines.push(line(OBJECTS, what));
                if detail >= VALUES && !value.is_empty() {
                    lines.push(line(VALUES, value));
                }
            }
        }
        if self.loops_to == Some(self.steps.len()) {
            lines.push("then nothing happens any more".to_owned());
        }
        lines
    }
}

/// Objects that differ, with what they are afterwards.
fn changed(cluster: &Cluster, before: &State, after: &State) -> Vec<(String, String)> {
    let changed = after.store().changed_since(&cluster.objects, before.store()).into_iter();
    let told = |(before, after): (Option<&Stored>, Option<&Stored>)| {
        let stored = after.or(before)?;
        let what = match (before, after) {
            (None, _) => "created",
            (_, None) => "gone",
            _ => "changed",
        };
        let value = after.and_then(Stored::value).map(ToString::to_string);
        let text = format!("{} {} {what}", stored.kind.kind(), stored.key.name);
        Some((text, value.unwrap_or_default()))
    };
    changed.filter_map(told).collect()
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

impl Snapshot {
    /// Each number in words.
    fn parts(&self) -> Vec<String> {
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
        parts
    }

    /// The numbers that are others than before, in words.
    fn since(&self, before: &Snapshot) -> String {
        let known = before.parts();
        let new: Vec<String> =
            self.parts().into_iter().filter(|part| !known.contains(part)).collect();
        new.join(", ")
    }
}

impl std::fmt::Display for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.parts().join(", "))
    }
}

/// A run in words, told in this detail.
pub(super) fn trace(
    (of, cluster): (&Description, &Cluster),
    run: &Run<State, Action>,
    detail: u8,
) -> Trace {
    let mut trace = Trace::from(of, cluster, &run.states[0]);
    for (at, action) in run.actions.iter().enumerate() {
        trace.push((of, cluster), action, (&run.states[at], &run.states[at + 1]), detail);
    }
    trace.loops_to = run.loops_to;
    trace
}
