//! What pods use, as metrics-server would tell: a PodMetrics for each that runs, told anew every 15 s.
//!
//! The type is one of the embedded API server's own, defined like a custom type: `metrics.k8s.io` is served by nobody else.

use std::time::Duration;

use serde_json::{Value, json};
use trace::{Actor, GroupResource, Time};
use workloads::{Client, ClientError};

use super::file::Usage;

/// How often metrics-server asks the kubelets (`--metric-resolution`).
const RESOLUTION: Duration = Duration::from_secs(15);

/// The version of its API.
const VERSION: &str = "metrics.k8s.io/v1beta1";

/// The type of PodMetrics.
pub fn resource() -> GroupResource {
    GroupResource::new("metrics.k8s.io", "pods")
}

/// The definition of PodMetrics.
pub fn definition() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "pods.metrics.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, in place of metrics-server"},
        },
        "spec": {
            "group": "metrics.k8s.io", "scope": "Namespaced",
            "names": {
                "plural": "pods", "singular": "podmetrics", "kind": "PodMetrics",
                "listKind": "PodMetricsList",
            },
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// Tells what pods use.
pub struct MetricsServer {
    client: Client,
    /// What each pod uses; nothing is told if it is empty.
    pub usage: Vec<Usage>,
    next: Option<Time>,
}

impl MetricsServer {
    /// It, in front of a cluster that serves [`definition`] if there is any usage.
    pub fn new(server: &cluster::Server, usage: Vec<Usage>) -> MetricsServer {
        let actor = Actor::Environment("metrics-server".into());
        MetricsServer { client: Client::as_actor(server.service(), actor), usage, next: None }
    }

    /// When it tells next; never, if nothing uses anything.
    pub fn due(&self, now: Time) -> Option<Duration> {
        (!self.usage.is_empty()).then(|| self.next.map_or(Duration::ZERO, |next| next.since(now)))
    }

    /// Tells, if it is time to.
    ///
    /// # Errors
    /// The API refuses.
    pub async fn tell(&mut self, now: Time) -> Result<(), ClientError> {
        if self.due(now) != Some(Duration::ZERO) {
            return Ok(());
        }
        self.next = Some(now.plus(RESOLUTION));
        let pods = self.client.resource("v1", "Pod").await?;
        let metrics = self.client.resource(VERSION, "PodMetrics").await?;
        for old in self.client.list(&metrics, "", "").await? {
            let (namespace, name) = names(&old);
            self.client.delete(&metrics, namespace, name, &json!({})).await?;
        }
        for pod in self.client.list(&pods, "", "").await? {
            let Some(told) = self.told(&pod, now) else { continue };
            let (namespace, _) = names(&pod);
            self.client.create(&metrics, namespace, &told, "").await?;
        }
        Ok(())
    }

    /// The PodMetrics of a pod that runs and uses something.
    fn told(&self, pod: &Value, now: Time) -> Option<Value> {
        if pod["status"]["phase"] != "Running" {
            return None;
        }
        let labels = &pod["metadata"]["labels"];
        let usage = self.usage.iter().find(|usage| {
            usage.pods.iter().all(|(label, value)| labels[label].as_str() == Some(value))
        })?;
        let (namespace, name) = names(pod);
        let containers = pod["spec"]["containers"].as_array()?.iter().enumerate();
        let containers: Vec<Value> = containers
            .map(|(at, container)| {
                let uses = |amount: &str| if at == 0 { amount.to_owned() } else { "0".to_owned() };
                let usage = json!({"cpu": uses(&usage.cpu), "memory": uses(&usage.memory)});
                json!({"name": container["name"], "usage": usage})
            })
            .collect();
        Some(json!({
            "apiVersion": VERSION, "kind": "PodMetrics",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "timestamp": now.rfc3339(), "window": "15s", "containers": containers,
        }))
    }
}

fn names(object: &Value) -> (&str, &str) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}
