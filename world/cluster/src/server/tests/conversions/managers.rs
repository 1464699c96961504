//! Who manages which fields, across versions.

use super::*;

/// `manager version: fields of the spec` of each entry.
fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().expect("entries").iter();
    let shown = entries.map(|entry| {
        let text = |field: &str| entry[field].as_str().unwrap_or("").replace("example.com/", "");
        let fields = entry["fieldsV1"]["f:spec"].as_object().into_iter().flatten();
        let names = fields.map(|(name, _)| name.trim_start_matches("f:"));
        let names: Vec<&str> = names.filter(|name| *name != ".").collect();
        format!("{} {}: {}", text("manager"), text("apiVersion"), names.join(" "))
    });
    shown.collect()
}

fn apply(api: &Api, path: &str, object: &Value) -> Got {
    let kind = [("content-type", "application/apply-patch+yaml")];
    api.raw("PATCH", path, &kind, object.to_string())
}

#[test]
fn a_field_changes_hands_in_the_version_of_each_manager() {
    let (api, converter) = converting();
    let created =
        api.create(&format!("{FOOS}?fieldManager=one"), foo("a", json!({"x": 1, "colour": "red"})));
    assert_eq!(managers(&created.body), ["one v1: colour x"]);
    let patch = Some(json!({"spec": {"size": 2}}));
    let got = api.call("PATCH", &format!("{FOOS2}/a?fieldManager=two"), patch);
    assert_eq!(got.code, 200, "{}", got.message());
    assert_eq!(managers(&got.body), ["one v1: colour", "two v2: size"]);
    assert_eq!(got.body["metadata"], stored(&api, "a")["metadata"]);
    // Back in the stored version, of which only those managers are asked about who wrote in the other.
    converter.asked();
    let patch = Some(json!({"spec": {"x": 3}}));
    let got = api.call("PATCH", &format!("{FOOS}/a?fieldManager=three"), patch);
    assert_eq!(managers(&got.body), ["one v1: colour", "three v1: x"]);
    assert_eq!(converter.asked(), ["1 to example.com/v2", "1 to example.com/v2"]);
}

#[test]
fn an_apply_conflicts_in_the_version_of_the_other() {
    let (api, _) = converting();
    api.create(&format!("{FOOS}?fieldManager=one"), foo("a", json!({"x": 1})));
    let path = format!("{FOOS2}/a?fieldManager=two");
    let got = apply(&api, &path, &foo2("a", json!({"size": 2})));
    assert_eq!(
        (got.code, got.message()),
        (409, "Apply failed with 1 conflict: conflict with \"one\" using example.com/v1: .spec.x")
    );
    let got = apply(&api, &format!("{path}&force=true"), &foo2("a", json!({"size": 2})));
    assert_eq!((got.code, &got.body["spec"]["size"]), (200, &json!(2)), "{}", got.message());
    assert_eq!(managers(&got.body), ["two v2: size", "one v1: colour"]);
}

#[test]
fn what_is_applied_no_more_goes_also_from_another_version() {
    let (api, _) = converting();
    let path = |foos: &str| format!("{foos}/a?fieldManager=me");
    apply(&api, &path(FOOS), &foo("a", json!({"x": 1, "replicas": 2})));
    // Somebody else holds on to the one.
    let patch = Some(json!({"spec": {"replicas": 3}}));
    api.call("PATCH", &format!("{FOOS}/a?fieldManager=other"), patch);
    let got = apply(&api, &path(FOOS2), &foo2("a", json!({"colour": "green"})));
    assert_eq!(got.code, 200, "{}", got.message());
    assert_eq!(got.body["spec"], json!({"colour": "green", "replicas": 3}));
    assert_eq!(managers(&got.body), ["me v2: colour", "other v1: replicas"]);
    assert_eq!(stored(&api, "a")["spec"], got.body["spec"]);
}
