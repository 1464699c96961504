//! The HorizontalPodAutoscaler controller (`pkg/controller/podautoscaler`, Kubernetes 1.36): each fifteen seconds it
//! compares what pods use with what they should use, and scales what keeps them.
//!
//! What pods use is what objects of the type `pods.metrics.k8s.io` say: PodMetrics, as metrics-server serves them. A
//! user, a test or a plan makes that type, and writes them. Where nobody serves it, it is as in a cluster without
//! metrics-server. So it is with custom and external metrics ([`series`]).
//!
//! What it recommended and did in the last minutes is its memory ([`Recent`]), which is part of the world.

use std::time::Duration;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    kinds::Kinds,
    object::{Body, Object, Text},
    quantity, read,
    request::{Memory, Request},
    selector::Selector,
    view::View,
};

mod calculator;
mod limits;
mod metrics;
mod series;
mod status;
#[cfg(test)]
mod tests;

pub use limits::{Behavior, Policy, Recent, Rules};
pub use metrics::{Asks, PodMetrics};
pub use series::{ExternalMetric, MetricValue};

use limits::Limits;
use status::Status;

/// How often it looks (`--horizontal-pod-autoscaler-sync-period`).
const PERIOD: Duration = Duration::from_secs(15);

/// A HorizontalPodAutoscaler.
#[derive(Debug, Clone, PartialEq)]
pub struct Autoscaler {
    /// `spec.scaleTargetRef`: apiVersion, kind, name.
    pub target: (Text, Text, Text),
    /// `spec.minReplicas`.
    pub least: i64,
    /// `spec.maxReplicas`.
    pub most: i64,
    /// `spec.metrics`, as they are written.
    pub metrics: Vec<Value>,
    /// `spec.behavior`.
    pub behavior: Option<Behavior>,
    /// `status`, as it is written.
    pub status: Value,
}

/// How many pods something keeps: its `scale`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scale {
    /// `spec.replicas`.
    pub wanted: i64,
    /// `status.replicas`.
    pub there: i64,
    /// `status.selector`.
    pub selector: Text,
    /// `metadata.resourceVersion`.
    pub revision: trace::Revision,
}

impl Scale {
    /// Of a Scale (`autoscaling/v1`).
    pub fn read(scale: &Value) -> Scale {
        let number = |pointer: &str| scale.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
        Scale {
            wanted: number("/spec/replicas"),
            there: number("/status/replicas"),
            selector: read::text(&scale["status"], "selector"),
            revision: read::meta(scale).revision,
        }
    }
}

pub(crate) fn autoscalers() -> GroupResource {
    GroupResource::new("autoscaling", "horizontalpodautoscalers")
}

impl Autoscaler {
    pub(crate) fn read(object: &Value) -> Autoscaler {
        let spec = &object["spec"];
        let target = &spec["scaleTargetRef"];
        Autoscaler {
            target: (
                read::text(target, "apiVersion"),
                read::text(target, "kind"),
                read::text(target, "name"),
            ),
            least: spec.get("minReplicas").and_then(Value::as_i64).unwrap_or(1),
            most: read::number(spec, "maxReplicas"),
            metrics: read::list(spec, "metrics").cloned().collect(),
            behavior: spec.get("behavior").filter(|b| b.is_object()).map(Behavior::read),
            status: object.get("status").cloned().unwrap_or_else(|| json!({})),
        }
    }
}

/// One turn. What fails comes back as soon as what doesn't.
pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Autoscaler(autoscaler) = &object.body else { return Ok(None) };
    let status = Status::of(&autoscaler.status, now);
    let turn = Turn { view, key, object, autoscaler, now, status };
    match turn.take(calls) {
        Ok(()) | Err(Stop::Failed(_)) => Ok(Some(PERIOD)),
        Err(stop) => Err(stop),
    }
}

struct Turn<'v> {
    view: &'v View,
    key: &'v ObjectKey,
    object: &'v Object,
    autoscaler: &'v Autoscaler,
    now: Time,
    status: Status,
}

/// The type of an `apiVersion` and `kind`, whatever the version (`RESTMapper.RESTMappings`). Errors: its words.
fn resource_of(kinds: &Kinds, api_version: &str, kind: &str) -> Result<GroupResource, String> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let found = kinds.of_group(group, kind);
    found
        .map(|kind| kind.resource.clone())
        .ok_or_else(|| format!("no matches for kind {kind:?} in group {group:?}"))
}

