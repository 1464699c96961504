//! The laws of field management, by example and by property.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::schema::Gvk;

mod repeats;

fn custom() -> Schema {
    let gvk = Gvk { group: "example.com".into(), version: "v1".into(), kind: "Foo".into() };
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "x": {"type": "integer"}, "y": {"type": "integer"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic",
                "additionalProperties": {"type": "string"}},
            "plain": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "list": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "properties": {
                    "name": {"type": "string"}, "v": {"type": "integer"}}}}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    Schema::custom(&gvk, Some(&schema)).unwrap()
}

fn track(live: Option<&Value>, new: &mut Value, schema: &Schema, write: &Write<'_>) {
    super::track(live, new, schema, write, &mut BuiltIn);
}

fn apply(
    live: Option<&Value>,
    config: &Value,
    schema: &Schema,
    write: &Write<'_>,
    force: bool,
) -> Result<Value, ApplyError> {
    super::apply(live, config, schema, write, force, &mut BuiltIn)
}

fn write<'a>(manager: &'a str, now: &'a str) -> Write<'a> {
    Write { manager, api_version: "example.com/v1", subresource: "", now, ignores: Ignores::Status }
}

fn foo(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "f"}, "spec": spec})
}

fn applied(live: Option<&Value>, manager: &str, spec: Value) -> Result<Value, ApplyError> {
    apply(live, &foo(spec), &custom(), &write(manager, "t1"), false)
}

/// `manager/operation: fields` of each entry.
fn owners(object: &Value) -> Vec<(String, Value)> {
    let list = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let name = |entry: &Value| {
        format!("{}/{}", entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap())
    };
    list.into_iter().flatten().map(|entry| (name(entry), entry["fieldsV1"].clone())).collect()
}

#[test]
fn a_create_owns_what_it_says() {
    let mut object = foo(json!({"x": 1, "list": [{"name": "a", "v": 1}], "plain": ["p"]}));
    track(None, &mut object, &custom(), &write("m", "t1"));
    assert_eq!(
        owners(&object),
        [(
            "m/Update".to_owned(),
            json!({"f:spec": {".": {}, "f:x": {}, "f:plain": {}, "f:list": {".": {},
                "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:v": {}}}}})
        )]
    );
}

#[test]
fn built_in_creates_look_like_a_real_servers() {
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "labels": {"a": "b"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {},
                    "ports": [{"containerPort": 80, "protocol": "TCP"}]}],
                "securityContext": {}}}},
        "status": {}});
    track(None, &mut object, &schema, &Write { api_version: "apps/v1", ..write("kubectl", "t") });
    let container = json!({".": {}, "f:name": {}, "f:image": {}, "f:resources": {}, "f:ports": {
        ".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {
            ".": {}, "f:containerPort": {}, "f:protocol": {}}}});
    assert_eq!(
        owners(&object),
        [(
            "kubectl/Update".to_owned(),
            json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {"f:replicas": {}, "f:selector": {},
                    "f:strategy": {"f:type": {}, "f:rollingUpdate": {".": {}, "f:maxSurge": {}}},
                    "f:template": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {
                        "f:containers": {"k:{\"name\":\"c\"}": container},
                        "f:securityContext": {}}}}})
        )]
    );
}

