//! HorizontalPodAutoscalers. What pods use stands in PodMetrics, in a type that the test itself serves to both arms:
//! the real controller reads them as it would read metrics-server's. So it is with an external metric. Custom metrics
//! are asked for at paths that no such type can serve.

use serde_json::{Value, json};

use crate::{
    arm::Arm,
    scenario::{Scenario, Step, scenario, template, web},
};

const SCALERS: &str = "/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers";
const SETS: &str = "/apis/apps/v1/namespaces/NS/statefulsets";
const METRICS: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/NS/pods";
/// The values of an external metric.
const DEPTHS: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/NS/depth";
const TYPES: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Of the only scenario in which nobody serves PodMetrics: it has to come first.
pub const UNSERVED: &str = "scaler-unserved";

/// Of the scenarios in which an external metric is served.
const EXTERNAL: &str = "scaler-external";

/// Lets a cluster serve PodMetrics where the scenario needs them.
pub fn serve_metrics(arm: &dyn Arm, scenario: &Scenario) {
    let scales =
        |step: &Step| step.path().is_some_and(|path| path.starts_with("/apis/autoscaling"));
    if scenario.name.starts_with(UNSERVED) || !scenario.steps.iter().any(scales) {
        return;
    }
    serve(arm, "metrics.k8s.io", ("pods", "PodMetrics"), &METRICS.replace("NS", &scenario.name));
    if scenario.name.starts_with(EXTERNAL) {
        let path = DEPTHS.replace("NS", &scenario.name);
        serve(arm, "external.metrics.k8s.io", ("depth", "ExternalMetricValue"), &path);
    }
}

/// Serves a type, where nobody does so yet, until it is listed at this path.
fn serve(arm: &dyn Arm, group: &str, (plural, kind): (&str, &str), path: &str) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({
        "name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
    });
    let names = json!({
        "plural": plural, "singular": kind.to_lowercase(), "kind": kind,
        "listKind": format!("{kind}List"),
    });
    let approval = json!({"api-approved.kubernetes.io": "unapproved, for a test"});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "annotations": approval},
        "spec": {
            "group": group, "scope": "Namespaced", "names": names, "versions": [version],
        },
    });
    let (code, answer) = arm.send("POST", TYPES, Some(definition));
    assert!(matches!(code, 201 | 409), "{answer}");
    arm.wait_for(&|| arm.send("GET", path, None).0 == 200);
}

fn scaler(target: (&str, &str, &str), spec: Value) -> Step {
    named("s", target, spec)
}

fn named(name: &str, (version, kind, of): (&str, &str, &str), more: Value) -> Step {
    let target = json!({"apiVersion": version, "kind": kind, "name": of});
    let mut spec = json!({"scaleTargetRef": target, "maxReplicas": 5});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    Step::Create(SCALERS, json!({"metadata": {"name": name}, "spec": spec}))
}

const WEB: (&str, &str, &str) = ("apps/v1", "Deployment", "web");
const DB: (&str, &str, &str) = ("apps/v1", "StatefulSet", "db");

/// A StatefulSet, whose pods have names that both arms know.
fn db(replicas: u32) -> Step {
    let resources = json!({"requests": {"cpu": "200m", "memory": "100Mi"}});
    let template = json!({
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "c", "image": "v1", "resources": resources}]},
    });
    let spec = json!({
        "replicas": replicas, "serviceName": "db", "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "db"}}, "template": template,
    });
    Step::Create(SETS, json!({"metadata": {"name": "db"}, "spec": spec}))
}

/// One whose pods ask for nothing.
fn bare() -> Step {
    let Step::Create(path, mut set) = db(1) else { unreachable!("it makes one") };
    set["spec"]["template"]["spec"]["containers"] = json!([{"name": "c", "image": "v1"}]);
    Step::Create(path, set)
}

fn uses(pod: &str, cpu: &str, memory: &str) -> Step {
    let usage = json!({"cpu": cpu, "memory": memory});
    Step::Create(
        METRICS,
        json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": {"name": pod, "labels": {"app": "db"}},
            "timestamp": "$NOW", "window": "30s",
            "containers": [{"name": "c", "usage": usage}],
        }),
    )
}