impl Turn<'_> {
    /// `reconcileAutoscaler`.
    fn take(mut self, calls: &mut Calls<'_>) -> Result<(), Stop> {
        let (version, kind, name) = &self.autoscaler.target;
        let resource = match resource_of(&self.view.kinds, version, kind) {
            Ok(resource) => resource,
            Err(why) => return self.no_scale(&why, calls),
        };
        let target = ObjectKey::new(resource, &self.key.namespace, name);
        let scale = match calls.send(|| Request::GetScale { key: target.clone() })? {
            Response::Scale(scale) => scale.clone(),
            Response::Refused { message, .. } => return self.no_scale(message, calls),
            _ => return Ok(()),
        };
        self.status.able(
            true,
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        );
        let mut recent = match self.view.recent(self.key) {
            Some(recent) => recent.clone(),
            None => Recent::new(scale.wanted, self.now),
        };
        let decided = self.decide(&scale, &mut recent);
        let (wanted, rescale) = match decided {
            Decision::Failed => {
                self.status.replicas(scale.wanted, None);
                self.remember(&recent, calls)?;
                return self.write(calls);
            }
            Decision::Keep => (scale.wanted, false),
            Decision::Scale(wanted) => (wanted, true),
        };
        if rescale {
            let sent = calls.send(|| Request::SetScale {
                key: target.clone(),
                revision: scale.revision,
                replicas: wanted,
            })?;
            if let Response::Refused { message, .. } = sent {
                branch!(AutoscalerRefused);
                let text =
                    format!("the HPA controller was unable to update the target scale: {message}");
                self.status.able(false, "FailedUpdateScale", &text);
                self.status.replicas(scale.wanted, None);
                self.remember(&recent, calls)?;
                return self.write(calls);
            }
            branch!(AutoscalerScales);
            let text =
                format!("the HPA controller was able to update the target scale to {wanted}");
            self.status.able(true, "SucceededRescale", &text);
            recent.scaled(self.autoscaler.behavior.as_ref(), scale.wanted, wanted, self.now);
            self.status.remove("ScaledToZero");
        }
        self.status.replicas(scale.wanted, Some(wanted));
        if rescale {
            self.status.scaled();
        }
        self.remember(&recent, calls)?;
        self.write(calls)
    }

    fn no_scale(mut self, why: &str, calls: &mut Calls<'_>) -> Result<(), Stop> {
        branch!(AutoscalerNoScale);
        let text =
            format!("the HPA controller was unable to get the target's current scale: {why}");
        self.status.able(false, "FailedGetScale", &text);
        self.write(calls)
    }

    /// How many pods there should be.
    fn decide(&mut self, scale: &Scale, recent: &mut Recent) -> Decision {
        let (current, spec) = (scale.wanted, self.autoscaler);
        if current == 0 {
            branch!(AutoscalerOff);
            let text = "scaling is disabled since the replica count of the target is zero";
            self.status.active(false, "ScalingDisabled", text);
            self.status.remove("ScaledToZero");
            self.status.metrics(Value::Null);
            return Decision::Keep;
        }
        if current > spec.most || current < spec.least {
            branch!(AutoscalerBounds);
            self.status.metrics(Value::Null);
            return Decision::Scale(if current > spec.most { spec.most } else { spec.least });
        }
        let Some(proposed) = self.propose(scale) else { return Decision::Failed };
        let limits = Limits { current, least: spec.least, most: spec.most, now: self.now };
        let wanted = match &spec.behavior {
            None => limits.plain(proposed.max(0), recent, &mut self.status),
            Some(behavior) => limits.by(behavior, proposed.max(0), recent, &mut self.status),
        };
        if wanted == current { Decision::Keep } else { Decision::Scale(wanted) }
    }

    /// The most that any metric asks for; none where that can't be known (`computeReplicasForMetrics`).
    fn propose(&mut self, scale: &Scale) -> Option<i64> {
        let selector = match self.selector(&scale.selector) {
            Ok(selector) => selector,
            Err((reason, why)) => {
                self.status.active(false, reason, &why);
                self.status.metrics(Value::Null);
                return None;
            }
        };
        let specs = &self.autoscaler.metrics;
        let (mut statuses, mut failed) = (Vec::new(), None);
        let (mut invalid, mut replicas, mut name) = (0, 0, String::new());
        for spec in specs {
            let computed = calculator::replicas(self, spec, scale, &selector);
            match computed {
                Ok(computed) => {
                    statuses.push(computed.status);
                    if replicas == 0 || computed.replicas > replicas {
                        (replicas, name) = (computed.replicas, computed.name);
                    }
                }
                Err(failure) => {
                    branch!(AutoscalerBadMetric);
                    statuses.push(json!({"type": ""}));
                    invalid += 1;
                    failed.get_or_insert(failure);
                }
            }
        }
        self.status.metrics(Value::Array(statuses));
        if let Some((reason, why)) = failed
            && (invalid >= specs.len() || replicas < scale.wanted)
        {
            let text = format!("the HPA was unable to compute the replica count: {why}");
            self.status.active(false, reason, &text);
            return None;
        }
        let text =
            format!("the HPA was able to successfully calculate a replica count from {name}");
        self.status.active(true, "ValidMetricFound", &text);
        Some(replicas)
    }

    /// `validateAndParseSelector`. Errors: reason and message.
    fn selector(&self, text: &str) -> Result<Selector, (&'static str, String)> {
        if text.is_empty() {
            let why = "the HPA target's scale is missing a selector";
            return Err(("InvalidSelector", why.to_owned()));
        }
        let selector = Selector::parse(text);
        let pods = GroupResource::new("", "pods");
        let mut sharing = vec![&self.key.name];
        let others = self.view.list(&autoscalers(), &self.key.namespace);
        let others: Vec<(ObjectKey, &Object)> =
            others.filter(|(key, _)| key != self.key && self.view.recent(key).is_some()).collect();
        for (key, other) in &others {
            let Some(theirs) = self.selector_of(other) else { continue };
            let shares = |(_, pod): (ObjectKey, &Object)| {
                selector.matches(&pod.meta.labels) && theirs.matches(&pod.meta.labels)
            };
            if self.view.list(&pods, &key.namespace).any(shares) {
                sharing.push(&key.name);
            }
        }
        if sharing.len() > 1 {
            branch!(AutoscalerAmbiguous);
            let told = |name: &&Text| format!("{{{name} {}}}", self.key.namespace);
            let told: Vec<String> = sharing.iter().map(told).collect();
            let told = told.join(" ");
            let why = format!("pods by selector {text} are controlled by multiple HPAs: [{told}]");
            return Err(("AmbiguousSelector", why));
        }
        Ok(selector)
    }

    /// What another autoscaler's target selects, where that is a type of ours.
    fn selector_of(&self, other: &Object) -> Option<&Selector> {
        let Body::Autoscaler(other) = &other.body else { return None };
        let (version, kind, name) = &other.target;
        let resource = resource_of(&self.view.kinds, version, kind).ok()?;
        let target = self.view.get(&ObjectKey::new(resource, &self.key.namespace, name))?;
        target.body.selector()
    }

    fn remember(&self, recent: &Recent, calls: &mut Calls<'_>) -> Result<(), Stop> {
        if self.view.recent(self.key) != Some(recent) {
            calls.send(|| Request::Remember {
                key: self.key.clone(),
                memory: Memory::Scaled(Box::new(recent.clone())),
            })?;
        }
        Ok(())
    }

    fn write(&self, calls: &mut Calls<'_>) -> Result<(), Stop> {
        if let Some(status) = self.status.changed(&self.autoscaler.status) {
            calls.must(|| Request::Update {
                key: self.key.clone(),
                revision: self.object.meta.revision,
                subresource: "status",
                fields: vec![("/status", status)],
            })?;
        }
        Ok(())
    }
}

enum Decision {
    /// No metric says.
    Failed,
    Keep,
    Scale(i64),
}

/// A `resource.Quantity` of so many thousandths.
fn milli(value: i64, binary: bool) -> Value {
    json!(quantity::of_milli(value, binary))
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    let ours = change.key.resource == autoscalers() && change.after.is_some();
    ours.then(|| Affected { key: change.key.clone(), after: PERIOD }).into_iter().collect()
}
