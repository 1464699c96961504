//! Cases of upstream's `topologycache_test.go` and `utils_test.go`, and Services whose nodes change.

use serde_json::{Value, json};
use trace::ObjectKey;

use super::*;
use crate::{
    Controller, Request,
    fixture::{affected, object, run, view},
};

const SHOP: &str = "services/default/shop";

/// `a2 b1`.
fn counts(text: &str) -> Counts {
    let count = |part: &str| {
        let (zone, count) = part.split_at(1);
        (Text::from(zone), count.parse().expect("a number"))
    };
    text.split_whitespace().map(count).collect()
}

fn endpoint(zone: &str, ready: bool, hint: &str) -> Endpoint {
    Endpoint {
        conditions: [ready, ready, false],
        zone: Some(zone.into()).filter(|zone: &Text| !zone.is_empty()),
        hints: (!hint.is_empty()).then(|| Hints::of_zone(hint.into())),
        ..Endpoint::default()
    }
}

fn zones(text: &str) -> Zones {
    counts(text).into_iter().map(|(zone, cpu)| (zone, cpu as i64)).collect()
}

#[test]
fn every_zone_gets_as_many_as_it_needs() {
    let check = |of: &str, endpoints: usize, expect: Option<&str>| {
        let shares = Shares::of(&zones(of), endpoints).map(|shares| {
            let told = shares.0.iter().map(|(zone, share)| format!("{zone}{}", share.most));
            told.collect::<Vec<String>>().join(" ")
        });
        assert_eq!(shares.as_deref(), expect, "{of} {endpoints}");
    };
    check("a30 b40 c30", 2, None);
    check("a45 b55", 2, Some("a1 b1"));
    // Two each would be one more than there are.
    check("a50 b50", 3, None);
    check("a50 b50", 4, Some("a2 b2"));
    check("a35 b35 c30", 10, Some("a4 b4 c4"));
    check("a1 b1000", 20, Some("a3 b19"));
}

#[test]
fn zones_give_to_those_that_lack_most() {
    let check = |desired: [f64; 3], has: &str, giving: &str, getting: &str| {
        let share = |desired: f64| Share { most: 0, desired };
        let named = ["a", "b", "c"].map(Text::from).into_iter().zip(desired.map(share));
        let found = Shares(named.collect()).moves(&counts(has));
        assert_eq!(found, (counts(giving), counts(getting)), "{desired:?} {has}");
    };
    check([1.2, 1.1, 1.0], "a1 b1 c1", "", "");
    check([5.1, 5.1, 5.8], "a16", "a10", "b5 c5");
    check([5.0, 5.6, 5.4], "a16", "a11", "b6 c5");
    check([5.0, 5.6, 5.4], "b8 c8", "b2 c3", "a5");
    check([5.0, 5.0, 5.0], "a6 b6 c6", "", "");
}

#[test]
fn a_slice_stays_as_long_as_its_hints_fit() {
    let check = |endpoints: &[(&str, bool, &str)], before: &str, expect: Option<&str>| {
        let share = Share { most: 3, desired: 0.0 };
        let shares = Shares(["a", "b"].map(|zone| (Text::from(zone), share)).into());
        let endpoints: Vec<Endpoint> =
            endpoints.iter().map(|(zone, ready, hint)| endpoint(zone, *ready, hint)).collect();
        let found = shares.counted(&endpoints, &counts(before));
        assert_eq!(found, expect.map(counts), "{endpoints:?}");
    };
    check(&[], "", Some(""));
    check(&[("a", true, "a")], "a1", Some("a1"));
    check(&[("a", true, "a"), ("a", false, "")], "a1", Some("a1"));
    check(&[("a", true, "a"), ("a", true, "b"), ("b", true, "b")], "a1 b1", Some("a1 b2"));
    check(&[("a", true, "elsewhere")], "a1", None);
    check(&[("a", true, "")], "", None);
    check(&[("a", true, "a"), ("a", true, "a")], "a2", None);
}

#[test]
fn endpoints_stay_in_their_zones_if_they_can() {
    let check = |of: &str, has: &str, given: &str, expect: &str| {
        let mut endpoints: Vec<Endpoint> =
            given.split_whitespace().map(|zone| endpoint(zone, true, "")).collect();
        let known = counts(has);
        let all = endpoints.len() + known.values().sum::<usize>();
        let shares = Shares::of(&zones(of), all).expect("enough");
        shares.give(known, endpoints.iter_mut().collect());
        let told: Vec<&str> = endpoints
            .iter()
            .map(|one| one.hints.as_ref().map_or("-", |hints| &*hints.zones[0]))
            .collect();
        assert_eq!(told.join(" "), expect, "{of} {has} {given}");
    };
    check("a45 b55", "", "a b", "a b");
    check("a35 b35 c30", "", "a b c c a a a b c a", "b b c c a a a b c a");
    check("a50 b50", "", "a a", "b a");
    check("a50 b50", "a1", "a", "b");
    check("a50 b25 c25", "", "a a a a", "b c a a");
    // A zone that nobody counts keeps what is there.
    check("a50 b50", "", "a b x x", "a b x x");
}