#[test]
fn an_update_takes_what_it_changes() {
    let schema = custom();
    let mut live = foo(json!({"x": 1, "y": 1}));
    track(None, &mut live, &schema, &write("a", "t1"));
    let mut new = live.clone();
    new["spec"]["x"] = json!(2);
    track(Some(&live), &mut new, &schema, &write("b", "t2"));
    assert_eq!(
        owners(&new),
        [
            ("a/Update".to_owned(), json!({"f:spec": {".": {}, "f:y": {}}})),
            ("b/Update".to_owned(), json!({"f:spec": {"f:x": {}}})),
        ]
    );
    // Nothing changed: nothing moves, times neither.
    let mut same = new.clone();
    track(Some(&new), &mut same, &schema, &write("c", "t3"));
    assert_eq!(same, new);
    // Status written through the main endpoint is not owned.
    let mut other = new.clone();
    other["status"] = json!({"a": 1});
    track(Some(&new), &mut other, &schema, &write("c", "t3"));
    assert_eq!(owners(&other), owners(&new));
    let status =
        Write { subresource: "status", ignores: Ignores::AllButStatus, ..write("c", "t3") };
    track(Some(&new), &mut other, &schema, &status);
    assert_eq!(
        owners(&other)[2],
        ("c/Update".to_owned(), json!({"f:status": {".": {}, "f:a": {}}}))
    );
    assert_eq!(other["metadata"]["managedFields"][2]["subresource"], "status");
}

#[test]
fn clients_may_reset_and_rewrite_managed_fields() {
    let schema = custom();
    let mut live = foo(json!({"x": 1}));
    track(None, &mut live, &schema, &write("a", "t1"));
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([{}]);
    track(Some(&live), &mut new, &schema, &write("b", "t2"));
    assert_eq!(owners(&new), []);
    let mut new = live.clone();
    new["metadata"].as_object_mut().unwrap().remove("managedFields");
    track(Some(&live), &mut new, &schema, &write("b", "t2"));
    assert_eq!(owners(&new), owners(&live));
}

#[test]
fn different_values_conflict_and_equal_ones_are_shared() {
    let live = applied(None, "m1", json!({"x": 1})).unwrap();
    let shared = applied(Some(&live), "m2", json!({"x": 1, "y": 2})).unwrap();
    assert_eq!(owners(&shared).len(), 2);
    let error = applied(Some(&live), "m2", json!({"x": 2})).unwrap_err();
    let message = "Apply failed with 1 conflict: conflict with \"m1\": .spec.x";
    assert_eq!(error.to_string(), message);
    let ApplyError::Conflicts(conflicts) = &error else { panic!("{error}") };
    assert_eq!(
        conflicts[0].cause(),
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"m1\"", "field": ".spec.x"})
    );
    let forced = apply(Some(&live), &foo(json!({"x": 2})), &custom(), &write("m2", "t"), true);
    let forced = forced.unwrap();
    assert_eq!(forced["spec"]["x"], 2);
    assert_eq!(owners(&forced), [("m2/Apply".to_owned(), json!({"f:spec": {"f:x": {}}}))]);
    let many = applied(Some(&shared), "m3", json!({"x": 3, "y": 3})).unwrap_err().to_string();
    assert_eq!(
        many,
        "Apply failed with 3 conflicts: conflicts with \"m1\":\n- .spec.x\n\
         conflicts with \"m2\":\n- .spec.x\n- .spec.y"
    );
}

#[test]
fn conflicts_with_updates_name_the_version() {
    let mut live = foo(json!({"x": 1}));
    track(None, &mut live, &custom(), &write("kubectl", "t1"));
    let error = applied(Some(&live), "m", json!({"x": 2})).unwrap_err().to_string();
    assert_eq!(
        error,
        "Apply failed with 1 conflict: conflict with \"kubectl\" using example.com/v1: .spec.x"
    );
}

