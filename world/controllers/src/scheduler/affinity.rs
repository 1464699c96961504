//! InterPodAffinity: pods want to be near others, or away from them.

use std::collections::BTreeMap;

use super::{
    filter::Rejection,
    placing::PodTerm,
    snapshot::{NodeInfo, Placed},
};
use crate::{object::Text, view::View};

const AFFINITY: &str = "node(s) didn't match pod affinity rules";
const ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
const OF_OTHERS: &str = "node(s) didn't satisfy existing pods anti-affinity rules";
/// What a required affinity of a pod that is there already counts for another one that it means
/// (`hardPodAffinityWeight`).
const REQUIRED_WEIGHT: i64 = 1;

/// How many pods, by label of their nodes and its value.
type Counts = BTreeMap<(Text, Text), i64>;

/// What the pods that are there say of the pod, and the pod of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affinity {
    avoid_it: Counts,
    wanted: Counts,
    avoided: Counts,
}

fn matches(view: &View, term: &PodTerm, of: &Placed<'_>, other: &Placed<'_>) -> bool {
    term.matches(view, &of.key.namespace, (&other.key.namespace, &other.meta.labels))
}

/// Whether the pod wants this one, by all its terms (`podMatchesAllAffinityTerms`).
pub(super) fn wants(view: &View, of: &Placed<'_>, other: &Placed<'_>) -> bool {
    let terms = &of.pod.placing.wants;
    !terms.is_empty() && terms.iter().all(|term| matches(view, term, of, other))
}

fn count(counts: &mut Counts, info: &NodeInfo<'_>, term: &PodTerm, by: i64) {
    let Some(value) = info.labels.get(&term.topology) else { return };
    let pair = (term.topology.clone(), value.clone());
    let sum = counts.entry(pair.clone()).or_default();
    *sum += by;
    if *sum == 0 {
        counts.remove(&pair);
    }
}

impl Affinity {
    /// None where nothing of it concerns the pod (PreFilter).
    pub(super) fn new(view: &View, of: &Placed<'_>, nodes: &[NodeInfo<'_>]) -> Option<Affinity> {
        let none = Counts::new;
        let mut all = Affinity { avoid_it: none(), wanted: none(), avoided: none() };
        let placing = &of.pod.placing;
        let concerns = !placing.wants.is_empty() || !placing.avoids.is_empty();
        for info in nodes {
            let mut count = |other: &Placed<'_>| all.change(view, of, info, other, 1);
            match concerns {
                true => info.pods().iter().for_each(count),
                false => info.with_terms().for_each(|other| count(&other)),
            }
        }
        (concerns || !all.avoid_it.is_empty()).then_some(all)
    }

    /// A pod comes to a node, or leaves it (`updateWithPod`).
    pub(super) fn change(
        &mut self,
        view: &View,
        of: &Placed<'_>,
        info: &NodeInfo<'_>,
        other: &Placed<'_>,
        by: i64,
    ) {
        for term in &other.pod.placing.avoids {
            if matches(view, term, other, of) {
                count(&mut self.avoid_it, info, term, by);
            }
        }
        if wants(view, of, other) {
            for term in &of.pod.placing.wants {
                count(&mut self.wanted, info, term, by);
            }
        }
        for term in &of.pod.placing.avoids {
            if matches(view, term, of, other) {
                count(&mut self.avoided, info, term, by);
            }
        }
    }

    pub(super) fn filter(
        &self,
        view: &View,
        of: &Placed<'_>,
        info: &NodeInfo<'_>,
    ) -> Result<(), Rejection> {
        let there = |counts: &Counts, term: &PodTerm| {
            let value = info.labels.get(&term.topology)?;
            counts.get(&(term.topology.clone(), value.clone())).copied()
        };
        let placing = &of.pod.placing;
        let labelled = placing.wants.iter().all(|term| info.labels.contains_key(&term.topology));
        let near = placing.wants.iter().all(|term| there(&self.wanted, term).unwrap_or(0) > 0);
        // The first of a group that want each other goes anywhere.
        let first = || self.wanted.is_empty() && wants(view, of, of);
        if !labelled || !near && !first() {
            branch!(SchedulerAffinityUnmet);
            return Err(Rejection::final_for(AFFINITY));
        }
        if placing.avoids.iter().any(|term| there(&self.avoided, term).unwrap_or(0) > 0) {
            branch!(SchedulerAvoids);
            return Err(Rejection::of(ANTI_AFFINITY));
        }
        let pair = |(key, value): (&Text, &Text)| (key.clone(), value.clone());
        let avoided =
            |found: (&Text, &Text)| self.avoid_it.get(&pair(found)).is_some_and(|count| *count > 0);
        if !self.avoid_it.is_empty() && info.labels.iter().any(avoided) {
            branch!(SchedulerAvoided);
            return Err(Rejection::of(OF_OTHERS));
        }
        Ok(())
    }
}

/// Scores of the feasible nodes, from 0 to 100.
pub(super) fn score(
    view: &View,
    of: &Placed<'_>,
    all: &[NodeInfo<'_>],
    feasible: &[&NodeInfo<'_>],
) -> Vec<i64> {
    let mut sums = Counts::new();
    for info in all {
        let mut add = |term: &PodTerm, weight: i64| {
            if let Some(value) = info.labels.get(&term.topology) {
                *sums.entry((term.topology.clone(), value.clone())).or_default() += weight;
            }
        };
        let each = match of.pod.placing.prefers.is_empty() {
            true => info.with_terms().collect(),
            false => info.pods().to_vec(),
        };
        for other in &each {
            for (weight, term) in &of.pod.placing.prefers {
                if matches(view, term, of, other) {
                    add(term, *weight);
                }
            }
            for (weight, term) in &other.pod.placing.prefers {
                if matches(view, term, other, of) {
                    add(term, *weight);
                }
            }
            for term in &other.pod.placing.wants {
                if matches(view, term, other, of) {
                    add(term, REQUIRED_WEIGHT);
                }
            }
        }
    }
    if !sums.is_empty() {
        branch!(SchedulerAffinityScored);
    }
    let raw = |info: &&NodeInfo<'_>| -> i64 {
        let of_label =
            |(key, value): (&Text, &Text)| sums.get(&(key.clone(), value.clone())).copied();
        if sums.is_empty() { 0 } else { info.labels.iter().filter_map(of_label).sum() }
    };
    let scores: Vec<i64> = feasible.iter().map(raw).collect();
    let least = scores.iter().copied().min().unwrap_or(0);
    let range = scores.iter().copied().max().unwrap_or(0) - least;
    let normal = |score: &i64| match range {
        0 => 0,
        _ => (100.0 * ((score - least) as f64 / range as f64)) as i64,
    };
    scores.iter().map(normal).collect()
}
