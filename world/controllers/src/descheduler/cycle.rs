//! One cycle: the nodes and pods that it looks at, and the evictions, with their limits
//! (`pkg/descheduler/evictions/evictions.go`, `pkg/descheduler/node`, `pkg/descheduler/pod`).

use std::collections::{BTreeMap, BTreeSet};

use trace::{ObjectKey, Time};

use super::policy::{Limits, Policy};
use crate::{
    calls::{Calls, Response, Stop},
    object::{Body, Labels, Meta, Text},
    pod::Pod,
    request::Request,
    scheduler::{Node, nodes},
    view::View,
};

/// A node.
#[derive(Debug, Clone)]
pub(super) struct Host<'v> {
    pub(super) name: Text,
    pub(super) labels: &'v Labels,
    pub(super) node: &'v Node,
}

/// A pod that has a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guest<'v> {
    pub(super) key: &'v ObjectKey,
    pub(super) meta: &'v Meta,
    pub(super) pod: &'v Pod,
}

/// What came of an attempt to evict a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eviction {
    /// It goes, or was refused: by a budget, since it is gone, or since its namespace has lost enough. The next one's turn.
    Tried {
        /// Whether it goes.
        goes: bool,
    },
    /// Its node has lost enough.
    NodeIsDone,
    /// All that this cycle may evict is evicted.
    AllIsDone,
}

/// One cycle.
pub(super) struct Cycle<'v, 'c, 'r> {
    pub(super) view: &'v View,
    pub(super) now: Time,
    /// The nodes that are ready and that the policy selects.
    pub(super) hosts: Vec<Host<'v>>,
    /// The profile whose plugins run.
    pub(super) profile: Text,
    limits: &'v Limits,
    calls: &'c mut Calls<'r>,
    /// Pods that were evicted in this cycle.
    gone: BTreeSet<ObjectKey>,
    of_node: BTreeMap<Text, u64>,
    of_namespace: BTreeMap<Text, u64>,
    total: u64,
}

/// `IsReady`: a node that says nothing of it is.
pub(super) fn is_ready(node: &Node) -> bool {
    !node.conditions.iter().any(|(kind, status)| **kind == *"Ready" && **status != *"True")
}

/// All nodes that are ready.
pub(super) fn hosts(view: &View) -> impl Iterator<Item = Host<'_>> {
    view.list(&nodes(), "").filter_map(|(key, object)| match &object.body {
        Body::Node(node) if is_ready(node) => {
            Some(Host { name: key.name, labels: &object.meta.labels, node })
        }
        _ => None,
    })
}

/// All pods on a node, those that have ended among them.
pub(super) fn guests<'v>(view: &'v View, host: &str) -> impl Iterator<Item = Guest<'v>> + use<'v> {
    view.on_node(host).filter_map(|(key, object)| match &object.body {
        Body::Pod(pod) => Some(Guest { key, meta: &object.meta, pod }),
        _ => None,
    })
}

impl<'v, 'c, 'r> Cycle<'v, 'c, 'r> {
    pub(super) fn new(
        view: &'v View,
        now: Time,
        policy: &'v Policy,
        calls: &'c mut Calls<'r>,
    ) -> Cycle<'v, 'c, 'r> {
        let selected = hosts(view).filter(|host| policy.node_selector.matches(host.labels));
        Cycle {
            view,
            now,
            hosts: view.in_order(selected.collect()),
            profile: "".into(),
            limits: &policy.limits,
            calls,
            gone: BTreeSet::new(),
            of_node: BTreeMap::new(),
            of_namespace: BTreeMap::new(),
            total: 0,
        }
    }

    /// Pods on a node that pass (`ListAllPodsOnANode`).
    pub(super) fn all_on(&self, host: &str, passes: impl Fn(&Guest<'v>) -> bool) -> Vec<Guest<'v>> {
        let mut all = self.view.in_order(guests(self.view, host).collect());
        all.retain(|guest| passes(guest));
        all
    }

    /// The same, without those that have ended (`ListPodsOnANode`).
    pub(super) fn on(&self, host: &str, passes: impl Fn(&Guest<'v>) -> bool) -> Vec<Guest<'v>> {
        self.all_on(host, |guest| !guest.pod.has_ended() && passes(guest))
    }

    /// Whether a pod is going, by whomever.
    pub(super) fn is_going(&self, guest: &Guest<'_>) -> bool {
        guest.meta.is_deleted() || self.gone.contains(guest.key)
    }

    /// Evicts a pod, unless a limit is reached (`EvictPod`). What is refused does not count. As upstream, without any
    /// precondition: a pod that has come under the same name since is evicted in its place.
    pub(super) fn evict(
        &mut self,
        guest: &Guest<'v>,
        plugin: &'static str,
    ) -> Result<Eviction, Stop> {
        let (node, namespace) = (&guest.pod.node, &guest.key.namespace);
        let count = |counts: &BTreeMap<Text, u64>, of| counts.get(of).copied().unwrap_or(0);
        let is_reached = |limit: Option<u64>, count: u64| limit.is_some_and(|most| count >= most);
        if is_reached(self.limits.total, self.total) {
            return Ok(Eviction::AllIsDone);
        }
        if is_reached(self.limits.per_node, count(&self.of_node, node)) {
            return Ok(Eviction::NodeIsDone);
        }
        if is_reached(self.limits.per_namespace, count(&self.of_namespace, namespace)) {
            return Ok(Eviction::Tried { goes: false });
        }
        let answer = self.calls.send(|| Request::Evict {
            key: guest.key.clone(),
            profile: self.profile.clone(),
            plugin,
            grace_seconds: self.limits.grace_seconds,
        })?;
        // Budgets say 429: that is said in a log, and it is the next pod's turn.
        if matches!(answer, Response::Refused { .. }) {
            return Ok(Eviction::Tried { goes: false });
        }
        *self.of_node.entry(node.clone()).or_default() += 1;
        *self.of_namespace.entry(namespace.clone()).or_default() += 1;
        self.total += 1;
        self.gone.insert(guest.key.clone());
        Ok(Eviction::Tried { goes: true })
    }

    /// Evicts these pods of one node, until it has lost enough. Whether the plugin goes on with another node.
    pub(super) fn evict_all(
        &mut self,
        guests: &[Guest<'v>],
        plugin: &'static str,
    ) -> Result<bool, Stop> {
        for guest in guests {
            match self.evict(guest, plugin)? {
                Eviction::Tried { .. } => {}
                Eviction::NodeIsDone => return Ok(true),
                Eviction::AllIsDone => return Ok(false),
            }
        }
        Ok(true)
    }
}
