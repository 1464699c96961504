//! Cases of `replica_calculator_test.go` with metrics that are not of what pods use: external ones, of pods, of
//! objects.

use super::*;
use crate::Kinds;

fn kinds() -> Kinds {
    let rows = [
        ("apps/v1", "Deployment", "deployments.apps", true),
        ("v1", "Service", "services", true),
        ("v1", "Namespace", "namespaces", false),
        (
            "external.metrics.k8s.io/v1beta1",
            "ExternalMetricValue",
            "queue.external.metrics.k8s.io",
            true,
        ),
        (
            "custom.metrics.k8s.io/v1beta2",
            "MetricValue",
            "metricvalues.custom.metrics.k8s.io",
            true,
        ),
    ];
    let kind = |(version, kind, resource, namespaced): (&str, &str, &str, bool)| {
        let resource: GroupResource = resource.parse().expect("a type");
        ((version.into(), kind.into()), Kind { resource, namespaced })
    };
    rows.into_iter().map(kind).collect()
}

/// One turn over a target of pods in these phases.
fn turn(metric: &Value, objects: &[(ObjectKey, Value)], phases: &[&'static str]) -> Turn {
    let mut world = fresh(World::new(&[], 50));
    world.pods = phases.iter().map(|phase| (None, *phase)).collect();
    world.replicas = phases.len() as i64;
    world.spec["metrics"] = json!([metric]);
    let mut view = world.view();
    for (key, object) in objects {
        view.set(key, Some(Object::read(key, object)));
    }
    view.kinds = kinds();
    world.turn_of(&view, None)
}

/// To how many it scales, and what the metric is told to be.
fn check(
    metric: Value,
    objects: &[(ObjectKey, Value)],
    phases: &[&'static str],
    expect: Option<i64>,
    current: Value,
) {
    let turn = turn(&metric, objects, phases);
    assert_eq!(turn.scaled, expect, "{metric}");
    let told = &turn.status["currentMetrics"][0];
    let field = metric["type"].as_str().expect("a type").to_lowercase();
    assert_eq!(told[&field]["current"], current, "{metric}");
    assert_eq!(told[&field]["metric"], metric[&field]["metric"]);
    assert_eq!(told[&field]["describedObject"], metric[&field]["describedObject"]);
}

/// Why there is no number of pods.
fn refused(metric: Value, objects: &[(ObjectKey, Value)], reason: &str, expect: &str) {
    let turn = turn(&metric, objects, &["Running"]);
    assert_eq!(turn.reason("ScalingActive"), reason, "{metric}");
    let message = turn.message("ScalingActive");
    let why = message.strip_prefix("the HPA was unable to compute the replica count: ");
    assert_eq!(why, Some(expect), "{metric}");
}

fn all(value: &str) -> Value {
    json!({"type": "Value", "value": value})
}

fn each(value: &str) -> Value {
    json!({"type": "AverageValue", "averageValue": value})
}

fn external(target: Value, selector: Value) -> Value {
    let mut metric = json!({"name": "queue"});
    if !selector.is_null() {
        metric["selector"] = selector;
    }
    json!({"type": "External", "external": {"metric": metric, "target": target}})
}

fn queue(name: &str, value: Value) -> (ObjectKey, Value) {
    object(
        &format!("queue.external.metrics.k8s.io/default/{name}"),
        json!({"metadata": {"labels": {"of": name}}, "value": value}),
    )
}

fn value(metric: &str, kind: &str, name: &str, value: &str) -> (ObjectKey, Value) {
    object(
        &format!("metricvalues.custom.metrics.k8s.io/default/{metric}-{name}-{value}"),
        json!({
            "metadata": {"labels": {"of": name}}, "metric": {"name": metric}, "value": value,
            "describedObject": {"kind": kind, "name": name},
        }),
    )
}

fn of_pods(target: Value) -> Value {
    json!({"type": "Pods", "pods": {"metric": {"name": "packets"}, "target": target}})
}

fn of_object(kind: &str, target: Value) -> Value {
    let of = json!({"apiVersion": "v1", "kind": kind, "name": "shop"});
    let source = json!({"metric": {"name": "hits"}, "describedObject": of, "target": target});
    json!({"type": "Object", "object": source})
}

const FIVE: [&str; 5] = ["Running"; 5];

#[test]
fn external_metrics_are_shared() {
    let one = [queue("a", json!("8600m"))];
    let told = || json!({"value": "8600m"});
    let by = |target: Value| external(target, Value::Null);
    check(by(all("4400m")), &one, &FIVE[..1], Some(2), told());
    check(by(all("4400m")), &one, &["Running", "Pending", "Pending"], Some(2), told());
    check(by(all("14334m")), &one, &FIVE, Some(3), told());
    check(by(all("8888m")), &one, &FIVE[..3], None, told());
    check(by(each("2150m")), &one, &FIVE[..3], Some(4), json!({"averageValue": "2867m"}));
    check(by(each("2867m")), &one, &FIVE, Some(3), json!({"averageValue": "1720m"}));
    let two = [queue("a", json!("4300m")), queue("b", json!(4.3))];
    check(by(all("4400m")), &two, &FIVE[..1], Some(2), told());
    let chosen = || json!({"matchLabels": {"of": "b"}});
    let half = json!({"value": "4300m"});
    check(external(all("4400m"), chosen()), &two, &FIVE[..1], None, half);
    let reason = "FailedGetExternalMetric";
    let why = "unable to get external metric default/queue/nil: no metrics returned from external metrics API";
    refused(by(all("1")), &[], reason, why);
    let why = "unable to get external metric default/queue/&LabelSelector{MatchLabels:map[string]string{of: \
               b,},MatchExpressions:[]LabelSelectorRequirement{},}: no metrics returned from external metrics API";
    refused(external(all("1"), chosen()), &one, reason, why);
}

#[test]
fn metrics_of_pods_are_averaged() {
    let packets = |pod: &str, amount: &str| value("packets", "Pod", pod, amount);
    let three = [packets("p0", "20"), packets("p1", "10"), packets("p2", "30")];
    check(of_pods(each("15")), &three, &FIVE[..3], Some(4), json!({"averageValue": "20"}));
    // Nobody's pod, and something else of one.
    let more = [&three[..], &[packets("p9", "1k"), value("drops", "Pod", "p0", "1k")]].concat();
    check(of_pods(each("15")), &more, &FIVE[..3], Some(4), json!({"averageValue": "20"}));
    // What is not known is as it should be on the way down.
    let few = [packets("p0", "1"), packets("p1", "1")];
    check(of_pods(each("10")), &few, &FIVE[..3], Some(2), json!({"averageValue": "1"}));
    let why = "unable to get metric packets: no metrics returned from custom metrics API";
    refused(of_pods(each("1")), &[], "FailedGetPodsMetric", why);
}

#[test]
fn metrics_of_an_object_are_shared() {
    let hits = |kind: &str, name: &str| value("hits", kind, name, "20");
    let shop = || hits("Service", "shop");
    let told = || json!({"value": "20"});
    check(of_object("Service", all("15")), &[shop()], &FIVE[..3], Some(4), told());
    let average = json!({"averageValue": "6667m"});
    check(of_object("Service", each("5")), &[shop()], &FIVE[..3], Some(4), average);
    // Of its own namespace, whatever it is called.
    let own = [hits("Namespace", "default"), shop()];
    check(of_object("Namespace", all("15")), &own, &FIVE[..3], Some(4), told());
    let head = "on default shop/unable to fetch metrics from custom metrics API:";
    let check = |metric: Value, objects: &[(ObjectKey, Value)], kind: &str, why: &str| {
        let expect = format!("unable to get metric hits: {kind} {head} {why}");
        refused(metric, objects, "FailedGetObjectMetric", &expect);
    };
    let none = "the server could not find the metric hits for services shop";
    check(of_object("Service", all("1")), &[hits("Service", "other")], "Service", none);
    let mut two = [shop(), shop()];
    two[1].0.name = "again".into();
    let many = "the custom metrics API server returned 2 results when we asked for exactly one";
    check(of_object("Service", all("1")), &two, "Service", many);
    let unknown = "unable to map kind Shop to resource: no matches for kind \"Shop\" in group \"\"";
    check(of_object("Shop", all("1")), &[], "Shop", unknown);
}
