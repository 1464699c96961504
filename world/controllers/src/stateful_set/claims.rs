//! The claims of a StatefulSet's pods: made before the pod, kept or let go by the retention policy (KEP-1847).

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{ClaimTemplate, StatefulSet, Turn, Work, outcome};
use crate::{
    calls::{Response, Stop},
    object::{Meta, Object, Owner, Text},
    request::Request,
    write,
};

/// The name of the claim of a pod, from a template.
pub(super) fn name(set: &str, template: &ClaimTemplate, ordinal: i64) -> String {
    format!("{}-{set}-{ordinal}", template.name)
}

impl Work<'_, '_, '_> {
    fn claim_key(&self, template: &ClaimTemplate, ordinal: i64) -> ObjectKey {
        let name = name(&self.key.name, template, ordinal);
        let resource = GroupResource::new("", "persistentvolumeclaims");
        ObjectKey::new(resource, &self.key.namespace, &name)
    }

    /// `createPersistentVolumeClaims`.
    pub(super) fn make_claims(&mut self, ordinal: i64) -> Result<Turn, Stop> {
        let mut failed = None;
        for template in &self.set.claims {
            let key = self.claim_key(template, ordinal);
            let why = match self.view.get(&key) {
                Some(claim) if claim.meta.is_deleted() => {
                    branch!(StatefulClaimGoes);
                    Some(format!("pvc {} is being deleted", key.name))
                }
                Some(_) => None,
                None => {
                    branch!(StatefulMakesClaim);
                    let (set, object) = (self.set, key.clone());
                    let object = || Box::new(new_claim(set, template, &object));
                    let sent =
                        self.calls.send(|| Request::Create { key: key.clone(), object: object() });
                    match sent? {
                        Response::Refused { message, .. } => Some(message.to_string()),
                        _ => None,
                    }
                }
            };
            if let Some(why) = why {
                failed.get_or_insert(why);
            }
        }
        Ok(failed.map_or(Turn::On, Turn::Failed))
    }

    /// `PodClaimIsStale`: a claim still goes with an earlier pod of that name.
    pub(super) fn claim_is_stale(&self, pod: &str, ordinal: i64) -> bool {
        self.set.claims_go_with_pods
            && self.set.claims.iter().any(|template| {
                let claim = self.view.get(&self.claim_key(template, ordinal));
                claim.is_some_and(|claim| is_stale(&claim.meta, "v1", "Pod", pod, ""))
            })
    }

    /// `UpdatePodClaimForRetentionPolicy`: owner references of a pod's claims as the policy wants them.
    pub(super) fn keep_claims(
        &mut self,
        pod: &Text,
        uid: &str,
        ordinal: i64,
    ) -> Result<Turn, Stop> {
        let pod = Owner {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: pod.clone(),
            uid: uid.into(),
            controller: true,
            blocks: true,
        };
        for template in &self.set.claims {
            let key = self.claim_key(template, ordinal);
            let Some(claim) = self.view.get(&key) else { continue };
            let Some(owners) = self.owners_due(claim, &pod, ordinal) else { continue };
            let sent = self.calls.send(|| Request::Update {
                key: key.clone(),
                revision: claim.meta.revision,
                subresource: "",
                fields: vec![("/metadata/ownerReferences", write::owners(&owners))],
            })?;
            match outcome(sent) {
                Turn::On => {}
                other => return Ok(other),
            }
        }
        Ok(Turn::On)
    }

    /// What a claim's owner references are to be; none if they are right or another's business
    /// (`isClaimOwnerUpToDate`, `updateClaimOwnerRefForSetAndPod`).
    fn owners_due(&self, claim: &Object, pod: &Owner, ordinal: i64) -> Option<Vec<Owner>> {
        let (meta, set) = (&*claim.meta, &self.owner);
        let stale = |owner: &Owner| {
            is_stale(meta, &owner.api_version, &owner.kind, &owner.name, &owner.uid)
        };
        if stale(set) || stale(pod) {
            return None;
        }
        let has = |owner: &Owner| meta.owners.iter().any(|other| other.uid == owner.uid);
        let foreign = (self.set.claims_go_with_set || self.set.claims_go_with_pods)
            && meta
                .owners
                .iter()
                .any(|owner| owner.controller && !same(owner, set) && !same(owner, pod));
        let scaled = !self.set.has_ordinal(ordinal);
        let wants_pod = self.set.claims_go_with_pods && scaled && !foreign;
        let wants_set =
            self.set.claims_go_with_set && !(self.set.claims_go_with_pods && scaled) && !foreign;
        let weak =
            |owner: &&Owner| (owner.uid == set.uid || owner.uid == pod.uid) && !owner.controller;
        let right = has(set) == wants_set && has(pod) == wants_pod;
        if right && (foreign || meta.owners.iter().find(weak).is_none()) {
            return None;
        }
        branch!(StatefulKeepsClaim);
        let others = meta.owners.iter().filter(|owner| !same(owner, set) && !same(owner, pod));
        let mut owners: Vec<Owner> = others.cloned().collect();
        owners.extend(wants_pod.then(|| pod.clone()));
        owners.extend(wants_set.then(|| set.clone()));
        Some(owners)
    }
}

fn new_claim(set: &StatefulSet, template: &ClaimTemplate, key: &ObjectKey) -> Value {
    let mut claim = (*template.value).clone();
    claim["apiVersion"] = json!("v1");
    claim["kind"] = json!("PersistentVolumeClaim");
    claim["metadata"]["name"] = json!(key.name);
    claim["metadata"]["namespace"] = json!(key.namespace);
    for (name, value) in &set.selector.labels {
        claim["metadata"]["labels"][&**name] = json!(value);
    }
    if let Some(fields) = claim.as_object_mut() {
        fields.remove("status");
    }
    claim
}

/// The same object but for its uid.
fn same(a: &Owner, b: &Owner) -> bool {
    (&a.api_version, &a.kind, &a.name) == (&b.api_version, &b.kind, &b.name)
}

/// Whether the claim belongs to an earlier object of that name (`hasStaleOwnerRef`).
fn is_stale(claim: &Meta, api_version: &str, kind: &str, name: &str, uid: &str) -> bool {
    let found = claim.owners.iter().find(|owner| {
        *owner.api_version == *api_version && *owner.kind == *kind && *owner.name == *name
    });
    found.is_some_and(|owner| *owner.uid != *uid)
}
