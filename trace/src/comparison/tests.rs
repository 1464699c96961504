//! What comparisons keep, and how they name things.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{GroupResource, diff::differences};

type World = Vec<(ObjectKey, Arc<Value>)>;

fn world(objects: &[(&str, Value)]) -> World {
    objects
        .iter()
        .map(|(resource, object)| {
            let field = |name: &str| object["metadata"][name].as_str().unwrap_or("");
            let resource: GroupResource = resource.parse().expect("a resource");
            (ObjectKey::new(resource, field("namespace"), field("name")), Arc::new(object.clone()))
        })
        .collect()
}

fn canonical(objects: &[(&str, Value)]) -> WorldForm {
    let world = world(objects);
    comparison(world.iter().map(|(key, object)| (key, object)), [], &Masks::default())
}

fn foo(name: &str, owner: &str, color: &str) -> (&'static str, Value) {
    let object = json!({
        "metadata": {
            "namespace": "default", "name": name, "generateName": "foo-", "uid": format!("uid-{name}"),
            "resourceVersion": "7", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "Bar", "name": "bar", "uid": owner}],
            "managedFields": [{"manager": "m"}],
        },
        "spec": {"color": color},
    });
    ("foos.example.com", object)
}

fn bar(reference: &str) -> (&'static str, Value) {
    let object = json!({
        "metadata": {"namespace": "default", "name": "bar", "uid": "u-bar"},
        "status": {"objRef": {"name": reference}, "observedGeneration": 1},
    });
    ("bars.example.com", object)
}

#[test]
fn the_form() {
    let world = canonical(&[foo("foo-aaaaa", "u-bar", "red"), bar("foo-aaaaa")]);
    let expect = json!({
        "bars.example.com/default/bar": {
            "metadata": {"namespace": "default", "name": "bar"},
            "status": {"objRef": {"name": "foo-‹1›"}},
        },
        "foos.example.com/default/foo-‹1›": {
            "metadata": {
                "namespace": "default", "name": "foo-‹1›", "generateName": "foo-",
                "creationTimestamp": "<time>",
                "ownerReferences": [{
                    "kind": "Bar", "name": "bar", "uid": "‹uid of bars.example.com/default/bar›",
                }],
            },
            "spec": {"color": "red"},
        },
    });
    assert_eq!(serde_json::to_value(world).unwrap(), expect);
}

#[test]
fn names_do_not_decide_numbers() {
    let with = |first, second, known| {
        canonical(&[foo(first, "u-bar", "red"), foo(second, "u-bar", "red"), bar(known)])
    };
    let one = with("foo-aaaaa", "foo-bbbbb", "foo-aaaaa");
    assert_eq!(one, with("foo-ddddd", "foo-ccccc", "foo-ddddd"));
    assert_eq!(one["bars.example.com/default/bar"]["status"]["objRef"]["name"], "foo-‹1›");
    let colours = |first, second| {
        canonical(&[foo("foo-aaaaa", "u-bar", first), foo("foo-bbbbb", "u-bar", second)])
    };
    assert_eq!(colours("red", "blue"), colours("blue", "red"));
    assert_ne!(colours("red", "red"), colours("red", "blue"));
}

#[test]
fn the_known_sibling_keeps_its_number_when_a_surplus_one_appears() {
    let one = canonical(&[foo("foo-bbbbb", "u-bar", "red"), bar("foo-bbbbb")]);
    let two = canonical(&[
        foo("foo-aaaaa", "u-bar", "red"),
        foo("foo-bbbbb", "u-bar", "red"),
        bar("foo-bbbbb"),
    ]);
    let found = differences(&one, &two);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].object, "foos.example.com/default/foo-‹2›");
}

