//! Which nodes can run a pod: the filters of the default profile, in its order
//! (`apis/config/v1/default_plugins.go`, `framework/runtime.RunFilterPluginsWithNominatedPods`).

use std::collections::BTreeSet;

use super::{
    affinity::Affinity,
    disks::{self, Disks},
    node::{Taint, tolerates},
    snapshot::{NodeInfo, Placed},
    spread::{Spread, is_selected},
};
use crate::{
    object::{Body, Text},
    resources::Resources,
    view::View,
};

const UNSCHEDULABLE: &str = "node(s) were unschedulable";
const TAINTED: &str = "node(s) had untolerated taint(s)";
const NOT_SELECTED: &str = "node(s) didn't match Pod's node affinity/selector";
const PORTS: &str = "node(s) didn't have free ports for the requested pod ports";
const CONFLICT: &str = "pod affinity terms conflict";

/// Why a node can't run a pod.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rejection {
    pub(super) reasons: Vec<String>,
    /// Whether deleting pods may help (`Unschedulable`, not `UnschedulableAndUnresolvable`).
    pub(super) resolvable: bool,
}

impl Rejection {
    pub(super) fn of(reason: &str) -> Rejection {
        Rejection { reasons: vec![reason.to_owned()], resolvable: true }
    }

    pub(super) fn final_for(reason: &str) -> Rejection {
        Rejection::final_for_all(&[reason])
    }

    pub(super) fn final_for_all(reasons: &[&str]) -> Rejection {
        let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        Rejection { reasons, resolvable: false }
    }
}

/// One attempt to find a node for a pod.
pub(super) struct Cycle<'v> {
    pub(super) view: &'v View,
    pub(super) of: Placed<'v>,
    pub(super) disks: Disks<'v>,
    /// The only nodes that it may run on, if it names them.
    pub(super) only: Option<BTreeSet<Text>>,
    /// Pods that nodes are kept for.
    nominated: Vec<Placed<'v>>,
}

/// What filters go by that is not on the node that they look at. A plugin that has nothing to do with the pod has none
/// (`SkipFilterPlugins`), and does not look at pods that come later.
#[derive(Debug, Clone)]
pub(super) struct State {
    spread: Option<Spread>,
    affinity: Option<Affinity>,
    /// How often claims that only one pod may use are used.
    shared: Option<i64>,
}

