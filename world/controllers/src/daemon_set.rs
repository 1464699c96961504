//! The DaemonSet controller (`pkg/controller/daemon`, Kubernetes 1.36): a pod on each node that it is meant for,
//! updated by rolling, with surge or without, or when a pod is deleted; history as ControllerRevisions.
//!
//! A pod that failed is deleted when it is a second old; upstream deletes the first at once and waits 1 s, 2 s and so
//! on, up to 15 min, after each further one on the same node, which it remembers. Who could notice: whoever counts
//! how often a pod that always fails is started.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    deployment::Amount,
    history,
    object::{Body, Labels, Meta, Owner, Text},
    pod::{Pod, Toleration},
    read,
    replica_set::{candidates, claim, controller_ref, owners_of},
    request::Request,
    scheduler::{Node, nodes, tolerates},
    selector::Selector,
    template::Template,
    view::View,
};

mod nodes_pods;
mod revisions;
mod rolling;

use nodes_pods::{Member, tolerations};

/// A DaemonSet.
#[derive(Debug, Clone, PartialEq)]
pub struct DaemonSet {
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// `spec.selector`.
    pub selector: Selector,
    /// `spec.template`.
    pub template: Template,
    /// The template read as a pod, with the tolerations that its pods get.
    pub pod: Pod,
    /// `spec.updateStrategy.rollingUpdate`; none for OnDelete.
    pub rolling: Option<Rolling>,
    /// `spec.revisionHistoryLimit`.
    pub history_limit: i64,
    /// `status`.
    pub status: DaemonSetStatus,
}

/// `spec.updateStrategy.rollingUpdate`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rolling {
    /// `maxSurge`.
    pub surge: Amount,
    /// `maxUnavailable`.
    pub unavailable: Amount,
}

/// A DaemonSet's status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DaemonSetStatus {
    /// `desiredNumberScheduled`.
    pub desired: i64,
    /// `currentNumberScheduled`.
    pub current: i64,
    /// `numberMisscheduled`.
    pub misscheduled: i64,
    /// `numberReady`.
    pub ready: i64,
    /// `updatedNumberScheduled`.
    pub updated: i64,
    /// `numberAvailable`.
    pub available: i64,
    /// `numberUnavailable`.
    pub unavailable: i64,
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// `collisionCount`.
    pub collisions: Option<i64>,
}

impl DaemonSet {
    pub(crate) fn read(object: &Value) -> DaemonSet {
        let (spec, status) = (&object["spec"], &object["status"]);
        let mut pod = Pod::read(&spec["template"]);
        let more = tolerations(spec["template"]["spec"]["hostNetwork"] == true);
        pod.tolerations.extend(more.into_iter().map(|(key, effect)| Toleration {
            key: key.into(),
            exists: true,
            value: "".into(),
            effect: effect.into(),
            seconds: None,
        }));
        let strategy = &spec["updateStrategy"];
        let amount = |field: &str| Amount::read(&strategy["rollingUpdate"][field]);
        let number = |field: &str| read::number(status, field);
        DaemonSet {
            min_ready_seconds: read::number(spec, "minReadySeconds"),
            selector: Selector::read(&spec["selector"]),
            template: Template::read(&spec["template"]),
            pod,
            rolling: (strategy["type"] == "RollingUpdate").then(|| Rolling {
                surge: amount("maxSurge"),
                unavailable: amount("maxUnavailable"),
            }),
            history_limit: read::number(spec, "revisionHistoryLimit"),
            status: DaemonSetStatus {
                desired: number("desiredNumberScheduled"),
                current: number("currentNumberScheduled"),
                misscheduled: number("numberMisscheduled"),
                ready: number("numberReady"),
                updated: number("updatedNumberScheduled"),
                available: number("numberAvailable"),
                unavailable: number("numberUnavailable"),
                observed_generation: number("observedGeneration"),
                collisions: status.get("collisionCount").and_then(Value::as_i64),
            },
        }
    }
}