#[test]
fn symmetric_pairs_stay_pairs() {
    let pair = |claim: &str, pod: &str| {
        let mut pod = foo(pod, "u-bar", "red");
        pod.1["spec"]["next"] = json!(claim);
        [foo(claim, "u-bar", "blue"), pod]
    };
    let pairs = |names: [(&str, &str); 3]| canonical(&names.map(|(a, b)| pair(a, b)).concat());
    let straight =
        pairs([("foo-aaaaa", "foo-ppppp"), ("foo-bbbbb", "foo-qqqqq"), ("foo-ccccc", "foo-rrrrr")]);
    let crossed =
        pairs([("foo-aaaaa", "foo-rrrrr"), ("foo-bbbbb", "foo-ppppp"), ("foo-ccccc", "foo-qqqqq")]);
    assert_eq!(straight, crossed);
}

#[test]
fn references_to_what_is_gone() {
    let world = canonical(&[foo("foo-aaaaa", "u-old", "red")]);
    let owner = &world["foos.example.com/default/foo-‹1›"]["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], "‹uid of nothing›");
    let objects = super::tests::world(&[bar("foo-00001")]);
    let objects = objects.iter().map(|(key, object)| (key, object));
    let world = comparison(objects, ["foo-00001"], &Masks::default());
    assert_eq!(world["bars.example.com/default/bar"]["status"]["objRef"]["name"], "foo-‹gone›");
}

#[track_caller]
fn check(left: Value, right: Value, equal: bool) {
    let of = |rest: &Value| {
        let mut object = rest.clone();
        object["metadata"]["name"] = json!("a");
        canonical(&[("secrets", object)])
    };
    assert_eq!(of(&left) == of(&right), equal, "{left} {right}");
}

#[test]
fn what_counts() {
    let condition = |kind: &str, status: &str, time: &str| json!({"type": kind, "status": status, "lastTransitionTime": time});
    let conditions = |items: Vec<Value>| json!({"status": {"conditions": items}});
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z");
    let ready = |status, time| conditions(vec![condition("Ready", status, time)]);
    check(ready("True", early), ready("True", late), true);
    check(ready("True", early), ready("False", early), false);
    let both = [condition("A", "True", early), condition("B", "True", early)];
    let [a, b] = both;
    check(conditions(vec![a.clone(), b.clone()]), conditions(vec![b, a]), true);
    check(json!({"list": [1, 2]}), json!({"list": [2, 1]}), false);
    check(json!({"phase": "Ready"}), json!({"phase": "Failed"}), false);
    check(json!({"time": early}), json!({}), false);
    check(json!({"metadata": {"generation": 1}}), json!({"metadata": {"generation": 2}}), true);
    check(json!({"metadata": {"annotations": {"a": "1"}}}), json!({"metadata": {}}), false);
    check(json!({"data": {"a": "1"}}), json!({"data": {"a": "2"}}), true);
    check(json!({"data": {"a": "1", "b": "1"}}), json!({"data": {"a": "1", "b": "2"}}), false);
    check(json!({"data": {"a": "1"}}), json!({"data": {"b": "1"}}), false);
}

fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, inner)| (key.clone(), inner)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, inner)| (at.to_string(), inner)).collect()
        }
        _ => return found.push(path.to_owned()),
    };
    for (key, inner) in entries {
        leaves(inner, &format!("{path}/{key}"), found);
    }
}

