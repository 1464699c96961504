//! The objects of a run, as it goes on.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use trace::{Actor, Change, Commit, ObjectKey};

/// All objects at one moment.
#[derive(Debug, Clone, Default)]
pub struct Story {
    objects: BTreeMap<ObjectKey, Arc<Value>>,
}

impl Story {
    /// Where a run begins.
    pub fn of(start: &[(ObjectKey, Arc<Value>)]) -> Story {
        Story { objects: start.iter().cloned().collect() }
    }

    /// Goes on by one write; its object before.
    pub fn goes_on(&mut self, commit: &Commit) -> Option<Arc<Value>> {
        match commit.change {
            Change::Deleted => self.objects.remove(&commit.key),
            _ => self.objects.insert(commit.key.clone(), commit.object.clone()),
        }
    }

    fn all<'s>(&'s self, resource: &'s str) -> impl Iterator<Item = (&'s ObjectKey, &'s Value)> {
        let all = self.objects.iter().filter(move |(key, _)| *key.resource.resource == *resource);
        all.map(|(key, object)| (key, &**object))
    }

    /// A Deployment, by namespace and name.
    pub fn deployment(&self, (namespace, name): (&str, &str)) -> Option<&Value> {
        let mut all = self.all("deployments");
        all.find(|(key, _)| *key.namespace == *namespace && *key.name == *name).map(|(_, one)| one)
    }

    /// The autoscaler of a Deployment.
    pub fn autoscaler(&self, (namespace, name): (&str, &str)) -> Option<&Value> {
        let mut all = self.all("horizontalpodautoscalers");
        let scales = |(key, one): &(&ObjectKey, &Value)| {
            let target = &one["spec"]["scaleTargetRef"];
            *key.namespace == *namespace && target["kind"] == "Deployment" && target["name"] == name
        };
        all.find(scales).map(|(_, one)| one)
    }

    /// The pods that a Deployment selects.
    pub fn pods<'s>(&'s self, of: (&str, &str)) -> impl Iterator<Item = &'s Value> {
        let selected = |(key, pod): &(&ObjectKey, &Value)| self.is_pod(key, pod, of);
        let pods: Vec<&Value> = self.all("pods").filter(selected).map(|(_, pod)| pod).collect();
        pods.into_iter()
    }

    /// Whether this is a pod that a Deployment selects.
    pub fn is_pod(&self, key: &ObjectKey, object: &Value, of: (&str, &str)) -> bool {
        let Some(deployment) = self.deployment(of) else { return false };
        let labels = deployment["spec"]["selector"]["matchLabels"].as_object();
        *key.resource.resource == *"pods"
            && key.resource.is_built_in()
            && *key.namespace == *of.0
            && labels.is_some_and(|labels| {
                labels.iter().all(|(label, value)| object["metadata"]["labels"][label] == *value)
            })
    }

    /// Names of the nodes that are ready.
    pub fn ready_nodes(&self) -> impl Iterator<Item = &str> {
        let ready =
            |node: &Value| condition(node, "Ready").is_some_and(|one| one["status"] == "True");
        self.all("nodes").filter(move |(_, node)| ready(node)).map(|(key, _)| &*key.name)
    }
}

/// Who wrote something: a program by its name.
pub fn who(actor: &Actor) -> String {
    match actor {
        Actor::Environment(program) => program.to_string(),
        other => other.to_string(),
    }
}

/// A condition of an object's status.
pub fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    object["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == kind)
}

/// Whether a pod is to stay, and has not ended.
pub fn is_alive(pod: &Value) -> bool {
    let phase = &pod["status"]["phase"];
    pod["metadata"]["deletionTimestamp"].is_null() && phase != "Failed" && phase != "Succeeded"
}

/// The node of a pod that has one.
pub fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())
}
