//! PodTopologySpread: pods of a kind are to be spread over the values of a label of nodes.

use std::collections::{BTreeMap, BTreeSet};

use trace::{GroupResource, ObjectKey};

use super::{
    filter::Rejection,
    placing::Constraint,
    snapshot::{NodeInfo, Placed},
};
use crate::{
    node_affinity::NodeAffinity,
    object::{Body, Labels, Text},
    pod::Pod,
    selector::{Expression, Selector},
    view::{Alike, View},
};

const MISMATCH: &str = "node(s) didn't match pod topology spread constraints";
const NO_LABEL: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";
const HOSTNAME: &str = "kubernetes.io/hostname";
/// `systemDefaultConstraints`: label and skew.
const DEFAULTS: [(&str, i64); 2] = [(HOSTNAME, 3), ("topology.kubernetes.io/zone", 5)];

/// How many pods that a constraint selects there are, by the values of its label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spread {
    constraints: Vec<Constraint>,
    counts: Vec<BTreeMap<Text, i64>>,
}

fn has_labels(labels: &Labels, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|constraint| labels.contains_key(&constraint.topology))
}

/// Whether a constraint counts what is on a node (`matchNodeInclusionPolicies`).
fn includes(constraint: &Constraint, pod: &Pod, info: &NodeInfo<'_>) -> bool {
    (!constraint.by_affinity || is_selected(pod, &info.name, info.labels))
        && (!constraint.by_taints || !info.node.repels(pod))
}

/// The pod's node selector and required node affinity.
pub(crate) fn is_selected(pod: &Pod, name: &Text, labels: &Labels) -> bool {
    pod.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        && pod.affinity.as_ref().is_none_or(|affinity: &NodeAffinity| affinity.allows(name, labels))
}

/// `countPodsMatchSelector`.
fn count(constraint: &Constraint, namespace: &Text, info: &NodeInfo<'_>) -> i64 {
    if constraint.is_empty() {
        return 0;
    }
    let counts = |alike: &Alike| {
        !alike.deleted && alike.namespace == *namespace && constraint.selects(&alike.labels)
    };
    let there = info.counted().filter(|(alike, _)| counts(alike)).map(|(_, pods)| pods);
    there.sum::<usize>() as i64
}

impl Spread {
    /// Of the constraints that must hold; none where the pod has none (PreFilter).
    pub(super) fn new(of: &Placed<'_>, nodes: &[NodeInfo<'_>]) -> Option<Spread> {
        let required = of.pod.placing.spread.iter().filter(|one| one.required);
        let constraints: Vec<Constraint> = required.cloned().collect();
        if constraints.is_empty() {
            return None;
        }
        let mut counts = vec![BTreeMap::new(); constraints.len()];
        for info in nodes.iter().filter(|info| has_labels(info.labels, &constraints)) {
            for (constraint, counts) in constraints.iter().zip(&mut counts) {
                if includes(constraint, of.pod, info) {
                    let value = info.labels[&constraint.topology].clone();
                    *counts.entry(value).or_default() += count(constraint, &of.key.namespace, info);
                }
            }
        }
        Some(Spread { constraints, counts })
    }

    /// A pod comes to a node, or leaves it (`updateWithPod`).
    pub(super) fn change(
        &mut self,
        of: &Placed<'_>,
        info: &NodeInfo<'_>,
        other: &Placed<'_>,
        by: i64,
    ) {
        if other.key.namespace != of.key.namespace || !has_labels(info.labels, &self.constraints) {
            return;
        }
        for (constraint, counts) in self.constraints.iter().zip(&mut self.counts) {
            if constraint.selects(&other.meta.labels) && includes(constraint, of.pod, info) {
                *counts.entry(info.labels[&constraint.topology].clone()).or_default() += by;
            }
        }
    }

    pub(super) fn filter(&self, of: &Placed<'_>, info: &NodeInfo<'_>) -> Result<(), Rejection> {
        for (constraint, counts) in self.constraints.iter().zip(&self.counts) {
            let Some(value) = info.labels.get(&constraint.topology) else {
                branch!(SchedulerSpreadNoLabel);
                return Err(Rejection::final_for(NO_LABEL));
            };
            let few = counts.len() < constraint.min_domains;
            let least = if few { 0 } else { counts.values().copied().min().unwrap_or(0) };
            let itself = i64::from(constraint.selects(&of.meta.labels));
            let there = counts.get(value).copied().unwrap_or(0);
            if there + itself - least > constraint.max_skew {
                branch!(SchedulerSpreadSkewed);
                return Err(Rejection::of(MISMATCH));
            }
        }
        Ok(())
    }
}

