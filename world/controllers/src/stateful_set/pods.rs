//! The pods of a StatefulSet, one at a time.

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{ClaimTemplate, Member, StatefulSet, StatefulSetStatus, Work, claims, outcome};
use crate::{
    calls::{Response, Stop},
    history::{self, REVISION_LABEL},
    object::{Object, Owner, Text},
    request::Request,
    write,
};

const NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";
/// At most so many pods are worked on side by side (`MaxBatchSize`).
const BATCH: usize = 500;

/// What follows after a pod was looked at.
pub(super) enum Turn {
    /// The next one's turn.
    On,
    /// Nothing more in this reconcile.
    Exit,
    /// It failed.
    Failed(String),
}

/// A place in the set.
pub(super) struct Replica<'a, 'v> {
    pub(super) ordinal: i64,
    /// The pod there, if there is one.
    pub(super) member: Option<&'a Member<'v>>,
}

/// Parent and ordinal in a pod's name.
pub(super) fn split(name: &str) -> Option<(&str, i64)> {
    let (parent, ordinal) = name.rsplit_once('-')?;
    let digits = !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit());
    let ordinal = ordinal.parse::<i32>().ok().filter(|_| digits)?;
    Some((parent, i64::from(ordinal)))
}

/// The name of the revision that a pod was made from.
pub(super) fn revision_of(object: &Object) -> Text {
    object.meta.labels.get(REVISION_LABEL).cloned().unwrap_or_else(|| "".into())
}

impl<'v> Work<'v, '_, '_> {
    /// In order up to the first that does not let the next go on; or all, in batches that double.
    pub(super) fn each(
        &mut self,
        count: usize,
        mut act: impl FnMut(&mut Self, usize) -> Result<Turn, Stop>,
    ) -> Result<Turn, Stop> {
        if !self.set.parallel {
            for index in 0..count {
                match act(self, index)? {
                    Turn::On => {}
                    other => return Ok(other),
                }
            }
            return Ok(Turn::On);
        }
        let (mut next, mut batch) = (0, 1);
        while next < count {
            let end = count.min(next + batch);
            let mut failed = None;
            for index in next..end {
                if let Turn::Failed(why) = act(self, index)? {
                    failed.get_or_insert(why);
                }
            }
            if let Some(why) = failed {
                return Ok(Turn::Failed(why));
            }
            (next, batch) = (end, (batch * 2).min(BATCH));
        }
        Ok(Turn::On)
    }