impl DaemonSet {
    /// Whether a pod should be started on a node, and may stay there (`NodeShouldRunDaemonPod`).
    fn fits(&self, name: &Text, labels: &Labels, node: &Node) -> (bool, bool) {
        let wanted = &self.pod;
        let fits = (wanted.node.is_empty() || wanted.node == *name)
            && wanted.node_selector.iter().all(|(name, value)| labels.get(name) == Some(value))
            && wanted.affinity.as_ref().is_none_or(|affinity| affinity.allows(name, labels));
        let repels = |effects: &[&str]| {
            let mut taints = node.taints.iter().filter(|taint| effects.contains(&&*taint.effect));
            taints.any(|taint| !tolerates(wanted, taint))
        };
        (fits && !repels(&["NoSchedule", "NoExecute"]), fits && !repels(&["NoExecute"]))
    }
}

pub(crate) fn daemon_sets() -> GroupResource {
    GroupResource::new("apps", "daemonsets")
}

/// What one reconcile knows.
struct Work<'v, 'c, 'r> {
    view: &'v View,
    key: &'v ObjectKey,
    meta: &'v Meta,
    set: &'v DaemonSet,
    owner: Owner,
    now: Time,
    calls: &'c mut Calls<'r>,
    /// Nodes by name: the node, whether a pod should be started there and may stay there.
    nodes: BTreeMap<Text, (bool, bool)>,
    /// Pods by the node that they are on or meant for.
    pods: BTreeMap<Text, Vec<Member<'v>>>,
    /// The `controller-revision-hash` of pods of the present template.
    hash: Text,
    next: Option<Duration>,
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::DaemonSet(set) = &object.body else { return Ok(None) };
    if set.selector.is_empty() || object.meta.is_deleted() {
        return Ok(None);
    }
    let owner = controller_ref("apps/v1", "DaemonSet", key, &object.meta);
    let mut work = Work {
        view,
        key,
        meta: &object.meta,
        set,
        owner,
        now,
        calls,
        nodes: BTreeMap::new(),
        pods: BTreeMap::new(),
        hash: "".into(),
        next: None,
    };
    let old = work.construct_history()?;
    work.find_pods()?;
    work.find_nodes();
    let failed = work.update(&old)?;
    work.tell()?;
    match failed {
        Some(why) => Err(Stop::Failed(why)),
        None => Ok(work.next),
    }
}

impl<'v> Work<'v, '_, '_> {
    fn find_pods(&mut self) -> Result<(), Stop> {
        let resource = GroupResource::new("", "pods");
        let (view, set) = (self.view, self.set);
        for (key, object) in candidates(view, &resource, &self.key.namespace, &self.meta.uid) {
            let Body::Pod(pod) = &object.body else { continue };
            if !claim(&key, object, &set.selector, &self.owner, false, self.calls)? {
                continue;
            }
            let node = pod.target_node();
            if let Some(node) = node {
                self.pods.entry(node).or_default().push(Member { key, object, pod });
            }
        }
        for pods in self.pods.values_mut() {
            pods.sort_by_key(|member| {
                let unbound = member.pod.node.is_empty();
                (unbound, member.object.meta.created, member.key.name.clone())
            });
        }
        Ok(())
    }

    /// Which nodes are to run a pod.
    fn find_nodes(&mut self) {
        let view = self.view;
        for (key, object) in view.list(&nodes(), "") {
            let Body::Node(node) = &object.body else { continue };
            let fits = self.set.fits(&key.name, &object.meta.labels, node);
            self.nodes.insert(key.name, fits);
        }
    }

