//! The disruption controller (`pkg/controller/disruption`, Kubernetes 1.36): how many pods of a budget may be evicted.
//! The eviction subresource spends what it allows.
//!
//! Scale is read from ReplicaSets, Deployments and StatefulSets. Not there: the scale subresource of other types, and
//! ReplicationControllers; a budget over pods of those that needs their scale allows nothing, and says so.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    deployment::Amount,
    object::{Body, Object, Text},
    pod::Pod,
    read,
    request::Request,
    selector::Selector,
    view::View,
};

/// So long a pod that was evicted may take to be deleted before it counts again (`DeletionTimeout`).
const DELETION_TIMEOUT: Duration = Duration::from_secs(120);
/// So long a pod may say that it is about to be disrupted before that is taken back.
const STALE: Duration = Duration::from_secs(120);

/// A PodDisruptionBudget.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// `spec.selector`; none selects nothing, an empty one everything.
    pub selector: Option<Selector>,
    /// `spec.minAvailable`.
    pub min_available: Option<Amount>,
    /// `spec.maxUnavailable`.
    pub max_unavailable: Option<Amount>,
    /// `status`.
    pub status: BudgetStatus,
}

/// A budget's status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BudgetStatus {
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// `disruptedPods`.
    pub disrupted: BTreeMap<Text, Time>,
    /// `disruptionsAllowed`.
    pub allowed: i64,
    /// `currentHealthy`.
    pub healthy: i64,
    /// `desiredHealthy`.
    pub desired: i64,
    /// `expectedPods`.
    pub expected: i64,
    /// The condition DisruptionAllowed.
    pub condition: Option<BudgetCondition>,
}

/// The condition of a budget.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BudgetCondition {
    /// `status`.
    pub status: bool,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Text,
    /// `observedGeneration`.
    pub generation: i64,
    /// `lastTransitionTime`.
    pub since: Time,
}

fn budgets() -> GroupResource {
    GroupResource::new("policy", "poddisruptionbudgets")
}

impl Budget {
    pub(crate) fn read(object: &Value) -> Budget {
        let (spec, status) = (&object["spec"], &object["status"]);
        let times = status.get("disruptedPods").and_then(Value::as_object).into_iter().flatten();
        let condition = |found: &Value| BudgetCondition {
            status: found["status"] == "True",
            reason: read::text(found, "reason"),
            message: read::text(found, "message"),
            generation: read::number(found, "observedGeneration"),
            since: read::time(found, "lastTransitionTime").unwrap_or_default(),
        };
        let mut conditions = read::list(status, "conditions");
        Budget {
            selector: spec.get("selector").map(Selector::read),
            min_available: spec.get("minAvailable").map(Amount::read),
            max_unavailable: spec.get("maxUnavailable").map(Amount::read),
            status: BudgetStatus {
                observed_generation: read::number(status, "observedGeneration"),
                disrupted: times
                    .filter_map(|(name, at)| {
                        Some((name.as_str().into(), Time::parse_rfc3339(at.as_str()?)?))
                    })
                    .collect(),
                allowed: read::number(status, "disruptionsAllowed"),
                healthy: read::number(status, "currentHealthy"),
                desired: read::number(status, "desiredHealthy"),
                expected: read::number(status, "expectedPods"),
                condition: conditions.find(|c| c["type"] == "DisruptionAllowed").map(condition),
            },
        }
    }

    fn selects(&self, object: &Object) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(&object.meta.labels))
    }
}

impl BudgetStatus {
    fn write(&self) -> Value {
        let mut value = json!({
            "disruptionsAllowed": self.allowed, "currentHealthy": self.healthy,
            "desiredHealthy": self.desired, "expectedPods": self.expected,
            "observedGeneration": self.observed_generation,
        });
        if !self.disrupted.is_empty() {
            let times = self.disrupted.iter();
            let times = times.map(|(name, at)| (name.to_string(), json!(at.rfc3339())));
            value["disruptedPods"] = times.collect::<Map<_, _>>().into();
        }
        if let Some(condition) = &self.condition {
            value["conditions"] = json!([{
                "type": "DisruptionAllowed",
                "status": if condition.status { "True" } else { "False" },
                "reason": condition.reason, "message": condition.message,
                "observedGeneration": condition.generation,
                "lastTransitionTime": condition.since.rfc3339(),
            }]);
        }
        value
    }
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let budget = match &object.body {
        Body::Budget(budget) => budget,
        Body::Pod(pod) => return clear(key, object, pod, now, calls),
        _ => return Ok(None),
    };
    let pods: Vec<(ObjectKey, &Object, &Pod)> = view
        .list(&GroupResource::new("", "pods"), &key.namespace)
        .filter(|(_, object)| budget.selects(object))
        .filter_map(|(key, object)| match &object.body {
            Body::Pod(pod) => Some((key, object, &**pod)),
            _ => None,
        })
        .collect();
    let (mut disrupted, mut next) = (BTreeMap::new(), None::<Duration>);
    for (pod, object, _) in pods.iter().filter(|(_, object, _)| !object.meta.is_deleted()) {
        debug_assert!(!object.meta.is_deleted());
        let Some(at) = budget.status.disrupted.get(&pod.name) else { continue };
        let left = DELETION_TIMEOUT.checked_sub(now.since(*at));
        if let Some(left) = left {
            next = Some(next.map_or(left, |next| next.min(left)));
            branch!(BudgetRemembers);
            disrupted.insert(pod.name.clone(), *at);
        }
    }
    let healthy = pods.iter().filter(|(pod, object, state)| {
        let going = object.meta.is_deleted() || disrupted.contains_key(&pod.name);
        !going && state.ready_since.is_some()
    });
    let healthy = healthy.count() as i64;
    let generation = object.meta.generation;
    let status = match expected(view, budget, &pods) {
        Ok((expected, desired)) => {
            let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
            let (reason, ok) = match allowed {
                0 => {
                    branch!(BudgetSpent);
                    ("InsufficientPods", false)
                }
                _ => {
                    branch!(BudgetAllows);
                    ("SufficientPods", true)
                }
            };
            BudgetStatus {
                observed_generation: generation,
                disrupted,
                allowed,
                healthy,
                desired,
                expected,
                condition: Some(condition(budget, (ok, reason, "", generation), now)),
            }
        }
        Err(why) => {
            branch!(BudgetFails);
            next = None;
            let of = budget.status.observed_generation;
            BudgetStatus {
                allowed: 0,
                condition: Some(condition(budget, (false, "SyncFailed", &why, of), now)),
                ..budget.status.clone()
            }
        }
    };
    if status != budget.status {
        calls.must(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "status",
            fields: vec![("/status", status.write())],
        })?;
    }
    // Not before it has passed.
    Ok(next.map(|next| next + Duration::from_nanos(1)))
}

