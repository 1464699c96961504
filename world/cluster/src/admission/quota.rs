//! ResourceQuota: what a namespace may hold together (`plugin/pkg/admission/resourcequota`, `pkg/quota/v1`).
//!
//! A quota counts once its `status.hard` is set, which is its controller's affair, and so is what is given back
//! when something goes; this plug-in adds what is new to `status.used`, or refuses it.

use std::ops::Bound;

use bytes::Bytes;
use controllers::quota::{Amounts, Scope, Traits, amounts, scope::covers, usage};
use serde_json::Value;
use trace::{Actor, GroupResource, ObjectKey, Verb};

use super::refuse;
use crate::{
    encoding::quantity_nanos,
    route::Route,
    server::request::Request,
    status::Refusal,
    verbs::{self, Work},
    webhooks::Calls,
    world::meta,
};

/// Counts a write that is about to be stored. Errors: 403.
pub(super) fn charge(
    work: &mut Work<'_>,
    old: Option<&Value>,
    new: &Value,
    dry_run: bool,
) -> Result<(), Refusal> {
    let quotas = GroupResource::new("", "resourcequotas");
    let namespace = &work.route.namespace;
    let found = work.live.world.store.root().scan(&quotas, namespace, Bound::Unbounded);
    let found: Vec<(ObjectKey, Value)> = found
        .map(|(key, quota)| (key.clone(), (**quota).clone()))
        .filter(|(_, quota)| quota.pointer("/status/hard").is_some())
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    let served = work.kind.served();
    let mut delta = usage::of(&served, new);
    if let Some(old) = old {
        delta = usage::more(&delta, &usage::of(&served, old));
    }
    let mut charged = Vec::new();
    for (key, quota) in &found {
        if let Some(used) = one(work, &served, quota, new, &delta)? {
            charged.push((key.clone(), used));
        }
    }
    if !dry_run {
        charged.into_iter().for_each(|(key, used)| write(work, &key, &used));
    }
    Ok(())
}

/// What one quota says of it: its `used` afterwards, if that is another. Errors: 403.
fn one(
    work: &Work<'_>,
    served: &GroupResource,
    quota: &Value,
    new: &Value,
    delta: &Amounts,
) -> Result<Option<Amounts>, Refusal> {
    let part = |name: &str| {
        let found = quota.pointer(&format!("/status/{name}")).and_then(Value::as_object);
        found.cloned().unwrap_or_default()
    };
    let (hard, mut used) = (part("hard"), part("used"));
    let matching: Vec<&String> =
        hard.keys().filter(|resource| usage::counts(served, resource)).collect();
    let traits = Traits::read(served, new);
    if matching.is_empty() || !covers(&Scope::all(quota), traits.as_ref()) {
        return Ok(None);
    }
    let name = meta(quota, "name");
    let refuse = |why: String| refuse(work, new, &[why]).map(|()| None);
    if let Some(why) = usage::unsaid(served, &matching, new) {
        return refuse(format!("failed quota: {name}: must specify {why}"));
    }
    if matching.iter().any(|resource| !used.contains_key(*resource)) {
        let names: Vec<&str> = matching.iter().map(|resource| resource.as_str()).collect();
        return refuse(format!("status unknown for quota: {name}, resources: {}", names.join(",")));
    }
    let mut requested: Amounts = delta.clone();
    requested.retain(|resource, _| hard.contains_key(resource));
    if requested.is_empty() {
        return Ok(None);
    }
    let before = used.clone();
    amounts::add(&mut used, &requested);
    let nanos = |amounts: &Amounts, resource: &str| {
        amounts.get(resource).and_then(Value::as_str).and_then(quantity_nanos).unwrap_or(0)
    };
    let exceeded: Vec<&String> = requested
        .keys()
        .filter(|resource| nanos(&used, resource) > nanos(&hard, resource))
        .collect();
    if exceeded.is_empty() {
        return Ok(Some(used));
    }
    let shown = |amounts: &Amounts| {
        let pairs: Vec<String> = exceeded
            .iter()
            .map(|resource| format!("{resource}={}", amounts[*resource].as_str().unwrap_or("")))
            .collect();
        pairs.join(",")
    };
    refuse(format!(
        "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
        shown(&requested),
        shown(&before),
        shown(&hard)
    ))
}

/// Writes what is used, as the API server itself does: through the API.
fn write(work: &mut Work<'_>, key: &ObjectKey, used: &Amounts) {
    let Some(stored) = work.live.world.store.get(key) else { return };
    let mut quota = (**stored).clone();
    quota["status"]["used"] = Value::Object(used.clone());
    let route = Route {
        version: "v1".to_owned(),
        resource: "resourcequotas".to_owned(),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        subresource: "status".to_owned(),
        ..Route::default()
    };
    let agent = format!("kube-apiserver/{}", work.live.world.release.git_version());
    let actor = Actor::Environment("quota".into());
    let request = Request::own(actor, &agent, Bytes::from(quota.to_string()));
    let Some(kind) = work.live.world.kind("", "v1", "resourcequotas") else { return };
    let calls = &mut Calls::exempt(work.calls.began());
    let written = verbs::carry_out(work.live, &request, &route, kind, Verb::Update, calls);
    debug_assert!(written.is_ok(), "a quota's own status is valid");
}
