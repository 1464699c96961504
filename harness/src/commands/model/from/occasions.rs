//! What happens to the workloads of every cluster some day.

use model::cluster::setup::key_of;
use serde_json::{Value, json};

use super::super::scenario::{EventSpec, NodesSpec, ObjectSpec, PatchSpec, When};

/// An occasion on which a folder of manifests is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    /// The manifests are applied to an empty cluster.
    Start,
    /// The same manifests are applied again: what only controllers should set goes back to them.
    AppliedAgain,
    /// All pods of a workload are replaced (`kubectl rollout restart`).
    Rollout {
        /// Its kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A node is drained, and uncordoned when it is empty.
    Maintenance,
}

/// Workloads whose pods are replaced when their template changes.
const ROLLED: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

impl Occasion {
    /// Those that matter for these manifests, the start first.
    pub fn of(manifests: &[Value]) -> Vec<Occasion> {
        let mut all = vec![Occasion::Start];
        if manifests.iter().any(|object| object["kind"] == "HorizontalPodAutoscaler") {
            all.push(Occasion::AppliedAgain);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for object in manifests {
            let kind = text(&object["kind"]);
            if ROLLED.contains(&&*kind) {
                let metadata = &object["metadata"];
                let namespace = metadata["namespace"].as_str().unwrap_or("default").to_owned();
                all.push(Occasion::Rollout { kind, namespace, name: text(&metadata["name"]) });
            }
        }
        all.push(Occasion::Maintenance);
        all
    }

    /// In words.
    pub fn told(&self) -> String {
        match self {
            Occasion::Start => "applied to an empty cluster".to_owned(),
            Occasion::AppliedAgain => "applied again".to_owned(),
            Occasion::Rollout { kind, namespace, name } if namespace == "default" => {
                format!("rollout restart of {kind} {name}")
            }
            Occasion::Rollout { kind, namespace, name } => {
                format!("rollout restart of {kind} {namespace}/{name}")
            }
            Occasion::Maintenance => "a node is drained, and comes back".to_owned(),
        }
    }

    /// What happens then to a cluster of these nodes that has come to rest.
    pub fn events(&self, manifests: &[Value], nodes: &[NodesSpec]) -> Vec<EventSpec> {
        let event = EventSpec { when: When::Stable, times: 1, ..EventSpec::default() };
        let event = match self {
            Occasion::Start => return vec![],
            Occasion::AppliedAgain => {
                let known = manifests.iter().filter(|object| key_of(object).is_ok());
                EventSpec { apply: Some(known.cloned().collect()), ..event }
            }
            Occasion::Rollout { kind, namespace, name } => {
                let namespace = Some(namespace.clone());
                let object = ObjectSpec { kind: kind.clone(), namespace, name: name.clone() };
                let restart = json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"});
                let template = json!({"template": {"metadata": {"annotations": restart}}});
                let patch = PatchSpec { object, ways: vec![json!({"spec": template})] };
                EventSpec { patch: Some(patch), ..event }
            }
            Occasion::Maintenance => {
                let names = nodes.iter().flat_map(NodesSpec::names).collect();
                EventSpec { maintenance: Some(names), ..event }
            }
        };
        vec![EventSpec { name: self.told(), ..event }]
    }
}
