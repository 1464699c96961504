//! What the manager knows: types, caches, and each controller's queue.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use controllers::{Body, Change, Controller, View, wire::Around};
use serde_json::Value;
use trace::{GroupResource, ObjectKey, Time};

use super::{
    cache::{Cache, Seen},
    queue::Queue,
    types::{Type, Types},
    watches::News,
};
use crate::commands::kubelet_only;

/// All of it.
pub struct State {
    /// Which types are served.
    pub types: Types,
    /// What the watches told.
    pub cache: Cache,
    /// Of each controller that runs, its keys.
    pub queues: BTreeMap<Controller, Queue>,
    /// How many addresses were given to pods.
    addresses: u32,
}

impl State {
    /// Nothing is known but the types, and the certificate of the API server, in PEM.
    pub fn new(
        types: Types,
        controllers: impl Iterator<Item = Controller>,
        root_ca: &str,
    ) -> State {
        let mut cache = Cache::default();
        cache.view.kinds = types.kinds();
        cache.view.root_ca = root_ca.into();
        cache.view.root_ca_base64 = STANDARD.encode(root_ca).into();
        let queues = controllers.map(|of| (of, Queue::default())).collect();
        State { types, cache, queues, addresses: 0 }
    }

    /// Takes in news of a type: what became of its objects.
    pub fn hear(&mut self, of: &Type, news: News) -> Vec<Seen> {
        let cache = &mut self.cache;
        match news {
            News::Listed(objects, at) => {
                let objects = objects.into_iter().map(|object| (of.key(&object), object));
                cache.list(&of.resource, objects.collect(), at)
            }
            News::Changed(object) => cache.change(&of.key(&object), object),
            News::Gone(object) => cache.remove(&of.key(&object), &object),
            News::Reached(revision) => {
                cache.reach(&of.resource, revision);
                vec![]
            }
            News::Refused(..) => vec![],
        }
    }

    /// Puts what a change concerns on the queues. Those of which something may be due now.
    pub fn queue(&mut self, seen: &Seen, now: Time) -> Vec<Controller> {
        let change =
            Change { key: &seen.key, before: seen.before.as_ref(), after: seen.after.as_ref() };
        let mut woken = Vec::new();
        for (controller, queue) in &mut self.queues {
            let view = &self.cache.view;
            for affected in controller.keys_affected(view, &change, now) {
                woken.push(*controller);
                match affected.after.is_zero() {
                    true => {
                        let urgency = controller.urgency(view, &affected.key).unwrap_or(0);
                        queue.add(affected.key, urgency);
                    }
                    false => queue.add_at(affected.key, now.plus(affected.after)),
                }
            }
        }
        woken.dedup();
        woken
    }

    /// The next key of a controller that is due. Kubelets are for nodes that nobody runs.
    pub fn take(&mut self, controller: Controller, now: Time) -> Option<ObjectKey> {
        let queue = self.queues.get_mut(&controller)?;
        for key in queue.due(now) {
            let urgency = controller.urgency(&self.cache.view, &key).unwrap_or(0);
            queue.add(key, urgency);
        }
        loop {
            let key = queue.take()?;
            let of_kubelets = matches!(controller, Controller::Kubelet | Controller::NodeLease);
            if !of_kubelets || is_ours(&self.cache.view, &key) {
                return Some(key);
            }
        }
    }

    /// What became of a reconcile.
    pub fn done(&mut self, controller: Controller, key: ObjectKey, ended: Ended, now: Time) {
        let Some(queue) = self.queues.get_mut(&controller) else { return };
        match ended {
            Ended::Done(again) => {
                queue.succeeded(&key);
                if let Some(after) = again {
                    queue.add_at(key, now.plus(after));
                }
            }
            Ended::Failed => queue.failed(key, now, controller.longest_backoff()),
        }
    }
}

/// How a reconcile ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The key is done; where a time is given, it comes back then.
    Done(Option<std::time::Duration>),
    /// It comes back after its back-off.
    Failed,
}

/// Whether a node, or the one that a pod is bound to, is one without a machine (kwok's annotation).
fn is_ours(view: &View, key: &ObjectKey) -> bool {
    let node = match view.get(key).map(|object| &object.body) {
        Some(Body::Pod(pod)) => ObjectKey::new(GroupResource::new("", "nodes"), "", &pod.node),
        _ => key.clone(),
    };
    let annotation =
        view.get(&node).and_then(|node| node.meta.annotations.get(kubelet_only::ANNOTATION));
    annotation.is_some_and(|value| **value == *"fake")
}

impl Around for State {
    fn object(&self, key: &ObjectKey) -> Option<Arc<Value>> {
        self.cache.object(key).cloned()
    }

    fn is_custom(&self, resource: &GroupResource) -> bool {
        self.types.is_custom(resource)
    }

    /// Out of 10.128.0.0/10, one that no pod has.
    fn pod_address(&mut self) -> String {
        let pods = GroupResource::new("", "pods");
        loop {
            self.addresses = self.addresses % ((1 << 22) - 1) + 1;
            let address = Ipv4Addr::from((10 << 24 | 128 << 16) + self.addresses).to_string();
            let mut all = self.cache.of_type(&pods);
            if !all.any(|(_, pod)| pod["status"]["podIP"] == *address) {
                return address;
            }
        }
    }
}