/// What the scores go by: the pod's own constraints, or those that everybody has (PreScore).
fn preferred(view: &View, of: &Placed<'_>) -> Vec<Constraint> {
    if !of.pod.placing.spread.is_empty() {
        let wished = of.pod.placing.spread.iter().filter(|one| !one.required);
        return wished.cloned().collect();
    }
    let selector = default_selector(view, of);
    if selector.is_empty() {
        return vec![];
    }
    branch!(SchedulerSpreadDefault);
    let of_label = |(label, max_skew): (&str, i64)| Constraint {
        max_skew,
        topology: label.into(),
        selector: Some(selector.clone()),
        min_domains: 1,
        by_affinity: true,
        ..Constraint::default()
    };
    DEFAULTS.map(of_label).into()
}

/// By what the pod's Services, and its ReplicaSet or StatefulSet, select it (`helper.DefaultSelector`).
/// ReplicationControllers are not there.
fn default_selector(view: &View, of: &Placed<'_>) -> Selector {
    let mut selector = Selector::default();
    for (_, service) in view.list(&GroupResource::new("", "services"), &of.key.namespace) {
        let Body::Service(service) = &service.body else { continue };
        let Some(labels) = &service.selector else { continue };
        if labels.iter().all(|(key, value)| of.meta.labels.get(key) == Some(value)) {
            selector.labels.extend(labels.clone());
        }
    }
    let Some(owner) = of.meta.controller() else { return selector };
    let resource = match (&*owner.api_version, &*owner.kind) {
        ("apps/v1", "ReplicaSet") => "replicasets",
        ("apps/v1", "StatefulSet") => "statefulsets",
        _ => return selector,
    };
    let key = ObjectKey::new(GroupResource::new("apps", resource), &of.key.namespace, &owner.name);
    if let Some(theirs) = view.get(&key).and_then(|object| object.body.selector()) {
        // One more condition each: what both say stays said.
        let equal = theirs.labels.iter().map(|(key, value)| Expression {
            key: key.clone(),
            operator: "In".into(),
            values: vec![value.clone()],
        });
        selector.expressions.extend(equal.chain(theirs.expressions.iter().cloned()));
    }
    selector
}

/// Scores of the feasible nodes, from 0 to 100.
pub(super) fn score(
    view: &View,
    of: &Placed<'_>,
    all: &[NodeInfo<'_>],
    feasible: &[&NodeInfo<'_>],
) -> Vec<i64> {
    let constraints = preferred(view, of);
    if constraints.is_empty() {
        return vec![0; feasible.len()];
    }
    branch!(SchedulerSpreadScored);
    // Nodes without a zone are spread over all the same, unless the pod says itself what it is to be spread over.
    let strict = !of.pod.placing.spread.is_empty();
    let ignored = |info: &NodeInfo<'_>| strict && !has_labels(info.labels, &constraints);
    let value = |info: &NodeInfo<'_>, constraint: &Constraint| {
        info.labels.get(&constraint.topology).cloned().unwrap_or_else(|| "".into())
    };
    let counted: Vec<&&NodeInfo<'_>> = feasible.iter().filter(|info| !ignored(info)).collect();
    let domains = constraints.iter().map(|constraint| {
        if *constraint.topology == *HOSTNAME {
            return (None, counted.len());
        }
        let values: BTreeSet<Text> = counted.iter().map(|info| value(info, constraint)).collect();
        let mut counts: BTreeMap<Text, i64> = values.into_iter().map(|value| (value, 0)).collect();
        for info in all.iter().filter(|info| !ignored(info)) {
            if includes(constraint, of.pod, info)
                && let Some(sum) = counts.get_mut(&value(info, constraint))
            {
                *sum += count(constraint, &of.key.namespace, info);
            }
        }
        let size = counts.len();
        (Some(counts), size)
    });
    let domains: Vec<(Option<BTreeMap<Text, i64>>, usize)> = domains.collect();
    let raw = |info: &NodeInfo<'_>| {
        let mut score = 0.0;
        for (constraint, (counts, size)) in constraints.iter().zip(&domains) {
            let Some(value) = info.labels.get(&constraint.topology) else { continue };
            let there = match counts {
                Some(counts) => counts.get(value).copied().unwrap_or(0),
                None => count(constraint, &of.key.namespace, info),
            };
            // So that the counts of few large domains are not drowned by those of many small ones.
            let weight = ((size + 2) as f64).ln();
            score += there as f64 * weight + (constraint.max_skew - 1) as f64;
        }
        score.round() as i64
    };
    let scores: Vec<Option<i64>> =
        feasible.iter().map(|info| (!ignored(info)).then(|| raw(info))).collect();
    let most = scores.iter().flatten().copied().max().unwrap_or(0);
    let least = scores.iter().flatten().copied().min().unwrap_or(0);
    let normal = |score: &Option<i64>| match score {
        None => 0,
        Some(_) if most == 0 => 100,
        Some(score) => 100 * (most + least - score) / most,
    };
    scores.iter().map(normal).collect()
}
