//! Golden answers of a real server (kubernetes-api.md §5).

use serde_json::json;

use super::*;

#[test]
fn create_and_duplicate() {
    let api = Api::with_foos();
    let got = api.create(FOOS, foo("a", json!({"x": 1})));
    assert_eq!(got.body["metadata"]["generation"], 1);
    assert_eq!(got.body["spec"], json!({"x": 1, "colour": "red"}));
    assert_eq!(got.body["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
    let again = api.call("POST", FOOS, Some(foo("a", json!({}))));
    assert_eq!((again.code, again.reason()), (409, "AlreadyExists"));
    assert_eq!(again.message(), r#"foos.example.com "a" already exists"#);
    assert_eq!(again.body["details"], json!({"name": "a", "group": "example.com", "kind": "foos"}));
}

#[test]
fn every_answer_has_its_headers() {
    let api = Api::with_foos();
    for path in ["/version", "/apis", FOOS, "/apis/example.com/v1/namespaces/default/foos/none"] {
        let got = api.get(path);
        assert_eq!(got.header("audit-id").len(), 36, "{path}");
        assert_eq!(got.header("cache-control"), "no-cache, private", "{path}");
    }
    let got = api.raw("GET", FOOS, &[("audit-id", "mine")], "");
    assert_eq!(got.header("audit-id"), "mine");
}

#[test]
fn unknown_fields() {
    let api = Api::with_foos();
    let body = foo("a", json!({"x": 1, "zzz": 2}));
    let warn = api.create(FOOS, body.clone());
    assert_eq!(warn.header("warning"), r#"299 - "unknown field \"spec.zzz\"""#);
    assert!(warn.body["spec"].get("zzz").is_none());
    let ignore = api.call(
        "POST",
        &format!("{FOOS}?fieldValidation=Ignore&dryRun=All"),
        Some(foo("b", json!({"zzz": 2}))),
    );
    assert_eq!((ignore.code, ignore.header("warning")), (201, ""));
    let strict = api.call("POST", &format!("{FOOS}?fieldValidation=Strict"), Some(body));
    assert_eq!((strict.code, strict.reason()), (400, "BadRequest"));
    assert!(strict.message().contains(r#"strict decoding error: unknown field "spec.zzz""#));
}

#[test]
fn writes_that_change_nothing_leave_the_revision() {
    let api = Api::with_foos();
    let created = api.create(FOOS, foo("a", json!({"x": 1})));
    let mut watch = api.watch(&format!("{FOOS}?watch=1&resourceVersion={}", created.revision()));
    let path = format!("{FOOS}/a");
    let put = api.call("PUT", &path, Some(created.body.clone()));
    assert_eq!((put.code, put.revision()), (200, created.revision()));
    let patch = api.call("PATCH", &path, Some(json!({"spec": {"x": 1}})));
    assert_eq!((patch.code, patch.revision()), (200, created.revision()));
    let status = api.call("PUT", &format!("{path}/status"), Some(created.body.clone()));
    assert_eq!((status.code, status.revision()), (200, created.revision()));
    assert!(watch.drain().is_empty());
}

#[test]
fn updates_are_optimistic() {
    let api = Api::with_foos();
    let created = api.create(FOOS, foo("a", json!({"x": 1})));
    let path = format!("{FOOS}/a");
    let mut newer = created.body.clone();
    newer["spec"]["x"] = json!(2);
    let put = api.call("PUT", &path, Some(newer.clone()));
    assert_eq!((put.code, put.body["metadata"]["generation"].as_i64()), (200, Some(2)));
    let stale = api.call("PUT", &path, Some(newer.clone()));
    assert_eq!((stale.code, stale.reason()), (409, "Conflict"));
    assert_eq!(
        stale.message(),
        "Operation cannot be fulfilled on foos.example.com \"a\": the object has been modified; please apply \
         your changes to the latest version and try again"
    );
    newer["metadata"].as_object_mut().expect("metadata").remove("resourceVersion");
    let without = api.call("PUT", &path, Some(newer.clone()));
    assert_eq!((without.code, without.reason()), (422, "Invalid"));
    assert!(
        without.message().ends_with("must be specified for an update"),
        "{}",
        without.message()
    );
    newer["metadata"] = json!({"name": "b", "resourceVersion": "1"});
    let missing = api.call("PUT", &format!("{FOOS}/b"), Some(newer));
    assert_eq!((missing.code, missing.message()), (404, r#"foos.example.com "b" not found"#));
    // Many built-in types take a PUT without a revision.
    api.create(MAPS, map("a"));
    let got = api.call("PUT", &format!("{MAPS}/a"), Some(map("a")));
    assert_eq!(got.code, 200);
}

#[test]
fn deletes() {
    let api = Api::with_foos();
    let path = format!("{FOOS}/a");
    let created = api.create(FOOS, foo("a", json!({})));
    let deleted = api.call("DELETE", &path, None);
    assert_eq!((deleted.code, deleted.body["status"].as_str()), (200, Some("Success")));
    assert_eq!(
        deleted.body["details"],
        json!({
            "name": "a", "group": "example.com", "kind": "foos",
            "uid": created.body["metadata"]["uid"],
        })
    );
    let missing = api.call("DELETE", &path, None);
    assert_eq!((missing.code, missing.reason()), (404, "NotFound"));
}

#[test]
fn deletes_wait_for_finalizers() {
    let api = Api::with_foos();
    let path = format!("{FOOS}/a");
    let mut object = foo("a", json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    let created = api.create(FOOS, object);
    let mut watch = api.watch(&format!("{FOOS}?watch=1&resourceVersion={}", created.revision()));
    let marked = api.call("DELETE", &path, None);
    let metadata = &marked.body["metadata"];
    assert_eq!(marked.code, 200);
    assert_eq!(metadata["deletionTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(metadata["deletionGracePeriodSeconds"], 0);
    assert_eq!(metadata["generation"], 2);
    let again = api.call("DELETE", &path, None);
    assert_eq!((again.code, again.revision()), (200, marked.revision()));
    let add = json!({"metadata": {"finalizers": ["example.com/f", "example.com/g"]}});
    let refused = api.call("PATCH", &path, Some(add));
    assert_eq!((refused.code, refused.reason()), (422, "Invalid"));
    let removed = api.call("PATCH", &path, Some(json!({"metadata": {"finalizers": null}})));
    assert_eq!(removed.code, 200);
    assert_eq!(api.get(&path).code, 404);
    let expect = [
        format!("MODIFIED a@{}", marked.revision()),
        format!("DELETED a@{}", marked.revision() + 1),
    ];
    assert_eq!(watch.drain(), expect);
}

#[test]
fn delete_preconditions() {
    let api = Api::with_foos();
    let created = api.create(FOOS, foo("a", json!({})));
    let check = |preconditions: Value, code: u16, part: &str| {
        let body = json!({"preconditions": preconditions, "dryRun": ["All"]});
        let got = api.call("DELETE", &format!("{FOOS}/a"), Some(body));
        assert_eq!(got.code, code, "{}", got.message());
        assert!(got.message().contains(part), "{}", got.message());
    };
    check(
        json!({"uid": "other"}),
        409,
        "the UID in the precondition (other) does not match the UID in record",
    );
    check(
        json!({"resourceVersion": "1"}),
        409,
        "the ResourceVersion in the precondition (1) does not match",
    );
    check(json!({"uid": created.body["metadata"]["uid"]}), 200, "");
}

#[test]
fn propagation_sets_the_collectors_finalizers() {
    let api = Api::with_foos();
    for (policy, expect) in [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")] {
        api.create(FOOS, foo(&expect.to_lowercase(), json!({})));
        let path = format!("{FOOS}/{}", expect.to_lowercase());
        let got = api.call("DELETE", &path, Some(json!({"propagationPolicy": policy})));
        assert_eq!(got.code, 200);
        assert_eq!(got.body["metadata"]["finalizers"], json!([expect]));
    }
    api.create(FOOS, foo("c", json!({})));
    let got = api.call("DELETE", &format!("{FOOS}/c?propagationPolicy=Background"), None);
    assert_eq!(got.body["status"], "Success");
    let got = api.call("DELETE", &format!("{FOOS}/orphan?propagationPolicy=Never"), None);
    assert_eq!(got.code, 422);
}

#[test]
fn dry_runs_leave_no_trace() {
    let api = Api::with_foos();
    api.create(FOOS, foo("a", json!({})));
    let before = api.server.revision();
    let got = api.call("POST", &format!("{FOOS}?dryRun=All"), Some(foo("b", json!({"x": 1}))));
    assert_eq!((got.code, got.body["spec"]["colour"].as_str()), (201, Some("red")));
    let path = format!("{FOOS}/a?dryRun=All");
    assert_eq!(api.call("PATCH", &path, Some(json!({"spec": {"x": 9}}))).body["spec"]["x"], 9);
    assert_eq!(api.call("DELETE", &path, None).code, 200);
    assert_eq!(
        api.call("POST", &format!("{FOOS}?dryRun=Some"), Some(foo("b", json!({})))).code,
        422
    );
    assert_eq!(api.server.revision(), before);
    assert_eq!(api.get(&format!("{FOOS}/a")).body["spec"], json!({"colour": "red"}));
}

#[test]
fn objects_and_paths_must_agree() {
    let api = Api::with_foos();
    let check = |method: &str, path: &str, body: Value, code: u16, message: &str| {
        let got = api.call(method, path, Some(body));
        assert_eq!((got.code, got.message()), (code, message), "{method} {path}");
    };
    let mut elsewhere = foo("a", json!({}));
    elsewhere["metadata"]["namespace"] = json!("other");
    check(
        "POST",
        FOOS,
        elsewhere,
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    );
    check(
        "POST",
        FOOS,
        map("a"),
        400,
        "the API version in the data (v1) does not match the expected API version (example.com/v1)",
    );
    api.create(FOOS, foo("a", json!({})));
    check(
        "PUT",
        &format!("{FOOS}/a"),
        foo("b", json!({})),
        400,
        "the name of the object (b) does not match the name on the URL (a)",
    );
    let nameless = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {}});
    check(
        "POST",
        FOOS,
        nameless,
        422,
        "Foo.example.com \"\" is invalid: metadata.name: Required value: name or generateName is required",
    );
    let missing = FOOS.replace("default", "nowhere");
    check("POST", &missing, foo("a", json!({})), 404, r#"namespaces "nowhere" not found"#);
    let got = api.call("POST", FOOS, Some(foo("A_b", json!({}))));
    assert_eq!(got.code, 422);
    assert!(got.message().starts_with("Foo.example.com \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of"), "{}", got.message());
}

#[test]
fn status_and_spec_are_apart() {
    let api = Api::with_foos();
    let mut object = foo("a", json!({"x": 1}));
    object["status"] = json!({"phase": "Sent"});
    let created = api.create(FOOS, object);
    assert!(created.body.get("status").is_none());
    let mut both = created.body.clone();
    both["spec"]["x"] = json!(2);
    both["status"] = json!({"phase": "Set"});
    both["metadata"]["labels"] = json!({"l": "1"});
    let status = api.call("PUT", &format!("{FOOS}/a/status"), Some(both.clone()));
    assert_eq!(status.body["status"], json!({"phase": "Set"}));
    assert_eq!(status.body["spec"]["x"], 1);
    assert!(status.body["metadata"].get("labels").is_none());
    assert_eq!(status.body["metadata"]["generation"], 1);
    both["metadata"] = status.body["metadata"].clone();
    both["status"] = json!({"phase": "Ignored"});
    let spec = api.call("PUT", &format!("{FOOS}/a"), Some(both));
    assert_eq!(spec.body["status"], json!({"phase": "Set"}));
    assert_eq!(spec.body["metadata"]["generation"], 2);
}

#[test]
fn a_namespace_that_goes_takes_nothing_in() {
    let api = Api::new();
    let spaces = "/api/v1/namespaces";
    api.create(spaces, json!({"metadata": {"name": "n"}}));
    let got = api.call("DELETE", &format!("{spaces}/n"), None);
    assert_eq!((got.code, got.body["status"]["phase"].as_str()), (200, Some("Terminating")));
    let refused = api.call("POST", "/api/v1/namespaces/n/configmaps", Some(map("a")));
    assert_eq!((refused.code, refused.reason()), (403, "Forbidden"));
    assert_eq!(
        refused.message(),
        "configmaps \"a\" is forbidden: unable to create new content in namespace n because it is being \
         terminated"
    );
    assert_eq!(refused.body["details"]["causes"][0]["reason"], "NamespaceTerminating");
    let mut body = api.get(&format!("{spaces}/n")).body;
    body["spec"]["finalizers"] = json!([]);
    assert_eq!(api.call("PUT", &format!("{spaces}/n/finalize"), Some(body)).code, 200);
    assert_eq!(api.get(&format!("{spaces}/n")).code, 404);
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

#[test]
fn patch_types_of_custom_resources() {
    let api = Api::with_foos();
    api.create(FOOS, foo("a", json!({"x": 1})));
    let path = format!("{FOOS}/a");
    for kind in ["application/strategic-merge-patch+json", "application/json", "text/plain"] {
        let got = api.raw("PATCH", &path, &[("content-type", kind)], "{}");
        assert_eq!((got.code, got.reason()), (415, "UnsupportedMediaType"), "{kind}");
        assert!(got.message().contains("application/apply-patch+yaml"), "{}", got.message());
    }
    let json = [("content-type", "application/json-patch+json; charset=utf-8")];
    let got = api.raw("PATCH", &path, &json, r#"[{"op":"replace","path":"/spec/x","value":4}]"#);
    assert_eq!((got.code, &got.body["spec"]["x"]), (200, &json!(4)));
    let got = api.raw("PATCH", &path, &json, r#"[{"op":"test","path":"/spec/x","value":9}]"#);
    assert_eq!((got.code, got.reason()), (422, "Invalid"));
    let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {"x": 5}});
    assert_eq!(api.call("PATCH", &path, Some(stale)).code, 409);
    assert_eq!(api.call("PATCH", &format!("{FOOS}/none"), Some(json!({}))).code, 404);
}

#[test]
fn applies() {
    let api = Api::with_foos();
    let path = format!("{FOOS}/a");
    let apply = |query: &str, x: i64| {
        let yaml = format!(
            "apiVersion: example.com/v1\nkind: Foo\nmetadata: {{name: a}}\nspec: {{x: {x}}}\n"
        );
        api.raw(
            "PATCH",
            &format!("{path}?{query}"),
            &[("content-type", "application/apply-patch+yaml")],
            yaml,
        )
    };
    let nobody = apply("", 1);
    assert_eq!((nobody.code, nobody.reason()), (422, "Invalid"));
    let created = apply("fieldManager=m1", 1);
    assert_eq!(
        (created.code, &created.body["metadata"]["managedFields"][0]["manager"]),
        (201, &json!("m1"))
    );
    let same = apply("fieldManager=m1", 1);
    assert_eq!((same.code, same.revision()), (200, created.revision()));
    let conflict = apply("fieldManager=m2", 2);
    assert_eq!((conflict.code, conflict.reason()), (409, "Conflict"));
    assert_eq!(conflict.message(), "Apply failed with 1 conflict: conflict with \"m1\": .spec.x");
    assert_eq!(conflict.body["details"]["causes"][0]["reason"], "FieldManagerConflict");
    let forced = apply("fieldManager=m2&force=true", 2);
    assert_eq!((forced.code, &forced.body["spec"]["x"]), (200, &json!(2)));
    assert_eq!(forced.body["metadata"]["generation"], 2);
}

#[test]
fn encodings_are_negotiated() {
    let api = Api::with_foos();
    api.create(FOOS, foo("a", json!({})));
    let check = |path: &str, accept: &str, code: u16, content_type: &str| {
        let got = api.raw("GET", path, &[("accept", accept)], "");
        assert_eq!((got.code, got.header("content-type")), (code, content_type), "{path} {accept}");
        got
    };
    let foo = format!("{FOOS}/a");
    let metadata = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    // A refusal is itself in the form that was asked for.
    check(&foo, PROTOBUF, 406, PROTOBUF);
    check(&foo, &format!("{PROTOBUF}, */*"), 200, "application/json");
    check(&foo, &metadata, 200, PROTOBUF);
    check(&foo, "application/cbor", 406, "application/json");
    check(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com",
        PROTOBUF,
        200,
        PROTOBUF,
    );
    let got = check("/api/v1/namespaces/default", PROTOBUF, 200, PROTOBUF);
    let read = crate::encoding::decode(Some(PROTOBUF), &got.bytes).expect("protobuf");
    assert_eq!(read, api.get("/api/v1/namespaces/default").body);
    let got = check("/api/v1/namespaces", PROTOBUF, 200, PROTOBUF);
    let read = crate::encoding::decode(Some(PROTOBUF), &got.bytes).expect("protobuf");
    assert_eq!(read["items"].as_array().map(Vec::len), Some(4));
    let got = check("/api/v1/namespaces/none", PROTOBUF, 404, PROTOBUF);
    let read = crate::encoding::decode(Some(PROTOBUF), &got.bytes).expect("protobuf");
    assert_eq!((&read["reason"], &read["code"]), (&json!("NotFound"), &json!(404)));
    let got = check(FOOS, "application/json;as=Table;g=meta.k8s.io;v=v1", 200, "application/json");
    assert_eq!(
        (&got.body["kind"], &got.body["rows"][0]["cells"][0]),
        (&json!("Table"), &json!("a"))
    );
    let body = api.raw("POST", FOOS, &[("content-type", PROTOBUF)], &b"k8s\0"[..]);
    assert_eq!(body.code / 100, 4);
}

#[test]
fn a_write_whose_answer_cannot_be_read_does_not_happen() {
    let api = Api::with_foos();
    let before = api.server.revision();
    let body = foo("a", json!({})).to_string();
    let got =
        api.raw("POST", FOOS, &[("accept", PROTOBUF), ("content-type", "application/json")], body);
    assert_eq!((got.code, api.server.revision()), (406, before));
}

#[test]
fn verbs_that_a_type_does_not_have() {
    let api = Api::new();
    let check = |method: &str, path: &str| {
        let got = api.call(method, path, None);
        assert_eq!((got.code, got.reason()), (405, "MethodNotAllowed"), "{method} {path}");
    };
    check("DELETE", "/api/v1/namespaces");
    check("PUT", MAPS);
    check("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    check("DELETE", "/api/v1/componentstatuses/x");
    check("OPTIONS", MAPS);
    check("POST", "/version");
}
