//! The StatefulSet controller (`pkg/controller/statefulset`, Kubernetes 1.36): pods with an ordinal and claims of
//! their own, made in order and deleted in reverse, or all at once; updates from the last ordinal down to the
//! partition; revisions kept as ControllerRevisions.
//!
//! `maxUnavailable` has no effect, as with 1.36's default of the gate `MaxUnavailableStatefulSet`: off.
//! A pod whose volumes are not its claims makes the reconcile fail, where upstream's update of it is refused.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    history,
    object::{Body, Meta, Object, Owner, Text},
    pod::Pod,
    read,
    replica_set::{candidates, claim_if, controller_ref, owners_of},
    request::Request,
    selector::Selector,
    template::Template,
    view::View,
    write,
};

mod claims;
mod pods;

use pods::{Replica, Turn};

/// A StatefulSet.
#[derive(Debug, Clone, PartialEq)]
pub struct StatefulSet {
    /// `spec.replicas`.
    pub replicas: i64,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// `spec.selector`.
    pub selector: Selector,
    /// `spec.template`.
    pub template: Template,
    /// `spec.serviceName`.
    pub service: Text,
    /// `spec.ordinals.start`.
    pub first: i64,
    /// Whether `spec.podManagementPolicy` is Parallel.
    pub parallel: bool,
    /// Whether `spec.updateStrategy.type` is OnDelete.
    pub on_delete: bool,
    /// `spec.updateStrategy.rollingUpdate.partition`, where there is such a block.
    pub partition: Option<i64>,
    /// `spec.revisionHistoryLimit`.
    pub history_limit: i64,
    /// `spec.volumeClaimTemplates`.
    pub claims: Vec<ClaimTemplate>,
    /// Whether claims go with the StatefulSet (`persistentVolumeClaimRetentionPolicy.whenDeleted`).
    pub claims_go_with_set: bool,
    /// Whether claims go with the pods that are scaled away (`whenScaled`).
    pub claims_go_with_pods: bool,
    /// `status`.
    pub status: StatefulSetStatus,
}

/// A template of the claims of a StatefulSet's pods.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimTemplate {
    /// `metadata.name`: the volume's name.
    pub name: Text,
    /// All of it.
    pub value: std::sync::Arc<Value>,
}

/// A StatefulSet's status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatefulSetStatus {
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// `replicas`.
    pub replicas: i64,
    /// `readyReplicas`.
    pub ready: i64,
    /// `availableReplicas`.
    pub available: i64,
    /// `currentReplicas`.
    pub current: i64,
    /// `updatedReplicas`.
    pub updated: i64,
    /// `currentRevision`.
    pub current_revision: Text,
    /// `updateRevision`.
    pub update_revision: Text,
    /// `collisionCount`.
    pub collisions: i64,
}

impl StatefulSet {
    pub(crate) fn read(object: &Value) -> StatefulSet {
        let (spec, status) = (&object["spec"], &object["status"]);
        let strategy = &spec["updateStrategy"];
        let retention = &spec["persistentVolumeClaimRetentionPolicy"];
        let rolling = strategy.get("rollingUpdate");
        let template = |value: &Value| ClaimTemplate {
            name: read::text(&value["metadata"], "name"),
            value: std::sync::Arc::new(value.clone()),
        };
        StatefulSet {
            replicas: read::number(spec, "replicas"),
            min_ready_seconds: read::number(spec, "minReadySeconds"),
            selector: Selector::read(&spec["selector"]),
            template: Template::read(&spec["template"]),
            service: read::text(spec, "serviceName"),
            first: read::number(&spec["ordinals"], "start"),
            parallel: spec["podManagementPolicy"] == "Parallel",
            on_delete: strategy["type"] == "OnDelete",
            partition: rolling.map(|rolling| read::number(rolling, "partition")),
            history_limit: read::number(spec, "revisionHistoryLimit"),
            claims: read::list(spec, "volumeClaimTemplates").map(template).collect(),
            claims_go_with_set: retention["whenDeleted"] == "Delete",
            claims_go_with_pods: retention["whenScaled"] == "Delete",
            status: StatefulSetStatus {
                observed_generation: read::number(status, "observedGeneration"),
                replicas: read::number(status, "replicas"),
                ready: read::number(status, "readyReplicas"),
                available: read::number(status, "availableReplicas"),
                current: read::number(status, "currentReplicas"),
                updated: read::number(status, "updatedReplicas"),
                current_revision: read::text(status, "currentRevision"),
                update_revision: read::text(status, "updateRevision"),
                collisions: read::number(status, "collisionCount"),
            },
        }
    }

    fn last(&self) -> i64 {
        self.first + self.replicas - 1
    }

    fn has_ordinal(&self, ordinal: i64) -> bool {
        (self.first..=self.last()).contains(&ordinal)
    }
}