/// Every leaf but those listed: what a comparison leaves out is in this list and nowhere else.
#[test]
fn every_other_field_counts() {
    let time = "2026-01-01T00:00:00Z";
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "namespace": "default", "uid": "u-a", "resourceVersion": "5", "generation": 2,
            "creationTimestamp": time, "deletionTimestamp": time, "labels": {"app": "x"},
            "annotations": {"note": "y"}, "finalizers": ["f"],
            "ownerReferences": [{"kind": "Bar", "name": "bar", "uid": "u-bar", "controller": true}],
            "managedFields": [{"manager": "m", "time": time}],
        },
        "spec": {"replicas": 1, "on": true, "none": null, "list": ["b", "a"], "ref": {"resourceVersion": "5"}},
        "status": {
            "phase": "Ready", "observedGeneration": 2, "podIP": "10.0.0.1",
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "R", "message": "m",
                "lastTransitionTime": time, "observedGeneration": 2,
            }],
        },
    });
    let exempt = [
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/generation",
        "/metadata/managedFields/0/manager",
        "/metadata/managedFields/0/time",
        "/spec/ref/resourceVersion",
        "/status/observedGeneration",
        "/status/conditions/0/observedGeneration",
        // Which address it is does not count, whose it is does.
        "/status/podIP",
    ];
    let before = canonical(&[("pods", object.clone()), bar("x")]);
    let mut paths = Vec::new();
    leaves(&object, "", &mut paths);
    assert!(exempt.iter().all(|path| paths.iter().any(|known| known == path)));
    for path in paths {
        let mut changed = object.clone();
        let leaf = changed.pointer_mut(&path).unwrap();
        *leaf = match leaf.take() {
            Value::String(text) if text == "10.0.0.1" => json!("10.0.0.2"),
            Value::String(text) => json!(text + "x"),
            Value::Number(number) => json!(number.as_i64().unwrap() + 1),
            Value::Bool(on) => json!(!on),
            _ => json!(0),
        };
        let after = canonical(&[("pods", changed), bar("x")]);
        assert_eq!(before == after, exempt.contains(&&*path), "{path}");
    }
}

#[test]
fn masks_and_accepted_parts_are_overlooked() {
    let objects = |color| world(&[foo("foo-aaaaa", "u-bar", color), bar("foo-aaaaa")]);
    let with = |color, masks: &Masks| {
        let objects = objects(color);
        comparison(objects.iter().map(|(key, object)| (key, object)), [], masks)
    };
    let mask = Mask {
        object: "foos.example.com/default/foo-‹*›".into(),
        path: ".spec.color".parse().unwrap(),
    };
    let learnt = Masks { learnt: vec![mask], accepted: Vec::new() };
    assert_eq!(with("red", &learnt), with("blue", &learnt));
    for (accepted, objects_left) in [("foos.example.com/*", 1), ("foos.example.com/* .spec", 2)] {
        let masks = Masks { learnt: Vec::new(), accepted: vec![accepted.parse().unwrap()] };
        assert_eq!(with("red", &masks), with("blue", &masks), "{accepted}");
        assert_eq!(with("red", &masks).objects().count(), objects_left);
    }
}

#[test]
fn folded_forms() {
    let objects = world(&[foo("foo-aaaaa", "u-bar", "foo-aaaaa/x"), bar("foo-aaaaa")]);
    let folder = Folder::new(objects.iter().map(|(key, object)| (key, object)), ["foo-00001"]);
    let (key, object) = &objects[0];
    assert_eq!(folder.key(key), "foos.example.com/default/foo-‹*›");
    assert!(folder.is_generated(key) && !folder.is_generated(&objects[1].0));
    assert_eq!(folder.text("see foo-00001"), "see foo-‹*›");
    let folded = folder.object(key, object, &Masks::default());
    assert_eq!(folded["spec"]["color"], "foo-‹*›/x");
    assert_eq!(folded["metadata"]["ownerReferences"][0]["uid"], "‹uid›");
    for (canonical, expect) in [
        ("foos/default/foo-‹2›", "foos/default/foo-‹*›"),
        ("foos/default/foo-‹gone›", "foos/default/foo-‹gone›"),
        ("foos/‹1›/x-‹12›-y‹", "foos/‹*›/x-‹*›-y‹"),
    ] {
        assert_eq!(fold_key(canonical), expect);
    }
}

/// Canonical texts and digests rely on maps being in key order, which another crate's wish for insertion
/// order (serde_json's `preserve_order`) would end.
#[test]
fn maps_are_in_key_order() {
    assert_eq!(json!({"b": 1, "a": 2}).to_string(), "{\"a\":2,\"b\":1}");
}

