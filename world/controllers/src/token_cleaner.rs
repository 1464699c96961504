//! Tokens of ServiceAccounts that nobody has used for a year go (`legacy_serviceaccount_token_cleaner.go`, Kubernetes
//! 1.36): of those in Secrets, the ones that the account names among its `secrets`, as they were once made for every
//! account. First they are marked as invalid, then, a year later, deleted.
//!
//! Only where the cluster says since when it has kept account of what is used, in a ConfigMap that a real API server
//! makes. This one does not, nor does it note when a token is used, so nothing happens unless the user says both.
//!
//! Upstream looks once a day, here each Secret is looked at when its time has come. Marks and uses are days, in UTC.

use std::time::Duration;

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    account_token,
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    data::{Keys, config_maps, secrets},
    object::{Body, Object, Text},
    read,
    request::Request,
    view::View,
    write,
};

/// `LegacyServiceAccountTokenCleanUpPeriod`: so long a token may be unused.
const UNUSED: Duration = Duration::from_secs(365 * DAY);
const DAY: u64 = 24 * 3600;
/// Where the cluster says since when it has kept account (`legacytokentracking.ConfigMapName`).
pub(crate) const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";
const SYSTEM: &str = "kube-system";
/// The day of a token's last use (`LastUsedLabelKey`).
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
/// The day since which it is invalid (`InvalidSinceLabelKey`).
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// The ConfigMap that says since when it is known which tokens are used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tracking {
    /// `data.since`: a day.
    pub since: Text,
    /// Its keys.
    pub keys: Keys,
}

impl Tracking {
    pub(crate) fn read(object: &Value) -> Tracking {
        Tracking { since: read::text(&object["data"], "since"), keys: Keys::read(object) }
    }
}

/// Midnight before a day as `2006-01-02`.
fn day(text: &str) -> Option<Time> {
    (text.len() == 10).then(|| Time::parse_rfc3339(&format!("{text}T00:00:00Z"))).flatten()
}

fn tracking() -> ObjectKey {
    ObjectKey::new(config_maps(), SYSTEM, TRACKING)
}

/// From when on something counts as long ago that happened on a day: upstream compares texts, so that day must be over a
/// year past.
fn forgotten(day: Time) -> Time {
    day.plus(UNUSED + Duration::from_secs(DAY))
}

/// Whether an account of its namespace names it, and no pod uses it (`hasSecretReference`, `getMountedSecretNames`).
fn is_left_over(view: &View, key: &ObjectKey, object: &Object) -> bool {
    let account = account_token::account_of(view, key, object);
    let named = account.is_some_and(|(_, account)| match &account.body {
        Body::Account(account) => account.secrets.iter().any(|secret| secret["name"] == *key.name),
        _ => false,
    });
    let uses =
        |pod: &Object| matches!(&pod.body, Body::Pod(pod) if pod.secrets.contains(&key.name));
    let pods = GroupResource::new("", "pods");
    named && !view.list(&pods, &key.namespace).any(|(_, pod)| uses(pod))
}

/// `key` is the Secret's.
pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let (Some(object), Some(Body::Tracking(known))) =
        (view.get(key), view.get(&tracking()).map(|object| &object.body))
    else {
        return Ok(None);
    };
    let tracked = day(&known.since).map(forgotten);
    let (Body::TokenSecret(_), Some(tracked)) = (&object.body, tracked) else { return Ok(None) };
    if object.meta.is_deleted() {
        return Ok(None);
    }
    let used = match object.meta.labels.get(LAST_USED).map(|text| day(text)) {
        // What is no day tells nothing.
        Some(None) => return Ok(None),
        Some(Some(used)) => Some(forgotten(used)),
        None => None,
    };
    // It has to be older than a year.
    let old = object.meta.created.plus(UNUSED + Duration::from_secs(1));
    let due = used.into_iter().chain([old, tracked]).max().unwrap_or(old);
    if due > now {
        return Ok(Some(due.since(now)));
    }
    if !is_left_over(view, key, object) {
        return Ok(None);
    }
    let invalid = object.meta.labels.get(INVALID_SINCE).and_then(|text| day(text));
    let Some(invalid) = invalid else {
        let mut labels = object.meta.labels.clone();
        labels.insert(INVALID_SINCE.into(), now.rfc3339()[..10].into());
        calls.need(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "",
            fields: vec![("/metadata/labels", write::labels(&labels))],
        })?;
        return Ok(None);
    };
    let due = forgotten(invalid);
    if due > now {
        return Ok(Some(due.since(now)));
    }
    calls.need(|| Request::Delete {
        key: key.clone(),
        uid: object.meta.uid.clone(),
        revision: Some(object.meta.revision),
        propagation: None,
        grace_seconds: None,
    })?;
    Ok(None)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let is_token = |object: &Object| matches!(object.body, Body::TokenSecret(_));
    let resource = &change.key.resource;
    if *resource == secrets() {
        let ours = change.after.is_some_and(is_token);
        return ours.then(|| Affected::now(change.key)).into_iter().collect();
    }
    if *change.key == tracking() {
        let all = view.list(&secrets(), "").filter(|(_, object)| is_token(object));
        return all.map(|(key, _)| Affected::now(&key)).collect();
    }
    // An account that names others now, or a pod that uses none any more.
    let names: Vec<Text> = match (change.before, change.after.map(|object| &object.body)) {
        (_, Some(Body::Account(account))) => {
            account.secrets.iter().map(|secret| read::text(secret, "name")).collect()
        }
        (Some(Object { body: Body::Pod(pod), .. }), None) => pod.secrets.clone(),
        _ => return vec![],
    };
    let keys = names.iter().map(|name| ObjectKey::new(secrets(), &change.key.namespace, name));
    keys.filter(|key| view.get(key).is_some_and(is_token)).map(|key| Affected::now(&key)).collect()
}

#[cfg(test)]
mod tests;