impl StatefulSetStatus {
    fn write(&self) -> Value {
        let mut value = json!({
            "replicas": self.replicas, "availableReplicas": self.available,
            "collisionCount": self.collisions,
        });
        write::counts(
            &mut value,
            &[
                ("observedGeneration", self.observed_generation),
                ("readyReplicas", self.ready),
                ("currentReplicas", self.current),
                ("updatedReplicas", self.updated),
            ],
        );
        write::texts(
            &mut value,
            &[
                ("currentRevision", &self.current_revision),
                ("updateRevision", &self.update_revision),
            ],
        );
        value
    }

    /// `inconsistentStatus`: collisions alone are not worth a write.
    fn is_news(&self, before: &StatefulSetStatus) -> bool {
        let but = StatefulSetStatus {
            observed_generation: self.observed_generation,
            collisions: self.collisions,
            ..before.clone()
        };
        self.observed_generation > before.observed_generation || *self != but
    }
}

fn stateful_sets() -> GroupResource {
    GroupResource::new("apps", "statefulsets")
}

/// What one reconcile knows.
struct Work<'v, 'c, 'r> {
    view: &'v View,
    key: &'v ObjectKey,
    meta: &'v Meta,
    set: &'v StatefulSet,
    owner: Owner,
    now: Time,
    calls: &'c mut Calls<'r>,
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::StatefulSet(set) = &object.body else { return Ok(None) };
    let owner = controller_ref("apps/v1", "StatefulSet", key, &object.meta);
    let mut work = Work { view, key, meta: &object.meta, set, owner, now, calls };
    let revisions = history::list(view, key, &object.meta, &set.selector);
    if !object.meta.is_deleted() {
        history::adopt(&revisions, &work.owner, work.calls)?;
    }
    let pods = work.pods()?;
    let mut collisions = set.status.collisions;
    let update = work.update_revision(&revisions, &mut collisions)?;
    let current = revisions.iter().find(|(key, _)| *key.name == *set.status.current_revision);
    let current = current.unwrap_or(&update);
    let (mut status, failed) = work.act(&pods, current, &update, collisions)?;
    work.complete(&mut status);
    if status.is_news(&set.status) {
        work.calls.must(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "status",
            fields: vec![("/status", status.write())],
        })?;
    }
    let mut live = BTreeSet::from([current.0.name.clone(), update.0.name.clone()]);
    live.extend(pods.iter().map(|(_, object, _)| pods::revision_of(object)));
    history::truncate(&revisions, &live, set.history_limit, work.calls)?;
    match failed {
        Some(why) => Err(Stop::Failed(why)),
        None => Ok(work.next_check(&pods, &status)),
    }
}

/// A pod of a StatefulSet.
type Member<'v> = (ObjectKey, &'v Object, &'v Pod);

