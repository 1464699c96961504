//! Every verb in another version than the stored one.

use super::*;

#[test]
fn a_create_is_stored_in_the_stored_version() {
    let (api, converter) = converting();
    let got = api.create(FOOS2, foo2("a", json!({"size": 3, "junk": 1})));
    assert_eq!(got.body["apiVersion"], "example.com/v2");
    assert_eq!(got.body["spec"], json!({"size": 3, "colour": "blue"}));
    assert_eq!(got.header("warning"), "299 - \"unknown field \\\"spec.junk\\\"\"");
    assert_eq!(got.body["metadata"]["managedFields"][0]["apiVersion"], "example.com/v2");
    assert_eq!(converter.asked(), ["1 to example.com/v1", "1 to example.com/v2"]);
    let kept = stored(&api, "a");
    assert_eq!(kept["apiVersion"], "example.com/v1");
    assert_eq!(kept["spec"], json!({"x": 3, "colour": "blue"}));
    assert_eq!(kept["metadata"], got.body["metadata"], "revision and all");
    assert_eq!(api.get(&format!("{FOOS2}/a")).body, got.body);
    assert_eq!(api.get(&format!("{FOOS}/a")).body, kept);
    assert_eq!(converter.asked(), ["1 to example.com/v2"]);
    let dry = api.call("POST", &format!("{FOOS2}?dryRun=All"), Some(foo2("b", json!({"size": 1}))));
    assert_eq!((dry.code, &dry.body["spec"]["size"]), (201, &json!(1)));
    assert_eq!(stored(&api, "b"), Value::Null);
}

#[test]
fn the_rules_are_those_of_the_requests_version() {
    let (api, converter) = converting();
    let refused = |object: Value, expect: &str| {
        let got = api.call("POST", FOOS2, Some(object));
        assert_eq!((got.code, got.message()), (422, expect));
    };
    refused(
        foo2("a", json!({"size": 10})),
        "Foo.example.com \"a\" is invalid: spec.size: Invalid value: 10: spec.size in body should be less than or equal \
         to 9",
    );
    refused(
        foo2("a", json!({"size": 7})),
        "Foo.example.com \"a\" is invalid: spec: Invalid value: not seven",
    );
    assert_eq!(converter.asked(), [""; 0], "what is refused is not converted");
    // In v1 they don't count, and what is stored already is shown.
    api.create(FOOS, foo("a", json!({"x": 10})));
    assert_eq!(api.get(&format!("{FOOS2}/a")).body["spec"]["size"], 10);
    // A body of another version than the path's is refused, as ever.
    let got = api.call("POST", FOOS2, Some(foo("b", json!({}))));
    assert_eq!(got.code, 400);
}

#[test]
fn updates_and_patches_are_converted_to_and_fro() {
    let (api, converter) = converting();
    let mut body = api.create(FOOS2, foo2("a", json!({"size": 1}))).body;
    converter.asked();
    let path = format!("{FOOS2}/a");
    body["spec"]["size"] = json!(2);
    let put = api.call("PUT", &path, Some(body));
    assert_eq!((put.code, &put.body["spec"]["size"]), (200, &json!(2)), "{}", put.message());
    assert_eq!(put.body["metadata"]["generation"], 2);
    assert_eq!(stored(&api, "a")["spec"]["x"], 2);
    let all = ["1 to example.com/v2", "1 to example.com/v1", "1 to example.com/v2"];
    assert_eq!(converter.asked(), all, "what was there, what is stored, what is answered");
    let patches = [
        ("application/merge-patch+json", json!({"spec": {"size": 3}})),
        (
            "application/json-patch+json",
            json!([{"op": "test", "path": "/spec/size", "value": 3}, {"op": "replace", "path": "/spec/size", "value": 4}]),
        ),
        ("application/apply-patch+yaml", foo2("a", json!({"size": 5}))),
    ];
    for (index, (kind, patch)) in patches.into_iter().enumerate() {
        let path = format!("{path}?fieldManager=m&force=true");
        let path = if index < 2 { path.replace("&force=true", "") } else { path };
        let got = api.raw("PATCH", &path, &[("content-type", kind)], patch.to_string());
        assert_eq!(got.code, 200, "{kind}: {}", got.message());
        let size = index + 3;
        assert_eq!(got.body["spec"]["size"], size, "{kind}");
        assert_eq!(stored(&api, "a")["spec"]["x"], size, "{kind}");
    }
    let created = foo2("b", json!({"size": 6})).to_string();
    let apply = [("content-type", "application/apply-patch+yaml")];
    let got = api.raw("PATCH", &format!("{FOOS2}/b?fieldManager=m"), &apply, created);
    assert_eq!((got.code, &got.body["spec"]["size"]), (201, &json!(6)), "{}", got.message());
    assert_eq!(stored(&api, "b")["spec"]["x"], 6);
}

