//! Kivi's seven intents, judged on what the real programs did, as its table says (parity): with counters and thresholds,
//! not over runs without end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{Change, Commit, ObjectKey};

use super::story::{Story, condition, is_alive, node_of};

/// How often something comes again until it counts as endless (Kivi's `LOOP_TIMES`).
const LOOP_TIMES: usize = 3;

/// An intent, by its external name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// The scheduler always finds a node.
    PodAlwaysSchedulable,
    /// No node stops being ready three times.
    NoKernelPanic,
    /// The autoscaler does not go to its maximum and then to its minimum, or three below the maximum.
    NoOscillationReplicaNum,
    /// Once there are as many pods as the autoscaler's minimum (without one: as the Deployment asks for at first), there
    /// are never fewer.
    ReplicaNumAlwaysMeetMin,
    /// Once there are `replicas` pods, there are never fewer.
    ReplicaNumAlwaysMeetExp,
    /// Pods are not evicted and made anew three times.
    NoOscillationEviction,
    /// No pod comes to a node that then has over `maxSkew` more than another ready one.
    PodBalanceAcrossNode,
}

impl Intent {
    /// Whether it is about a Deployment.
    pub fn is_of_deployment(self) -> bool {
        !matches!(self, Intent::PodAlwaysSchedulable | Intent::NoKernelPanic)
    }
}

/// An intent, watched along a run.
#[derive(Debug, Clone)]
pub struct Watch {
    /// Which.
    pub intent: Intent,
    /// Namespace and name of its Deployment.
    pub deployment: (String, String),
    /// Of [`Intent::ReplicaNumAlwaysMeetExp`].
    pub replicas: i64,
    /// Of [`Intent::PodBalanceAcrossNode`].
    pub max_skew: i64,
    seen: Seen,
}

/// What was seen so far.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// The threshold was reached.
    reached: bool,
    /// The Deployment's first `spec.replicas`.
    first: Option<i64>,
    /// A pod was evicted since one was made.
    evicted: bool,
    /// Times that one was evicted and one was made.
    rounds: usize,
    /// By node: how often it stopped being ready.
    panics: BTreeMap<String, usize>,
}

impl Watch {
    /// It, from the beginning.
    pub fn new(
        intent: Intent,
        deployment: (String, String),
        replicas: i64,
        max_skew: i64,
    ) -> Watch {
        Watch { intent, deployment, replicas, max_skew, seen: Seen::default() }
    }

    /// Looks at where a run begins.
    pub fn begins(&mut self, story: &Story) {
        self.seen.first = self.asked(story);
        self.meets(story);
    }

    /// Looks at a write after which all is as in `story`; `before` is its object before. Says how it is violated.
    pub fn saw(
        &mut self,
        story: &Story,
        before: Option<&Value>,
        commit: &Commit,
    ) -> Option<String> {
        match self.intent {
            Intent::PodAlwaysSchedulable => unschedulable(commit),
            Intent::NoKernelPanic => self.panics(before, commit),
            Intent::NoOscillationReplicaNum => self.oscillates(story),
            Intent::ReplicaNumAlwaysMeetMin | Intent::ReplicaNumAlwaysMeetExp => self.meets(story),
            Intent::NoOscillationEviction => self.evicts(story, before, commit),
            Intent::PodBalanceAcrossNode => self.unbalanced(story, before, commit),
        }
    }

    fn panics(&mut self, before: Option<&Value>, commit: &Commit) -> Option<String> {
        let ready =
            |node: &Value| condition(node, "Ready").is_some_and(|one| one["status"] == "True");
        let failed = *commit.key.resource.resource == *"nodes"
            && before.is_some_and(ready)
            && !ready(&commit.object);
        if !failed {
            return None;
        }
        let times = self.seen.panics.entry(commit.key.name.to_string()).or_default();
        *times += 1;
        (*times >= LOOP_TIMES).then(|| format!("node {} failed {times} times", commit.key.name))
    }

    fn oscillates(&mut self, story: &Story) -> Option<String> {
        let (now, (min, max)) = (self.asked(story)?, self.bounds(story)?);
        if now >= max {
            self.seen.reached = true;
        }
        let falls = self.seen.reached && (now <= min || now <= max - 3) && now < max;
        falls.then(|| format!("replicas went to {max}, the maximum, and then to {now}"))
    }

