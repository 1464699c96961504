//! Places and texts.

use serde_json::json;

use super::*;

#[track_caller]
fn check(left: Value, right: Value, expect: &[&str]) {
    let text = |side: &Option<Value>| side.as_ref().map_or("-".to_owned(), Value::to_string);
    let found: Vec<String> = object_differences("a", &left, &right)
        .iter()
        .map(|found| format!("{}: {} {}", found.path, text(&found.left), text(&found.right)))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn places() {
    check(json!({"x": 1}), json!({"x": 1}), &[]);
    check(json!({"x": 1, "y": {"z": 1}}), json!({"x": 2, "y": {}}), &[".x: 1 2", ".y.z: 1 -"]);
    check(json!({"x": [1, {"y": 2}]}), json!({"x": [1, {"y": 3}]}), &[".x[1].y: 2 3"]);
    check(json!({"x": [1]}), json!({"x": [1, 2]}), &[".x: [1] [1,2]"]);
    check(json!({"x": {}}), json!({"x": []}), &[".x: {} []"]);
    check(json!({"x": null}), json!({}), &[".x: null -"]);
}

#[test]
fn whole_objects() {
    let world = |key: &str| WorldForm::from_iter([(key.to_owned(), json!({"x": 1}))]);
    let found = differences(&world("a"), &world("b"));
    let found: Vec<(&str, bool, bool)> = found
        .iter()
        .map(|found| (&*found.object, found.left.is_some(), found.right.is_some()))
        .collect();
    assert_eq!(found, [("a", true, false), ("b", false, true)]);
}

#[test]
fn the_look() {
    let left = json!({
        "metadata": {"name": "a", "managedFields": [1]},
        "spec": {"on": "yes", "size": 1, "list": [{"b": 1, "a": "x: y"}, []], "empty": {}},
        "text": "one\ntwo\n",
    });
    let mut right = left.clone();
    right["spec"]["size"] = json!(2);
    right["metadata"]["managedFields"] = json!([2]);
    right["text"] = json!("one\nthree\n");
    let expect = "\
--- references/foos/default/a
+++ trial/foos/default/a
@@ -7,7 +7,7 @@
     b: 1
   - []
   \"on\": \"yes\"
-  size: 1
+  size: 2
 text: |
   one
-  two
+  three
";
    let names = ("references", "trial");
    assert_eq!(unified_object("foos/default/a", Some(&left), Some(&right), names), expect);
    let expect = "\
metadata:
  managedFields:
  - 1
  name: a
spec:
  empty: {}
  list:
  - a: \"x: y\"
    b: 1
  - []
  \"on\": \"yes\"
  size: 1
text: |
  one
  two
";
    assert_eq!(yaml(&left), expect);
}

#[test]
fn only_what_is_shown_counts() {
    let object = |fields: i32| json!({"metadata": {"managedFields": fields}});
    assert_eq!(unified_object("a/b", Some(&object(1)), Some(&object(2)), ("l", "r")), "");
}

#[test]
fn payloads_are_masked() {
    let secret = |one: &str, two: &str| json!({"data": {"one": one, "two": two}});
    let diff = |left: &Value, right: Option<&Value>| {
        unified_object("secrets/default/s", Some(left), right, ("l", "r"))
    };
    let text = diff(&secret("c2FtZQ==", "b2xk"), Some(&secret("c2FtZQ==", "bmV3")));
    for hidden in ["c2FtZQ", "b2xk", "bmV3"] {
        assert!(!text.contains(hidden), "{text}");
    }
    assert!(text.contains("-  two: \"*** (before)\"\n+  two: \"*** (after)\""), "{text}");
    let gone = diff(&secret("x", "y"), None);
    assert!(gone.contains("-  one: \"***\""), "{gone}");
}