/// All pods run, and have done so for long.
fn run() -> Step {
    let past = "2026-01-01T00:00:00Z";
    Step::PatchPods(json!({"status": {
        "phase": "Running", "startTime": past,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": past}],
    }}))
}

fn percent(resource: &str, percent: u32) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percent});
    json!({"type": "Resource", "resource": {"name": resource, "target": target}})
}

fn average(resource: &str, value: &str) -> Value {
    let target = json!({"type": "AverageValue", "averageValue": value});
    json!({"type": "Resource", "resource": {"name": resource, "target": target}})
}

fn of_container(container: &str) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": 50});
    let source = json!({"name": "cpu", "container": container, "target": target});
    json!({"type": "ContainerResource", "containerResource": source})
}

/// Metrics that no cluster serves by itself.
fn foreign() -> Vec<Value> {
    let value = |kind: &str, field: &str| {
        let mut target = json!({"type": kind});
        target[field] = json!("10");
        target
    };
    let object = |target: Value| {
        let described = json!({"apiVersion": "v1", "kind": "Service", "name": "shop"});
        let source =
            json!({"metric": {"name": "hits"}, "describedObject": described, "target": target});
        json!({"type": "Object", "object": source})
    };
    let external = |metric: Value, target: Value| json!({"type": "External", "external": {"metric": metric, "target": target}});
    let selected = json!({"name": "queue", "selector": {"matchLabels": {"a": "1"}}});
    vec![
        json!({"type": "Pods", "pods": {
            "metric": {"name": "packets"}, "target": value("AverageValue", "averageValue"),
        }}),
        object(value("Value", "value")),
        object(value("AverageValue", "averageValue")),
        external(json!({"name": "queue"}), value("Value", "value")),
        external(selected, value("AverageValue", "averageValue")),
    ]
}

fn targets() -> Vec<Scenario> {
    let cpu = || json!({"metrics": [percent("cpu", 50)]});
    let mut all = vec![
        scenario(UNSERVED, vec![web(2, json!({})), Step::Ready, scaler(WEB, cpu())]),
        scenario("scaler-defaults", vec![web(1, json!({})), scaler(WEB, json!({"behavior": {}}))]),
        scenario("scaler-below", vec![web(1, json!({})), scaler(WEB, json!({"minReplicas": 3}))]),
        scenario("scaler-above", vec![web(3, json!({})), scaler(WEB, json!({"maxReplicas": 2}))]),
        scenario("scaler-off", vec![web(0, json!({})), scaler(WEB, cpu())]),
        scenario("scaler-nobody", vec![scaler(WEB, cpu())]),
        scenario(
            "scaler-of-nothing",
            vec![
                scaler(("example.com/v1", "Nothing", "n"), cpu()),
                named("d", ("apps/v1", "DaemonSet", "d"), cpu()),
            ],
        ),
        scenario(
            "scaler-of-older",
            vec![
                Step::Create(
                    "/api/v1/namespaces/NS/replicationcontrollers",
                    json!({"metadata": {"name": "old"}, "spec": {"replicas": 1, "template": template("v1")}}),
                ),
                scaler(("v1", "ReplicationController", "old"), json!({"minReplicas": 2})),
            ],
        ),
    ];
    for (number, metric) in foreign().into_iter().enumerate() {
        let steps = vec![web(1, json!({})), scaler(WEB, json!({"metrics": [metric]}))];
        all.push(Scenario { name: format!("scaler-foreign-{number}"), steps });
    }
    all
}

/// A series of an external metric.
fn depth(name: &str, value: &str) -> Step {
    Step::Create(
        DEPTHS,
        json!({
            "apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue",
            "metadata": {"name": name, "labels": {"of": name}},
            "metricName": "depth", "metricLabels": {"of": name}, "timestamp": "$NOW", "value": value,
        }),
    )
}

