//! `pods/eviction`: a delete that a disruption budget can refuse (`pkg/registry/core/pod/storage/eviction.go`).

use controllers::{Body, Object, disruption::Budget};
use serde_json::{Value, json};
use trace::ObjectKey;

use super::{Answer, Api, NOT_FOUND, Outcome, edit, is_deleted};
use crate::cluster::{kinds::KindId, objects::Stored, store::Store};

const BUDGET: Answer = Answer::Refused(429, "TooManyRequests");
/// Of several budgets that cover one pod the server makes nothing.
const SEVERAL: Answer = Answer::Refused(500, "InternalError");

impl Api<'_> {
    /// The store after somebody asked for the eviction of a pod, whether or not it was granted.
    pub fn evicted(&self, store: &Store, pod: &ObjectKey) -> Store {
        self.evict(store, pod, None).map_or_else(|_| store.clone(), |(after, _)| after)
    }

    pub(super) fn evict(
        &self,
        store: &Store,
        key: &ObjectKey,
        grace_seconds: Option<i64>,
    ) -> Outcome {
        let pod = store.get(self.objects, key).ok_or(NOT_FOUND)?;
        let (Some(value), Some(seen)) = (pod.value(), pod.seen()) else { return Err(NOT_FOUND) };
        let phase = value["status"]["phase"].as_str().unwrap_or("");
        let is_free = matches!(phase, "Succeeded" | "Failed" | "Pending") || is_deleted(value);
        let store = if is_free { store.clone() } else { self.spend(store, key, seen)? };
        let mut value = value.clone();
        if !is_said(&value) {
            let why = json!({"conditions": [{
                "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting", "lastTransitionTime": self.now.rfc3339(),
            }]});
            edit::merge(&mut value["status"], &why);
        }
        edit::delete(&mut value, None, grace_seconds, self.now);
        let after = self.put(&store, key, value);
        let left = after.id(self.objects, key).map(|id| self.known(id));
        Ok((after, Answer::Written(left)))
    }

    /// The store after the budget that covers a pod allows one disruption less.
    fn spend(&self, store: &Store, pod: &ObjectKey, seen: &Object) -> Result<Store, Answer> {
        let Some(kind) = KindId::named("PodDisruptionBudget") else { return Ok(store.clone()) };
        let covering = store.of_kind(self.objects, kind).filter_map(|(_, stored)| {
            let budget = budget(stored)?;
            let selects = budget.selector.as_ref()?.matches(&seen.meta.labels);
            (selects && stored.key.namespace == pod.namespace).then_some((stored, budget))
        });
        let covering: Vec<(&Stored, &Budget)> = covering.collect();
        let (stored, budget) = match covering[..] {
            [] => return Ok(store.clone()),
            [one] => one,
            _ => return Err(SEVERAL),
        };
        let mut value = stored.value().cloned().unwrap_or_default();
        let status = &budget.status;
        // A pod that is not ready costs nothing: always, or (by default) as long as the others suffice (KEP-3017).
        let always = value["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
        let suffices = status.healthy >= status.desired && status.desired > 0;
        if !is_ready(seen) && (always || suffices) {
            return Ok(store.clone());
        }
        let generation = value["metadata"]["generation"].as_i64().unwrap_or(0);
        if status.observed_generation < generation || status.allowed <= 0 {
            return Err(BUDGET);
        }
        value["status"]["disruptionsAllowed"] = json!(status.allowed - 1);
        value["status"]["disruptedPods"][&*pod.name] = json!(self.now.rfc3339());
        Ok(self.put(store, &stored.key, value))
    }
}

fn budget(stored: &Stored) -> Option<&Budget> {
    match &stored.seen()?.body {
        Body::Budget(budget) => Some(budget),
        _ => None,
    }
}

fn is_ready(pod: &Object) -> bool {
    matches!(&pod.body, Body::Pod(pod) if pod.ready_since.is_some())
}

fn is_said(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let said = |one: &Value| one["type"] == "DisruptionTarget" && one["status"] == "True";
    conditions.into_iter().flatten().any(said)
}

#[cfg(test)]
mod tests {
    use controllers::Request;
    use serde_json::json;

    use super::*;
    use crate::cluster::{Cluster, Setup, api::Traces, looks::Asked};

    #[test]
    fn a_budget_refuses_what_it_does_not_allow() {
        let check = |allowed: i64, expect: Option<u16>, left: i64| {
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "a", "labels": {"app": "a"}},
                "spec": {"nodeName": "n", "containers": []},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            });
            let budget = json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "a"}}},
                "status": {"disruptionsAllowed": allowed, "observedGeneration": 1},
            });
            let setup = Setup { objects: vec![pod, budget], ..Setup::default() };
            let cluster = Cluster::new(setup).expect("a cluster");
            let state = crate::System::initial(&cluster).remove(0);
            let api = cluster.api(&|_| Traces::default());
            let named = |kind: &str, name: &str| {
                let kind = KindId::named(kind).expect("a kind");
                ObjectKey::new(kind.resource(), "default", name)
            };
            let (key, profile) = (named("Pod", "a"), "p".into());
            let request = Request::Evict { key, profile, plugin: "q", grace_seconds: None };
            let (store, answer) = api.carry_out(state.store(), &Asked::of(request));
            let refused = match answer {
                Answer::Refused(code, _) => Some(code),
                _ => None,
            };
            let value = |kind: &str, name: &str| {
                store.get(&cluster.objects, &named(kind, name)).and_then(Stored::value).cloned()
            };
            let budget = value("PodDisruptionBudget", "b").expect("a budget");
            assert_eq!((refused, &budget["status"]["disruptionsAllowed"]), (expect, &json!(left)));
            let pod = value("Pod", "a").expect("a pod that goes, or stays");
            assert_eq!(is_deleted(&pod), expect.is_none());
        };
        check(1, None, 0);
        check(0, Some(429), 0);
    }
}