#[test]
fn a_write_that_changes_nothing_is_none() {
    let (api, _) = converting();
    let body = api.create(FOOS2, foo2("a", json!({"size": 1}))).body;
    let before = api.server.revision();
    assert_eq!(api.call("PUT", &format!("{FOOS2}/a"), Some(body.clone())).body, body);
    assert_eq!(api.server.revision(), before);
    // It is one where another version is stored by now.
    let mut crd = api.get(&format!("{CRDS}/foos.example.com")).body;
    crd["spec"]["versions"][0]["storage"] = json!(false);
    crd["spec"]["versions"][1]["storage"] = json!(true);
    assert_eq!(api.call("PUT", &format!("{CRDS}/foos.example.com"), Some(crd)).code, 200);
    assert_eq!(stored(&api, "a")["apiVersion"], "example.com/v1", "stored as it was");
    let got = api.call("PUT", &format!("{FOOS2}/a"), Some(body.clone()));
    assert_eq!(got.code, 200, "{}", got.message());
    assert_eq!(stored(&api, "a"), got.body);
    assert_eq!(got.body["spec"], body["spec"]);
}

#[test]
fn subresources_are_converted_too() {
    let (api, _) = converting();
    api.create(FOOS2, foo2("a", json!({"size": 1, "replicas": 1})));
    let status =
        api.call("PATCH", &format!("{FOOS2}/a/status"), Some(json!({"status": {"phase": "on"}})));
    assert_eq!((status.code, &status.body["status"]["phase"]), (200, &json!("on")));
    assert_eq!(status.body["spec"]["size"], 1);
    let mut scale = api.get(&format!("{FOOS2}/a/scale")).body;
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(1)));
    scale["spec"]["replicas"] = json!(4);
    let got = api.call("PUT", &format!("{FOOS2}/a/scale"), Some(scale));
    assert_eq!((got.code, &got.body["spec"]["replicas"]), (200, &json!(4)), "{}", got.message());
    let got =
        api.call("PATCH", &format!("{FOOS2}/a/scale"), Some(json!({"spec": {"replicas": 5}})));
    assert_eq!((got.code, &got.body["spec"]["replicas"]), (200, &json!(5)), "{}", got.message());
    let kept = stored(&api, "a");
    assert_eq!(kept["apiVersion"], "example.com/v1");
    assert_eq!(kept["spec"], json!({"x": 1, "colour": "blue", "replicas": 5}));
    assert_eq!(kept["status"], json!({"phase": "on"}));
}

