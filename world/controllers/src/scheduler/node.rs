//! A Node and its taints, as all controllers see them.

use serde_json::Value;
use trace::{GroupResource, Time};

use crate::{
    object::Text,
    pod::{Pod, Toleration},
    read,
    resources::{Resources, quantity_milli},
};

/// A Node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// Whether the condition `Ready` is True.
    pub ready: bool,
    /// `status.conditions`: types and statuses.
    pub conditions: Vec<(Text, Text)>,
    /// Whether it is told to be unknown because nobody has heard of it.
    pub unheard: bool,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `status.allocatable`.
    pub allocatable: Resources,
    /// `status.allocatable.pods`.
    pub pods: i64,
    /// `status.images`: names and bytes.
    pub images: Vec<(Vec<Text>, i64)>,
}

/// A taint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Taint {
    /// `key`.
    pub key: Text,
    /// `value`.
    pub value: Text,
    /// `effect`.
    pub effect: Text,
    /// `timeAdded`.
    pub added: Option<Time>,
}

impl Node {
    pub(crate) fn read(object: &Value) -> Node {
        let (spec, status) = (&object["spec"], &object["status"]);
        let allocatable = &status["allocatable"];
        let taint = |value: &Value| Taint {
            key: read::text(value, "key"),
            value: read::text(value, "value"),
            effect: read::text(value, "effect"),
            added: read::time(value, "timeAdded"),
        };
        let image = |value: &Value| {
            let names = read::list(value, "names").filter_map(Value::as_str).map(Text::from);
            (names.collect(), read::number(value, "sizeBytes"))
        };
        let pods = quantity_milli(&read::text(allocatable, "pods")).unwrap_or(0) / 1000;
        Node {
            ready: read::list(status, "conditions")
                .any(|found| found["type"] == "Ready" && found["status"] == "True"),
            conditions: read::list(status, "conditions")
                .map(|found| (read::text(found, "type"), read::text(found, "status")))
                .collect(),
            unheard: read::list(status, "conditions").any(|found| {
                let reason = found["reason"].as_str().unwrap_or("");
                found["type"] == "Ready"
                    && found["status"] == "Unknown"
                    && matches!(reason, "NodeStatusUnknown" | "NodeStatusNeverUpdated")
            }),
            unschedulable: read::flag(spec, "unschedulable"),
            taints: read::list(spec, "taints").map(taint).collect(),
            allocatable: Resources::read(allocatable),
            pods: i64::try_from(pods).unwrap_or(i64::MAX),
            images: read::list(status, "images").map(image).collect(),
        }
    }

    /// Whether it has a taint that keeps the pod away.
    pub(crate) fn repels(&self, pod: &Pod) -> bool {
        let hard = |taint: &&Taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute");
        self.taints.iter().filter(hard).any(|taint| !tolerates(pod, taint))
    }
}

pub(crate) fn nodes() -> GroupResource {
    GroupResource::new("", "nodes")
}

pub(crate) fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    toleration_of(pod, taint).is_some()
}

/// The toleration by which a pod tolerates a taint.
pub(crate) fn toleration_of<'p>(pod: &'p Pod, taint: &Taint) -> Option<&'p Toleration> {
    pod.tolerations.iter().find(|toleration| {
        (toleration.effect.is_empty() || toleration.effect == taint.effect)
            && (toleration.key.is_empty() && toleration.exists || toleration.key == taint.key)
            && (toleration.exists || toleration.value == taint.value)
    })
}
