//! Metrics that no cluster has by itself: objects of types that the user serves and writes, as PodMetrics are
//! (`metrics/client.go`, Kubernetes 1.36).
//!
//! | of an autoscaler | type | what counts of an object |
//! |---|---|---|
//! | `External`, of a metric `queue` | `queue.external.metrics.k8s.io`, ExternalMetricValue | `value` |
//! | `Pods`, `Object` | `metricvalues.custom.metrics.k8s.io`, MetricValue | `describedObject`, `metric.name`, `value` |
//!
//! A metric's selector chooses by the labels of these objects. Of a MetricValue of a pod the pod must be there, and one
//! that the target selects: upstream's adapters look for themselves. A list of ExternalMetricValues looks the same to
//! the real controller; MetricValues it does not find, because it asks for them at paths that no custom type has.

use serde_json::Value;
use trace::{GroupResource, ObjectKey};

use super::{
    metrics::{ByPod, Used, milli_of_text},
    resource_of,
};
use crate::{
    object::{Body, Object, Text},
    read,
    selector::Selector,
    view::View,
};

const EXTERNAL: &str = "external.metrics.k8s.io";

/// One series of an external metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalMetric {
    /// `value`, in thousandths.
    pub milli: i64,
}

/// What a custom metric says of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricValue {
    /// `metric.name`.
    pub metric: Text,
    /// `describedObject.kind`.
    pub kind: Text,
    /// `describedObject.name`.
    pub name: Text,
    /// `value`, in thousandths.
    pub milli: i64,
}

/// A quantity, or a number, in thousandths; nothing where it is neither.
fn milli(value: &Value) -> i64 {
    let text = match value {
        Value::String(text) => milli_of_text(text),
        Value::Number(number) => milli_of_text(&number.to_string()),
        _ => None,
    };
    text.unwrap_or(0)
}

impl ExternalMetric {
    pub(crate) fn read(object: &Value) -> ExternalMetric {
        ExternalMetric { milli: milli(&object["value"]) }
    }
}

impl MetricValue {
    pub(crate) fn read(object: &Value) -> MetricValue {
        let of = &object["describedObject"];
        MetricValue {
            metric: read::text(&object["metric"], "name"),
            kind: read::text(of, "kind"),
            name: read::text(of, "name"),
            milli: milli(&object["value"]),
        }
    }
}

fn name(metric: &Value) -> Text {
    read::text(metric, "name")
}

/// The values of an external metric (`GetExternalMetric`). `metric` is a MetricIdentifier. Errors: upstream's words.
pub(super) fn external(view: &View, namespace: &str, metric: &Value) -> Result<Vec<i64>, String> {
    let name = name(metric);
    let resource = GroupResource::new(EXTERNAL, &name);
    if !view.kinds.is_namespaced(&resource) {
        return Err(format!(
            "unable to fetch metrics from external metrics API: the server could not find the requested resource (get \
             {resource})"
        ));
    }
    let selector = Selector::read(&metric["selector"]);
    let all = view.list(&resource, namespace);
    let values = all.filter(|(_, object)| selector.matches(&object.meta.labels));
    let values = values.filter_map(|(_, object)| match &object.body {
        Body::ExternalMetric(series) => Some(series.milli),
        _ => None,
    });
    let values: Vec<i64> = values.collect();
    match values.is_empty() {
        true => Err("no metrics returned from external metrics API".to_owned()),
        false => Ok(values),
    }
}

/// What a custom metric says of objects of a kind. Errors: upstream's words.
fn custom<'v>(
    view: &'v View,
    namespace: &str,
    metric: &Value,
    kind: &str,
) -> Result<Vec<&'v MetricValue>, String> {
    let resource = GroupResource::new("custom.metrics.k8s.io", "metricvalues");
    if !view.kinds.is_namespaced(&resource) {
        return Err("unable to fetch metrics from custom metrics API: no custom metrics API \
                    (custom.metrics.k8s.io) registered"
            .to_owned());
    }
    let (name, selector) = (name(metric), Selector::read(&metric["selector"]));
    let told = |(_, object): (ObjectKey, &'v Object)| {
        let Body::MetricValue(value) = &object.body else { return None };
        let asked = value.metric == name && *value.kind == *kind;
        (asked && selector.matches(&object.meta.labels)).then_some(&**value)
    };
    Ok(view.list(&resource, namespace).filter_map(told).collect())
}

/// What a custom metric says of the pods of a target (`GetRawMetric`). Errors: upstream's words.
pub(super) fn of_pods(
    view: &View,
    namespace: &str,
    metric: &Value,
    selector: &Selector,
) -> Result<ByPod, String> {
    let is_selected = |name: &Text| {
        let pod = view.get(&ObjectKey::new(GroupResource::new("", "pods"), namespace, name));
        pod.is_some_and(|pod| selector.matches(&pod.meta.labels))
    };
    let values = custom(view, namespace, metric, "Pod")?.into_iter();
    let values = values.filter(|value| is_selected(&value.name));
    let used = |milli: i64| Used { milli, at: Default::default(), window: Default::default() };
    let found: ByPod = values.map(|value| (value.name.clone(), used(value.milli))).collect();
    match found.is_empty() {
        true => Err("no metrics returned from custom metrics API".to_owned()),
        false => Ok(found),
    }
}

/// What a custom metric says of an object (`GetObjectMetric`). `of` is a CrossVersionObjectReference; of a namespace it
/// is the autoscaler's own, whatever name it gives. Errors: upstream's words, and where nothing is told an adapter's.
pub(super) fn of_object(
    view: &View,
    namespace: &str,
    metric: &Value,
    of: &Value,
) -> Result<i64, String> {
    let (version, kind) = (read::text(of, "apiVersion"), read::text(of, "kind"));
    let is_namespace = *kind == *"Namespace" && !version.contains('/');
    let object = if is_namespace { Text::from(namespace) } else { read::text(of, "name") };
    let mut told = custom(view, namespace, metric, &kind)?;
    let unable = |why: String| format!("unable to fetch metrics from custom metrics API: {why}");
    let resource = resource_of(&view.kinds, &version, &kind).map_err(|why| {
        let group = version.split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
        unable(format!("unable to map kind {kind}{group} to resource: {why}"))
    })?;
    told.retain(|value| value.name == object);
    match &told[..] {
        [one] => Ok(one.milli),
        [] => Err(unable(format!(
            "the server could not find the metric {} for {resource} {object}",
            name(metric)
        ))),
        many => Err(unable(format!(
            "the custom metrics API server returned {} results when we asked for exactly one",
            many.len()
        ))),
    }
}
