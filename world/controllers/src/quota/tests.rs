//! What `resource_quota_controller_test.go` and the tests of the evaluators promise: what counts, for whom, and what
//! lets a quota be counted again. All else is in `tests/environment`.

use serde_json::{Value, json};
use trace::ObjectKey;

use super::{amounts, usage};
use crate::{
    Controller, Next, Request,
    fixture::{affected, object, run, view},
};

const QUOTA: &str = "resourcequotas/default/q";

fn quota(spec: Value, status: Value) -> (ObjectKey, Value) {
    object(QUOTA, json!({"spec": spec, "status": status}))
}

fn pod(name: &str, cpu: &str, fields: Value) -> (ObjectKey, Value) {
    let containers = json!([{"name": "c", "resources": {"requests": {"cpu": cpu}}}]);
    let (key, mut pod) =
        object(&format!("pods/default/{name}"), json!({"spec": {"containers": containers}}));
    for (path, value) in fields.as_object().into_iter().flatten() {
        let (parent, field) = path.rsplit_once('/').expect("a pointer");
        if pod.pointer(parent).is_none() {
            pod[parent.trim_start_matches('/')] = json!({});
        }
        pod.pointer_mut(parent).expect("it is there")[field] = value.clone();
    }
    (key, pod)
}

/// The `used` that is written; none where nothing is.
fn used(objects: &[(ObjectKey, Value)]) -> (Option<Value>, Next) {
    let (sent, end) = run(Controller::Quota, &view(objects), QUOTA, &[]);
    let written = sent.into_iter().map(|request| match request {
        Request::Update { fields, .. } => fields[0].1["used"].clone(),
        other => panic!("{other:?}"),
    });
    (written.last(), end)
}

#[test]
fn what_is_there_is_counted() {
    let spec = || json!({"hard": {"requests.cpu": "3", "pods": "5", "count/configmaps": "9"}});
    let check = |objects: Vec<(ObjectKey, Value)>, expect: Value| {
        let all = [vec![quota(spec(), json!({}))], objects].concat();
        assert_eq!(used(&all).0, Some(expect));
    };
    check(vec![], json!({"requests.cpu": "0", "pods": "0", "count/configmaps": "0"}));
    check(
        vec![
            pod("a", "500m", json!({})),
            pod("b", "1500m", json!({})),
            pod("ended", "1", json!({"/status/phase": "Failed"})),
            object("configmaps/default/m", json!({})),
            object("configmaps/other/m", json!({})),
        ],
        json!({"requests.cpu": "2", "pods": "2", "count/configmaps": "1"}),
    );
}

#[test]
fn nothing_is_written_twice() {
    let status = json!({"hard": {"pods": "5"}, "used": {"pods": "1"}});
    let all = [quota(json!({"hard": {"pods": "5"}}), status), pod("a", "1", json!({}))];
    assert_eq!(used(&all), (None, Next::Done { requeue_after: None }));
}

#[test]
fn what_nobody_counts_stays_as_it_is() {
    let hard = json!({"count/nothings.example.com": "1", "pods": "1"});
    let status = json!({"hard": {}, "used": {"count/nothings.example.com": "7", "old": "1"}});
    let all = [quota(json!({"hard": hard}), status)];
    assert_eq!(used(&all).0, Some(json!({"count/nothings.example.com": "7", "pods": "0"})));
}

#[test]
fn a_pod_that_nobody_ends_stops_counting() {
    let going = |since: &str| {
        let fields = json!({
            "/metadata/deletionTimestamp": since, "/metadata/deletionGracePeriodSeconds": 30,
        });
        [quota(json!({"hard": {"pods": "5"}}), json!({})), pod("a", "1", fields)]
    };
    // It is midnight; the grace counts once more after the time of deletion.
    let (count, end) = used(&going("2026-01-01T00:00:10Z"));
    assert_eq!(count, Some(json!({"pods": "1"})));
    let Next::Done { requeue_after: Some(after) } = end else { panic!("{end:?}") };
    assert_eq!(after.as_secs(), 40);
    assert_eq!(used(&going("2025-12-31T23:59:00Z")).0, Some(json!({"pods": "0"})));
}

