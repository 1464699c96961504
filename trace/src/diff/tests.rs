//! Places and texts.

use serde_json::json;

use super::*;

#[track_caller]
fn check(left: Value, right: Value, expect: &[&str]) {
    let text = |side: &Option<Value>| side.as_ref().map_or("-".to_owned(), Value::to_string);
    let found: Vec<String> = differences(&json!({"a": left}), &json!({"a": right}))
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
    let found = differences(&json!({"a": {"x": 1}}), &json!({"b": {"x": 1}}));
    let found: Vec<(&str, bool, bool)> = found
        .iter()
        .map(|found| (&*found.object, found.left.is_some(), found.right.is_some()))
        .collect();
    assert_eq!(found, [("a", true, false), ("b", false, true)]);
}

#[test]
fn the_look() {
    let left = json!({"foos/default/a": {
        "metadata": {"name": "a", "managedFields": [1]},
        "spec": {"on": "yes", "size": 1, "list": [{"b": 1, "a": "x: y"}, []], "empty": {}},
        "text": "one\ntwo\n",
    }});
    let mut right = left.clone();
    right["foos/default/a"]["spec"]["size"] = json!(2);
    right["foos/default/a"]["metadata"]["managedFields"] = json!([2]);
    right["foos/default/a"]["text"] = json!("one\nthree\n");
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
    assert_eq!(unified(&left, &right, ("references", "trial")), expect);
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
    assert_eq!(yaml(&left["foos/default/a"]), expect);
}

#[test]
fn only_what_is_shown_counts() {
    let object = |fields: Value| json!({"a/b": {"metadata": {"managedFields": fields}}});
    assert_eq!(unified(&object(json!(1)), &object(json!(2)), ("l", "r")), "");
}

#[test]
fn payloads_are_masked() {
    let secret =
        |one: &str, two: &str| json!({"secrets/default/s": {"data": {"one": one, "two": two}}});
    let text = unified(&secret("c2FtZQ==", "b2xk"), &secret("c2FtZQ==", "bmV3"), ("l", "r"));
    for hidden in ["c2FtZQ", "b2xk", "bmV3"] {
        assert!(!text.contains(hidden), "{text}");
    }
    assert!(text.contains("-  two: \"*** (before)\"\n+  two: \"*** (after)\""), "{text}");
    let gone = unified(&secret("x", "y"), &json!({}), ("l", "r"));
    assert!(gone.contains("-  one: \"***\""), "{gone}");
}