#[test]
fn a_list_is_one_call() {
    let (api, converter) = converting();
    for (name, x) in [("a", 1), ("b", 2), ("c", 3)] {
        api.create(FOOS, foo(name, json!({"x": x})));
    }
    let sizes = |got: &Got| -> Vec<Value> {
        let items = got.body["items"].as_array().expect("items").iter();
        items.map(|item| item["spec"]["size"].clone()).collect()
    };
    let got = api.get(FOOS2);
    assert_eq!(sizes(&got), [json!(1), json!(2), json!(3)]);
    assert_eq!(got.body["items"][0]["apiVersion"], "example.com/v2");
    assert_eq!(got.body["apiVersion"], "example.com/v2");
    assert_eq!(converter.asked(), ["3 to example.com/v2"]);
    let page = api.get(&format!("{FOOS2}?limit=2"));
    assert_eq!(sizes(&page).len(), 2);
    assert_eq!(converter.asked(), ["2 to example.com/v2"]);
    let rest = page.body["metadata"]["continue"].as_str().expect("more").to_owned();
    assert_eq!(sizes(&api.get(&format!("{FOOS2}?limit=2&continue={rest}"))), [json!(3)]);
    // Fields and labels are those of the version that was asked for.
    assert_eq!(sizes(&api.get(&format!("{FOOS2}?fieldSelector=spec.size%3D2"))), [json!(2)]);
    converter.converts_and(|object| {
        let even = if object["spec"]["size"] == 2 { "yes" } else { "no" };
        object["metadata"]["labels"] = json!({"even": even});
    });
    assert_eq!(sizes(&api.get(&format!("{FOOS2}?labelSelector=even%3Dyes"))), [json!(2)]);
    assert_eq!(api.get(&format!("{FOOS}?labelSelector=even%3Dyes")).body["items"], json!([]));
}

#[test]
fn tables_and_metadata_are_of_the_version_that_was_asked_for() {
    let (api, _) = converting();
    api.create(FOOS, foo("a", json!({"x": 8})));
    let accept = |kind: &str| format!("application/json;as={kind};g=meta.k8s.io;v=v1");
    let table = api.raw("GET", FOOS2, &[("accept", &accept("Table"))], "");
    assert_eq!(table.body["columnDefinitions"][1]["name"], "Size");
    assert_eq!(table.body["rows"][0]["cells"], json!(["a", 8]));
    let list = api.raw("GET", FOOS2, &[("accept", &accept("PartialObjectMetadataList"))], "");
    assert_eq!(list.body["items"][0]["metadata"]["name"], "a");
    let path = format!("{FOOS2}/a");
    let one = api.raw("GET", &path, &[("accept", &accept("PartialObjectMetadata"))], "");
    assert_eq!(one.body["metadata"], stored(&api, "a")["metadata"]);
}

#[test]
fn deletes_are_converted_too() {
    let (api, converter) = converting();
    api.create(FOOS, foo("a", json!({"x": 1})));
    let got = api.call("DELETE", &format!("{FOOS2}/a"), None);
    assert_eq!((got.code, &got.body["kind"]), (200, &json!("Status")));
    assert_eq!(stored(&api, "a"), Value::Null);
    let mut held = foo("b", json!({"x": 2}));
    held["metadata"]["finalizers"] = json!(["example.com/f"]);
    let created = api.create(FOOS, held).body;
    converter.asked();
    let got = api.call("DELETE", &format!("{FOOS2}/b"), None);
    assert_eq!((got.code, &got.body["spec"]["size"]), (200, &json!(2)), "{}", got.message());
    assert!(got.body["metadata"]["deletionTimestamp"].is_string());
    let kept = stored(&api, "b");
    assert_eq!((&kept["apiVersion"], &kept["spec"]), (&created["apiVersion"], &created["spec"]));
    assert_eq!(kept["metadata"], got.body["metadata"]);
    let end =
        api.call("PATCH", &format!("{FOOS2}/b"), Some(json!({"metadata": {"finalizers": null}})));
    assert_eq!((end.code, &end.body["spec"]["size"]), (200, &json!(2)), "{}", end.message());
    assert_eq!(stored(&api, "b"), Value::Null);
}