#[test]
fn omission_removes_what_nobody_else_owns() {
    let check = |first: Value, second: Value, expect: Value| {
        let live = applied(None, "m", first).unwrap();
        assert_eq!(applied(Some(&live), "m", second).unwrap()["spec"], expect);
    };
    check(json!({"x": 1, "y": 2}), json!({"x": 1}), json!({"x": 1}));
    check(
        json!({"map": {"a": "1", "b": "2"}}),
        json!({"map": {"b": "2"}}),
        json!({"map": {"b": "2"}}),
    );
    check(json!({"map": {"a": "1"}, "x": 1}), json!({"x": 1}), json!({"x": 1}));
    check(json!({"set": ["a", "b"]}), json!({"set": ["b"]}), json!({"set": ["b"]}));
    check(
        json!({"list": [{"name": "a", "v": 1}, {"name": "b"}]}),
        json!({"list": [{"name": "b", "v": 3}]}),
        json!({"list": [{"name": "b", "v": 3}]}),
    );
    check(json!({"plain": ["a", "b"]}), json!({"plain": ["c"]}), json!({"plain": ["c"]}));
    check(
        json!({"whole": {"a": "1", "b": "2"}}),
        json!({"whole": {"a": "1"}}),
        json!({"whole": {"a": "1"}}),
    );

    let live = applied(None, "m1", json!({"x": 1, "list": [{"name": "a", "v": 1}]})).unwrap();
    let live = applied(Some(&live), "m2", json!({"x": 1, "list": [{"name": "a"}]})).unwrap();
    let after = applied(Some(&live), "m1", json!({})).unwrap();
    assert_eq!(after["spec"], json!({"x": 1, "list": [{"name": "a"}]}));
}

#[test]
fn lists_keep_the_order_of_the_configuration() {
    let live = applied(None, "m1", json!({"set": ["a", "b", "c"]})).unwrap();
    let merged = applied(Some(&live), "m2", json!({"set": ["c", "a", "d"]})).unwrap();
    let set: Vec<&str> = merged["spec"]["set"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item.as_str().unwrap())
        .collect();
    let place = |name| set.iter().position(|item| *item == name).unwrap();
    assert_eq!(set.len(), 4);
    assert!(place("c") < place("a") && place("a") < place("d"), "{set:?}");
}

#[test]
fn untracked_objects_belong_to_before_first_apply() {
    let live = foo(json!({"x": 1}));
    let error = applied(Some(&live), "m", json!({"x": 2})).unwrap_err().to_string();
    assert!(error.contains("\"before-first-apply\" using example.com/v1: .spec.x"), "{error}");
}

#[test]
fn configurations_may_not_name_managers() {
    let mut config = foo(json!({}));
    config["metadata"]["managedFields"] = json!([]);
    let error = apply(None, &config, &custom(), &write("m", "t"), false).unwrap_err();
    assert_eq!(error.to_string(), "metadata.managedFields must be nil");
}

#[test]
fn old_update_managers_are_merged() {
    let schema = custom();
    let mut live = foo(json!({"map": {"k": "v"}}));
    track(None, &mut live, &schema, &write("m00", "2026-01-01T00:00:00Z"));
    for number in 1..15 {
        let mut new = live.clone();
        new["spec"]["map"][format!("k{number}")] = json!("v");
        let (manager, now) = (format!("m{number:02}"), format!("2026-01-01T00:00:{number:02}Z"));
        track(Some(&live), &mut new, &schema, &write(&manager, &now));
        live = new;
    }
    let names: Vec<String> = owners(&live).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 10);
    assert_eq!(names.iter().filter(|name| *name == "ancient-changes/Update").count(), 1);
}

#[test]
fn default_managers_come_from_the_user_agent() {
    for (agent, expect) in [
        ("kubectl/v1.36.0 (linux/amd64)", "kubectl"),
        ("controller", "controller"),
        ("", ""),
        ("a\u{7}b/1", "ab"),
    ] {
        assert_eq!(manager_from_user_agent(agent), expect);
    }
    assert_eq!(manager_from_user_agent(&"x".repeat(300)).len(), 128);
}

/// The fields of an object but for its managers, structs included.
fn says(object: &Value) -> FieldSet {
    let schema = custom();
    let mut object = object.clone();
    managers::strip(&mut object);
    set::with_named_fields(root(&schema), &set::of(root(&schema), &object))
}

