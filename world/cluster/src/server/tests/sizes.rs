//! What is too large: the answers of a real server with its etcd, whose numbers the script `sizes` of the differential
//! tests has to the byte.

use super::*;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";
const MEBIBYTE: usize = 1 << 20;

fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[test]
fn contents_are_bounded() {
    let api = Api::new();
    let check = |path: &str, object: Value, expect: (u16, &str)| {
        let got = api.call("POST", path, Some(object));
        let field = got.body["details"]["causes"][0]["field"].as_str().unwrap_or("");
        assert_eq!((got.code, field), expect, "{}", got.message());
    };
    let map = |name: &str, bytes: usize| json!({"metadata": {"name": name}, "data": {"a": text(bytes)}, "binaryData": {"b": "eA=="}});
    check(MAPS, map("a", MEBIBYTE - 1), (201, ""));
    check(MAPS, map("b", MEBIBYTE), (422, "[]"));
    let secret =
        |bytes: usize| json!({"metadata": {"name": "a"}, "stringData": {"a": text(bytes)}});
    check(SECRETS, secret(MEBIBYTE + 1), (422, "data"));
    check(SECRETS, secret(MEBIBYTE), (201, ""));
    check(MAPS, map("c", 3 * MEBIBYTE), (413, ""));
}

#[test]
fn etcd_takes_no_larger_entries() {
    let api = Api::with_foos();
    let foo = |name: &str, bytes: usize| json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name, "annotations": {"a": "1"}}, "spec": {"colour": text(bytes)}});
    let check = |got: &Got, message: &str| {
        assert_eq!((got.code, got.reason()), (500, ""), "{}", got.message());
        assert!(got.message().starts_with(message), "{}", got.message());
    };
    let too_large = "etcdserver: request is too large";
    check(&api.call("POST", FOOS, Some(foo("a", 1_572_864))), too_large);
    let message = "rpc error: code = ResourceExhausted desc = trying to send message larger";
    check(&api.call("POST", FOOS, Some(foo("a", 2 * MEBIBYTE))), message);
    let dry = api.call("POST", &format!("{FOOS}?dryRun=All"), Some(foo("a", 2 * MEBIBYTE)));
    assert_eq!(dry.code, 201, "a dry run sends nothing: {}", dry.message());
    let managed = |got: &Got| got.body["metadata"].get("managedFields").is_some();
    assert!(managed(&api.create(FOOS, foo("a", 1_572_000))));
    assert!(!managed(&api.create(FOOS, foo("b", 1_572_400))), "it fits only without them");
    let patch = json!({"spec": {"colour": text(1_572_864)}});
    check(&api.call("PATCH", &format!("{FOOS}/a"), Some(patch)), too_large);
}

#[test]
fn copies_of_a_patch_are_bounded() {
    let api = Api::new();
    api.create(MAPS, json!({"metadata": {"name": "a"}, "data": {"a": text(MEBIBYTE - 2)}}));
    let patch = |copies: usize| {
        let copy = json!({"op": "copy", "from": "/data/a", "path": "/data/b"});
        let mut operations = vec![copy; copies];
        operations.push(json!({"op": "remove", "path": "/data/b"}));
        let kind = [("content-type", "application/json-patch+json")];
        api.raw("PATCH", &format!("{MAPS}/a"), &kind, Value::Array(operations).to_string()).code
    };
    assert_eq!((patch(3), patch(4)), (200, 422), "3 MiB of JSON");
}
