//! Which pods nodes lack and which they have too many of (`podsShouldBeOnNode`, `syncNodes`).

use std::time::Duration;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{Work, revisions};
use crate::{
    calls::{Response, Stop},
    history::REVISION_LABEL,
    object::{Object, Text},
    pod::Pod,
    request::Request,
    write,
};

/// At most this many pods are made or deleted in one go (`BurstReplicas`).
const BURST: usize = 250;
/// A failed pod is deleted when it is so old.
const FAILED_STAYS: Duration = Duration::from_secs(1);

/// A pod of a DaemonSet.
#[derive(Clone)]
pub(super) struct Member<'v> {
    pub(super) key: ObjectKey,
    pub(super) object: &'v Object,
    pub(super) pod: &'v Pod,
}

/// Nodes that are to get a pod, and pods to delete.
pub(super) type Wanted<'v> = (Vec<Text>, Vec<Member<'v>>);

/// What the pods of a DaemonSet tolerate: keys and effects (`AddOrUpdateDaemonPodTolerations`).
pub(super) fn tolerations(host_network: bool) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ];
    if host_network {
        all.push(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    }
    all
}

impl<'v> Work<'v, '_, '_> {
    /// What each node lacks and has too much of.
    pub(super) fn wanted(&mut self) -> Wanted<'v> {
        let (mut missing, mut surplus) = (Vec::new(), Vec::new());
        let nodes: Vec<(Text, (bool, bool))> =
            self.nodes.iter().map(|(name, fits)| (name.clone(), *fits)).collect();
        for (node, (starts, stays)) in nodes {
            let pods: Vec<Member<'v>> = self.on(&node).cloned().collect();
            let living = pods.iter().filter(|pod| !pod.object.meta.is_deleted()).cloned();
            if starts && pods.is_empty() {
                branch!(DaemonStarts);
                missing.push(node);
            } else if stays {
                let (lacks, mut gone) = self.on_one(starts, living.collect());
                surplus.append(&mut gone);
                missing.extend(lacks.then_some(node));
            } else {
                branch!(DaemonLeaves);
                surplus.extend(living);
            }
        }
        // Meant for nodes that are gone, and on none.
        for (node, pods) in &self.pods {
            if !self.nodes.contains_key(node) {
                surplus.extend(pods.iter().filter(|pod| pod.pod.node.is_empty()).cloned());
            }
        }
        (missing, surplus)
    }

    /// A node where pods may stay.
    fn on_one(&mut self, starts: bool, living: Vec<Member<'v>>) -> (bool, Vec<Member<'v>>) {
        let (mut running, mut gone) = (Vec::new(), Vec::new());
        for pod in living {
            let age = self.now.since(pod.object.meta.created);
            match &*pod.pod.phase {
                "Failed" if age < FAILED_STAYS => {
                    self.come_back(FAILED_STAYS - age);
                }
                "Failed" | "Succeeded" => {
                    branch!(DaemonReplaces);
                    gone.push(pod);
                }
                _ => running.push(pod),
            }
        }
        let surges = self.set.rolling.as_ref().is_some_and(|rolling| rolling.surge.of(1, true) > 0);
        if !surges {
            gone.extend(running.drain(..).skip(1));
            return (false, gone);
        }
        if running.len() <= 1 {
            return (running.is_empty() && starts, gone);
        }
        // The oldest of the new and of the old template stay while the new one is not available.
        let (mut new, mut old): (Option<Member<'v>>, Option<Member<'v>>) = (None, None);
        for pod in running {
            let of_new = pod.object.meta.labels.get(REVISION_LABEL) == Some(&self.hash);
            let place = if of_new { &mut new } else { &mut old };
            match place {
                None => *place = Some(pod),
                Some(_) => gone.push(pod),
            }
        }
        if let (Some(new), Some(old)) = (new, old)
            && (old.pod.ready_since.is_none() || self.is_available(&new))
        {
            branch!(DaemonSurgeEnds);
            gone.push(old);
        }
        (false, gone)
    }

    /// Makes pods in batches that double, then deletes. Why that failed.
    pub(super) fn sync(
        &mut self,
        mut missing: Vec<Text>,
        mut surplus: Vec<Member<'v>>,
    ) -> Result<Option<String>, Stop> {
        missing.truncate(BURST);
        surplus.truncate(BURST);
        let (mut failed, mut next, mut batch) = (None, 0, 1);
        while next < missing.len() && failed.is_none() {
            let end = missing.len().min(next + batch);
            for node in &missing[next..end] {
                let (key, meta) = (self.key, self.meta);
                let (set, owner, hash) = (self.set, &self.owner, &self.hash);
                let sent = self.calls.send(|| Request::Create {
                    key: ObjectKey::new(GroupResource::new("", "pods"), &key.namespace, ""),
                    object: Box::new({
                        let generation = meta.annotations.get(revisions::GENERATION);
                        new_pod(write::pod(owner, &set.template), &key.name, node, hash, generation)
                    }),
                })?;
                if let Response::Refused { reason, message, .. } = sent
                    && **reason != *"NamespaceTerminating"
                {
                    failed.get_or_insert(message.to_string());
                }
            }
            (next, batch) = (end, batch * 2);
        }
        for pod in surplus {
            let sent = self
                .calls
                .send(|| Request::delete(pod.key.clone(), pod.object.meta.uid.clone()))?;
            if let Response::Refused { code, message, .. } = sent
                && *code != 404
            {
                failed.get_or_insert(message.to_string());
            }
        }
        Ok(failed)
    }
}

fn new_pod(mut pod: Value, set: &str, node: &str, hash: &Text, generation: Option<&Text>) -> Value {
    pod["metadata"]["generateName"] = json!(format!("{set}-"));
    pod["metadata"]["labels"][REVISION_LABEL] = json!(hash);
    if let Some(generation) = generation {
        pod["metadata"]["labels"][revisions::GENERATION_LABEL] = json!(generation);
    }
    let mut tolerated = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    for (key, effect) in tolerations(pod["spec"]["hostNetwork"] == true) {
        let toleration = json!({"key": key, "operator": "Exists", "effect": effect});
        if !tolerated.contains(&toleration) {
            tolerated.push(toleration);
        }
    }
    pod["spec"]["tolerations"] = json!(tolerated);
    let only = json!([{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": [node]},
    ]}]);
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
        only;
    pod
}
