//! The ResourceQuota controller (`pkg/controller/resourcequota`, Kubernetes 1.36): counts again what a namespace holds
//! when a quota's limits change, when something goes, and when something changes that admission does not charge.
//! What is new is counted by admission (`cluster`), by the same rules: [`usage`], [`scope`].
//!
//! Upstream counts everything again each five minutes. Here only what that would change by itself is waited for: the
//! end of the grace of a pod that nobody ends. Who could notice: whoever counts that to the minute.

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Body, Meta, Object},
    pod::Pod,
    quantity,
    request::Request,
    view::View,
};

pub mod amounts;
pub mod scope;
#[cfg(test)]
mod tests;
pub mod usage;

pub use amounts::Amounts;
pub use scope::{Scope, Traits, qos_class};

/// A ResourceQuota.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// `spec.hard`.
    pub hard: Amounts,
    /// `spec.scopes` and `spec.scopeSelector`.
    pub scopes: Vec<Scope>,
    /// `status.hard`.
    pub seen: Option<Amounts>,
    /// `status.used`.
    pub used: Option<Amounts>,
}

/// Of a pod, Service or claim, what quotas count besides that it is there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counted {
    /// What it uses. A pod does only while it is charged ([`is_charged`]).
    pub uses: Amounts,
    /// What scopes look at.
    pub traits: Traits,
}

impl Quota {
    pub(crate) fn read(object: &Value) -> Quota {
        let amounts = |at: &str| object.pointer(at).and_then(Value::as_object).cloned();
        Quota {
            hard: amounts("/spec/hard").unwrap_or_default(),
            scopes: Scope::all(object),
            seen: amounts("/status/hard"),
            used: amounts("/status/used"),
        }
    }
}

impl Counted {
    pub(crate) fn pod(pod: &Value) -> Counted {
        let mut uses = Amounts::new();
        usage::compute(pod, &mut uses);
        Counted { uses, traits: Traits::of_pod(pod) }
    }

    pub(crate) fn claim(claim: &Value) -> Counted {
        let mut uses = Amounts::new();
        usage::claim(claim, &mut uses);
        Counted { uses, traits: Traits::of_claim(claim) }
    }

    /// No scope is about Services.
    pub(crate) fn service(service: &Value) -> Amounts {
        let mut uses = Amounts::new();
        usage::service(service, &mut uses);
        uses
    }
}

pub(crate) fn quotas() -> GroupResource {
    GroupResource::new("", "resourcequotas")
}

/// When a pod that is being deleted should be gone (`QuotaV1Pod`: the grace once more after the time of deletion).
fn overdue(meta: &Meta) -> Option<Time> {
    let grace = std::time::Duration::from_secs(meta.grace_seconds?.unsigned_abs());
    Some(meta.deleted?.plus(grace))
}

/// Whether a pod counts as more than an object (`QuotaV1Pod`).
fn is_charged(meta: &Meta, pod: &Pod, now: Time) -> bool {
    !pod.has_ended() && overdue(meta).is_none_or(|end| now <= end)
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Quota(quota) = &object.body else { return Ok(None) };
    let mut used = quota.used.clone().unwrap_or_default();
    used.extend(count(view, &key.namespace, quota, now));
    used.retain(|resource, _| quota.hard.contains_key(resource));
    let seen = quota.seen.as_ref().is_some_and(|seen| are_equal(seen, &quota.hard));
    if !seen || quota.used.as_ref().is_none_or(|known| !are_equal(known, &used)) {
        branch!(QuotaCounted);
        let canonical = |amounts: Amounts| -> Value {
            let told = amounts.into_iter().map(|(resource, amount)| {
                let text = quantity::canonical(amount.as_str().unwrap_or("0"));
                (resource, text.map_or(amount, Value::from))
            });
            Value::Object(told.collect())
        };
        calls.must(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "status",
            fields: vec![(
                "/status",
                json!({"hard": canonical(quota.hard.clone()), "used": canonical(used)}),
            )],
        })?;
    }
    let ends = charged_deletions(view, key, quota, now);
    // The last nanosecond of its grace still counts.
    Ok(ends.map(|end| end.since(now) + std::time::Duration::from_nanos(1)).min())
}

/// When pods that are being deleted and still count will no longer do so.
fn charged_deletions<'v>(
    view: &'v View,
    key: &ObjectKey,
    quota: &Quota,
    now: Time,
) -> impl Iterator<Item = Time> + use<'v> {
    let pods = GroupResource::new("", "pods");
    let about = quota.hard.keys().any(|resource| usage::counts(&pods, resource));
    let pods = about.then(|| view.list(&pods, &key.namespace));
    pods.into_iter().flatten().filter_map(move |(_, object)| match &object.body {
        Body::Pod(pod) if is_charged(&object.meta, pod, now) => overdue(&object.meta),
        _ => None,
    })
}

