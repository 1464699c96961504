//! What becomes of nodes.
//!
//! A node that is not ready gets no pods because of its taint, which the node controllers set in mode exact. In mode
//! parity it is there at once, and so the node's pods are gone: as in Kivi, whose node controller knows no delays.

use controllers::{Request, scheduler};
use serde_json::{Value, json};
use trace::ObjectKey;

use super::{evict, key};
use crate::{
    cluster::{
        Objects, Store,
        api::Api,
        events::{Choice, Event, Modifiers, When},
        kinds::{KindId, node_key},
        looks::Asked,
        objects::Stored,
    },
    kivi::{amounts, manifests::not_ready, options::Mode, pods},
};

/// The annotation of a node that broke down.
pub(in crate::kivi) const BROKEN: &str = "trommel.dev/broken";
/// The annotation of a node that is out of service.
const OUT: &str = "trommel.dev/out-of-service";
/// A node breaks down when less than this is left of its processors, in percent (`kernelPanic`).
const LEFT_PERCENT: i64 = 2;

fn nodes<'s, 'o>(
    objects: &'o Objects,
    store: &'s Store,
) -> impl Iterator<Item = (&'o Stored, &'o scheduler::Node)> + use<'s, 'o> {
    store.of_kind(objects, KindId::NODE).filter_map(|(_, stored)| match &stored.seen()?.body {
        controllers::Body::Node(node) => Some((stored, &**node)),
        _ => None,
    })
}

fn has(stored: &Stored, annotation: &str) -> bool {
    stored.seen().is_some_and(|seen| seen.meta.annotations.contains_key(annotation))
}

/// Whether the node of this name broke down and has not recovered.
pub(in crate::kivi) fn is_broken(stored: &Stored) -> bool {
    has(stored, BROKEN)
}

/// Whether a node has too little left.
fn is_exhausted(objects: &Objects, store: &Store, name: &str, node: &scheduler::Node) -> bool {
    let on_node = pods::all(objects, store)
        .filter(|found| *found.pod.node == *name && !found.pod.has_ended());
    let used: i64 = on_node
        .map(|found| {
            let metrics = store.get(objects, &key("PodMetrics", &found.stored.key.name));
            let used = metrics.and_then(Stored::value).and_then(|metrics| {
                amounts::milli(metrics["containers"][0]["usage"]["cpu"].as_str()?)
            });
            used.and_then(|used| i64::try_from(used).ok())
                .unwrap_or(found.pod.requests.all.cpu_milli)
        })
        .sum();
    let has = node.allocatable.cpu_milli;
    (has - used) * 100 <= has * LEFT_PERCENT
}

fn write(api: &Api<'_>, store: &Store, name: &str, change: impl FnOnce(&mut Value)) -> Store {
    let key = node_key(name);
    let Some(mut value) = store.get(api.objects, &key).and_then(Stored::value).cloned() else {
        return store.clone();
    };
    change(&mut value);
    api.put(store, &key, value)
}

fn set_ready(node: &mut Value, ready: bool) {
    let conditions = node["status"]["conditions"].as_array_mut().into_iter().flatten();
    for condition in conditions.filter(|condition| condition["type"] == "Ready") {
        condition["status"] = json!(if ready { "True" } else { "False" });
    }
}

fn annotate(node: &mut Value, annotation: &str) {
    node["metadata"]["annotations"][annotation] = json!("true");
}

/// A node without an annotation is as it was before it had one.
fn forget(node: &mut Value, annotation: &str) {
    let Some(metadata) = node["metadata"].as_object_mut() else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return;
    };
    annotations.remove(annotation);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// Pods on a node that the cluster's own controllers may remove: not those of others.
fn guests(objects: &Objects, store: &Store, node: &str) -> Vec<(ObjectKey, String)> {
    let on_node = pods::all(objects, store).filter(|found| {
        *found.pod.node == *node && found.is_live() && found.object.meta.controller().is_some()
    });
    on_node.map(|found| (found.stored.key.clone(), found.object.meta.uid.to_string())).collect()
}

fn delete(key: ObjectKey, uid: String) -> Request {
    let uid = uid.as_str().into();
    Request::Delete { key, uid, revision: None, propagation: None, grace_seconds: None }
}

/// The store after a node is not ready any more.
fn fail(api: &Api<'_>, store: &Store, name: &str, mode: Mode, annotation: Option<&str>) -> Store {
    let failed = write(api, store, name, |node| {
        set_ready(node, false);
        annotation.into_iter().for_each(|annotation| annotate(node, annotation));
        if mode == Mode::Parity {
            match node["spec"]["taints"].as_array_mut() {
                Some(taints) => taints.push(not_ready()),
                None => node["spec"]["taints"] = json!([not_ready()]),
            }
        }
    });
    if mode == Mode::Exact {
        return failed;
    }
    guests(api.objects, &failed, name)
        .into_iter()
        .fold(failed, |store, (key, uid)| api.carry_out(&store, &Asked::of(delete(key, uid))).0)
}

/// A node with too little left breaks down.
#[derive(Debug)]
pub(super) struct Panic {
    pub mode: Mode,
    pub modifiers: Modifiers,
}

impl Event for Panic {
    fn name(&self) -> &str {
        "kernelPanic"
    }

    fn modifiers(&self) -> Modifiers {
        self.modifiers
    }

    fn choices(&self, api: &Api<'_>, store: &Store, _progress: u64) -> Vec<Choice> {
        let objects = api.objects;
        let all = nodes(objects, store).filter(|(stored, node)| {
            node.ready && is_exhausted(objects, store, &stored.key.name, node)
        });
        let choice = |(stored, _): (&Stored, _)| {
            let name = &stored.key.name;
            let store = fail(api, store, name, self.mode, Some(BROKEN));
            Choice { told: format!("Node {name} breaks down").into(), store, progress: 0 }
        };
        all.map(choice).collect()
    }
}

