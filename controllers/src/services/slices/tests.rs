//! Services with more pods than a slice holds. All else is in `tests/environment`.

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    Controller, Request,
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
