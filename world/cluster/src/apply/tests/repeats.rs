//! Items that are named alike: objects may have them where nothing refuses them, configurations may not.

use super::*;

/// An object with a list of items that have these names and values.
fn list(items: &[(&str, i64)]) -> Value {
    let items: Vec<Value> = items.iter().map(|(name, v)| json!({"name": name, "v": v})).collect();
    foo(json!({"list": items}))
}

/// The same, created by `a`.
fn created(items: &[(&str, i64)]) -> Value {
    let mut object = list(items);
    track(None, &mut object, &custom(), &write("a", "t1"));
    object
}

/// Who owns what of the list after `b` has written these items instead.
fn after(live: &Value, items: &[(&str, i64)]) -> Vec<(String, Value)> {
    let mut new = list(items);
    track(Some(live), &mut new, &custom(), &write("b", "t2"));
    let of_list = |(name, fields): (String, Value)| (name, fields["f:spec"]["f:list"].clone());
    owners(&new).into_iter().map(of_list).collect()
}

fn a(fields: Value) -> (String, Value) {
    ("a/Update".to_owned(), fields)
}

fn b(fields: Value) -> (String, Value) {
    ("b/Update".to_owned(), fields)
}

/// The items of an object as text: `a1 b2`.
fn shown(object: &Value) -> String {
    let items = object["spec"]["list"].as_array().unwrap().iter();
    let text = |item: &Value| format!("{}{}", item["name"].as_str().unwrap(), item["v"]);
    items.map(text).collect::<Vec<_>>().join(" ")
}

const A: &str = "k:{\"name\":\"a\"}";
const X: &str = "k:{\"name\":\"x\"}";

fn whole() -> Value {
    json!({".": {}, "f:name": {}, "f:v": {}})
}

#[test]
fn of_items_that_are_named_alike_it_is_owned_that_they_are_there() {
    let live = created(&[("a", 1), ("x", 1), ("a", 2)]);
    let spec = json!({".": {}, "f:list": {".": {}, A: {}, X: whole()}});
    assert_eq!(owners(&live), [a(json!({"f:spec": spec}))]);
    let schema = custom();
    let said = set::of(root(&schema), &list(&[("a", 1), ("x", 1), ("a", 2)]));
    let path = |last: PathElement| {
        let field = |name: &str| PathElement::Field(name.to_owned());
        [field("spec"), field("list"), PathElement::Key("{\"name\":\"a\"}".to_owned()), last]
    };
    let mut inside = FieldSet::default();
    inside.insert(&path(PathElement::Field("v".to_owned())));
    assert!(said.intersection(&inside).is_empty(), "{:?}", said.paths());
    inside = FieldSet::default();
    inside.insert(&path(PathElement::Field("v".to_owned()))[..3]);
    assert_eq!(said.intersection(&inside), inside);
}

#[test]
fn keys_of_a_pod_count_with_what_the_documents_say_of_them() {
    let schema = Schema::builtin("", "v1", "Pod").unwrap();
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
        "imagePullSecrets": [{}, {"name": "s"}, {}],
        "containers": [{"name": "c",
            "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}],
            "ports": [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "name": "n"}]}]}});
    track(None, &mut pod, &schema, &Write { api_version: "v1", ..write("a", "t") });
    let secrets = json!({".": {}, "k:{\"name\":\"\"}": {}, "k:{\"name\":\"s\"}": {}});
    let container = json!({".": {}, "f:name": {},
        "f:env": {".": {}, "k:{\"name\":\"A\"}": {}},
        "f:ports": {".": {}, "k:{\"containerPort\":1,\"protocol\":\"TCP\"}": {}}});
    let spec = json!({"f:imagePullSecrets": secrets,
        "f:containers": {"k:{\"name\":\"c\"}": container}});
    assert_eq!(owners(&pod), [a(json!({"f:spec": spec}))]);
}