/// A Service with pods on nodes of zones; `a1000` is a node of zone a with so many thousandths.
fn world(nodes: &str, pods: &[&str], mode: &str) -> Vec<(ObjectKey, Value)> {
    let port = json!({"name": "", "port": 80, "targetPort": 80, "protocol": "TCP"});
    let annotations = json!({"service.kubernetes.io/topology-mode": mode});
    let mut all = vec![object(
        SHOP,
        json!({
            "metadata": {"annotations": annotations},
            "spec": {
                "selector": {"a": "1"}, "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "ports": [port],
            },
        }),
    )];
    for (zone, cpu) in zones(nodes) {
        all.push(node(&zone, &zone, cpu, true));
    }
    for (number, node) in pods.iter().enumerate() {
        all.push(object(
            &format!("pods/default/p{number}"),
            json!({
                "metadata": {"labels": {"a": "1"}},
                "spec": {"nodeName": node},
                "status": {
                    "phase": "Running", "podIPs": [{"ip": format!("10.1.0.{number}")}],
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }),
        ));
    }
    all
}

fn node(name: &str, zone: &str, cpu_milli: i64, ready: bool) -> (ObjectKey, Value) {
    let status = if ready { "True" } else { "False" };
    object(
        &format!("nodes/{name}"),
        json!({
            "metadata": {"labels": {"topology.kubernetes.io/zone": zone}},
            "status": {
                "allocatable": {"cpu": format!("{cpu_milli}m")},
                "conditions": [{"type": "Ready", "status": status}],
            },
        }),
    )
}

/// The hints of the slice that is written.
fn hints_of(objects: &[(ObjectKey, Value)]) -> String {
    let (sent, _) = run(Controller::EndpointSlice, &view(objects), SHOP, &[]);
    let endpoints = match &sent[..] {
        [Request::Create { object, .. }] => &object["endpoints"],
        [Request::Update { fields, .. }] => &fields[2].1,
        [] => return "nothing".to_owned(),
        other => panic!("{other:?}"),
    };
    let hint = |one: &Value| {
        let zone = one.pointer("/hints/forZones/0/name").and_then(Value::as_str);
        zone.unwrap_or("-").to_owned()
    };
    let told = endpoints.as_array().into_iter().flatten().map(hint);
    told.collect::<Vec<String>>().join(" ")
}

#[test]
fn a_service_asks_for_shares() {
    let check = |nodes: &str, pods: &[&str], mode: &str, expect: &str| {
        assert_eq!(hints_of(&world(nodes, pods, mode)), expect, "{nodes} {pods:?} {mode}");
    };
    check("a1000 b1000", &["a", "b"], "Auto", "a b");
    check("a1000 b1000", &["a", "a"], "auto", "b a");
    check("a1000 b1000", &["a", "b"], "Disabled", "- -");
    check("a1000 b1000", &["a"], "Auto", "-");
    check("a1000 b1000", &["a", "a", "b"], "Auto", "- - -");
    check("a1000", &["a", "a"], "Auto", "- -");
    check("a3000 b1000", &["a", "a", "b", "b"], "Auto", "a a a b");
}

/// A slice as `hints_of` tells it.
fn with_slice(mut objects: Vec<(ObjectKey, Value)>, hints: &[&str]) -> Vec<(ObjectKey, Value)> {
    let (sent, _) = run(Controller::EndpointSlice, &view(&objects), SHOP, &[]);
    let [Request::Create { object: made, .. }] = &sent[..] else { panic!("{sent:?}") };
    let (key, mut slice) = object(
        "endpointslices.discovery.k8s.io/default/s",
        json!({
            "addressType": "IPv4", "ports": made["ports"], "endpoints": made["endpoints"],
            "metadata": {
                "labels": made["metadata"]["labels"],
                "ownerReferences": made["metadata"]["ownerReferences"],
            },
        }),
    );
    for (number, hint) in hints.iter().enumerate() {
        let hints =
            if hint.is_empty() { Value::Null } else { json!({"forZones": [{"name": hint}]}) };
        slice["endpoints"][number]["hints"] = hints;
    }
    objects.push((key, slice));
    objects
}

#[test]
fn a_slice_is_written_only_for_wrong_hints() {
    let check = |pods: &[&str], hints: &[&str], expect: &str| {
        let objects = with_slice(world("a1000 b1000", pods, "Auto"), hints);
        assert_eq!(hints_of(&objects), expect, "{pods:?} {hints:?}");
    };
    check(&["a", "b"], &["a", "b"], "nothing");
    // The other way around serves as many.
    check(&["a", "b"], &["b", "a"], "nothing");
    check(&["a", "b"], &["a", ""], "a b");
    check(&["a", "b"], &["a", "a"], "a b");
    check(&["a", "b", "b"], &["a", "b", "b"], "- - -");
    check(&["a"], &[""], "nothing");
}

#[test]
fn nodes_that_change_concern_services_that_leave_a_zone_short() {
    let check = |hints: &[&str], other: (ObjectKey, Value), expect: bool| {
        let mut objects = with_slice(world("a1000 b1000", &["a", "b"], "Auto"), hints);
        let (key, after) = other;
        let at = objects.iter().position(|(known, _)| *known == key).expect("the node");
        let before = std::mem::replace(&mut objects[at].1, after.clone());
        let seen = view(&objects);
        let name = key.to_string();
        let found = affected(Controller::EndpointSlice, &seen, &name, Some(before), Some(after));
        let shop: ObjectKey = SHOP.parse().expect("a key");
        assert_eq!(found.iter().any(|one| one.key == shop), expect, "{hints:?} {name}");
    };
    check(&["a", "b"], node("b", "b", 1000, false), true);
    check(&["a", "b"], node("b", "c", 1000, true), true);
    // Nobody looks.
    check(&["a", "b"], node("b", "b", 5000, true), false);
    // Without hints nothing can be too little.
    check(&["", ""], node("b", "b", 1000, false), false);
    let few = |counts: &str, of: &str| leaves_too_little(&self::counts(counts), Some(&zones(of)));
    assert!(!few("a2 b2", "a1000 b1000"));
    assert!(few("a3 b1", "a1000 b1000"));
    assert!(few("a4", "a1000 b1"));
    assert!(leaves_too_little(&counts("a1"), None));
}