/// Whether two lists are of the same amounts, however they are written (`quota.Equals`).
fn are_equal(a: &Amounts, b: &Amounts) -> bool {
    let nanos = |amount: &Value| amount.as_str().and_then(quantity::nanos_of);
    let same = |(resource, amount): (&String, &Value)| {
        b.get(resource).is_some_and(|other| nanos(amount) == nanos(other))
    };
    a.len() == b.len() && a.iter().all(same)
}

/// What is used of all that somebody knows how to count (`quota.CalculateUsage`).
fn count(view: &View, namespace: &str, quota: &Quota, now: Time) -> Amounts {
    let mut used = Amounts::new();
    for name in ["pods", "services", "persistentvolumeclaims"] {
        let resource = GroupResource::new("", name);
        let mut matching = quota.hard.keys().filter(|hard| usage::counts(&resource, hard));
        if matching.next().is_none() {
            continue;
        }
        let known = quota.hard.keys().filter(|hard| usage::counts(&resource, hard));
        let mut sum: Amounts = known.map(|hard| (hard.clone(), json!("0"))).collect();
        for (_, object) in view.list(&resource, namespace) {
            let (mut uses, traits) = measured(name, object, now);
            if !scope::covers(&quota.scopes, traits) {
                branch!(QuotaOutOfScope);
                continue;
            }
            uses.retain(|resource, _| sum.contains_key(resource));
            amounts::add(&mut sum, &uses);
        }
        used.extend(sum);
    }
    for hard in quota.hard.keys() {
        let counted = usage::counted_by_name(hard).and_then(|name| name.parse().ok());
        let Some(resource) = counted.filter(|resource| is_countable(view, resource)) else {
            continue;
        };
        branch!(QuotaCountsObjects);
        let covered = scope::covers(&quota.scopes, None);
        let number = if covered { view.list(&resource, namespace).count() } else { 0 };
        used.insert(hard.clone(), json!(number.to_string()));
    }
    used
}

/// What one object uses, and what scopes see of it.
fn measured<'o>(name: &str, object: &'o Object, now: Time) -> (Amounts, Option<&'o Traits>) {
    let (mut uses, traits, there) = match &object.body {
        Body::Pod(pod) if is_charged(&object.meta, pod, now) => {
            (pod.counted.uses.clone(), Some(&pod.counted.traits), true)
        }
        Body::Pod(pod) => {
            branch!(QuotaForgetsPod);
            (Amounts::new(), Some(&pod.counted.traits), false)
        }
        Body::Claim(claim) => (claim.counted.uses.clone(), Some(&claim.counted.traits), true),
        Body::Service(service) => (service.uses.clone(), None, true),
        _ => (Amounts::new(), None, true),
    };
    uses.insert(format!("count/{name}"), json!("1"));
    if there {
        uses.insert(name.to_owned(), json!("1"));
    }
    (uses, traits)
}

/// Whether objects of this type are only counted, and are at all (`install.DefaultIgnoredResources`).
fn is_countable(view: &View, resource: &GroupResource) -> bool {
    let ignored =
        &*resource.resource == "events" && matches!(&*resource.group, "" | "events.k8s.io");
    !ignored && !usage::is_measured(resource) && view.kinds.is_namespaced(resource)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let mut affected = Vec::new();
    if change.key.resource == quotas() && has_other_limits(change) {
        affected.push(Affected::now(change.key));
    }
    if frees(change) {
        for (key, object) in view.list(&quotas(), &change.key.namespace) {
            let Body::Quota(quota) = &object.body else { continue };
            let seen = quota.seen.iter().flat_map(Amounts::keys);
            if seen.into_iter().any(|hard| usage::counts(&change.key.resource, hard)) {
                affected.push(Affected::now(&key));
            }
        }
    }
    affected
}

fn has_other_limits(change: &Change<'_>) -> bool {
    let hard = |object: Option<&Object>| match object.map(|object| &object.body) {
        Some(Body::Quota(quota)) => Some(quota.hard.clone()),
        _ => None,
    };
    match (hard(change.before), hard(change.after)) {
        (Some(before), Some(after)) => !are_equal(&before, &after),
        (None, after) => after.is_some(),
        (Some(_), None) => false,
    }
}

/// Whether less is used after a change, or admission does not charge it (`DefaultUpdateFilter`).
fn frees(change: &Change<'_>) -> bool {
    let (Some(before), Some(after)) = (change.before, change.after) else {
        return change.after.is_none() && !change.key.namespace.is_empty();
    };
    match (&before.body, &after.body) {
        (Body::Pod(old), Body::Pod(new)) => {
            // Its end, another size while it runs, another scope; or the beginning of a deletion, for its timer.
            old.has_ended() != new.has_ended()
                || old.counted != new.counted
                || before.meta.is_deleted() != after.meta.is_deleted()
        }
        (Body::Service(old), Body::Service(new)) => old.uses != new.uses,
        (Body::Claim(old), Body::Claim(new)) => old.counted != new.counted,
        _ => false,
    }
}
