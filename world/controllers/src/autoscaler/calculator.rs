//! How many pods a metric asks for (`replica_calculator.go`).

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use super::{
    Scale, Turn, limits,
    metrics::{self, ByPod, Used},
    milli,
};
use crate::{
    object::{Body, Object, Text},
    pod::Pod,
    read,
    selector::Selector,
};

mod foreign;

/// So long after its start a pod's use of CPU may be that of its start
/// (`--horizontal-pod-autoscaler-cpu-initialization-period`).
const STARTS: Duration = Duration::from_secs(300);
/// So long after its start a pod that is not ready never was (`--horizontal-pod-autoscaler-initial-readiness-delay`).
const NEVER_READY: Duration = Duration::from_secs(30);

/// What a metric says.
pub(super) struct Computed {
    pub(super) replicas: i64,
    /// How people are told of it.
    pub(super) name: String,
    /// Its entry in `status.currentMetrics`.
    pub(super) status: Value,
}

/// Errors: the reason of the condition, and why.
type Failure = (&'static str, String);

/// Whether what is used is near enough to what should be.
fn is_within(turn: &Turn<'_>, ratio: f64) -> bool {
    let (down, up) = limits::tolerances(turn.autoscaler.behavior.as_ref());
    1.0 - down <= ratio && ratio <= 1.0 + up
}

/// `computeReplicasForMetric`.
pub(super) fn replicas(
    turn: &Turn<'_>,
    spec: &Value,
    scale: &Scale,
    selector: &Selector,
) -> Result<Computed, Failure> {
    let named = |part: &str| read::text(&spec[part], "name");
    match spec["type"].as_str().unwrap_or("") {
        "Resource" => {
            let source = &spec["resource"];
            let (name, current) = of_resource(turn, source, "", scale, selector)
                .map_err(|why| ("FailedGetResourceMetric", why))?;
            let status = json!({"name": named("resource"), "current": current.1});
            Ok(Computed {
                replicas: current.0,
                name,
                status: json!({"type": "Resource", "resource": status}),
            })
        }
        "ContainerResource" => {
            let source = &spec["containerResource"];
            let container = read::text(source, "container");
            let (name, current) = of_resource(turn, source, &container, scale, selector)
                .map_err(|why| ("FailedGetContainerResourceMetric", why))?;
            let status = json!({
                "name": named("containerResource"), "container": container, "current": current.1,
            });
            Ok(Computed {
                replicas: current.0,
                name,
                status: json!({"type": "ContainerResource", "containerResource": status}),
            })
        }
        _ => foreign::replicas(turn, spec, scale, selector),
    }
}

/// How people are told of it; how many pods, and the metric's value (`computeStatusForResourceMetricGeneric`).
fn of_resource(
    turn: &Turn<'_>,
    source: &Value,
    container: &str,
    scale: &Scale,
    selector: &Selector,
) -> Result<(String, (i64, Value)), String> {
    let resource = read::text(source, "name");
    let (target, binary) = (&source["target"], *resource == *"memory");
    let namespace = &turn.key.namespace;
    let used = || {
        metrics::of_resource(turn.view, namespace, selector, &resource, container)
            .map_err(|why| format!("unable to get metrics for resource {resource}: {why}"))
    };
    let group = || Pods::group(turn, selector, &resource);
    if let Some(wanted) = target.get("averageValue").and_then(Value::as_str) {
        let of = || -> Result<(i64, i64), String> {
            let target = Target::Usage(metrics::milli_of_text(wanted).unwrap_or(0));
            let computed = group().replicas(turn, used()?, &target, scale.wanted)?;
            Ok((computed.replicas, computed.average))
        };
        let (replicas, average) =
            of().map_err(|why| format!("failed to get {resource} usage: {why}"))?;
        let value = json!({"averageValue": milli(average, binary)});
        return Ok((format!("{resource} resource"), (replicas, value)));
    }
    let Some(percent) = target.get("averageUtilization").and_then(Value::as_i64) else {
        return Err("invalid resource metric source: neither an average utilization target nor an average value \
                    (usage) target was set"
            .to_owned());
    };
    let of = || -> Result<Shares, String> {
        let target = Target::Utilization { percent, resource: &resource, container };
        group().replicas(turn, used()?, &target, scale.wanted)
    };
    let computed = of().map_err(|why| format!("failed to get {resource} utilization: {why}"))?;
    let value = json!({
        "averageUtilization": computed.percent, "averageValue": milli(computed.average, binary),
    });
    let of_container = if container.is_empty() { "" } else { " container" };
    let name = format!("{resource}{of_container} resource utilization (percentage of request)");
    Ok((name, (computed.replicas, value)))
}

/// What usage is compared with.
enum Target<'a> {
    /// Thousandths, of each pod.
    Usage(i64),
    /// A share of what the pods ask for.
    Utilization { percent: i64, resource: &'a str, container: &'a str },
}

/// What came of it.
#[derive(Debug)]
struct Shares {
    replicas: i64,
    percent: i64,
    average: i64,
}

/// The pods of a target, by whether their metrics count (`groupPods`).
struct Pods<'v> {
    all: Vec<(ObjectKey, &'v Object, &'v Pod)>,
    resource: Text,
}

/// Why the metrics of a pod count or don't.
#[derive(PartialEq)]
enum Group {
    Ready,
    Unready,
    Missing,
    Ignored,
}

