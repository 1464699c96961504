//! As many pods as a Job wants (`manageJob`).

use std::{cmp::Ordering, time::Duration};

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{INDEX, Indexes, Member, Sync, TRACKING, backoff, index_variable};
use crate::{
    calls::{Response, Stop},
    request::Request,
    write,
};

/// At most this many pods are made or deleted in one sync (`MaxPodCreateDeletePerSync`).
const BURST: usize = 500;
/// Longest `generateName` that is kept whole (`names.MaxGeneratedNameLength`).
const NAME_LIMIT: usize = 58;

impl Sync<'_, '_, '_> {
    /// Makes or deletes pods. Why that failed.
    pub(super) fn manage(&mut self) -> Result<Option<String>, Stop> {
        let wanted = match self.job.completions {
            _ if self.job.suspend => {
                branch!(JobSuspended);
                return self.delete(self.surplus(self.active));
            }
            None if self.succeeded > 0 => {
                branch!(JobWorkQueueEnds);
                self.active
            }
            None => self.job.parallelism,
            Some(completions) => (completions - self.succeeded).min(self.job.parallelism).max(0),
        };
        let mut surplus = self.surplus((self.active - wanted).max(0));
        surplus.truncate(BURST);
        if !surplus.is_empty() {
            branch!(JobShrinks);
            return self.delete(surplus);
        }
        let ending = if self.job.only_ended_failed { self.terminating } else { 0 };
        match wanted - ending - self.active {
            missing if missing > 0 => self.make((missing as usize).min(BURST)),
            _ => Ok(None),
        }
    }

    /// Which active pods go: doubles of an index, then the least useful (`activePodsForRemoval`).
    fn surplus(&self, least: i64) -> Vec<usize> {
        let least = usize::try_from(least).unwrap_or(0);
        let mut order: Vec<usize> =
            (0..self.pods.len()).filter(|at| self.pods[*at].is_active()).collect();
        order.sort_by(|a, b| less_useful(&self.pods[*a], &self.pods[*b]));
        let (mut gone, mut left) = (Vec::new(), order.clone());
        if self.job.indexed {
            // Of the pods of one index the most useful one stays.
            let stays = |at: &usize| {
                let pod = &self.pods[*at];
                let last = order.iter().rfind(|other| self.pods[**other].index == pod.index);
                self.job.has_place(pod) && last == Some(at)
            };
            branch!(JobDoubles);
            (left, gone) = order.iter().partition(|at| stays(at));
        }
        let more = least.saturating_sub(gone.len());
        gone.extend(left.into_iter().take(more));
        gone
    }

    /// Lets pods go and deletes them (`deleteJobPods`).
    fn delete(&mut self, which: Vec<usize>) -> Result<Option<String>, Stop> {
        let mut failed = None;
        for at in which {
            if self.pods[at].tracked {
                self.let_go(at)?;
            }
            self.delete_one(at, &mut failed)?;
        }
        Ok(failed)
    }

    /// Deletes everything that runs; the finalizers stay (`deleteActivePods`). How many, and what failed.
    pub(super) fn delete_active(&mut self) -> Result<(i64, Option<String>), Stop> {
        let (mut failed, before) = (None, self.active);
        for at in 0..self.pods.len() {
            if self.pods[at].is_active() {
                self.delete_one(at, &mut failed)?;
            }
        }
        Ok((before - self.active, failed))
    }

    fn delete_one(&mut self, at: usize, failed: &mut Option<String>) -> Result<(), Stop> {
        let pod = &self.pods[at];
        let sent = self.calls.send(|| Request::delete(pod.key.clone(), pod.uid().clone()))?;
        if let Response::Refused { code, message, .. } = sent
            && *code != 404
        {
            failed.get_or_insert(message.to_string());
            return Ok(());
        }
        self.active -= 1;
        self.terminating += 1;
        self.ready -= i64::from(pod.pod.ready_since.is_some());
        Ok(())
    }

    /// Takes the tracking finalizer off a pod.
    pub(super) fn let_go(&mut self, at: usize) -> Result<(), Stop> {
        let pod = &self.pods[at];
        self.calls.need(|| Request::RemoveFinalizer {
            key: pod.key.clone(),
            uid: pod.uid().clone(),
            name: TRACKING,
        })?;
        Ok(())
    }

    fn make(&mut self, missing: usize) -> Result<Option<String>, Stop> {
        let per_index = self.job.backoff_limit_per_index.is_some();
        if !per_index {
            let left = self.backoff();
            if !left.is_zero() {
                branch!(JobBacksOff);
                self.come_back(left);
                return Ok(None);
            }
        }
        let mut places: Vec<Option<i64>> = vec![None; missing];
        if self.job.indexed {
            let mut indexes = self.missing_indexes(missing);
            if per_index && let Err(left) = self.due(&mut indexes) {
                branch!(JobIndexBacksOff);
                self.come_back(left);
                return Ok(None);
            }
            places = indexes.into_iter().map(Some).collect();
        }
        self.create(&places)
    }

    fn missing_indexes(&self, count: usize) -> Vec<i64> {
        let ending = |pod: &&Member<'_>| self.job.only_ended_failed && pod.is_terminating();
        let there = self.pods.iter().filter(|pod| pod.is_active() || ending(pod));
        let there: Indexes = there.filter_map(|pod| pod.index).collect();
        let mut taken = self.done.and(&there);
        if let Some(lost) = &self.lost {
            taken = taken.and(lost);
        }
        taken.missing(count, self.job.completions.unwrap_or(0))
    }

    /// Keeps the indexes whose back-off is over. Errors: how long all still have to wait.
    fn due(&self, indexes: &mut Vec<i64>) -> Result<(), Duration> {
        let kept = self.kept_for_index();
        let wait = |index: &i64| {
            kept.get(index).map_or(Duration::ZERO, |at| self.backoff_after(&self.pods[*at]))
        };
        let shortest = indexes.iter().map(wait).min().unwrap_or_default();
        indexes.retain(|index| wait(index).is_zero());
        if indexes.is_empty() && !shortest.is_zero() { Err(shortest) } else { Ok(()) }
    }

    /// Makes pods in batches that double, and stops after one in which a creation failed.
    fn create(&mut self, places: &[Option<i64>]) -> Result<Option<String>, Stop> {
        let (mut next, mut batch) = (0, 1);
        let kept = self.kept_for_index();
        while next < places.len() {
            let end = places.len().min(next + batch);
            let mut failed = None;
            for place in &places[next..end] {
                let before = place.and_then(|index| kept.get(&index)).map(|at| &self.pods[*at]);
                let (this, owner) = ((self.key, self.job), &self.owner);
                let sent = self.calls.send(|| Request::Create {
                    key: ObjectKey::new(GroupResource::new("", "pods"), &this.0.namespace, ""),
                    object: Box::new(new_pod(this, owner, *place, before)),
                })?;
                match sent {
                    Response::Refused { reason, .. } if **reason == *"NamespaceTerminating" => {
                        self.active += 1;
                        self.expected += 1;
                    }
                    Response::Refused { message, .. } => {
                        branch!(JobFailedCreate);
                        failed.get_or_insert(message.to_string());
                    }
                    _ => self.active += 1,
                }
            }
            if failed.is_some() {
                return Ok(failed);
            }
            (next, batch) = (end, batch * 2);
        }
        Ok(None)
    }
}

