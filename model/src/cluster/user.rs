//! What users do to a cluster, and what becomes of its nodes: the events of scenario files.

use serde_json::{Value, json};
use trace::ObjectKey;

use super::{
    api::Api,
    events::{Choice, Event, Modifiers},
    kinds::{KindId, node_key},
    metrics,
    store::Store,
    words,
};

/// Something that a user does, or that happens to a node.
#[derive(Debug, Clone)]
pub struct UserEvent {
    /// How traces call it.
    pub name: String,
    /// When it can happen.
    pub modifiers: Modifiers,
    /// How often it can happen.
    pub times: u64,
    /// What happens.
    pub deed: Deed,
}

/// What happens.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Objects are created; those that are there get the fields that these have, and keep the others, as by
    /// `kubectl apply`.
    Apply(Vec<(ObjectKey, Value)>),
    /// An object gets these fields, by a JSON merge patch (RFC 7396). Each choice is one way.
    Patch(ObjectKey, Vec<Value>),
    /// An object is deleted.
    Delete(ObjectKey),
    /// A node is not ready any more: its Ready condition is False.
    NodeFails(String),
    /// A node is ready again.
    NodeReturns(String),
    /// A node is cordoned, and its pods are evicted as far as PodDisruptionBudgets allow, as by `kubectl drain`.
    Drain(String),
    /// One of these nodes is drained, again and again until it is empty, and takes pods again then.
    Maintenance(Vec<String>),
    /// A node takes pods again.
    Uncordon(String),
    /// The pods that an object of this kind and name controls use this much (`usage` of PodMetrics), each choice one way;
    /// without an owner, all pods.
    Usage {
        /// Labels of the pods.
        labels: Vec<(String, String)>,
        /// `usage` of each container, one choice each.
        usages: Vec<Value>,
    },
}

impl Event for UserEvent {
    fn name(&self) -> &str {
        &self.name
    }

    fn modifiers(&self) -> Modifiers {
        self.modifiers
    }

    fn is_fair(&self) -> bool {
        matches!(self.deed, Deed::Maintenance(_))
    }

    fn choices(&self, api: &Api<'_>, store: &Store, progress: u64) -> Vec<Choice> {
        let begins = !self.deed.goes_on(api, store);
        if begins && progress >= self.times {
            return vec![];
        }
        let progress = progress + u64::from(begins);
        let choice = |(what, after): (String, Store)| {
            let told = format!("{}: {what}", self.name).into();
            (after != *store).then_some(Choice { told, store: after, progress })
        };
        self.deed.ways(api, store).into_iter().filter_map(choice).collect()
    }
}

impl Deed {
    /// Whether it began and is not over.
    fn goes_on(&self, api: &Api<'_>, store: &Store) -> bool {
        match self {
            Deed::Maintenance(nodes) => out_of_service(api, store, nodes).is_some(),
            _ => false,
        }
    }

    /// Each way, in words, with what is stored afterwards.
    fn ways(&self, api: &Api<'_>, store: &Store) -> Vec<(String, Store)> {
        match self {
            Deed::Apply(objects) => {
                let names: Vec<String> = objects.iter().map(|(key, _)| words::name(key)).collect();
                let after = objects.iter().fold(store.clone(), |store, (key, object)| {
                    patch(api, &store, key, object, true)
                });
                vec![(format!("apply {}", names.join(", ")), after)]
            }
            Deed::Patch(key, ways) => {
                let way = |fields: &Value| {
                    let after = patch(api, store, key, fields, false);
                    (format!("patch {} {fields}", words::name(key)), after)
                };
                ways.iter().map(way).collect()
            }
            Deed::Delete(key) => {
                let after = api.delete(store, key, None, None);
                vec![(format!("delete {}", words::name(key)), after)]
            }
            Deed::NodeFails(node) => {
                vec![(format!("Node {node} fails"), ready(api, store, node, "False"))]
            }
            Deed::NodeReturns(node) => {
                vec![(format!("Node {node} returns"), ready(api, store, node, "True"))]
            }
            Deed::Drain(node) => vec![drain(api, store, node)],
            Deed::Maintenance(nodes) => match out_of_service(api, store, nodes) {
                None => nodes.iter().map(|node| drain(api, store, node)).collect(),
                Some(node) if evictable(api, store, node).is_empty() => {
                    vec![uncordon(api, store, node)]
                }
                Some(node) => vec![drain(api, store, node)],
            },
            Deed::Uncordon(node) => vec![uncordon(api, store, node)],
            Deed::Usage { labels, usages } => {
                let way =
                    |usage: &Value| (format!("pods use {usage}"), used(api, store, labels, usage));
                usages.iter().map(way).collect()
            }
        }
    }
}