proptest! {
    /// Any names and any order give one canonical world; siblings point at each other at random.
    #[test]
    fn names_and_order_do_not_count(
        colors in proptest::collection::vec(0..3_u8, 1..6),
        targets in proptest::collection::vec(any::<prop::sample::Index>(), 6),
        names in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let build = |name: &dyn Fn(usize) -> String| {
            let objects: Vec<(&str, Value)> = colors.iter().enumerate().map(|(at, color)| {
                let mut object = foo(&name(at), "u-bar", &color.to_string());
                // A chain: the last has no target, so that refinement tells all apart or none matters.
                if at + 1 < colors.len() && targets[at].index(2) == 0 {
                    object.1["spec"]["next"] = json!(name(at + 1));
                }
                object
            }).collect();
            canonical(&objects)
        };
        let plain = build(&|at| format!("foo-aaaa{}", char::from(b'a' + at as u8)));
        let shuffled = build(&|at| format!("foo-zzzz{}", char::from(b'a' + names[at] as u8)));
        prop_assert_eq!(plain, shuffled);
    }
}

fn pod(name: &str, ip: &str, role: &str) -> (&'static str, Value) {
    let object = json!({
        "metadata": {"namespace": "default", "name": name, "generateName": "web-", "uid": format!("u-{name}"),
            "labels": {"role": role}},
        "status": {"podIP": ip},
    });
    ("pods", object)
}

/// Two pods that came up in the other order after a restart.
#[test]
fn the_order_of_a_set_means_nothing() {
    let endpoints = |first: (&str, &str), second: (&str, &str)| {
        let address = |(name, ip): (&str, &str)| json!({"ip": ip, "targetRef": {"kind": "Pod", "name": name, "uid": format!("u-{name}")}});
        let addresses = json!([address(first), address(second)]);
        let object = json!({
            "metadata": {"namespace": "default", "name": "web"},
            "subsets": [{"addresses": addresses, "ports": [{"name": "b", "port": 2}, {"name": "a", "port": 1}]}],
        });
        ("endpoints", object)
    };
    let (one, two) = (("web-aaaaa", "10.0.0.1"), ("web-bbbbb", "10.0.0.2"));
    for roles in [["any", "any"], ["first", "second"]] {
        let pods = || [pod(one.0, one.1, roles[0]), pod(two.0, two.1, roles[1])];
        let [a, b] = pods();
        let [c, d] = pods();
        assert_eq!(
            canonical(&[a, b, endpoints(one, two)]),
            canonical(&[c, d, endpoints(two, one)]),
            "{roles:?}"
        );
    }
    let finalizers = |all: [&str; 2]| {
        let meta = json!({"namespace": "default", "name": "a", "finalizers": all});
        canonical(&[("configmaps", json!({"metadata": meta}))])
    };
    assert_eq!(finalizers(["x/a", "x/b"]), finalizers(["x/b", "x/a"]));
    assert_ne!(finalizers(["x/a", "x/b"]), finalizers(["x/a", "x/c"]));
    let arguments = |all: [&str; 2]| {
        let spec = json!({"args": all});
        canonical(&[("configmaps", json!({"metadata": {"name": "a"}, "spec": spec}))])
    };
    assert_ne!(arguments(["a", "b"]), arguments(["b", "a"]));
}

/// A template with the time of a restart in it gets another hash in every run.
#[test]
fn a_template_counts_by_its_content_not_by_its_hash() {
    let set = |hash: &str, time: &str, image: &str| {
        let template = json!({"metadata": {"annotations": {"restartedAt": time}}, "image": image});
        let name = format!("db-{hash}");
        let revision = json!({
            "metadata": {"namespace": "default", "name": name, "labels": {"controller.kubernetes.io/hash": hash}},
            "data": {"spec": {"template": template}},
        });
        let owner = json!({
            "metadata": {"namespace": "default", "name": "db"},
            "status": {"updateRevision": name},
        });
        canonical(&[("controllerrevisions.apps", revision), ("statefulsets.apps", owner)])
    };
    let first = set("588bb9ff78", "2026-01-01T00:00:00Z", "a");
    assert_eq!(first, set("686d8875cf", "2026-01-01T00:00:09Z", "a"));
    assert_ne!(first, set("686d8875cf", "2026-01-01T00:00:09Z", "b"));
}
