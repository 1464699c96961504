//! Custom types: from definition to removal.

use super::*;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn condition<'a>(crd: &'a Value, kind: &str) -> &'a Value {
    let all = crd["status"]["conditions"].as_array().expect("conditions");
    all.iter().find(|condition| condition["type"] == kind).expect("the condition")
}

#[test]
fn a_definition_is_established_and_served() {
    let api = Api::new();
    assert_eq!(api.get(FOOS).code, 404);
    let got = api.create(CRDS, foos_crd());
    for kind in ["Established", "NamesAccepted"] {
        assert_eq!(condition(&got.body, kind)["status"], "True");
    }
    assert_eq!(got.body["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(got.body["status"]["acceptedNames"]["listKind"], "FooList");
    assert_eq!(got.body["spec"]["names"]["singular"], "foo");
    let list = api.get(FOOS);
    assert_eq!((list.code, list.body["kind"].as_str()), (200, Some("FooList")));
}

/// As old versions of controller-gen wrote it.
#[test]
fn an_empty_status_in_a_manifest_is_overlooked() {
    let (api, mut crd) = (Api::new(), foos_crd());
    let empty = json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": [], "storedVersions": []});
    crd["status"] = empty.clone();
    let mut crd = api.create(CRDS, crd).body;
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    crd["status"] = empty;
    let got = api.call("PUT", &format!("{CRDS}/foos.example.com"), Some(crd));
    assert_eq!((got.code, &got.body["status"]["storedVersions"]), (200, &json!(["v1"])));
    assert_eq!(condition(&got.body, "Established")["status"], "True");
}

#[test]
fn versions_share_their_objects() {
    let api = Api::with_foos();
    api.create(FOOS, foo("a", json!({"x": 1})));
    let mut crd = api.get(&format!("{CRDS}/foos.example.com")).body;
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    crd["spec"]["versions"][0]["storage"] = json!(false);
    crd["spec"]["versions"].as_array_mut().expect("versions").push(second);
    let got = api.call("PUT", &format!("{CRDS}/foos.example.com"), Some(crd));
    assert_eq!(got.body["status"]["storedVersions"], json!(["v1", "v2"]), "{}", got.message());
    let v2 = FOOS.replace("/v1/", "/v2/");
    assert_eq!(api.get(&format!("{v2}/a")).body["apiVersion"], "example.com/v2");
    assert_eq!(api.get(&format!("{FOOS}/a")).body["apiVersion"], "example.com/v1");
    let mut watch = api.watch(&format!("{v2}?watch=1"));
    let Next::Event(event) = watch.next() else { panic!("an event") };
    assert_eq!(event["object"]["apiVersion"], "example.com/v2");
    let old = api.call("PATCH", &format!("{FOOS}/a"), Some(json!({"spec": {"x": 2}})));
    assert_eq!((old.code, old.body["apiVersion"].as_str()), (200, Some("example.com/v1")));
}

#[test]
fn wrong_definitions_are_refused() {
    let api = Api::new();
    let check = |change: &dyn Fn(&mut Value), message: &str| {
        let mut crd = foos_crd();
        change(&mut crd);
        let got = api.call("POST", CRDS, Some(crd));
        assert_eq!(got.code, 422, "{message}");
        assert!(got.message().contains(message), "{}", got.message());
    };
    check(
        &|crd| crd["metadata"]["name"] = json!("bars.example.com"),
        "metadata.name: Invalid value: \"bars.example.com\": must be spec.names.plural+\".\"+spec.group",
    );
    check(
        &|crd| crd["spec"]["versions"][0]["storage"] = json!(false),
        "must have exactly one version marked as storage version",
    );
    check(
        &|crd| crd["spec"]["versions"][0]["schema"] = json!({}),
        "spec.versions[0].schema.openAPIV3Schema: Required value",
    );
}

#[test]
fn names_in_use_are_not_accepted() {
    let api = Api::with_foos();
    let mut other = foos_crd();
    other["metadata"]["name"] = json!("others.example.com");
    other["spec"]["names"] = json!({"plural": "others", "singular": "other", "kind": "Foo"});
    let got = api.create(CRDS, other);
    assert_eq!(condition(&got.body, "NamesAccepted")["reason"], "KindConflict");
    assert_eq!(condition(&got.body, "Established")["status"], "False");
    assert_eq!(api.get(&FOOS.replace("foos", "others")).code, 404);
}

#[test]
fn a_definition_goes_after_its_objects() {
    let api = Api::with_foos();
    api.create(FOOS, foo("a", json!({})));
    let mut held = foo("b", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/f"]);
    api.create(FOOS, held);
    let mut watch = api.watch(&format!("{FOOS}?watch=1&resourceVersion={}", api.server.revision()));
    let crd = format!("{CRDS}/foos.example.com");
    let got = api.call("DELETE", &crd, None);
    assert_eq!(got.code, 200);
    assert_eq!(condition(&got.body, "Terminating")["status"], "True");
    assert_eq!(api.get(&format!("{FOOS}/a")).code, 404);
    assert_eq!(api.get(&crd).code, 200, "one object is left");
    let refused = api.call("POST", FOOS, Some(foo("c", json!({}))));
    assert_eq!((refused.code, refused.reason()), (405, "MethodNotAllowed"));
    api.call("PATCH", &format!("{FOOS}/b"), Some(json!({"metadata": {"finalizers": null}})));
    assert_eq!(api.get(&crd).code, 404);
    assert_eq!(api.get(FOOS).code, 404);
    let seen: Vec<String> = watch
        .drain()
        .iter()
        .map(|line| line.split('@').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(seen, ["DELETED a", "MODIFIED b", "DELETED b", "end"]);
}

#[test]
fn objects_are_validated() {
    let api = Api::with_foos();
    let got = api.call("POST", FOOS, Some(foo("a", json!({"x": "one"}))));
    assert_eq!((got.code, got.reason()), (422, "Invalid"));
    assert_eq!(
        got.message(),
        "Foo.example.com \"a\" is invalid: spec.x: Invalid value: \"string\": spec.x in body must be of type \
         integer: \"string\""
    );
}