    pub(super) fn count<'a>(
        &self,
        status: &mut StatefulSetStatus,
        members: impl Iterator<Item = &'a Member<'v>>,
    ) where
        'v: 'a,
    {
        for count in [
            &mut status.replicas,
            &mut status.ready,
            &mut status.available,
            &mut status.current,
            &mut status.updated,
        ] {
            *count = 0;
        }
        for member @ (_, object, pod) in members {
            status.replicas += 1;
            if &*pod.phase == "Running" && pod.ready_since.is_some() {
                status.ready += 1;
                status.available += i64::from(self.is_available(member));
            }
            if !object.meta.is_deleted() {
                let revision = revision_of(object);
                status.current += i64::from(revision == status.current_revision);
                status.updated += i64::from(revision == status.update_revision);
            }
        }
    }

    fn is_available(&self, (_, _, pod): &Member<'_>) -> bool {
        let wanted = std::time::Duration::from_secs(self.set.min_ready_seconds.unsigned_abs());
        pod.ready_since.is_some_and(|since| self.now.since(since) >= wanted)
    }

    pub(super) fn is_unavailable(&self, member: &Member<'_>) -> bool {
        !self.is_available(member) || member.1.meta.is_deleted()
    }

    /// Of the pods that exist or should: the first that is not available; none stands for one that is not there.
    pub(super) fn first_unavailable(
        &self,
        replicas: &[Replica<'_, 'v>],
        condemned: &[&Member<'v>],
    ) -> Option<ObjectKey> {
        for replica in replicas {
            match replica.member {
                None => return None,
                Some(member) if self.is_unavailable(member) => return Some(member.0.clone()),
                Some(_) => {}
            }
        }
        let bad = condemned.iter().rev().find(|member| self.is_unavailable(member));
        bad.map(|member| member.0.clone())
    }

    /// `processReplica`.
    pub(super) fn process(
        &mut self,
        replica: &Replica<'_, 'v>,
        current: &history::Item,
        update: &history::Item,
    ) -> Result<Turn, Stop> {
        let ordered = !self.set.parallel;
        let Some(member @ (key, object, pod)) = replica.member else {
            let made = self.make(replica.ordinal, current, update)?;
            let exit = ordered && matches!(made, Turn::On);
            return Ok(if exit { Turn::Exit } else { made });
        };
        if pod.has_ended() {
            branch!(StatefulReplaces);
            let deleted = match object.meta.is_deleted() {
                true => Turn::Exit,
                false => self.delete(member)?,
            };
            return Ok(if matches!(deleted, Turn::On) { Turn::Exit } else { deleted });
        }
        if &*pod.phase == "Pending" {
            match self.make_claims(replica.ordinal)? {
                Turn::On => {}
                other => return Ok(other),
            }
            match self.keep_claims(&key.name, &object.meta.uid, replica.ordinal)? {
                Turn::On => {}
                other => return Ok(other),
            }
        }
        let runs = &*pod.phase == "Running" && pod.ready_since.is_some();
        if ordered && (object.meta.is_deleted() || !runs || !self.is_available(member)) {
            branch!(StatefulWaits);
            return Ok(Turn::Exit);
        }
        let labels = &object.meta.labels;
        let has_storage = self.set.claims.iter().all(|template| {
            let claim = claims::name(&self.key.name, template, replica.ordinal);
            pod.claims.iter().any(|(volume, of)| *volume == template.name && **of == *claim)
        });
        if !has_storage {
            branch!(StatefulWrongStorage);
            let why = format!("pod {} does not use the claims of its StatefulSet", key.name);
            return Ok(Turn::Failed(why));
        }
        if &*pod.phase != "Pending" {
            match self.keep_claims(&key.name, &object.meta.uid, replica.ordinal)? {
                Turn::On => {}
                other => return Ok(other),
            }
        }
        if labels.get(NAME_LABEL) == Some(&key.name) {
            return Ok(Turn::On);
        }
        branch!(StatefulNames);
        let mut labels = labels.clone();
        labels.insert(NAME_LABEL.into(), key.name.clone());
        labels.insert(INDEX_LABEL.into(), replica.ordinal.to_string().into());
        Ok(outcome(self.calls.send(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "",
            fields: vec![("/metadata/labels", write::labels(&labels))],
        })?))
    }

    /// `CreateStatefulPod`, with `newVersionedStatefulSetPod`.
    fn make(
        &mut self,
        ordinal: i64,
        current: &history::Item,
        update: &history::Item,
    ) -> Result<Turn, Stop> {
        let name: Text = format!("{}-{ordinal}", self.key.name).into();
        if self.claim_is_stale(&name, ordinal) {
            branch!(StatefulStaleClaim);
            return Ok(Turn::Exit);
        }
        match self.make_claims(ordinal)? {
            Turn::On => {}
            other => return Ok(other),
        }
        let old = match self.set.partition {
            None => !self.set.on_delete && ordinal < self.set.first + self.set.status.current,
            Some(partition) => ordinal < self.set.first + partition,
        };
        if old {
            branch!(StatefulOldPod);
        }
        let of = if old { current } else { update };
        let (set, owner) = (self.set, &self.owner);
        let key = ObjectKey::new(GroupResource::new("", "pods"), &self.key.namespace, &name);
        let sent = self.calls.send(|| Request::Create {
            key,
            object: Box::new(new_pod(set, owner, (&name, ordinal), of)),
        })?;
        if let Response::Refused { reason, message, .. } = sent
            && **reason == *"AlreadyExists"
        {
            return Ok(Turn::Failed(message.to_string()));
        }
        let made = outcome(sent);
        match self.keep_claims(&name, "", ordinal)? {
            Turn::On => Ok(made),
            other => Ok(other),
        }
    }

    /// `processCondemned`.
    pub(super) fn condemn(
        &mut self,
        member: &Member<'v>,
        first_unavailable: Option<&ObjectKey>,
    ) -> Result<Turn, Stop> {
        let (key, object, pod) = member;
        let ordered = !self.set.parallel;
        if object.meta.is_deleted() {
            return Ok(if ordered { Turn::Exit } else { Turn::On });
        }
        let runs = &*pod.phase == "Running" && pod.ready_since.is_some();
        let fit = runs && self.is_available(member);
        if ordered && !fit && first_unavailable != Some(key) {
            branch!(StatefulShrinkWaits);
            return Ok(Turn::Exit);
        }
        branch!(StatefulShrinks);
        let deleted = self.delete(member)?;
        Ok(if matches!(deleted, Turn::On) { Turn::Exit } else { deleted })
    }

    pub(super) fn delete(&mut self, (key, object, _): &Member<'v>) -> Result<Turn, Stop> {
        Ok(outcome(self.calls.send(|| Request::delete(key.clone(), object.meta.uid.clone()))?))
    }
}

fn new_pod(
    set: &StatefulSet,
    owner: &Owner,
    (name, ordinal): (&str, i64),
    of: &history::Item,
) -> Value {
    let template = history::of(of).map_or(&set.template, |revision| &revision.template);
    let mut pod = write::pod(owner, template);
    pod["metadata"]["name"] = json!(name);
    pod["metadata"]["generateName"] = json!(format!("{}-", owner.name));
    let labels = &mut pod["metadata"]["labels"];
    labels[NAME_LABEL] = json!(name);
    labels[INDEX_LABEL] = json!(ordinal.to_string());
    labels[REVISION_LABEL] = json!(of.0.name);
    pod["spec"]["hostname"] = json!(name);
    if !set.service.is_empty() {
        pod["spec"]["subdomain"] = json!(set.service);
    }
    let claim = |template: &ClaimTemplate| {
        let claim = claims::name(&owner.name, template, ordinal);
        json!({"name": template.name, "persistentVolumeClaim": {"claimName": claim}})
    };
    let mut volumes: Vec<Value> = set.claims.iter().map(claim).collect();
    let given = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
    let own = |volume: &Value| set.claims.iter().all(|claim| volume["name"] != *claim.name);
    volumes.extend(given.into_iter().filter(own));
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = json!(volumes);
    }
    pod
}