fn condition(
    budget: &Budget,
    (status, reason, message, generation): (bool, &str, &str, i64),
    now: Time,
) -> BudgetCondition {
    let before = budget.status.condition.as_ref();
    let same = before.filter(|before| before.status == status);
    BudgetCondition {
        status,
        reason: reason.into(),
        message: message.into(),
        generation,
        since: same.map_or(now, |before| before.since),
    }
}

/// How many pods there should be, and how many of them healthy. Errors: why that can't be known.
fn expected(
    view: &View,
    budget: &Budget,
    pods: &[(ObjectKey, &Object, &Pod)],
) -> Result<(i64, i64), String> {
    match (budget.max_unavailable, budget.min_available) {
        (Some(most), _) => {
            branch!(BudgetMost);
            let scale = scale(view, pods)?;
            Ok((scale, (scale - most.of(scale, true)).max(0)))
        }
        (None, Some(Amount::Number(least))) => {
            branch!(BudgetLeast);
            Ok((pods.len() as i64, least))
        }
        (None, Some(least)) => {
            branch!(BudgetShare);
            let scale = scale(view, pods)?;
            Ok((scale, least.of(scale, true)))
        }
        (None, None) => Ok((0, 0)),
    }
}

/// How many pods their controllers want, all together (`getExpectedScale`).
fn scale(view: &View, pods: &[(ObjectKey, &Object, &Pod)]) -> Result<i64, String> {
    let mut scales: BTreeMap<Text, i64> = BTreeMap::new();
    for (key, object, _) in pods {
        let Some(owner) = object.meta.controller() else { continue };
        let found = view.by_uid(&owner.uid).map(|(_, found)| found);
        let (uid, replicas) = match found.map(|found| (found, &found.body)) {
            Some((found, Body::ReplicaSet(set))) => match of_deployment(view, found) {
                Some(of) => of,
                None => (owner.uid.clone(), set.replicas),
            },
            Some((_, Body::StatefulSet(set))) => {
                branch!(BudgetOfStatefulSet);
                (owner.uid.clone(), set.replicas)
            }
            Some(_) => {
                let kind = view.kinds.get(&owner.api_version, &owner.kind);
                let resource =
                    kind.map_or(owner.kind.to_string(), |kind| kind.resource.to_string());
                return Err(format!("{resource} does not implement the scale subresource"));
            }
            None => return Err(format!("found no controllers for pod {:?}", &*key.name)),
        };
        scales.insert(uid, replicas);
    }
    Ok(scales.values().sum())
}

fn of_deployment(view: &View, set: &Object) -> Option<(Text, i64)> {
    let owner = set.meta.controller()?;
    match &view.by_uid(&owner.uid)?.1.body {
        Body::Deployment(deployment) => Some((owner.uid.clone(), deployment.replicas)),
        _ => None,
    }
}

/// Takes back that a pod is about to be disrupted, if it was not (`syncStalePodDisruption`).
fn clear(
    key: &ObjectKey,
    object: &Object,
    pod: &Pod,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(since) = pod.disrupted_since.filter(|_| !object.meta.is_deleted() && !pod.has_ended())
    else {
        return Ok(None);
    };
    let left = STALE.saturating_sub(now.since(since));
    if !left.is_zero() {
        return Ok(Some(left));
    }
    branch!(BudgetForgives);
    calls.need(|| Request::PodCondition {
        key: key.clone(),
        uid: object.meta.uid.clone(),
        kind: "DisruptionTarget",
        status: "False",
        reason: "",
        message: "".into(),
        since: now,
        phase: None,
    })?;
    Ok(None)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    if change.key.resource == budgets() {
        return vec![Affected::now(change.key)];
    }
    let objects = || [change.before, change.after].into_iter().flatten();
    if change.key.resource == GroupResource::new("", "pods") {
        let mut affected: Vec<Affected> = view
            .list(&budgets(), &change.key.namespace)
            .filter(|(_, object)| match &object.body {
                Body::Budget(budget) => objects().any(|pod| budget.selects(pod)),
                _ => false,
            })
            .map(|(key, _)| Affected::now(&key))
            .collect();
        if let Some(Body::Pod(pod)) = change.after.map(|pod| &pod.body)
            && pod.disrupted_since.is_some()
        {
            affected.push(Affected::now(change.key));
        }
        return affected;
    }
    // Upstream learns of another scale from the pods only; so do we, they follow at once.
    vec![]
}
