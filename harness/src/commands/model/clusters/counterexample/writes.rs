//! The writes of the model's controllers that real programs are held against: what objects they make and delete, how many
//! replicas they ask for, and on which nodes they put pods. Statuses follow from these.

use std::collections::BTreeMap;

use cluster::Controller;
use model::{
    Run,
    cluster::{Action, Cluster, State, Store, kinds::KindId, objects::Stored},
};
use serde_json::{Value, json};
use trace::ObjectKey;

use super::super::super::{
    confirm::{Write, WriteVerb},
    scenario::Scenario,
};

/// Objects that controllers make for workloads, and the workloads.
const KINDS: [&str; 8] = [
    "Pod",
    "ReplicaSet",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "PersistentVolumeClaim",
];

/// The fields that are compared.
const FIELDS: [&str; 2] = ["spec.replicas", "spec.nodeName"];

/// The writes of a run from its action number `first` on, in its order.
pub(super) fn of(scenario: &Scenario, run: &Run<State, Action>, first: usize) -> Vec<Write> {
    let cluster = &scenario.cluster;
    let alike = Alike::of(&scenario.manifests);
    let mut all = Vec::new();
    for (at, action) in run.actions.iter().enumerate().skip(first) {
        let Action::Acts(act) = action else { continue };
        let client = &cluster.setup.clients[usize::from(act.client)];
        if client.controller == Controller::Kubelet {
            continue;
        }
        let (before, after) = (run.states[at].store(), run.states[at + 1].store());
        for change in after.changed_since(&cluster.objects, before) {
            let store = if change.1.is_some() { after } else { before };
            if let Some(write) = write(cluster, store, change, &alike) {
                all.push(Write { by: Some(client.name.to_string()), ..write });
            }
        }
    }
    all
}

/// One change as a write; none if nothing of it is compared.
fn write(
    cluster: &Cluster,
    store: &Store,
    (before, after): (Option<&Stored>, Option<&Stored>),
    alike: &Alike,
) -> Option<Write> {
    let stored = after.or(before)?;
    let kind = stored.kind.kind();
    if !KINDS.contains(&kind) {
        return None;
    }
    let value = |stored: Option<&Stored>| stored.and_then(Stored::value).cloned();
    let (before, after) = (value(before), value(after));
    let is_going = |value: &Option<Value>| {
        value.as_ref().is_some_and(|value| !value["metadata"]["deletionTimestamp"].is_null())
    };
    let verb = match (&before, &after) {
        (None, _) => WriteVerb::Create,
        (Some(_), None) if is_going(&before) => return None,
        (Some(_), None) => WriteVerb::Delete,
        (Some(_), Some(_)) if is_going(&after) => {
            if is_going(&before) {
                return None;
            }
            WriteVerb::Delete
        }
        _ => WriteVerb::Update,
    };
    let set = match (verb, &after) {
        (WriteVerb::Delete, _) | (_, None) => BTreeMap::new(),
        (_, Some(after)) => fields(before.as_ref(), after, alike),
    };
    if verb == WriteVerb::Update && set.is_empty() {
        return None;
    }
    let root = root(cluster, store, after.as_ref().or(before.as_ref())?);
    let (name, object) = match root {
        Some(root) => (format!("{root}-*"), Some(stored.key.name.to_string())),
        None => (stored.key.name.to_string(), None),
    };
    let namespace = Some(stored.key.namespace.to_string()).filter(|one| one != "default");
    Some(Write { by: None, verb, kind: kind.to_owned(), namespace, name, object, set })
}

/// The fields that are compared and have changed.
fn fields(before: Option<&Value>, after: &Value, alike: &Alike) -> BTreeMap<String, Value> {
    let at = |object: &Value, path: &str| {
        path.split('.').fold(object.clone(), |object, field| object[field].clone())
    };
    let mut set = BTreeMap::new();
    for field in FIELDS {
        let now = at(after, field);
        if !now.is_null() && before.is_none_or(|before| at(before, field) != now) {
            let is_node = field == "spec.nodeName";
            set.insert(field.to_owned(), if is_node { alike.shown(&now) } else { now });
        }
    }
    set
}

/// The name that the generated name of an object begins with: its topmost owner's. None if its name is not generated.
fn root(cluster: &Cluster, store: &Store, object: &Value) -> Option<String> {
    let is_generated = match object["kind"].as_str() {
        Some("Pod") => object["metadata"]["generateName"].is_string() && !has_ordinal(object),
        Some("ReplicaSet" | "Job") => true,
        _ => false,
    };
    let mut root = owner(object).filter(|_| is_generated)?;
    while let Some(above) =
        store.get(&cluster.objects, &root).and_then(Stored::value).and_then(owner)
    {
        root = above;
    }
    Some(root.name.to_string())
}

/// Pods of StatefulSets are numbered.
fn has_ordinal(pod: &Value) -> bool {
    owner(pod).is_some_and(|owner| &*owner.resource.resource == "statefulsets")
}

fn owner(object: &Value) -> Option<ObjectKey> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    let kind = KindId::named(owner["kind"].as_str()?)?;
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
    Some(ObjectKey::new(kind.resource(), namespace, owner["name"].as_str()?))
}

/// Nodes that a scheduler has no reason to tell apart: it may draw any of them, so their names stand for themselves only
/// within the run.
struct Alike(Vec<String>);

impl Alike {
    fn of(manifests: &[Value]) -> Alike {
        let nodes: Vec<&Value> = manifests.iter().filter(|one| one["kind"] == "Node").collect();
        let face = |node: &Value| {
            let mut labels = node["metadata"]["labels"].clone();
            if let Some(labels) = labels.as_object_mut() {
                labels.remove("kubernetes.io/hostname");
            }
            json!([labels, node["spec"], node["status"]["allocatable"]])
        };
        let has_twin =
            |node: &&&Value| nodes.iter().filter(|one| face(one) == face(node)).count() > 1;
        let name = |node: &&Value| node["metadata"]["name"].as_str().unwrap_or("").to_owned();
        Alike(nodes.iter().filter(has_twin).map(name).collect())
    }

    /// `$node-1` for one of several that are alike.
    fn shown(&self, node: &Value) -> Value {
        match node.as_str() {
            Some(name) if self.0.iter().any(|one| one == name) => json!(format!("${name}")),
            _ => node.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_alike_stand_for_themselves_within_a_run() {
        let node = |name: &str, cpu: &str| {
            json!({"kind": "Node", "status": {"allocatable": {"cpu": cpu}},
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        };
        let alike = Alike::of(&[node("a", "4"), node("b", "4"), node("c", "8")]);
        let shown = ["a", "b", "c", ""].map(|name| alike.shown(&json!(name)));
        assert_eq!(shown, [json!("$a"), json!("$b"), json!("c"), json!("")]);
    }
}
