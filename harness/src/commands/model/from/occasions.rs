//! What happens to the workloads of every cluster some day.

use model::cluster::setup::key_of;
use serde_json::{Value, json};

use super::super::scenario::{
    EventSpec, NodesSpec, ObjectSpec, PatchSpec, PropertySpec, When, all_run,
};
use super::namespace;
use crate::campaign::properties::NeverAfter;

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
    /// Those behind the start that matter for these manifests.
    pub fn later(manifests: &[Value]) -> Vec<Occasion> {
        let mut all = vec![];
        if manifests.iter().any(|object| object["kind"] == "HorizontalPodAutoscaler") {
            all.push(Occasion::AppliedAgain);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for object in manifests {
            let kind = text(&object["kind"]);
            if ROLLED.contains(&&*kind) {
                let metadata = &object["metadata"];
                let namespace = namespace(object).to_owned();
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

    /// What is asked then.
    pub fn properties(&self, manifests: &[Value]) -> Vec<PropertySpec> {
        let mut all = vec![all_run()];
        match self {
            Occasion::AppliedAgain => {
                let scaled = manifests.iter().filter_map(|object| keeps_minimum(object, manifests));
                all.extend(scaled);
            }
            Occasion::Maintenance => all.push(PropertySpec {
                name: "a drained node gets empty and comes back".to_owned(),
                eventually: Some(NODES_ARE_BACK.to_owned()),
                ..PropertySpec::default()
            }),
            Occasion::Start | Occasion::Rollout { .. } => {}
        }
        all
    }

    /// What happens then to a cluster of these nodes that has come to rest.
    pub fn events(&self, manifests: &[Value], nodes: &[NodesSpec]) -> Vec<EventSpec> {
        let event = EventSpec { when: When::Settled, times: 1, ..EventSpec::default() };
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

/// A node is uncordoned when its drain is over, and not before.
const NODES_ARE_BACK: &str = "objects.filter(o, o.kind == 'Node')\
    .all(n, !has(n.spec.unschedulable) || !n.spec.unschedulable)";

/// That an autoscaler's workload never has fewer pods than its minimum, once it has had them; none for an object that is
/// no autoscaler of a workload of the folder. A manifest with `spec.replicas` breaks it each time that it is applied
/// (<https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/#migrating-deployments-and-statefulsets-to-horizontal-autoscaling>).
fn keeps_minimum(object: &Value, manifests: &[Value]) -> Option<PropertySpec> {
    if object["kind"] != "HorizontalPodAutoscaler" {
        return None;
    }
    let (target, least) = (&object["spec"]["scaleTargetRef"], &object["spec"]["minReplicas"]);
    let least = least.as_i64().unwrap_or(1);
    let scaled = manifests.iter().find(|one| {
        one["kind"] == target["kind"]
            && one["metadata"]["name"] == target["name"]
            && namespace(one) == namespace(object)
    })?;
    let labels = scaled["spec"]["selector"]["matchLabels"].as_object()?;
    let label = |(key, value): (&String, &Value)| {
        format!(
            "{} in p.metadata.labels && p.metadata.labels[{}] == {value}",
            json!(key),
            json!(key)
        )
    };
    let chosen: Vec<String> = labels.iter().map(label).collect();
    let pods = format!(
        "objects.filter(p, p.kind == 'Pod' && !has(p.metadata.deletionTimestamp) && \
         p.metadata.namespace == {} && has(p.metadata.labels) && {}).size()",
        json!(namespace(object)),
        chosen.join(" && ")
    );
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&target["kind"]), text(&target["name"]));
    let of = match namespace(object) {
        "default" => String::new(),
        other => format!(" of {other}"),
    };
    Some(PropertySpec {
        name: format!("{kind} {name}{of} keeps the {least} pods that its autoscaler asks for"),
        never_after: Some(NeverAfter {
            after: format!("{pods} >= {least}"),
            never: format!("{pods} < {least}"),
        }),
        ..PropertySpec::default()
    })
}