#[test]
fn scopes_choose_pods() {
    let best_effort =
        || object("pods/default/free", json!({"spec": {"containers": [{"name": "c"}]}}));
    let ending = || pod("ending", "1", json!({"/spec/activeDeadlineSeconds": 9}));
    let classed = || pod("classed", "1", json!({"/spec/priorityClassName": "high"}));
    let check = |scopes: Value, expect: &str| {
        let mut spec = scopes;
        spec["hard"] = json!({"pods": "5"});
        let all = [quota(spec, json!({})), best_effort(), ending(), classed()];
        assert_eq!(used(&all).0, Some(json!({"pods": expect})));
    };
    let class = |operator: &str, values: &[&str]| {
        json!({"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": operator, "values": values},
        ]}})
    };
    check(json!({}), "3");
    check(json!({"scopes": ["BestEffort"]}), "1");
    check(json!({"scopes": ["NotBestEffort"]}), "2");
    check(json!({"scopes": ["NotBestEffort", "NotTerminating"]}), "1");
    check(json!({"scopes": ["Terminating"]}), "1");
    check(class("In", &["high"]), "1");
    check(class("NotIn", &["high"]), "2");
    check(class("DoesNotExist", &[]), "2");
    check(json!({"scopes": ["CrossNamespacePodAffinity"]}), "0");
}

#[test]
fn claims_count_by_class() {
    let claim = |size: &str, more: Value| {
        let mut claim = json!({"spec": {
            "storageClassName": "gold", "resources": {"requests": {"storage": size}},
        }});
        claim["status"] = more;
        claim
    };
    let check = |claim: Value, resource: &str, expect: Option<&str>| {
        let uses = usage::of(&"persistentvolumeclaims".parse().expect("a type"), &claim);
        assert_eq!(uses.get(resource).and_then(Value::as_str), expect, "{resource}");
    };
    let of_gold = "gold.storageclass.storage.k8s.io/requests.storage";
    check(claim("1Gi", json!({})), "requests.storage", Some("1Gi"));
    check(claim("1Gi", json!({})), of_gold, Some("1Gi"));
    check(claim("1500m", json!({})), of_gold, Some("2"));
    let given = json!({"allocatedResources": {"storage": "3Gi"}});
    check(claim("1Gi", given), of_gold, Some("3Gi"));
    let count = "gold.storageclass.storage.k8s.io/persistentvolumeclaims";
    check(claim("1Gi", json!({})), count, Some("1"));
}

#[test]
fn a_container_that_is_resized_holds_the_most() {
    let pod = |status: Value| {
        json!({
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
            "status": status,
        })
    };
    let check = |status: Value, expect: &str| {
        assert_eq!(amounts::of_pod(&pod(status), "requests")["cpu"], expect);
    };
    let status = |given: &str, has: &str| {
        json!({"containerStatuses": [{
            "name": "c", "allocatedResources": {"cpu": given},
            "resources": {"requests": {"cpu": has}},
        }]})
    };
    check(json!({}), "1");
    check(status("500m", "500m"), "1");
    check(status("2", "500m"), "2");
    let mut refused = status("500m", "600m");
    refused["conditions"] = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
    check(refused, "600m");
}

#[test]
fn changes_that_free_something_are_noticed() {
    let status = json!({"hard": {"pods": "5", "count/configmaps": "1"}});
    let (key, stored) = quota(json!({"hard": {"pods": "5"}}), status);
    let world = view(&[(key, stored.clone())]);
    let check = |key: &str, before: Option<Value>, after: Option<Value>, expect: usize| {
        let found = affected(Controller::Quota, &world, key, before, after);
        assert_eq!(found.len(), expect, "{key} {found:?}");
    };
    let of = |phase: &str| Some(pod("a", "1", json!({"/status/phase": phase})).1);
    check("pods/default/a", None, of("Running"), 0);
    check("pods/default/a", of("Running"), of("Running"), 0);
    check("pods/default/a", of("Running"), of("Succeeded"), 1);
    check("pods/default/a", of("Running"), None, 1);
    check("pods/other/a", of("Running"), None, 0);
    check("configmaps/default/m", Some(json!({})), None, 1);
    check("secrets/default/m", Some(json!({})), None, 0);
    check(QUOTA, None, Some(stored.clone()), 1);
    check(QUOTA, Some(stored.clone()), Some(stored.clone()), 0);
    let more = quota(json!({"hard": {"pods": "6"}}), json!({})).1;
    check(QUOTA, Some(stored), Some(more), 1);
}
