//! What `horizontal_test.go` and `replica_calculator_test.go` promise: how many pods for which usage, how fast, and
//! what is said of it. What a whole autoscaler does beside the real one is in `tests/environment`.

mod foreign;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use super::{Recent, Scale, autoscalers};
use crate::{
    Controller, Kind, Next, Object, Request, Response, View,
    fixture::{NOW, object, view},
    request::Memory,
};

const SCALER: &str = "horizontalpodautoscalers.autoscaling/default/s";

/// What is asked of an autoscaler.
struct World {
    /// Pods with names `p0` and so on: what each uses of CPU, in thousandths, where that is known; and its phase.
    pods: Vec<(Option<i64>, &'static str)>,
    spec: Value,
    replicas: i64,
    recent: Option<Recent>,
}

impl World {
    fn new(used: &[i64], percent: i64) -> World {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        World {
            pods: used.iter().map(|milli| (Some(*milli), "Running")).collect(),
            spec: json!({"minReplicas": 1, "maxReplicas": 100, "metrics": [metric]}),
            replicas: used.len() as i64,
            recent: None,
        }
    }

    fn view(&self) -> View {
        let mut objects = vec![self.scaler("s"), object("deployments.apps/default/web", json!({}))];
        for (number, (used, phase)) in self.pods.iter().enumerate() {
            let name = format!("p{number}");
            let past = "2025-01-01T00:00:00Z";
            objects.push(object(
                &format!("pods/default/{name}"),
                json!({
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
                    "status": {"phase": phase, "startTime": past, "conditions": [
                        {"type": "Ready", "status": "True", "lastTransitionTime": past},
                    ]},
                }),
            ));
            let Some(milli) = used else { continue };
            objects.push(object(
                &format!("pods.metrics.k8s.io/default/{name}"),
                json!({
                    "metadata": {"labels": {"app": "web"}, "uid": format!("m{number}")},
                    "timestamp": "2026-01-01T00:00:00Z", "window": "30s",
                    "containers": [{"name": "c", "usage": {"cpu": format!("{milli}m")}}],
                }),
            ));
        }
        let mut view = view(&objects);
        let resource = GroupResource::new("metrics.k8s.io", "pods");
        let served = Kind { resource, namespaced: true };
        let deployments =
            Kind { resource: GroupResource::new("apps", "deployments"), namespaced: true };
        view.kinds = [
            (("metrics.k8s.io/v1beta1".into(), "PodMetrics".into()), served),
            (("apps/v1".into(), "Deployment".into()), deployments),
        ]
        .into_iter()
        .collect();
        if let Some(recent) = &self.recent {
            let memory = Memory::Scaled(Box::new(recent.clone()));
            view.remember(&SCALER.parse().expect("a key"), memory);
        }
        view
    }

    fn scaler(&self, name: &str) -> (ObjectKey, Value) {
        let mut spec = self.spec.clone();
        spec["scaleTargetRef"] =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        object(&format!("{}/default/{name}", autoscalers()), json!({"spec": spec}))
    }

    /// One turn: to how many it scales, if it does; what it remembers; its conditions by type, as status and reason.
    fn turn(&self) -> Turn {
        self.turn_of(&self.view(), None)
    }

    fn turn_of(&self, view: &View, refused: Option<&str>) -> Turn {
        let key: ObjectKey = SCALER.parse().expect("a key");
        let mut turn = Turn::default();
        let mut responses = Vec::new();
        loop {
            let request = match Controller::Autoscaler.next(view, &key, NOW, &responses) {
                Next::Request(request) => request,
                end => {
                    let after = Some(super::PERIOD);
                    assert_eq!(end, Next::Done { requeue_after: after });
                    return turn;
                }
            };
            responses.push(match &*request {
                Request::GetScale { .. } => Response::Scale(Scale {
                    wanted: self.replicas,
                    there: self.replicas,
                    selector: "app=web".into(),
                    ..Scale::default()
                }),
                Request::SetScale { replicas, .. } => match refused {
                    Some(why) => {
                        Response::Refused { code: 409, reason: "".into(), message: why.into() }
                    }
                    None => {
                        turn.scaled = Some(*replicas);
                        Response::Written(None)
                    }
                },
                _ => Response::Written(None),
            });
            match *request {
                Request::Remember { memory: Memory::Scaled(recent), .. } => {
                    turn.recent = Some(*recent);
                }
                Request::Update { mut fields, .. } => turn.status = fields.remove(0).1,
                _ => {}
            }
        }
    }
}

#[derive(Default)]
struct Turn {
    scaled: Option<i64>,
    recent: Option<Recent>,
    status: Value,
}

impl Turn {
    fn reason(&self, kind: &str) -> String {
        let mut all = self.status["conditions"].as_array().expect("conditions").iter();
        let found = all.find(|condition| condition["type"] == kind);
        found.map_or(String::new(), |found| found["reason"].as_str().expect("a reason").to_owned())
    }