#[test]
fn who_changes_one_of_them_owns_them() {
    let live = created(&[("a", 1), ("x", 1), ("a", 2)]);
    let rest = a(json!({".": {}, X: whole()}));
    let same = after(&live, &[("a", 1), ("x", 1), ("a", 2)]);
    assert_eq!(same, [a(json!({".": {}, A: {}, X: whole()}))]);
    let moved = after(&live, &[("x", 1), ("a", 1), ("a", 2)]);
    assert_eq!(moved, same, "only their order among themselves counts");
    for items in [
        [("a", 1), ("x", 1), ("a", 3)],
        [("a", 2), ("x", 1), ("a", 1)],
        [("a", 1), ("a", 1), ("x", 1)],
    ] {
        assert_eq!(after(&live, &items), [rest.clone(), b(json!({A: {}}))], "{items:?}");
    }
    let more = after(&live, &[("a", 1), ("x", 1), ("a", 2), ("a", 2)]);
    assert_eq!(more, [rest.clone(), b(json!({A: {}}))]);
    assert_eq!(after(&live, &[("x", 1)]), [rest], "none is left");
}

#[test]
fn who_leaves_one_of_them_owns_its_fields() {
    let live = created(&[("a", 1), ("x", 1), ("a", 2)]);
    let left = after(&live, &[("a", 1), ("x", 1)]);
    assert_eq!(left, [a(json!({".": {}, X: whole()})), b(json!({A: whole()}))]);
    let live = created(&[("a", 1), ("x", 1)]);
    let added = after(&live, &[("a", 1), ("x", 1), ("a", 2)]);
    assert_eq!(added, [a(json!({".": {}, X: whole()})), b(json!({A: {}}))]);
}

#[test]
fn an_apply_leaves_what_it_does_not_name_and_replaces_what_it_names() {
    let live = created(&[("a", 1), ("x", 1), ("a", 2), ("b", 1)]);
    let other = applied(Some(&live), "m", json!({"list": [{"name": "c", "v": 1}]})).unwrap();
    assert_eq!(shown(&other), "a1 x1 a2 b1 c1");
    let gone = applied(Some(&other), "m", json!({})).unwrap();
    assert_eq!(shown(&gone), "a1 x1 a2 b1");
    let config = json!({"list": [{"name": "a", "v": 1}]});
    let error = applied(Some(&live), "m", config.clone()).unwrap_err().to_string();
    assert_eq!(
        error,
        "Apply failed with 1 conflict: conflict with \"a\" using example.com/v1: .spec.list[name=\"a\"]"
    );
    let forced = apply(Some(&live), &foo(config), &custom(), &write("m", "t2"), true).unwrap();
    assert_eq!(shown(&forced), "a1 x1 b1");
    assert_eq!(owners(&forced)[0].1["f:spec"]["f:list"], json!({A: whole()}));
    let left = applied(Some(&forced), "m", json!({})).unwrap();
    assert_eq!(shown(&left), "x1 b1");
}

#[test]
fn items_come_in_the_order_of_the_configuration() {
    let check = |live: &[(&str, i64)], config: &[(&str, i64)], expect: &str| {
        let schema = custom();
        let merged = merge::merge(root(&schema), &list(live), &list(config));
        assert_eq!(shown(&merged), expect, "{live:?} and {config:?}");
    };
    check(&[("a", 1), ("a", 2)], &[("a", 3)], "a3");
    check(&[("a", 1), ("a", 2), ("b", 1)], &[("a", 3), ("c", 3)], "a3 c3 b1");
    check(&[("a", 1), ("b", 1), ("a", 2)], &[("b", 3), ("a", 3)], "b3 a3");
    check(&[("a", 1), ("x", 1), ("a", 2), ("b", 1)], &[("a", 3), ("b", 3)], "a3 x1 b3");
    check(&[("x", 1), ("a", 1), ("x", 2)], &[("b", 3), ("a", 3)], "x1 b3 a3 x2");
}

#[test]
fn configurations_name_each_item_once() {
    let errors = type_errors(&custom(), &list(&[("a", 1), ("x", 1), ("a", 2)]));
    assert_eq!(errors, [".spec.list: duplicate entries for key [name=\"a\"]"]);
    let without = foo(json!({"list": [{"name": "a"}, {"v": 1}, {"name": "a"}]}));
    assert_eq!(
        type_errors(&custom(), &without),
        [
            ".spec.list: element 1: associative list with keys has an element that omits all key fields \
             [\"name\"] (and doesn't have default values for any key fields)"
        ]
    );
}
