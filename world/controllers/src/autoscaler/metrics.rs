//! What pods use, and what they ask for.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;
use trace::{GroupResource, Time};

use crate::{
    object::{Body, Text},
    quantity,
    quota::{Amounts, amounts},
    read,
    selector::Selector,
    view::View,
};

/// A PodMetrics of `metrics.k8s.io`.
#[derive(Debug, Clone, PartialEq)]
pub struct PodMetrics {
    /// `timestamp`.
    pub at: Time,
    /// `window`.
    pub window: Duration,
    /// `containers`: names and `usage`.
    pub containers: Vec<(Text, Amounts)>,
}

/// What the containers of a pod ask for, each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asks {
    /// What the pod asks for as a whole, where it says so.
    pub whole: Option<Amounts>,
    /// Containers that go on running, and their `requests`.
    pub containers: Vec<(Text, Amounts)>,
}

/// What one pod uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Used {
    pub(super) milli: i64,
    pub(super) at: Time,
    pub(super) window: Duration,
}

pub(super) type ByPod = BTreeMap<Text, Used>;

fn resource() -> GroupResource {
    GroupResource::new("metrics.k8s.io", "pods")
}

fn amounts_of(value: &Value) -> Amounts {
    value.as_object().cloned().unwrap_or_default()
}

/// Thousandths of one of several amounts.
pub(super) fn milli_of(amounts: &Amounts, resource: &str) -> Option<i64> {
    milli_of_text(amounts.get(resource)?.as_str()?)
}

/// Thousandths, rounded up (`Quantity.MilliValue`).
pub(super) fn milli_of_text(text: &str) -> Option<i64> {
    let nanos = quantity::nanos_of(text)?;
    Some((nanos.div_euclid(1_000_000) + i128::from(nanos.rem_euclid(1_000_000) != 0)) as i64)
}

/// A `time.Duration` as Go writes it, of hours to seconds: `1m30s`.
fn duration(text: &str) -> Duration {
    let (mut seconds, mut number) = (0.0, String::new());
    for letter in text.chars() {
        let unit = match letter {
            'h' => 3600.0,
            'm' => 60.0,
            's' => 1.0,
            _ => {
                number.push(letter);
                continue;
            }
        };
        seconds += std::mem::take(&mut number).parse().unwrap_or(0.0) * unit;
    }
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

impl PodMetrics {
    pub(crate) fn read(object: &Value) -> PodMetrics {
        PodMetrics {
            at: read::time(object, "timestamp").unwrap_or_default(),
            window: duration(&read::text(object, "window")),
            containers: read::list(object, "containers")
                .map(|one| (read::text(one, "name"), amounts_of(&one["usage"])))
                .collect(),
        }
    }

    fn used(&self, resource: &str, container: &str) -> Option<i64> {
        if container.is_empty() {
            let each = self.containers.iter().map(|(_, usage)| milli_of(usage, resource));
            return (!self.containers.is_empty()).then(|| each.sum::<Option<i64>>())?;
        }
        let (_, usage) = self.containers.iter().find(|(name, _)| **name == *container)?;
        milli_of(usage, resource)
    }
}

impl Asks {
    pub(crate) fn read(pod: &Value) -> Asks {
        let spec = &pod["spec"];
        let asked = |object: &Value| amounts_of(&object["resources"]["requests"]);
        let supported = |name: &String| {
            matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-")
        };
        let goes_on = |one: &&Value| one["restartPolicy"] == "Always";
        let containers = read::list(spec, "containers");
        let containers = containers.chain(read::list(spec, "initContainers").filter(goes_on));
        Asks {
            whole: asked(spec).keys().any(supported).then(|| amounts::of_pod(pod, "requests")),
            containers: containers.map(|one| (read::text(one, "name"), asked(one))).collect(),
        }
    }

    /// Thousandths that a pod, or one container of it, asks for (`calculateRequests`). Errors: upstream's words.
    pub(super) fn of(&self, pod: &str, resource: &str, container: &str) -> Result<i64, String> {
        if let (Some(whole), true) = (&self.whole, container.is_empty()) {
            return milli_of(whole, resource)
                .ok_or_else(|| format!("missing pod-level request for {resource} in Pod {pod}"));
        }
        let mut sum = 0;
        for (name, requests) in &self.containers {
            if container.is_empty() || **name == *container {
                sum += milli_of(requests, resource).ok_or_else(|| {
                    format!("missing request for {resource} in container {name} of Pod {pod}")
                })?;
            }
            if **name == *container {
                return Ok(sum);
            }
        }
        match container.is_empty() {
            true => Ok(sum),
            false => Err(format!("container {container} not found in Pod {pod}")),
        }
    }
}

/// What the pods use of a resource (`GetResourceMetric`). Errors: upstream's words.
pub(super) fn of_resource(
    view: &View,
    namespace: &str,
    selector: &Selector,
    name: &str,
    container: &str,
) -> Result<ByPod, String> {
    if !view.kinds.is_namespaced(&resource()) {
        return Err("unable to fetch metrics from resource metrics API: the server could not find the requested \
                    resource (get pods.metrics.k8s.io)"
            .to_owned());
    }
    let all = view.list(&resource(), namespace);
    let told: Vec<_> = all.filter(|(_, object)| selector.matches(&object.meta.labels)).collect();
    if told.is_empty() {
        return Err("no metrics returned from resource metrics API".to_owned());
    }
    let used = told.into_iter().filter_map(|(key, object)| {
        let Body::PodMetrics(metrics) = &object.body else { return None };
        let milli = metrics.used(name, container)?;
        Some((key.name, Used { milli, at: metrics.at, window: metrics.window }))
    });
    Ok(used.collect())
}