/// A node that broke down recovers, when all is quiet: by then its pods are gone.
#[derive(Debug)]
pub(super) struct Recovery;

impl Event for Recovery {
    fn name(&self) -> &str {
        "recovery"
    }

    fn modifiers(&self) -> Modifiers {
        Modifiers::at(When::Stable)
    }

    fn choices(&self, api: &Api<'_>, store: &Store, _progress: u64) -> Vec<Choice> {
        let objects = api.objects;
        let all = nodes(objects, store).filter(|(stored, node)| {
            has(stored, BROKEN) && !is_exhausted(objects, store, &stored.key.name, node)
        });
        let choice = |(stored, _): (&Stored, _)| {
            let name = &stored.key.name;
            let store = write(api, store, name, |node| {
                set_ready(node, true);
                forget(node, BROKEN);
                let Some(spec) = node["spec"].as_object_mut() else { return };
                let Some(taints) = spec.get_mut("taints").and_then(Value::as_array_mut) else {
                    return;
                };
                // Those that controllers set, these take away.
                taints.retain(|taint| *taint != not_ready());
                if taints.is_empty() {
                    spec.remove("taints");
                }
            });
            Choice { told: format!("Node {name} recovers").into(), store, progress: 0 }
        };
        all.map(choice).collect()
    }
}

/// A node fails, once and for all.
#[derive(Debug)]
pub(super) struct Failure {
    pub node: String,
    pub mode: Mode,
    pub modifiers: Modifiers,
}

impl Event for Failure {
    fn name(&self) -> &str {
        "nodeFailure"
    }

    fn modifiers(&self) -> Modifiers {
        self.modifiers
    }

    fn choices(&self, api: &Api<'_>, store: &Store, progress: u64) -> Vec<Choice> {
        let objects = api.objects;
        let is_up = |(stored, node): (&Stored, &scheduler::Node)| {
            node.ready && *stored.key.name == *self.node
        };
        if progress != 0 || !nodes(objects, store).any(is_up) {
            return vec![];
        }
        let after = fail(api, store, &self.node, self.mode, None);
        let told = format!("Node {} fails", self.node).into();
        vec![Choice { told, store: after, progress: 1 }]
    }
}

/// Nodes go out of service, each once: cordoned and drained, as `kubectl drain` does, in one step.
#[derive(Debug)]
pub(super) struct Maintenance {
    pub at_a_time: u32,
    pub every_seconds: u32,
    pub modifiers: Modifiers,
}

impl Maintenance {
    /// Progress: which nodes were out, by their places in so many bits, and above that how many seconds the next one
    /// waits.
    const NODES: u32 = 48;
}

impl Event for Maintenance {
    fn name(&self) -> &str {
        "maintenance"
    }

    fn modifiers(&self) -> Modifiers {
        self.modifiers
    }

    fn due(&self, objects: &Objects, store: &Store, progress: u64) -> Option<u32> {
        let left = u32::try_from(progress >> Self::NODES).unwrap_or(u32::MAX);
        let all = nodes(objects, store).count() as u32;
        (left > 0 && (progress & ((1 << Self::NODES) - 1)).count_ones() < all).then_some(left)
    }

    fn waited(&self, progress: u64, seconds: u32) -> u64 {
        let left = (progress >> Self::NODES).saturating_sub(seconds.into());
        progress & ((1 << Self::NODES) - 1) | left << Self::NODES
    }

    fn choices(&self, api: &Api<'_>, store: &Store, progress: u64) -> Vec<Choice> {
        let objects = api.objects;
        let all: Vec<(&Stored, &scheduler::Node)> = nodes(objects, store).collect();
        let out = all.iter().filter(|(stored, _)| has(stored, OUT)).count();
        if out >= self.at_a_time as usize || progress >> Self::NODES > 0 {
            return vec![];
        }
        let one = |(at, (stored, _)): (usize, &(&Stored, &scheduler::Node))| {
            let bit = 1_u64 << at;
            if progress & bit != 0 {
                return None;
            }
            let name = &stored.key.name;
            let cordoned = write(api, store, name, |node| {
                node["spec"]["unschedulable"] = json!(true);
                annotate(node, OUT);
            });
            let guests = guests(objects, &cordoned, name);
            let store = guests.iter().fold(cordoned, |store, (key, _)| evict(api, &store, key));
            let told = format!("Node {name} goes out of service").into();
            let wait = u64::from(self.every_seconds) << Self::NODES;
            Some(Choice { told, store, progress: progress | bit | wait })
        };
        // More nodes than bits: the others stay in service.
        all.iter().take(Self::NODES as usize).enumerate().filter_map(one).collect()
    }
}

/// A node comes back into service, when all is quiet.
#[derive(Debug)]
pub(super) struct Return;

impl Event for Return {
    fn name(&self) -> &str {
        "return"
    }

    fn modifiers(&self) -> Modifiers {
        Modifiers::at(When::Stable)
    }

    fn choices(&self, api: &Api<'_>, store: &Store, _progress: u64) -> Vec<Choice> {
        let objects = api.objects;
        let out = nodes(objects, store).filter(|(stored, _)| has(stored, OUT));
        let choice = |(stored, _): (&Stored, _)| {
            let name = &stored.key.name;
            let store = write(api, store, name, |node| {
                forget(node, OUT);
                if let Some(spec) = node["spec"].as_object_mut() {
                    spec.remove("unschedulable");
                }
            });
            Choice { told: format!("Node {name} comes back").into(), store, progress: 0 }
        };
        out.map(choice).collect()
    }
}