#[test]
fn a_collection_is_deleted_at_once() {
    let (api, converter) = converting();
    for (name, held) in [("a", false), ("b", true), ("c", false)] {
        let mut object = foo(name, json!({"x": 1}));
        if held {
            object["metadata"]["finalizers"] = json!(["example.com/f"]);
        }
        api.create(FOOS, object);
    }
    let got = api.call("DELETE", FOOS2, None);
    assert_eq!(got.code, 200, "{}", got.message());
    let items = got.body["items"].as_array().expect("items");
    assert!(items.iter().all(|item| item["spec"]["size"] == 1), "{items:?}");
    assert_eq!(items.len(), 3);
    assert_eq!((stored(&api, "a"), stored(&api, "c")), (Value::Null, Value::Null));
    let kept = stored(&api, "b");
    assert!(kept["metadata"]["deletionTimestamp"].is_string());
    assert_eq!((&kept["apiVersion"], &kept["spec"]["x"]), (&json!("example.com/v1"), &json!(1)));
    assert_eq!(converter.asked()[0], "3 to example.com/v2");
    // Where it can't be told, nothing is deleted.
    api.create(FOOS, foo("d", json!({})));
    converter.answers(|_| Err("gone".to_owned()));
    assert_eq!(api.call("DELETE", FOOS2, None).code, 500);
    assert_eq!(stored(&api, "d")["kind"], "Foo");
}

#[test]
fn where_versions_agree_nobody_is_asked() {
    let (api, converter) = converting();
    converter.answers(|_| Err("nobody may ask".to_owned()));
    let mut watch = api.watch(&format!("{FOOS}?watch=1"));
    let mut body = api.create(FOOS, foo("a", json!({"x": 1}))).body;
    body["spec"]["x"] = json!(2);
    assert_eq!(api.call("PUT", &format!("{FOOS}/a"), Some(body)).code, 200);
    let patch = Some(json!({"spec": {"x": 3}}));
    assert_eq!(api.call("PATCH", &format!("{FOOS}/a"), patch).code, 200);
    assert_eq!(api.get(FOOS).code, 200);
    assert_eq!(api.call("DELETE", FOOS, None).code, 200);
    // An empty list of the other version needs nobody either.
    assert_eq!(api.get(FOOS2).code, 200);
    assert_eq!(watch.drain().len(), 4);
    assert_eq!(converter.asked(), [""; 0]);
}

#[test]
fn admission_webhooks_see_the_version_that_they_ask_for() {
    let (api, converter) = converting();
    let hook = json!({
        "name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "rules": [{
            "apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["foos"],
        }],
        "clientConfig": {"url": "https://127.0.0.1:2/"},
    });
    let configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    api.create(configurations, json!({"metadata": {"name": "c"}, "webhooks": [hook]}));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    converter.answers(move |review| {
        if review["kind"] == "ConversionReview" {
            return Ok(well(review));
        }
        let request = &review["request"];
        told.lock().unwrap().push((request["kind"]["version"].clone(), request["object"]["spec"]["x"].clone()));
        let patch = json!([{"op": "replace", "path": "/spec/x", "value": 6}]).to_string();
        let patch = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, patch);
        Ok(json!({"uid": request["uid"], "allowed": true, "patch": patch, "patchType": "JSONPatch"}))
    });
    let got = api.create(FOOS2, foo2("a", json!({"size": 1})));
    assert_eq!(got.body["spec"]["size"], 6);
    assert_eq!(stored(&api, "a")["spec"]["x"], 6);
    assert_eq!(*seen.lock().unwrap(), [(json!("v1"), json!(1))]);
    // What can't be converted for it can't be admitted.
    converter.answers(|_| Err("gone".to_owned()));
    let got = api.call("POST", FOOS2, Some(foo2("b", json!({"size": 1}))));
    assert_eq!(
        (got.code, got.message()),
        (
            500,
            "Internal error occurred: Internal error occurred: conversion webhook for example.com/v2, Kind=Foo \
             failed: Post \"https://127.0.0.1:1/convert?timeout=30s\": gone"
        )
    );
}