fn any_spec() -> impl Strategy<Value = Value> {
    let map = prop::collection::btree_map("[ab]", "[xy]", 0..3);
    let set = prop::collection::btree_set("[a-c]", 0..3);
    let list = prop::collection::btree_map("[a-c]", prop::option::of(0..2i64), 0..3);
    let plain = prop::collection::vec("[ab]", 0..3);
    let x = prop::option::of(0..2i64);
    (x, map, set, list, plain).prop_map(|(x, map, set, list, plain)| {
        let item = |(name, v): (String, Option<i64>)| match v {
            Some(v) => json!({"name": name, "v": v}),
            None => json!({"name": name}),
        };
        let list: Vec<Value> = list.into_iter().map(item).collect();
        let mut spec = json!({});
        let parts = [
            ("x", x.map(Value::from)),
            ("map", (!map.is_empty()).then(|| json!(map))),
            ("set", (!set.is_empty()).then(|| json!(set))),
            ("list", (!list.is_empty()).then(|| json!(list))),
            ("plain", (!plain.is_empty()).then(|| json!(plain))),
        ];
        for (name, value) in parts {
            if let Some(value) = value {
                spec[name] = value;
            }
        }
        spec
    })
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(first in any_spec(), second in any_spec()) {
        let live = applied(None, "m1", first).unwrap();
        let forced = |live: &Value, now: &str| {
            apply(Some(live), &foo(second.clone()), &custom(), &write("m2", now), true).unwrap()
        };
        let once = forced(&live, "t2");
        prop_assert_eq!(forced(&once, "t3"), once);
    }

    #[test]
    fn a_sole_manager_gets_exactly_what_it_says(first in any_spec(), second in any_spec()) {
        let live = applied(None, "m", first).unwrap();
        let after = applied(Some(&live), "m", second.clone()).unwrap();
        let spec = after.get("spec").cloned().unwrap_or_else(|| json!({}));
        prop_assert_eq!(spec, second);
    }

    #[test]
    fn whoever_applies_sees_its_values(first in any_spec(), second in any_spec()) {
        let live = applied(None, "m1", first.clone()).unwrap();
        match applied(Some(&live), "m2", second.clone()) {
            // No conflict: both said compatible things, and both are there.
            Ok(merged) => {
                for said in [&first, &second] {
                    // An empty spec is a leaf that the other may fill.
                    let set = says(&foo(said.clone()));
                    let missing = set.difference(&says(&merged)).paths();
                    prop_assert!(missing.is_empty(), "{:?}", missing);
                }
            }
            // A conflict: some leaf differs.
            Err(ApplyError::Conflicts(conflicts)) => {
                prop_assert!(!conflicts.is_empty());
                prop_assert_ne!(first, second);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn leaving_gives_back_the_others_object(first in any_spec(), second in any_spec()) {
        let live = applied(None, "m1", first.clone()).unwrap();
        if let Ok(merged) = applied(Some(&live), "m2", second) {
            let left = applied(Some(&merged), "m2", json!({})).unwrap();
            prop_assert_eq!(says(&left), says(&foo(first)));
        }
    }

    #[test]
    fn tracked_sets_are_what_changed(first in any_spec(), second in any_spec()) {
        let schema = custom();
        let mut live = foo(first);
        track(None, &mut live, &schema, &write("a", "t1"));
        let mut new = foo(second.clone());
        track(Some(&live), &mut new, &schema, &write("b", "t2"));
        // Every leaf of the new object belongs to exactly one update manager.
        let leaves = set::of(root(&schema), &json!({"spec": second}));
        let sets: Vec<FieldSet> = owners(&new)
            .into_iter()
            .map(|(_, fields)| FieldSet::parse(&fields).unwrap())
            .collect();
        let all = sets.iter().fold(FieldSet::default(), |all, set| all.union(set));
        prop_assert!(leaves.difference(&all).is_empty(), "{:?}", leaves.difference(&all).paths());
        if let [one, two] = &sets[..] {
            prop_assert!(one.intersection(two).is_empty());
        }
    }
}