impl<'v> Cycle<'v> {
    /// Errors: why no node will do (PreFilter).
    pub(super) fn begin(
        view: &'v View,
        of: Placed<'v>,
        nodes: &[NodeInfo<'v>],
    ) -> Result<(Cycle<'v>, State), String> {
        let only = of.pod.affinity.as_ref().and_then(|affinity| affinity.names());
        if only.as_ref().is_some_and(BTreeSet::is_empty) {
            return Err(CONFLICT.to_owned());
        }
        let disks = Disks::read(view, &of)?;
        let nominated = view.nominated().filter_map(|(_, key)| Placed::of(key, view.get(key)?));
        let nominated = nominated.filter(|other| {
            let queued = *other.pod.scheduler == *super::NAME && !other.pod.has_ended();
            queued && other.key != of.key && other.priority() >= of.priority()
        });
        let taken = disks.taken(&of, nodes);
        let state = State {
            spread: Spread::new(&of, nodes),
            affinity: Affinity::new(view, &of, nodes),
            shared: (taken > 0 || !of.pod.placing.disks.is_empty()).then_some(taken),
        };
        let nominated = nominated.collect();
        Ok((Cycle { view, of, disks, only, nominated }, state))
    }

    /// A pod comes to a node, or leaves it.
    fn change(&self, state: &mut State, info: &NodeInfo<'v>, other: &Placed<'v>, by: i64) {
        if let Some(spread) = &mut state.spread {
            spread.change(&self.of, info, other, by);
        }
        if let Some(affinity) = &mut state.affinity {
            affinity.change(self.view, &self.of, info, other, by);
        }
        if let Some(shared) = &mut state.shared {
            *shared += by * self.disks.shares(other);
        }
    }

    pub(super) fn add(&self, state: &mut State, info: &mut NodeInfo<'v>, other: Placed<'v>) {
        info.add(other);
        self.change(state, info, &other, 1);
    }

    pub(super) fn remove(&self, state: &mut State, info: &mut NodeInfo<'v>, other: &Placed<'v>) {
        info.remove(other);
        self.change(state, info, other, -1);
    }

    /// Whether the pod can run there, with those that the node is kept for, and without them.
    pub(super) fn filter(&self, state: &State, info: &NodeInfo<'v>) -> Result<(), Rejection> {
        let mut kept = self.nominated.iter().filter(|pod| pod.pod.placing.nominated == info.name);
        if let Some(first) = kept.next() {
            branch!(SchedulerKeptForOthers);
            let (mut state, mut info) = (state.clone(), info.clone());
            for other in std::iter::once(first).chain(kept) {
                self.add(&mut state, &mut info, *other);
            }
            self.filter_as_is(&state, &info)?;
        }
        self.filter_as_is(state, info)
    }

    fn filter_as_is(&self, state: &State, info: &NodeInfo<'v>) -> Result<(), Rejection> {
        let pod = self.of.pod;
        let marked = || Taint {
            key: "node.kubernetes.io/unschedulable".into(),
            effect: "NoSchedule".into(),
            ..Taint::default()
        };
        if info.node.unschedulable && !tolerates(pod, &marked()) {
            branch!(SchedulerCordoned);
            return Err(Rejection::final_for(UNSCHEDULABLE));
        }
        if info.node.repels(pod) {
            branch!(SchedulerTainted);
            return Err(Rejection::final_for(TAINTED));
        }
        if !is_selected(pod, &info.name, info.labels) {
            branch!(SchedulerNotSelected);
            return Err(Rejection::final_for(NOT_SELECTED));
        }
        if has_port_conflict(&self.of, info) {
            branch!(SchedulerPortTaken);
            return Err(Rejection::of(PORTS));
        }
        has_room(&pod.requests.all, info)?;
        if state.shared.is_some() {
            disks::conflicts(&self.of, info)?;
        }
        if state.shared.is_some_and(|count| count > 0) {
            return Err(disks::in_use());
        }
        if !pod.claims.is_empty() {
            self.disks.filter(self.view, info)?;
        }
        if let Some(spread) = &state.spread {
            spread.filter(&self.of, info)?;
        }
        if let Some(affinity) = &state.affinity {
            affinity.filter(self.view, &self.of, info)?;
        }
        Ok(())
    }
}

/// NodePorts: an address of all zeros is every address.
fn has_port_conflict(of: &Placed<'_>, info: &NodeInfo<'_>) -> bool {
    const ALL: &str = "0.0.0.0";
    of.pod.placing.host_ports.iter().any(|(address, protocol, port)| {
        let mut taken = info.pods().iter().flat_map(|other| &other.pod.placing.host_ports);
        taken.any(|(other, of, number)| {
            let same = other == address || **other == *ALL || **address == *ALL;
            same && of == protocol && number == port
        })
    })
}

/// NodeResourcesFit. Errors: all that there is too little of.
fn has_room(asked: &Resources, info: &NodeInfo<'_>) -> Result<(), Rejection> {
    let (mut reasons, mut resolvable) = (Vec::new(), true);
    if info.load.pods as i64 + 1 > info.node.pods {
        branch!(SchedulerTooManyPods);
        reasons.push("Too many pods".to_owned());
    }
    let (has, used) = (&info.node.allocatable, &info.load.requested);
    let mut need = |name: &str, wants: i64, has: i64, used: i64| {
        if wants > 0 && wants > has - used {
            branch!(SchedulerInsufficient);
            reasons.push(format!("Insufficient {name}"));
            resolvable &= wants <= has;
        }
    };
    if !asked.is_empty() {
        need("cpu", asked.cpu_milli, has.cpu_milli, used.cpu_milli);
        need("memory", asked.memory_bytes, has.memory_bytes, used.memory_bytes);
        let storage = (asked.ephemeral_bytes, has.ephemeral_bytes, used.ephemeral_bytes);
        need("ephemeral-storage", storage.0, storage.1, storage.2);
        for (name, wants) in &asked.others {
            let of = |amounts: &Resources| amounts.others.get(name).copied().unwrap_or(0);
            need(name, *wants, of(has), of(used));
        }
    }
    if reasons.is_empty() { Ok(()) } else { Err(Rejection { reasons, resolvable }) }
}

/// The pods' disruption budgets, as preemption sees them.
pub(super) fn budgets(view: &View) -> Vec<(Text, &crate::disruption::Budget)> {
    let resource = trace::GroupResource::new("policy", "poddisruptionbudgets");
    let all = view.list(&resource, "").filter_map(|(key, object)| match &object.body {
        Body::Budget(budget) => Some((key.namespace, &**budget)),
        _ => None,
    });
    all.collect()
}