    fn message(&self, kind: &str) -> String {
        let mut all = self.status["conditions"].as_array().expect("conditions").iter();
        let found = all.find(|condition| condition["type"] == kind).expect("the condition");
        found["message"].as_str().expect("a message").to_owned()
    }
}

fn ago(seconds: u64) -> Time {
    Time(NOW.0 - std::time::Duration::from_secs(seconds).as_nanos() as i64)
}

/// It remembers nothing that keeps it from scaling down.
fn fresh(mut world: World) -> World {
    world.recent =
        Some(Recent { recommendations: vec![(1, ago(1000))], added: vec![], removed: vec![] });
    world
}

#[test]
fn usage_decides() {
    let check = |used: &[i64], percent: i64, expect: Option<i64>| {
        let turn = fresh(World::new(used, percent)).turn();
        assert_eq!(turn.scaled, expect, "{used:?} {percent}");
    };
    check(&[300, 500, 700], 30, Some(5));
    check(&[100, 300, 500, 250, 250], 50, Some(3));
    // Within a tenth.
    check(&[1010, 1030, 1020], 100, None);
    check(&[990, 950], 100, None);
    // Not faster than twice, or four.
    check(&[1000], 10, Some(4));
    check(&[1000, 1000, 1000], 10, Some(6));
    check(&[0, 0, 0], 50, Some(1));
}

#[test]
fn parts_of_a_thousandth_count_as_one() {
    let mut world = fresh(World::new(&[3, 3], 1));
    let target = |value: &str| json!({"type": "AverageValue", "averageValue": value});
    world.spec["metrics"][0]["resource"]["target"] = target("2001u");
    assert_eq!(world.turn().scaled, None, "3m, as they use");
    world.spec["metrics"][0]["resource"]["target"] = target("2000u");
    assert_eq!(world.turn().scaled, Some(3));
}

#[test]
fn what_is_not_known_does_less() {
    let check = |pods: &[(Option<i64>, &'static str)], percent: i64, expect: Option<i64>| {
        let mut world = fresh(World::new(&[], percent));
        world.pods = pods.to_vec();
        world.replicas = pods.len() as i64;
        assert_eq!(world.turn().scaled, expect, "{pods:?} {percent}");
    };
    let running = |milli: i64| (Some(milli), "Running");
    let missing = (None, "Running");
    // `TestReplicaCalcMissingMetrics`…: all of what they ask for on the way down, nothing on the way up.
    check(&[running(400), running(500), missing], 100, Some(2));
    check(&[running(850), running(850), missing], 100, None);
    check(&[running(100), running(100), missing], 100, Some(2));
    check(&[running(1000), running(1000), missing], 50, Some(4));
    check(&[running(700), missing], 50, None);
    // Pods that don't run yet use nothing.
    check(&[running(1000), (Some(0), "Pending")], 50, None);
    check(&[running(2000), (Some(0), "Pending")], 50, Some(4));
    // Those that failed don't count.
    check(&[running(1000), (Some(0), "Failed")], 50, None);
}

#[test]
fn what_was_recommended_lately_counts() {
    let check = |recommendations: &[(i64, u64)], expect: Option<i64>, reason: &str| {
        let mut world = World::new(&[100, 100, 100, 100], 100);
        let told = recommendations.iter().map(|(value, seconds)| (*value, ago(*seconds)));
        world.recent =
            Some(Recent { recommendations: told.collect(), added: vec![], removed: vec![] });
        let turn = world.turn();
        assert_eq!(turn.scaled, expect, "{recommendations:?}");
        if expect.is_none() {
            assert_eq!(turn.reason("AbleToScale"), reason);
        }
    };
    check(&[(4, 10)], None, "ScaleDownStabilized");
    check(&[(4, 301), (3, 300), (2, 10)], Some(3), "");
    check(&[(4, 301)], Some(1), "");
}

#[test]
fn nothing_is_remembered_for_nothing() {
    let mut world = World::new(&[1000, 1000], 100);
    let told = [(5, 400), (2, 200), (3, 100), (2, 15)];
    let told = told.iter().map(|(value, seconds)| (*value, ago(*seconds)));
    world.recent = Some(Recent { recommendations: told.collect(), added: vec![], removed: vec![] });
    let recent = world.turn().recent.expect("it remembers");
    assert_eq!(recent.recommendations, [(5, ago(400)), (3, ago(100)), (2, NOW)]);
}

#[test]
fn behaviors_limit() {
    let check = |rules: Value, used: &[i64], recent: Recent, expect: Option<i64>, reason: &str| {
        let mut world = World::new(used, 100);
        world.spec["behavior"] = rules.clone();
        world.recent = Some(recent);
        let turn = world.turn();
        assert_eq!(turn.scaled, expect, "{rules} {used:?}");
        assert_eq!(turn.reason("ScalingLimited"), reason, "{rules} {used:?}");
    };
    let quiet = || Recent { recommendations: vec![(2, ago(1000))], added: vec![], removed: vec![] };
    let pods = |value: i64| json!({"type": "Pods", "value": value, "periodSeconds": 60});
    let percent = |value: i64| json!({"type": "Percent", "value": value, "periodSeconds": 60});
    let up = |select: &str, policies: Value| json!({"scaleUp": {"selectPolicy": select, "policies": policies}});
    let down = |select: &str, policies: Value| {
        json!({"scaleDown": {
            "selectPolicy": select, "policies": policies, "stabilizationWindowSeconds": 0,
        }})
    };
    let busy = [5000, 5000];
    check(up("Max", json!([pods(3), percent(50)])), &busy, quiet(), Some(5), "ScaleUpLimit");
    check(up("Min", json!([pods(3), percent(50)])), &busy, quiet(), Some(3), "ScaleUpLimit");
    check(up("Disabled", json!([pods(3)])), &busy, quiet(), None, "ScaleUpLimit");
    // Two were added in this period already, one was removed.
    let lately = || Recent {
        added: vec![(2, ago(30)), (9, ago(61))],
        removed: vec![(1, ago(5))],
        ..quiet()
    };
    check(up("Max", json!([pods(3)])), &busy, lately(), Some(4), "ScaleUpLimit");
    let idle = [0, 0, 0, 0];
    check(down("Max", json!([pods(1), percent(50)])), &idle, quiet(), Some(2), "ScaleDownLimit");
    check(down("Min", json!([pods(1), percent(50)])), &idle, quiet(), Some(3), "ScaleDownLimit");
    check(down("Disabled", json!([pods(1)])), &idle, quiet(), None, "ScaleDownLimit");
    check(json!({"scaleUp": {"tolerance": "5"}}), &busy, quiet(), None, "DesiredWithinRange");
}

#[test]
fn behaviors_stabilize_upwards_too() {
    let mut world = World::new(&[5000, 5000], 100);
    world.spec["behavior"] = json!({"scaleUp": {"stabilizationWindowSeconds": 60}});
    world.recent =
        Some(Recent { recommendations: vec![(3, ago(59))], added: vec![], removed: vec![] });
    let turn = world.turn();
    assert_eq!(turn.scaled, Some(3));
    assert_eq!(turn.recent.expect("it remembers").added, [(1, NOW)]);
}

#[test]
fn bounds_come_first() {
    let check = |least: i64, most: i64, expect: Option<i64>| {
        let mut world = World::new(&[1000, 1000], 100);
        world.spec["minReplicas"] = json!(least);
        world.spec["maxReplicas"] = json!(most);
        assert_eq!(world.turn().scaled, expect, "{least} {most}");
    };
    check(3, 5, Some(3));
    check(1, 1, Some(1));
    check(1, 5, None);
}

#[test]
fn without_metrics_it_says_so() {
    let world = World::new(&[], 50);
    let mut view = World { replicas: 2, ..World::new(&[], 50) }.view();
    let turn = World { replicas: 2, ..World::new(&[], 50) }.turn_of(&view, None);
    assert_eq!(turn.reason("ScalingActive"), "FailedGetResourceMetric");
    let head = "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get \
                metrics for resource cpu: ";
    let tail = turn.message("ScalingActive");
    assert_eq!(tail.strip_prefix(head), Some("no metrics returned from resource metrics API"));
    let deployments =
        Kind { resource: GroupResource::new("apps", "deployments"), namespaced: true };
    view.kinds = [(("apps/v1".into(), "Deployment".into()), deployments)].into_iter().collect();
    let turn = World { replicas: 2, ..world }.turn_of(&view, None);
    let tail = turn.message("ScalingActive");
    assert_eq!(
        tail.strip_prefix(head),
        Some(
            "unable to fetch metrics from resource metrics API: the server could not find the requested resource \
             (get pods.metrics.k8s.io)"
        )
    );
}

#[test]
fn pods_of_two_autoscalers() {
    let world = World::new(&[1000], 50);
    let mut view = world.view();
    let (key, other) = world.scaler("t");
    view.set(&key, Some(Object::read(&key, &other)));
    // It has not looked at its pods yet.
    assert_eq!(world.turn_of(&view, None).reason("ScalingActive"), "ValidMetricFound");
    view.remember(&key, Memory::Scaled(Box::new(Recent::new(1, NOW))));
    let turn = world.turn_of(&view, None);
    assert_eq!(turn.reason("ScalingActive"), "AmbiguousSelector");
    assert_eq!(
        turn.message("ScalingActive"),
        "pods by selector app=web are controlled by multiple HPAs: [{s default} {t default}]"
    );
}

#[test]
fn a_scale_that_is_refused() {
    let world = fresh(World::new(&[1000], 50));
    let turn = world.turn_of(&world.view(), Some("somebody was faster"));
    assert_eq!(turn.reason("AbleToScale"), "FailedUpdateScale");
    assert_eq!(turn.status["desiredReplicas"], 0);
    assert!(turn.status["lastScaleTime"].is_null());
}
