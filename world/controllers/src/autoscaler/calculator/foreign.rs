//! How many pods a metric asks for that is not of what pods use: `Pods`, `Object` and `External`
//! (`replica_calculator.go`, `computeStatusForObjectMetric` and its like).

use serde_json::{Value, json};

use super::{Computed, Failure, Pods, Target, is_within};
use crate::{
    autoscaler::{Scale, Turn, metrics::milli_of_text, milli, series},
    object::Text,
    read,
    selector::Selector,
};

/// `computeReplicasForMetric`, of these three.
pub(super) fn replicas(
    turn: &Turn<'_>,
    spec: &Value,
    scale: &Scale,
    selector: &Selector,
) -> Result<Computed, Failure> {
    match spec["type"].as_str().unwrap_or("") {
        "Pods" => of_pods(turn, &spec["pods"], scale, selector)
            .map_err(|why| ("FailedGetPodsMetric", why)),
        "Object" => of_object(turn, &spec["object"], scale, selector)
            .map_err(|why| ("FailedGetObjectMetric", why)),
        _ => external(turn, &spec["external"], scale, selector)
            .map_err(|why| ("FailedGetExternalMetric", why)),
    }
}

/// A field of a metric's target, in thousandths.
fn wanted(source: &Value, field: &str) -> Option<i64> {
    source["target"].get(field).and_then(Value::as_str).and_then(milli_of_text)
}

fn of_pods(
    turn: &Turn<'_>,
    source: &Value,
    scale: &Scale,
    selector: &Selector,
) -> Result<Computed, String> {
    let (metric, name) = (&source["metric"], read::text(&source["metric"], "name"));
    let used = series::of_pods(turn.view, &turn.key.namespace, metric, selector)
        .map_err(|why| format!("unable to get metric {name}: {why}"))?;
    let target = Target::Usage(wanted(source, "averageValue").unwrap_or(0));
    let pods = Pods::group(turn, selector, &Text::from(""));
    let computed = pods.replicas(turn, used, &target, scale.wanted)?;
    let current = json!({"averageValue": milli(computed.average, false)});
    Ok(Computed {
        replicas: computed.replicas,
        name: format!("pods metric {name}"),
        status: json!({"type": "Pods", "pods": {"metric": metric, "current": current}}),
    })
}

fn of_object(
    turn: &Turn<'_>,
    source: &Value,
    scale: &Scale,
    selector: &Selector,
) -> Result<Computed, String> {
    let (metric, name) = (&source["metric"], read::text(&source["metric"], "name"));
    let (of, namespace) = (&source["describedObject"], &turn.key.namespace);
    let (kind, object) = (read::text(of, "kind"), read::text(of, "name"));
    let usage = series::of_object(turn.view, namespace, metric, of).map_err(|why| {
        // In upstream's order.
        format!("unable to get metric {name}: {kind} on {namespace} {object}/{why}")
    })?;
    let of_all = source["target"]["type"] == "Value";
    let (replicas, name, current) = match (wanted(source, "value"), wanted(source, "averageValue"))
    {
        (Some(wanted), _) if of_all => {
            let replicas = by_ratio(turn, usage, wanted, scale, selector)?;
            let current = json!({"value": milli(usage, false)});
            (replicas, format!("{kind} metric {name}"), current)
        }
        (_, Some(wanted)) => {
            let (replicas, average) = per_pod(turn, usage, wanted, scale);
            // Upstream calls it external.
            let name = format!("external metric {name}({})", shown(&metric["selector"]));
            (replicas, name, json!({"averageValue": milli(average, false)}))
        }
        _ => {
            return Err("invalid object metric source: neither a value target nor an average value target was set"
                .to_owned());
        }
    };
    let status = json!({"metric": metric, "describedObject": of, "current": current});
    Ok(Computed { replicas, name, status: json!({"type": "Object", "object": status}) })
}

fn external(
    turn: &Turn<'_>,
    source: &Value,
    scale: &Scale,
    selector: &Selector,
) -> Result<Computed, String> {
    let (metric, name) = (&source["metric"], read::text(&source["metric"], "name"));
    let (namespace, chosen) = (&turn.key.namespace, shown(&metric["selector"]));
    let values = series::external(turn.view, namespace, metric).map_err(|why| {
        format!("unable to get external metric {namespace}/{name}/{chosen}: {why}")
    })?;
    let usage = values.into_iter().fold(0, i64::saturating_add);
    let (replicas, current) = match (wanted(source, "averageValue"), wanted(source, "value")) {
        (Some(wanted), _) => {
            let (replicas, average) = per_pod(turn, usage, wanted, scale);
            (replicas, json!({"averageValue": milli(average, false)}))
        }
        (None, Some(wanted)) => {
            let replicas = by_ratio(turn, usage, wanted, scale, selector)?;
            (replicas, json!({"value": milli(usage, false)}))
        }
        (None, None) => {
            return Err("invalid external metric source: neither a value target nor an average value target was set"
                .to_owned());
        }
    };
    Ok(Computed {
        replicas,
        name: format!("external metric {name}({chosen})"),
        status: json!({"type": "External", "external": {"metric": metric, "current": current}}),
    })
}

/// As many for each pod that is ready as there are too many of what all of them share (`getUsageRatioReplicaCount`).
fn by_ratio(
    turn: &Turn<'_>,
    usage: i64,
    wanted: i64,
    scale: &Scale,
    selector: &Selector,
) -> Result<i64, String> {
    let ratio = usage as f64 / wanted as f64;
    if is_within(turn, ratio) {
        return Ok(scale.wanted);
    }
    let pods = Pods::group(turn, selector, &Text::from(""));
    if pods.all.is_empty() {
        return Err("unable to calculate ready pods: no pods returned by selector while calculating replica count"
            .to_owned());
    }
    let is_ready = |pod: &crate::pod::Pod| *pod.phase == *"Running" && pod.ready_since.is_some();
    let ready = pods.all.iter().filter(|(_, _, pod)| is_ready(pod)).count();
    Ok(replica_count(ratio * ready as f64))
}

/// As many as one each is enough for, and what each has now (`GetExternalPerPodMetricReplicas`).
fn per_pod(turn: &Turn<'_>, usage: i64, wanted: i64, scale: &Scale) -> (i64, i64) {
    let (usage, wanted, there) = (usage as f64, wanted as f64, scale.there as f64);
    let replicas = match is_within(turn, usage / (wanted * there)) {
        true => scale.there,
        false => replica_count(usage / wanted),
    };
    let average = (usage / there).ceil();
    // What Go makes of an infinite number on most machines, where no pod is there yet.
    (replicas, if average.is_finite() { average as i64 } else { i64::MIN })
}

fn replica_count(exact: f64) -> i64 {
    exact.ceil().min(f64::from(i32::MAX)) as i64
}

/// A label selector as Go's `%+v` shows it.
fn shown(selector: &Value) -> String {
    if !selector.is_object() {
        return "nil".to_owned();
    }
    let labels = read::labels(selector, "matchLabels");
    let labels: String = labels.iter().map(|(key, value)| format!("{key}: {value},")).collect();
    let expressions = read::list(selector, "matchExpressions").map(|one| {
        let values: Vec<&str> = read::list(one, "values").filter_map(Value::as_str).collect();
        let (key, operator) = (read::text(one, "key"), read::text(one, "operator"));
        format!(
            "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},",
            values.join(" ")
        )
    });
    let expressions: String = expressions.collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
