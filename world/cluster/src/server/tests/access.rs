//! Who may do what, where the real server has nothing to compare with: aggregation without its controller, and
//! requests of subjects.

use std::time::Duration;

use super::*;
use trace::Actor;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn strict() -> Api {
    let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
    let mut world = World::new(options);
    world.enforce_rbac();
    Api { server: Server::new(world, None) }
}

fn bind(api: &Api, name: &str, role: &str, user: &str) {
    let group = "rbac.authorization.k8s.io";
    let body = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    });
    api.create(&format!("{RBAC}/clusterrolebindings"), body);
}

fn as_user(api: &Api, user: &str, method: &str, path: &str, body: Value) -> Got {
    let headers = [("impersonate-user", user), ("content-type", "application/json")];
    api.raw(method, path, &headers, body.to_string())
}

#[test]
fn aggregated_roles_hold_what_they_select() {
    let api = strict();
    bind(&api, "v", "view", "jo");
    let foos = json!({"apiGroups": ["example.com"], "resources": ["foos"], "verbs": ["list"]});
    let list = || as_user(&api, "jo", "GET", "/apis/example.com/v1/foos", json!({})).code;
    // `view` aggregates `system:aggregate-to-view`, which every cluster has.
    assert_eq!(as_user(&api, "jo", "GET", "/api/v1/pods", json!({})).code, 200);
    assert_eq!(as_user(&api, "jo", "GET", "/api/v1/secrets", json!({})).code, 403);
    assert_eq!(list(), 403);
    let label = "rbac.authorization.k8s.io/aggregate-to-view";
    let role = json!({"metadata": {"name": "foos", "labels": {label: "true"}}, "rules": [foos]});
    api.create(&format!("{RBAC}/clusterroles"), role);
    // Allowed, and not there: no such type.
    assert_eq!(list(), 404);
}

#[test]
fn aggregation_in_a_circle_ends() {
    let api = strict();
    let role = |name: &str, label: &str, selects: &str| {
        json!({
            "metadata": {"name": name, "labels": {"l": label}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"l": selects}}]},
        })
    };
    api.create(&format!("{RBAC}/clusterroles"), role("a", "1", "2"));
    api.create(&format!("{RBAC}/clusterroles"), role("b", "2", "1"));
    bind(&api, "x", "a", "jo");
    assert_eq!(as_user(&api, "jo", "GET", "/api/v1/pods", json!({})).code, 403);
}

#[test]
fn subjects_are_who_their_token_says() {
    let api = strict();
    api.create("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": "s"}}));
    let token =
        |name: &str| api.server.world().account_token("default", name, Duration::from_secs(60));
    assert_eq!(token("none"), None);
    let token = token("s").expect("it exists");
    let send = |header: Option<&str>| {
        let mut request = Request::builder().uri("/api/v1/nodes").extension(Actor::Subject(0));
        if let Some(token) = header {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
        let response = api.send(request.body(body).expect("a request"));
        let code = response.status().as_u16();
        let bytes = block_on(response.into_body().collect()).expect("a body").to_bytes();
        (code, String::from_utf8_lossy(&bytes).into_owned())
    };
    let (code, text) = send(Some(&token));
    assert_eq!(code, 403);
    assert!(text.contains("system:serviceaccount:default:s"), "{text}");
    assert!(send(None).1.contains("system:anonymous"));
    assert_eq!(send(Some("nobody")).0, 401);
    assert_eq!(send(Some(crate::ADMIN_TOKEN)).0, 200);
    api.server.advance_to(START.plus(Duration::from_secs(60)));
    assert_eq!(send(Some(&token)).0, 401);
}

#[test]
fn keys_of_tokens_are_published_to_accounts() {
    let api = strict();
    let keys = api.get("/openid/v1/jwks");
    assert_eq!((keys.code, keys.header("content-type")), (200, "application/jwk-set+json"));
    assert_eq!(keys.header("cache-control"), "public, max-age=3600");
    assert_eq!(keys.body["keys"][0]["alg"], "RS256");
    let path = "/.well-known/openid-configuration";
    let known = api.raw("GET", path, &[("host", "example.com:6443")], "");
    assert_eq!(known.header("content-type"), "application/json");
    assert_eq!(known.body["jwks_uri"], "https://example.com:6443/openid/v1/jwks");
    let account = "system:serviceaccount:default:a";
    assert_eq!(as_user(&api, account, "GET", path, json!({})).code, 200);
    assert_eq!(as_user(&api, "jo", "GET", path, json!({})).code, 403);
    let got = api.raw("GET", "/openid/v1/jwks", &[("accept", "application/json")], "");
    assert_eq!((got.code, got.reason()), (406, "NotAcceptable"));
    assert_eq!(api.call("POST", path, Some(json!({}))).code, 405);
    assert_eq!(api.get("/openid/v1/jwks/x").reason(), "NotFound");
}