    /// Pods on a node, without those that have ended and go.
    fn on<'a>(&'a self, node: &str) -> impl Iterator<Item = &'a Member<'v>> {
        let pods = self.pods.get(node).into_iter().flatten();
        pods.filter(|member| !(member.pod.has_ended() && member.object.meta.is_deleted()))
    }

    /// Makes and deletes pods, then updates some; then forgets old revisions. Why that failed.
    fn update(&mut self, old: &[history::Item]) -> Result<Option<String>, Stop> {
        let (missing, surplus) = self.wanted();
        let acts = !missing.is_empty() || !surplus.is_empty();
        let mut failed = self.sync(missing, surplus)?;
        // What was made and deleted is to be seen first.
        if !acts && let Some(rolling) = &self.set.rolling {
            let (missing, surplus) = self.roll(rolling);
            failed = self.sync(missing, surplus)?;
        }
        if failed.is_none() {
            self.forget(old)?;
        }
        Ok(failed)
    }

    fn is_available(&self, member: &Member<'_>) -> bool {
        let wanted = Duration::from_secs(self.set.min_ready_seconds.unsigned_abs());
        member.pod.ready_since.is_some_and(|since| self.now.since(since) >= wanted)
    }

    /// `updateDaemonSetStatus`.
    fn tell(&mut self) -> Result<(), Stop> {
        let mut status = DaemonSetStatus {
            observed_generation: self.meta.generation,
            collisions: self.set.status.collisions,
            ..DaemonSetStatus::default()
        };
        for (node, (starts, _)) in &self.nodes {
            let Some(first) = self.on(node).next() else {
                status.desired += i64::from(*starts);
                continue;
            };
            if !starts {
                branch!(DaemonMisscheduled);
                status.misscheduled += 1;
                continue;
            }
            status.desired += 1;
            status.current += 1;
            status.ready += i64::from(first.pod.ready_since.is_some());
            status.available += i64::from(self.is_available(first));
            status.updated += i64::from(self.is_updated(first));
        }
        status.unavailable = status.desired - status.available;
        if self.set.min_ready_seconds > 0 && status.ready != status.available {
            self.come_back(Duration::from_secs(self.set.min_ready_seconds.unsigned_abs()));
        }
        if status != self.set.status {
            let (key, revision) = (self.key.clone(), self.meta.revision);
            self.calls.must(|| Request::Update {
                key,
                revision,
                subresource: "status",
                fields: status.fields(),
            })?;
        }
        Ok(())
    }

    fn come_back(&mut self, after: Duration) {
        self.next = Some(self.next.map_or(after, |next| next.min(after)));
    }

    fn is_updated(&self, member: &Member<'_>) -> bool {
        let labels = &member.object.meta.labels;
        let generation = self.meta.annotations.get(revisions::GENERATION);
        labels.get(history::REVISION_LABEL) == Some(&self.hash)
            || generation.is_some() && labels.get(revisions::GENERATION_LABEL) == generation
    }
}

impl DaemonSetStatus {
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let number = |count: i64| if count == 0 { Value::Null } else { json!(count) };
        vec![
            ("/status/desiredNumberScheduled", json!(self.desired)),
            ("/status/currentNumberScheduled", json!(self.current)),
            ("/status/numberMisscheduled", json!(self.misscheduled)),
            ("/status/numberReady", json!(self.ready)),
            ("/status/updatedNumberScheduled", number(self.updated)),
            ("/status/numberAvailable", number(self.available)),
            ("/status/numberUnavailable", number(self.unavailable)),
            ("/status/observedGeneration", number(self.observed_generation)),
        ]
    }
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let resource = &change.key.resource;
    if *resource == daemon_sets() {
        return vec![Affected::now(change.key)];
    }
    if *resource == nodes() {
        return by_node(view, change);
    }
    let pods = *resource == GroupResource::new("", "pods");
    if !pods && *resource != history::revisions() {
        return vec![];
    }
    let objects = [change.before, change.after].into_iter().flatten();
    let mut affected: Vec<Affected> =
        objects.flat_map(|object| owners_of(view, &daemon_sets(), change.key, object)).collect();
    affected.dedup();
    affected
}

/// A new node, or one with other labels or taints, concerns those for which it makes a difference (`syncNodeUpdate`;
/// a set that becomes misscheduled learns of that later, as upstream).
fn by_node(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let Some(after) = change.after else { return vec![] };
    let Body::Node(node) = &after.body else { return vec![] };
    if let Some(before) = change.before
        && let Body::Node(old) = &before.body
        && (&before.meta.labels, &old.taints) == (&after.meta.labels, &node.taints)
    {
        return vec![];
    }
    let mut affected = Vec::new();
    for (key, object) in view.list(&daemon_sets(), "") {
        let Body::DaemonSet(set) = &object.body else { continue };
        let (starts, stays) = set.fits(&change.key.name, &after.meta.labels, node);
        let there = view.on_node(&change.key.name).any(|(_, pod)| {
            pod.meta.controller().is_some_and(|owner| owner.uid == object.meta.uid)
        });
        let leaves = there && (!stays || set.status.misscheduled > 0);
        if leaves || starts && !there {
            affected.push(Affected::now(&key));
        }
    }
    affected
}