/// The store after an object got some fields; it is created if that is asked for and it is not there.
fn patch(api: &Api<'_>, store: &Store, key: &ObjectKey, fields: &Value, creates: bool) -> Store {
    match store.get(api.objects, key).and_then(|stored| stored.value()) {
        Some(value) => {
            let mut value = value.clone();
            json_patch::merge(&mut value, fields);
            api.put(store, key, value)
        }
        None if creates => api.put(store, key, fields.clone()),
        None => store.clone(),
    }
}

/// What kubelets say of nodes is a list of conditions.
fn ready(api: &Api<'_>, store: &Store, node: &str, status: &str) -> Store {
    let key = node_key(node);
    let Some(value) = store.get(api.objects, &key).and_then(|stored| stored.value()) else {
        return store.clone();
    };
    let mut value = value.clone();
    let conditions = value["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten().filter(|one| one["type"] == "Ready") {
        if condition["status"] != *status {
            condition["status"] = json!(status);
            condition["lastTransitionTime"] = json!(api.now.rfc3339());
        }
    }
    api.put(store, &key, value)
}

fn drain(api: &Api<'_>, store: &Store, node: &str) -> (String, Store) {
    let cordoned =
        patch(api, store, &node_key(node), &json!({"spec": {"unschedulable": true}}), false);
    let pods = evictable(api, &cordoned, node);
    let after = pods.iter().fold(cordoned, |store, key| api.evicted(&store, key));
    (format!("drain Node {node}"), after)
}

fn uncordon(api: &Api<'_>, store: &Store, node: &str) -> (String, Store) {
    let fields = json!({"spec": {"unschedulable": null}});
    (format!("uncordon Node {node}"), patch(api, store, &node_key(node), &fields, false))
}

/// The node that is cordoned, of these.
fn out_of_service<'n>(api: &Api<'_>, store: &Store, nodes: &'n [String]) -> Option<&'n str> {
    let is_cordoned = |node: &&String| {
        let stored = store.get(api.objects, &node_key(node)).and_then(|stored| stored.value());
        stored.is_some_and(|node| node["spec"]["unschedulable"] == true)
    };
    nodes.iter().find(is_cordoned).map(String::as_str)
}

/// The pods that a drain waits for: those of DaemonSets stay (`--ignore-daemonsets`).
fn evictable(api: &Api<'_>, store: &Store, node: &str) -> Vec<ObjectKey> {
    let of_daemon = |pod: &Value| {
        let owners = pod["metadata"]["ownerReferences"].as_array();
        owners.into_iter().flatten().any(|owner| owner["kind"] == "DaemonSet")
    };
    let waits = |pod: &&Value| pod["spec"]["nodeName"] == *node && !of_daemon(pod);
    let pods = store.of_kind(api.objects, KindId::POD);
    pods.filter(|(_, pod)| pod.value().filter(waits).is_some())
        .map(|(_, pod)| pod.key.clone())
        .collect()
}

/// The store after all pods with these labels use so much: their PodMetrics say so.
fn used(api: &Api<'_>, store: &Store, labels: &[(String, String)], usage: &Value) -> Store {
    let pods = store.of_kind(api.objects, KindId::POD).filter_map(|(_, pod)| pod.value());
    let chosen = pods.filter(|pod| metrics::has_labels(&pod["metadata"]["labels"], labels));
    chosen.fold(store.clone(), |store, pod| metrics::measured(api, &store, pod, usage))
}