impl<'v> Pods<'v> {
    fn group(turn: &Turn<'v>, selector: &Selector, resource: &Text) -> Pods<'v> {
        let pods = turn.view.list(&GroupResource::new("", "pods"), &turn.key.namespace);
        let all = pods.filter(|(_, object)| selector.matches(&object.meta.labels));
        let all = all.filter_map(|(key, object)| match &object.body {
            Body::Pod(pod) => Some((key, object, &**pod)),
            _ => None,
        });
        Pods { all: all.collect(), resource: resource.clone() }
    }

    fn of(&self, object: &Object, pod: &Pod, used: Option<&Used>, now: Time) -> Group {
        if object.meta.is_deleted() || *pod.phase == *"Failed" {
            return Group::Ignored;
        }
        if *pod.phase == *"Pending" {
            return Group::Unready;
        }
        let Some(used) = used else { return Group::Missing };
        if *self.resource == *"cpu" && is_starting(pod, used, now) {
            branch!(AutoscalerUnready);
            return Group::Unready;
        }
        Group::Ready
    }

    /// `GetResourceReplicas`, `calcPlainMetricReplicas`.
    fn replicas(
        self,
        turn: &Turn<'_>,
        mut used: ByPod,
        target: &Target<'_>,
        current: i64,
    ) -> Result<Shares, String> {
        if self.all.is_empty() {
            return Err("no pods returned by selector while calculating replica count".to_owned());
        }
        let (mut ready, mut unready, mut missing) = (0, Vec::new(), Vec::new());
        for (key, object, pod) in &self.all {
            match self.of(object, pod, used.get(&key.name), turn.now) {
                Group::Ready => ready += 1,
                Group::Missing => missing.push(key.name.clone()),
                Group::Unready => {
                    used.remove(&key.name);
                    unready.push(key.name.clone());
                }
                Group::Ignored => {
                    used.remove(&key.name);
                }
            }
        }
        if used.is_empty() {
            return Err(
                "did not receive metrics for targeted pods (pods might be unready)".to_owned()
            );
        }
        let mut requests = BTreeMap::new();
        if let Target::Utilization { resource, container, .. } = target {
            for (key, _, pod) in &self.all {
                requests.insert(key.name.clone(), pod.asks.of(&key.name, resource, container)?);
            }
        }
        let (ratio, percent, average) = target.ratio(&used, &requests)?;
        let is_within = |ratio: f64| is_within(turn, ratio);
        let result = |replicas: i64| Ok(Shares { replicas, percent, average });
        let up_with_unready = !unready.is_empty() && ratio > 1.0;
        if !up_with_unready && missing.is_empty() {
            return match is_within(ratio) {
                true => result(current),
                false => result((ratio * f64::from(ready)).ceil() as i64),
            };
        }
        // Those of which nothing is known are taken to be such that less is done.
        let assumed = |milli: i64| Used { milli, at: turn.now, window: Duration::ZERO };
        for name in &missing {
            branch!(AutoscalerMissing);
            if ratio < 1.0 {
                used.insert(name.clone(), assumed(target.assumed(requests.get(name))));
            } else if ratio > 1.0 {
                used.insert(name.clone(), assumed(0));
            }
        }
        if up_with_unready {
            used.extend(unready.iter().map(|name| (name.clone(), assumed(0))));
        }
        let (again, _, _) = target.ratio(&used, &requests)?;
        if is_within(again) || ratio < 1.0 && again > 1.0 || ratio > 1.0 && again < 1.0 {
            return result(current);
        }
        let replicas = (again * used.len() as f64).ceil() as i64;
        if again < 1.0 && replicas > current || again > 1.0 && replicas < current {
            return result(current);
        }
        result(replicas)
    }
}

/// Whether a pod's use of CPU may be that of its start.
fn is_starting(pod: &Pod, used: &Used, now: Time) -> bool {
    let known = pod.conditions.iter().find(|(kind, _)| **kind == *"Ready");
    let (Some((_, status)), Some(started)) = (known, pod.started) else { return true };
    let unready = **status == *"False";
    let since = pod.ready_since.or(pod.unready_since).unwrap_or_default();
    if started.plus(STARTS) > now {
        unready || used.at < since.plus(used.window)
    } else {
        unready && started.plus(NEVER_READY) > since
    }
}

impl Target<'_> {
    /// Usage by target, in percent of what is asked for, and of each pod. Errors: upstream's words.
    fn ratio(
        &self,
        used: &ByPod,
        requests: &BTreeMap<Text, i64>,
    ) -> Result<(f64, i64, i64), String> {
        match self {
            Target::Usage(wanted) => {
                let average = used.values().map(|one| one.milli).sum::<i64>() / used.len() as i64;
                Ok((average as f64 / *wanted as f64, 0, average))
            }
            Target::Utilization { percent, .. } => {
                let known =
                    used.iter().filter_map(|(name, one)| Some((one.milli, requests.get(name)?)));
                let (mut total, mut asked, mut count) = (0, 0, 0);
                for (milli, request) in known {
                    (total, asked, count) = (total + milli, asked + request, count + 1);
                }
                if asked == 0 {
                    return Err("no metrics returned matched known pods".to_owned());
                }
                let share = total * 100 / asked;
                Ok((share as f64 / *percent as f64, share, total / count))
            }
        }
    }

    /// What a pod without metrics is taken to use where there may be too many.
    fn assumed(&self, request: Option<&i64>) -> i64 {
        match self {
            Target::Usage(wanted) => *wanted,
            Target::Utilization { percent, .. } => request.unwrap_or(&0) * percent.max(&100) / 100,
        }
    }
}