fn new_pod(
    (key, job): (&ObjectKey, &super::Job),
    owner: &crate::object::Owner,
    index: Option<i64>,
    before: Option<&Member<'_>>,
) -> Value {
    let mut pod = write::pod(owner, &job.template);
    let finalizers = pod["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    if !finalizers.contains(&json!(TRACKING)) {
        let all: Vec<Value> = finalizers.into_iter().chain([json!(TRACKING)]).collect();
        pod["metadata"]["finalizers"] = json!(all);
    }
    pod["metadata"]["generateName"] = json!(format!("{}-", key.name));
    let Some(index) = index else { return pod };
    let suffix = format!("-{index}-");
    let room = (NAME_LIMIT - suffix.len()).min(key.name.len());
    let room = if key.name.len() + suffix.len() > NAME_LIMIT { room } else { key.name.len() };
    pod["metadata"]["generateName"] = json!(format!("{}{suffix}", &key.name[..room]));
    pod["metadata"]["annotations"][INDEX] = json!(index.to_string());
    pod["metadata"]["labels"][INDEX] = json!(index.to_string());
    pod["spec"]["hostname"] = json!(format!("{}-{index}", key.name));
    if job.backoff_limit_per_index.is_some() {
        for (name, value) in backoff::annotations(job, before) {
            pod["metadata"]["annotations"][name] = json!(value);
        }
    }
    for list in ["initContainers", "containers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            let env = container["env"].as_array().cloned().unwrap_or_default();
            let variable = index_variable();
            if !env.iter().any(|one| one["name"] == variable["name"]) {
                let all: Vec<Value> = env.into_iter().chain([variable]).collect();
                container["env"] = json!(all);
            }
        }
    }
    pod
}

/// Less: goes first (`controller.ActivePods`).
fn less_useful(a: &Member<'_>, b: &Member<'_>) -> Ordering {
    let phase = |pod: &Member<'_>| match &*pod.pod.phase {
        "Pending" => 0,
        "Unknown" => 1,
        _ => 2,
    };
    let bound = |pod: &Member<'_>| !pod.pod.node.is_empty();
    bound(a)
        .cmp(&bound(b))
        .then(phase(a).cmp(&phase(b)))
        .then(a.pod.ready_since.is_some().cmp(&b.pod.ready_since.is_some()))
        .then(b.pod.ready_since.cmp(&a.pod.ready_since))
        .then(b.pod.restarts.cmp(&a.pod.restarts))
        .then(b.object.meta.created.cmp(&a.object.meta.created))
}
