//! Without a webhook nothing changes but the version, and what one of them doesn't know.

use super::*;

fn api() -> Api {
    let api = Api::new();
    api.create(CRDS, two_versions(json!({"strategy": "None"})));
    api
}

#[test]
fn each_version_keeps_what_it_knows() {
    let api = api();
    let got = api.create(FOOS, foo("a", json!({"x": 1, "replicas": 2})));
    assert_eq!(got.body["spec"], json!({"x": 1, "colour": "red", "replicas": 2}));
    let shown = api.get(&format!("{FOOS2}/a"));
    assert_eq!(shown.body["apiVersion"], "example.com/v2");
    assert_eq!(shown.body["spec"], json!({"colour": "red", "replicas": 2}), "v2 knows no x");
    assert_eq!(shown.body["metadata"], got.body["metadata"]);
    assert_eq!(stored(&api, "a"), got.body, "what is stored stays as it is");
    // What is written through the other version is stored without it, and the other way round.
    let patch = Some(json!({"spec": {"replicas": 3, "size": 4}}));
    let patched = api.call("PATCH", &format!("{FOOS2}/a"), patch);
    assert_eq!(patched.body["spec"], json!({"colour": "red", "replicas": 3}));
    assert_eq!(stored(&api, "a")["spec"], json!({"colour": "red", "replicas": 3}));
    assert_eq!(stored(&api, "a")["apiVersion"], "example.com/v1");
    // Who managed what was to be told in v1, which knows no size: now nobody manages anything, and an apply can't begin.
    assert_eq!(patched.body["metadata"].get("managedFields"), None);
}

#[test]
fn all_verbs_work_in_both() {
    let api = api();
    let mut body = api.create(FOOS2, foo2("a", json!({"replicas": 1}))).body;
    assert_eq!(body["spec"], json!({"colour": "blue", "replicas": 1}));
    body["spec"]["replicas"] = json!(2);
    let put = api.call("PUT", &format!("{FOOS2}/a"), Some(body));
    assert_eq!((put.code, &put.body["spec"]["replicas"]), (200, &json!(2)), "{}", put.message());
    let apply = [("content-type", "application/apply-patch+yaml")];
    let config = foo2("a", json!({"replicas": 3})).to_string();
    let path = format!("{FOOS2}/a?fieldManager=m&force=true");
    let got = api.raw("PATCH", &path, &apply, config);
    assert_eq!((got.code, &got.body["spec"]["replicas"]), (200, &json!(3)), "{}", got.message());
    let status = Some(json!({"status": {"phase": "on"}}));
    let got = api.call("PATCH", &format!("{FOOS2}/a/status"), status);
    assert_eq!((got.code, &got.body["status"]["phase"]), (200, &json!("on")));
    assert_eq!(api.get(&format!("{FOOS2}/a/scale")).body["spec"]["replicas"], 3);
    assert_eq!(api.get(FOOS2).body["items"][0]["apiVersion"], "example.com/v2");
    let mut watch = api.watch(&format!("{FOOS2}?watch=1"));
    let Next::Event(event) = watch.next() else { panic!("an event") };
    assert_eq!(event["object"], api.get(&format!("{FOOS2}/a")).body);
    let got = api.call("DELETE", FOOS2, None);
    assert_eq!(got.body["items"][0]["apiVersion"], "example.com/v2");
    let Next::Event(event) = watch.next() else { panic!("an event") };
    assert_eq!(
        (&event["type"], &event["object"]["apiVersion"]),
        (&json!("DELETED"), &json!("example.com/v2"))
    );
}

#[test]
fn an_apply_that_changes_nothing_gets_no_defaults() {
    let api = Api::new();
    let mut crd = two_versions(json!({"strategy": "None"}));
    let spec = "/spec/versions/1/schema/openAPIV3Schema/properties/spec/properties";
    crd.pointer_mut(spec).expect("it is there")["second"] =
        json!({"type": "string", "default": "s"});
    api.create(CRDS, crd);
    let apply = [("content-type", "application/apply-patch+yaml")];
    let config = foo2("a", json!({"replicas": 3})).to_string();
    let path = format!("{FOOS2}/a?fieldManager=m");
    let first = api.raw("PATCH", &path, &apply, config.clone());
    assert_eq!(first.body["spec"], json!({"colour": "blue", "replicas": 3}), "v1 knows no second");
    let again = api.raw("PATCH", &path, &apply, config);
    assert_eq!(again.body, first.body);
    let patched = api.call("PATCH", &path, Some(json!({"spec": {"replicas": 4}})));
    assert_eq!(patched.body["metadata"]["generation"], 2);
}

#[test]
fn a_version_that_is_stored_and_not_served_is_converted_too() {
    let api = api();
    api.create(FOOS, foo("a", json!({"replicas": 1})));
    let mut crd = api.get(&format!("{CRDS}/foos.example.com")).body;
    crd["spec"]["versions"][0]["served"] = json!(false);
    let got = api.call("PUT", &format!("{CRDS}/foos.example.com"), Some(crd));
    assert_eq!(got.code, 200, "{}", got.message());
    assert_eq!(api.get(&format!("{FOOS}/a")).code, 404);
    assert_eq!(api.get(&format!("{FOOS2}/a")).body["spec"]["replicas"], 1);
    let patch = Some(json!({"spec": {"replicas": 2, "size": 1}}));
    assert_eq!(api.call("PATCH", &format!("{FOOS2}/a"), patch).code, 200);
    assert_eq!(stored(&api, "a")["apiVersion"], "example.com/v1");
    assert_eq!(stored(&api, "a")["spec"], json!({"colour": "red", "replicas": 2}));
}
