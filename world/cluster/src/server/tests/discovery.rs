//! Discovery, version, health (kubernetes-api.md §6).

use super::*;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

fn group<'a>(items: &'a Value, name: &str) -> Option<&'a Value> {
    items.as_array()?.iter().find(|item| item["metadata"]["name"] == name || item["name"] == name)
}

#[test]
fn aggregated_discovery_follows_the_definitions() {
    let api = Api::new();
    let before = api.raw("GET", "/apis", &[("accept", AGGREGATED)], "");
    assert_eq!(
        before.header("content-type"),
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    assert!(group(&before.body["items"], "apps").is_some());
    assert!(group(&before.body["items"], "example.com").is_none());
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", foos_crd());
    let after = api.raw("GET", "/apis", &[("accept", AGGREGATED)], "");
    let found = &group(&after.body["items"], "example.com").expect("the group")["versions"][0];
    assert_eq!(found["resources"][0]["resource"], "foos");
    assert_eq!(found["resources"][0]["responseKind"]["kind"], "Foo");
    assert_eq!(found["resources"][0]["subresources"][0]["subresource"], "status");
    let same = [("accept", AGGREGATED), ("if-none-match", after.header("etag"))];
    assert_eq!(api.raw("GET", "/apis", &same, "").code, 304);
    assert_ne!(before.header("etag"), after.header("etag"));
    let core = api.raw("GET", "/api", &[("accept", AGGREGATED)], "");
    assert_eq!(core.body["items"][0]["versions"][0]["version"], "v1");
}

#[test]
fn legacy_discovery_says_the_same() {
    let api = Api::with_foos();
    for accept in ["", "application/json", "*/*"] {
        let got = api.raw("GET", "/apis", &[("accept", accept)], "");
        assert_eq!(got.body["kind"], "APIGroupList", "{accept}");
        assert!(group(&got.body["groups"], "example.com").is_some());
    }
    assert_eq!(api.get("/api").body["versions"], json!(["v1"]));
    let got = api.get("/apis/example.com");
    assert_eq!(got.body["preferredVersion"]["groupVersion"], "example.com/v1");
    let got = api.get("/apis/example.com/v1");
    let names: Vec<&str> = got.body["resources"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["foos", "foos/status", "foos/scale"]);
    assert_eq!(got.body["resources"][2]["group"], "autoscaling");
    let got = api.get("/api/v1");
    let rows = got.body["resources"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["name"] == "pods/eviction" && row["group"] == "policy"));
}

#[test]
fn what_is_not_served_is_a_plain_404() {
    let api = Api::with_foos();
    for path in [
        "/apis/none.example.com",
        "/apis/example.com/v2",
        "/apis/example.com/v2/foos",
        "/apis/example.com/v1/bars",
        "/nowhere",
    ] {
        let got = api.get(path);
        assert_eq!((got.code, &got.bytes[..]), (404, &b"404 page not found\n"[..]), "{path}");
    }
    // Built-in groups have a router of their own.
    for path in ["/api/v1/widgets", "/apis/apps/v1/widgets", "/apis/apps/v2/deployments"] {
        let got = api.get(path);
        assert_eq!((got.code, got.reason()), (404, "NotFound"), "{path}");
    }
}

#[test]
fn version_and_health() {
    let api = Api::new();
    assert_eq!(api.get("/version").body["gitVersion"], "v1.36.3");
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping", "/healthz?verbose"] {
        assert_eq!(&api.get(path).bytes[..], b"ok", "{path}");
    }
}

#[test]
fn openapi_documents_follow_the_definitions() {
    let api = Api::new();
    let before = api.get("/openapi/v3");
    assert!(before.body["paths"].get("apis/example.com/v1").is_none());
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", foos_crd());
    let after = api.get("/openapi/v3").body;
    let url = after["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().expect("a URL");
    let document = api.get(url);
    assert_eq!(document.code, 200);
    assert!(document.body["components"]["schemas"].get("com.example.v1.Foo").is_some());
    let v2 = api.get("/openapi/v2");
    assert!(v2.body["definitions"].get("com.example.v1.Foo").is_some());
    let gnostic = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let got = api.raw("GET", "/openapi/v2", &[("accept", gnostic)], "");
    assert_eq!((got.code, got.header("content-type")), (200, gnostic));
    assert_eq!(api.get("/openapi/v3/apis/none/v1").code, 404);
}
