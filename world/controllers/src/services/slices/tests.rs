//! Services with more pods than a slice holds, and slices that somebody gave away. All else is in `tests/environment`.

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    Controller, Object, Request, View,
    fixture::{object, run, view},
};

const SHOP: &str = "services/default/shop";

fn world(pods: usize, slices: &[(&str, std::ops::Range<usize>)]) -> Vec<(ObjectKey, Value)> {
    let port = json!({"name": "", "port": 80, "targetPort": 80, "protocol": "TCP"});
    let mut all = vec![
        object("nodes/n", json!({})),
        object(
            SHOP,
            json!({"spec": {
                "selector": {"a": "1"}, "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "ports": [port],
            }}),
        ),
    ];
    for number in 0..pods {
        all.push(object(
            &format!("pods/default/p{number:03}"),
            json!({
                "metadata": {"labels": {"a": "1"}},
                "spec": {"nodeName": "n"},
                "status": {
                    "phase": "Running", "podIPs": [{"ip": format!("10.1.0.{number}")}],
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }),
        ));
    }
    let endpoint = |number: usize| {
        let name = format!("p{number:03}");
        json!({
            "addresses": [format!("10.1.0.{number}")], "nodeName": "n",
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "targetRef": {"kind": "Pod", "name": name, "uid": name},
        })
    };
    for (name, range) in slices {
        all.push(object(&format!("endpointslices.discovery.k8s.io/default/{name}"), json!({
            "metadata": {
                "labels": {
                    "kubernetes.io/service-name": "shop",
                    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                },
                "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "shop", "uid": "shop"}],
            },
            "addressType": "IPv4",
            "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
            "endpoints": range.clone().map(endpoint).collect::<Vec<_>>(),
        })));
    }
    all
}

fn check(pods: usize, slices: &[(&str, std::ops::Range<usize>)], expect: &[&str]) {
    let (sent, _) = run(Controller::EndpointSlice, &view(&world(pods, slices)), SHOP, &[]);
    let count = |endpoints: &Value| endpoints.as_array().map_or(0, Vec::len);
    let told = sent.iter().map(|request| match request {
        Request::Create { object, .. } => format!("new {}", count(&object["endpoints"])),
        Request::Update { key, fields, .. } => format!("{} {}", key.name, count(&fields[2].1)),
        Request::Delete { key, .. } => format!("delete {}", key.name),
        other => format!("{other:?}"),
    });
    assert_eq!(told.collect::<Vec<String>>(), expect);
}

#[test]
fn a_pod_waits_for_its_node() {
    let mut world = world(1, &[]);
    world.retain(|(key, _)| *key.name != *"n");
    let (sent, _) = run(Controller::EndpointSlice, &view(&world), SHOP, &[]);
    let [Request::Create { object, .. }] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(object["endpoints"], json!([]));
}

#[test]
fn a_slice_holds_a_hundred() {
    check(250, &[], &["new 100", "new 100", "new 50"]);
    check(0, &[], &["new 0"]);
    check(250, &[("a", 0..100), ("b", 100..200), ("c", 200..250)], &[]);
    // One more goes where there is room, one less leaves a hole.
    check(251, &[("a", 0..100), ("b", 100..200), ("c", 200..250)], &["c 51"]);
    check(249, &[("a", 0..100), ("b", 100..200), ("c", 200..250)], &["c 49"]);
    check(200, &[("a", 0..100), ("b", 100..200), ("c", 200..250)], &["delete c"]);
    // The last one is emptied, not replaced.
    check(0, &[("a", 0..10)], &["a 0"]);
}

#[test]
fn a_slice_that_was_given_away_is_missed() {
    const SERVICE_NAME: &str = "kubernetes.io/service-name";
    let objects = world(2, &[("a", 0..1)]);
    let (key, slice) = objects.last().expect("the slice");
    let mut seen = view(&objects);
    let relabel = |seen: &mut View, label: &str, value: &str| {
        let mut slice = slice.clone();
        slice["metadata"]["labels"][label] = json!(value);
        seen.set(key, Some(Object::read(key, &slice)));
    };
    let sent = |seen: &View| run(Controller::EndpointSlice, seen, SHOP, &[]).0.len();
    assert_eq!(sent(&seen), 1, "it lacks a pod");
    relabel(&mut seen, SERVICE_NAME, "other");
    assert_eq!(sent(&seen), 0);
    relabel(&mut seen, SERVICE_NAME, "shop");
    assert_eq!(sent(&seen), 1, "it is back");
    relabel(&mut seen, "endpointslice.kubernetes.io/managed-by", "me");
    assert_eq!(sent(&seen), 0);
    // Nobody whom it concerned has seen it go.
    seen.set(key, None);
    assert_eq!((sent(&seen), seen.all_strays().count()), (0, 1));
    let (shop, service) = objects.iter().find(|(key, _)| *key.name == *"shop").expect("it");
    seen.set(shop, None);
    seen.set(shop, Some(Object::read(shop, service)));
    assert_eq!((sent(&seen), seen.all_strays().count()), (1, 0), "another Service");
}

#[test]
fn a_slice_of_nobody_is_not_missed() {
    let mut objects = world(1, &[("a", 0..1)]);
    objects[3].1["metadata"]["ownerReferences"] = json!([]);
    let mut seen = view(&objects);
    let (key, slice) = &mut objects[3];
    slice["metadata"]["labels"]["kubernetes.io/service-name"] = json!("other");
    seen.set(key, Some(Object::read(key, slice)));
    let (sent, _) = run(Controller::EndpointSlice, &seen, SHOP, &[]);
    assert!(matches!(&sent[..], [Request::Create { .. }]), "{sent:?}");
}

/// What is reserved is written with what is not, and not looked at.
#[test]
fn labels_are_the_services() {
    let check = |label: &str, expect: usize| {
        let mut objects = world(1, &[("a", 0..1)]);
        objects[3].1["metadata"]["labels"][label] = json!("own");
        let (sent, _) = run(Controller::EndpointSlice, &view(&objects), SHOP, &[]);
        assert_eq!(sent.len(), expect, "{label}: {sent:?}");
    };
    check("note", 1);
    check("service.kubernetes.io/headless", 0);
}
