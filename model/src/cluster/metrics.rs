//! What pods use, as a metrics server tells it: each running pod has PodMetrics before anything else happens. What is
//! measured late is not modelled.

use serde_json::{Value, json};
use trace::ObjectKey;

use super::{
    api::Api,
    events::{Choice, Event, Modifiers, When},
    kinds::KindId,
    objects::Stored,
    store::Store,
};

/// What pods with these labels use.
#[derive(Debug, Clone)]
pub struct Usage {
    /// Labels, all of which they have.
    pub labels: Vec<(String, String)>,
    /// Of each container, by resource.
    pub usage: Value,
}

/// The metrics server. A new pod uses as much as those that the same [`Usage`] is about, and what that says if there are
/// none.
#[derive(Debug)]
pub struct Metrics {
    /// The first that fits a pod counts.
    pub usages: Vec<Usage>,
}

/// How traces call it.
pub const NAME: &str = "metrics-server";

fn metrics() -> KindId {
    KindId::named("PodMetrics").expect("the type is served")
}

/// Whether an object that has `labels` is chosen by `chosen`.
pub(super) fn has_labels(labels: &Value, chosen: &[(String, String)]) -> bool {
    chosen.iter().all(|(key, value)| labels[key] == *value.as_str())
}

/// The store after a pod was measured to use so much.
pub(super) fn measured(api: &Api<'_>, store: &Store, pod: &Value, usage: &Value) -> Store {
    let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
    let key = ObjectKey::new(metrics().resource(), text("namespace"), text("name"));
    api.put(store, &key, of_pod(pod, usage, &api.now.rfc3339()))
}

/// The PodMetrics of a pod. They hold for the moment, as autoscalers pass over what is older than a pod's readiness.
fn of_pod(pod: &Value, usage: &Value, now: &str) -> Value {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<Value> =
        containers.map(|one| json!({"name": one["name"], "usage": usage})).collect();
    let metadata = &pod["metadata"];
    json!({
        "apiVersion": metrics().api_version(), "kind": metrics().kind(),
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"],
            "labels": metadata["labels"],
        },
        "timestamp": now, "window": "0s", "containers": containers,
    })
}

impl Metrics {
    /// The store after a pod was measured.
    fn measured(&self, api: &Api<'_>, store: &Store, pod: &Value) -> Option<Store> {
        let is_like = |one: &Value, of: &Usage| has_labels(&one["metadata"]["labels"], &of.labels);
        let of = self.usages.iter().find(|usage| is_like(pod, usage))?;
        let mut known = store.of_kind(api.objects, metrics()).filter_map(|(_, one)| one.value());
        let like = known.find(|known| is_like(known, of));
        let usage = like.map_or(&of.usage, |like| &like["containers"][0]["usage"]);
        Some(measured(api, store, pod, usage))
    }
}

impl Event for Metrics {
    fn name(&self) -> &str {
        NAME
    }

    fn modifiers(&self) -> Modifiers {
        Modifiers::at(When::First)
    }

    fn is_fair(&self) -> bool {
        true
    }

    fn choices(&self, api: &Api<'_>, store: &Store, _progress: u64) -> Vec<Choice> {
        let runs = |pod: &&Value| {
            pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
        };
        let pods: Vec<&Value> = store
            .of_kind(api.objects, KindId::POD)
            .filter_map(|(_, pod)| pod.value())
            .filter(runs)
            .collect();
        let has = |pod: &Value, one: &Stored| {
            let metadata = &pod["metadata"];
            metadata["name"] == *one.key.name && metadata["namespace"] == *one.key.namespace
        };
        let known: Vec<&Stored> =
            store.of_kind(api.objects, metrics()).map(|(_, one)| one).collect();
        let gone = known.iter().filter(|one| !pods.iter().any(|pod| has(pod, one)));
        let mut after =
            gone.fold(store.clone(), |store, one| api.delete(&store, &one.key, None, None));
        for pod in pods.iter().filter(|pod| !known.iter().any(|one| has(pod, one))) {
            after = self.measured(api, &after, pod).unwrap_or(after);
        }
        match after == *store {
            true => vec![],
            false => vec![Choice { told: "pods are measured".into(), store: after, progress: 0 }],
        }
    }
}