/// External metrics that somebody serves.
fn externals() -> Vec<Scenario> {
    let metric = |of: Option<&str>, target: Value| {
        let mut metric = json!({"name": "depth"});
        if let Some(of) = of {
            metric["selector"] = json!({"matchLabels": {"of": of}});
        }
        json!({"metrics": [{"type": "External", "external": {"metric": metric, "target": target}}]})
    };
    let all = |value: &str| json!({"type": "Value", "value": value});
    let each = |value: &str| json!({"type": "AverageValue", "averageValue": value});
    vec![
        scenario(
            "scaler-external",
            vec![
                db(1),
                run(),
                depth("a", "4300m"),
                depth("b", "4300m"),
                scaler(DB, metric(None, all("4400m"))),
            ],
        ),
        scenario(
            "scaler-external-each",
            vec![
                db(3),
                run(),
                depth("a", "8600m"),
                depth("b", "100"),
                scaler(DB, metric(Some("a"), each("2150m"))),
            ],
        ),
        scenario(
            "scaler-external-none",
            vec![db(1), run(), depth("a", "1"), scaler(DB, metric(Some("b"), all("1")))],
        ),
    ]
}

fn usages() -> Vec<Scenario> {
    let by = |rules: Value, metric: Value| json!({"behavior": rules, "metrics": [metric]});
    let low = || {
        vec![uses("db-0", "10m", "10Mi"), uses("db-1", "10m", "20Mi"), uses("db-2", "10m", "5Mi")]
    };
    let then = |first: Vec<Step>, more: Vec<Step>| [first, more].concat();
    let slowly = |select: &str| {
        let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": 1800}]);
        json!({"scaleDown": {
            "stabilizationWindowSeconds": 0, "selectPolicy": select, "policies": policies,
        }})
    };
    vec![
        scenario(
            "scaler-up",
            vec![
                db(2),
                run(),
                uses("db-0", "400m", "10Mi"),
                uses("db-1", "400m", "10Mi"),
                scaler(DB, json!({"metrics": [percent("cpu", 50)]})),
            ],
        ),
        scenario(
            "scaler-within",
            vec![
                db(2),
                run(),
                uses("db-0", "105m", "10Mi"),
                uses("db-1", "100m", "10Mi"),
                scaler(DB, json!({"metrics": [percent("cpu", 50), of_container("c")]})),
            ],
        ),
        scenario(
            "scaler-other-container",
            vec![
                db(1),
                run(),
                uses("db-0", "105m", "10Mi"),
                scaler(DB, json!({"metrics": [of_container("other")]})),
            ],
        ),
        scenario(
            "scaler-one-bad-metric",
            vec![
                db(1),
                run(),
                uses("db-0", "300m", "10Mi"),
                scaler(DB, json!({"metrics": [percent("cpu", 100), of_container("other")]})),
            ],
        ),
        scenario(
            "scaler-stabilized",
            then(
                vec![db(3), run()],
                then(low(), vec![scaler(DB, json!({"metrics": [percent("memory", 50)]}))]),
            ),
        ),
        scenario(
            "scaler-down-slowly",
            then(
                vec![db(3), run()],
                then(low(), vec![scaler(DB, by(slowly("Max"), average("memory", "100Mi")))]),
            ),
        ),
        scenario(
            "scaler-never-down",
            then(
                vec![db(3), run()],
                then(low(), vec![scaler(DB, by(slowly("Disabled"), average("memory", "100Mi")))]),
            ),
        ),
        scenario(
            "scaler-tolerant",
            vec![
                db(2),
                run(),
                uses("db-0", "1", "100Mi"),
                uses("db-1", "1", "130Mi"),
                scaler(
                    DB,
                    by(json!({"scaleUp": {"tolerance": "0.2"}}), average("memory", "100Mi")),
                ),
            ],
        ),
        scenario(
            "scaler-missing",
            vec![
                db(3),
                run(),
                uses("db-0", "10m", "10Mi"),
                uses("db-1", "10m", "10Mi"),
                scaler(
                    DB,
                    by(
                        json!({"scaleDown": {"stabilizationWindowSeconds": 0}}),
                        percent("memory", 50),
                    ),
                ),
            ],
        ),
        scenario(
            "scaler-just-started",
            vec![
                db(1),
                Step::Ready,
                uses("db-0", "10m", "10Mi"),
                scaler(DB, json!({"metrics": [percent("cpu", 50)]})),
            ],
        ),
        scenario(
            "scaler-no-requests",
            vec![
                bare(),
                run(),
                uses("db-0", "10m", "10Mi"),
                scaler(DB, json!({"metrics": [percent("memory", 50)]})),
            ],
        ),
    ]
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    [targets(), externals(), usages()].concat()
}