    fn meets(&mut self, story: &Story) -> Option<String> {
        let wanted = match self.intent {
            Intent::ReplicaNumAlwaysMeetExp => self.replicas,
            _ => self.bounds(story).map(|(min, _)| min).or(self.seen.first)?,
        };
        let pods = self.pods(story).count() as i64;
        if pods >= wanted {
            self.seen.reached = true;
            return None;
        }
        self.seen.reached.then(|| format!("{pods} pods, after there were {wanted}"))
    }

    fn evicts(&mut self, story: &Story, before: Option<&Value>, commit: &Commit) -> Option<String> {
        if !self.has_pod(story, &commit.key, &commit.object) {
            return None;
        }
        if commit.change == Change::Created {
            if !std::mem::take(&mut self.seen.evicted) {
                return None;
            }
            self.seen.rounds += 1;
            let rounds = self.seen.rounds;
            return (rounds >= LOOP_TIMES)
                .then(|| format!("a pod was evicted and another one made {rounds} times"));
        }
        let goes = before.is_some_and(is_alive)
            && (commit.change == Change::Deleted || !is_alive(&commit.object));
        // Evictions and taints say so before the pod goes; controllers that delete pods don't.
        let disturbed = condition(&commit.object, "DisruptionTarget");
        if goes && disturbed.is_some_and(|one| one["status"] == "True") {
            self.seen.evicted = true;
        }
        None
    }

    fn unbalanced(&self, story: &Story, before: Option<&Value>, commit: &Commit) -> Option<String> {
        let comes = self.has_pod(story, &commit.key, &commit.object)
            && commit.change != Change::Deleted
            && node_of(&commit.object).is_some()
            && before.is_none_or(|before| node_of(before).is_none());
        if !comes {
            return None;
        }
        let mut counts: BTreeMap<&str, i64> = story.ready_nodes().map(|node| (node, 0)).collect();
        for node in self.pods(story).filter_map(node_of) {
            if let Some(count) = counts.get_mut(node) {
                *count += 1;
            }
        }
        let (most, least) = (counts.values().max()?, counts.values().min()?);
        (most - least > self.max_skew).then(|| {
            let counts: Vec<String> =
                counts.iter().map(|(node, count)| format!("{node}: {count}")).collect();
            format!("pods by node: {}", counts.join(", "))
        })
    }

    /// Its name and what it is about.
    pub fn shown(&self) -> String {
        let name = serde_json::to_value(self.intent).unwrap_or_default();
        let name = name.as_str().unwrap_or_default();
        match self.intent.is_of_deployment() {
            true => format!("{name} of {}", self.deployment.1),
            false => name.to_owned(),
        }
    }

    fn names(&self) -> (&str, &str) {
        (&self.deployment.0, &self.deployment.1)
    }

    /// The Deployment's `spec.replicas`.
    fn asked(&self, story: &Story) -> Option<i64> {
        story.deployment(self.names())?["spec"]["replicas"].as_i64()
    }

    /// `minReplicas` and `maxReplicas` of its autoscaler.
    fn bounds(&self, story: &Story) -> Option<(i64, i64)> {
        let spec = &story.autoscaler(self.names())?["spec"];
        Some((spec["minReplicas"].as_i64().unwrap_or(1), spec["maxReplicas"].as_i64()?))
    }

    /// Its pods that are to stay.
    fn pods<'s>(&self, story: &'s Story) -> impl Iterator<Item = &'s Value> {
        story.pods(self.names()).filter(|pod| is_alive(pod))
    }

    fn has_pod(&self, story: &Story, key: &ObjectKey, object: &Value) -> bool {
        story.is_pod(key, object, self.names())
    }
}

/// The scheduler says of a pod that no node will do.
fn unschedulable(commit: &Commit) -> Option<String> {
    if *commit.key.resource.resource != *"pods" || commit.change == Change::Deleted {
        return None;
    }
    let scheduled = condition(&commit.object, "PodScheduled")?;
    let refused = scheduled["status"] == "False" && scheduled["reason"] == "Unschedulable";
    refused.then(|| {
        let message = scheduled["message"].as_str().unwrap_or_default();
        format!("pod {}: {message}", commit.key.name)
    })
}

#[cfg(test)]
mod tests;