impl<'v> Work<'v, '_, '_> {
    /// Its pods, adopted and released by selector and name.
    fn pods(&mut self) -> Result<Vec<Member<'v>>, Stop> {
        let resource = GroupResource::new("", "pods");
        let (view, mut pods) = (self.view, Vec::new());
        for (key, object) in candidates(view, &resource, &self.key.namespace, &self.meta.uid) {
            let Body::Pod(pod) = &object.body else { continue };
            let pod = &**pod;
            let selector = &self.set.selector;
            let matches = !selector.is_empty()
                && selector.matches(&object.meta.labels)
                && pods::split(&key.name).is_some_and(|(parent, _)| *parent == *self.key.name);
            let deleted = self.meta.is_deleted();
            if claim_if(matches, (&key, object), &self.owner, deleted, None, self.calls)? {
                pods.push((key, object, pod));
            }
        }
        Ok(pods)
    }

    /// `getStatefulSetRevisions`: the revision of the template as it is now.
    fn update_revision(
        &mut self,
        revisions: &[history::Item],
        collisions: &mut i64,
    ) -> Result<history::Item, Stop> {
        let wanted = self.set.template.hash;
        let is_equal = |item: &&history::Item| {
            history::of(item).is_some_and(|found| found.template.hash == wanted)
        };
        let number = history::next_number(revisions);
        match revisions.iter().rfind(is_equal) {
            Some(found) if revisions.last().is_some_and(|last| last.0 == found.0) => {
                Ok(found.clone())
            }
            Some(found) => {
                branch!(StatefulRollsBack);
                history::renumber(found, number, self.calls)
            }
            None => {
                let of = (self.key, self.meta, &self.owner);
                let template = &self.set.template;
                history::create(self.view, of, template, number, collisions, self.calls)
            }
        }
    }

    /// `updateStatefulSet`: the status after it, and what failed.
    fn act(
        &mut self,
        members: &[Member<'v>],
        current: &history::Item,
        update: &history::Item,
        collisions: i64,
    ) -> Result<(StatefulSetStatus, Option<String>), Stop> {
        let mut status = StatefulSetStatus {
            observed_generation: self.meta.generation,
            current_revision: current.0.name.clone(),
            update_revision: update.0.name.clone(),
            collisions,
            ..StatefulSetStatus::default()
        };
        self.count(&mut status, members.iter());
        if self.meta.is_deleted() {
            return Ok((status, None));
        }
        let ordinal = |member: &Member<'_>| pods::split(&member.0.name).map_or(-1, |(_, n)| n);
        let kept = members.iter().filter(|member| self.set.has_ordinal(ordinal(member)));
        let mut condemned: Vec<&Member<'v>> = members
            .iter()
            .filter(|member| ordinal(member) >= 0 && !self.set.has_ordinal(ordinal(member)))
            .collect();
        condemned.sort_by_key(|member| std::cmp::Reverse(ordinal(member)));
        let existing: Vec<&Member<'v>> = kept.collect();
        let replicas: Vec<Replica<'_, 'v>> = (self.set.first..=self.set.last())
            .map(|at| Replica {
                ordinal: at,
                member: existing.iter().find(|member| ordinal(member) == at).copied(),
            })
            .collect();
        self.count(&mut status, existing.iter().copied().chain(condemned.iter().copied()));
        let first_unavailable = self.first_unavailable(&replicas, &condemned);
        let turn = self
            .each(replicas.len(), |work, index| work.process(&replicas[index], current, update))?;
        let turn = match turn {
            Turn::On => self.each(condemned.len(), |work, index| {
                let (key, object, _) = condemned[index];
                let ordinal = pods::split(&key.name).map_or(-1, |(_, ordinal)| ordinal);
                work.keep_claims(&key.name, &object.meta.uid, ordinal)
            })?,
            other => other,
        };
        let turn = match turn {
            Turn::On => self.each(condemned.len(), |work, index| {
                work.condemn(condemned[index], first_unavailable.as_ref())
            })?,
            other => other,
        };
        match turn {
            Turn::Exit => return Ok((status, None)),
            Turn::Failed(why) => return Ok((status, Some(why))),
            Turn::On if self.set.on_delete => {
                branch!(StatefulOnDelete);
                return Ok((status, None));
            }
            Turn::On => {}
        }
        let failed = self.update_one(&replicas, update, &mut status)?;
        Ok((status, failed))
    }

    /// Deletes the last pod that is not of the update revision, if all after it are available.
    fn update_one(
        &mut self,
        replicas: &[Replica<'_, 'v>],
        update: &history::Item,
        status: &mut StatefulSetStatus,
    ) -> Result<Option<String>, Stop> {
        let partition = usize::try_from(self.set.partition.unwrap_or(0)).unwrap_or(0);
        for replica in replicas.iter().skip(partition).rev() {
            let Some(member @ (_, object, _)) = replica.member else { return Ok(None) };
            if pods::revision_of(object) != update.0.name && !object.meta.is_deleted() {
                branch!(StatefulUpdates);
                return Ok(match self.delete(member)? {
                    Turn::Failed(why) => Some(why),
                    _ => {
                        status.current -= 1;
                        None
                    }
                });
            }
            if self.is_unavailable(member) {
                branch!(StatefulUpdateWaits);
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// `completeRollingUpdate`.
    fn complete(&self, status: &mut StatefulSetStatus) {
        let wanted = self.set.replicas;
        let all = [status.updated, status.ready, status.replicas];
        if !self.set.on_delete && all.iter().all(|count| *count == wanted) {
            branch!(StatefulComplete);
            status.current = status.updated;
            status.current_revision = status.update_revision.clone();
        }
    }

    /// When the next pod becomes available by age.
    fn next_check(&self, members: &[Member<'_>], status: &StatefulSetStatus) -> Option<Duration> {
        if self.set.min_ready_seconds == 0 || status.ready == status.available {
            return None;
        }
        let wanted = Duration::from_secs(self.set.min_ready_seconds.unsigned_abs());
        let left = members.iter().filter_map(|(_, _, pod)| {
            wanted.checked_sub(self.now.since(pod.ready_since?)).filter(|left| !left.is_zero())
        });
        branch!(StatefulMinReady);
        Some(left.min().unwrap_or(wanted))
    }
}

/// A write whose failure is told in the status and tried again.
fn outcome(response: &Response) -> Turn {
    match response {
        Response::Refused { code, message, .. } if *code != 404 => {
            Turn::Failed(format!("{code}: {message}"))
        }
        _ => Turn::On,
    }
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let mut affected = Vec::new();
    if change.key.resource == stateful_sets() {
        affected.push(Affected::now(change.key));
    }
    if *change.key.resource.resource == *"pods" && change.key.resource.group.is_empty() {
        for object in [change.before, change.after].into_iter().flatten() {
            affected.extend(owners_of(view, &stateful_sets(), change.key, object));
        }
    }
    affected.dedup();
    affected
}

#[cfg(test)]
mod tests;
