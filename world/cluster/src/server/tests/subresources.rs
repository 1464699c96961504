//! Subresources that are no part of their object, and types that are only answered.

use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

#[test]
fn scale_of_built_in_and_custom_types() {
    let api = Api::with_foos();
    api.create(FOOS, foo("a", json!({"replicas": 2})));
    api.call(
        "PATCH",
        &format!("{FOOS}/a/status"),
        Some(json!({"status": {"replicas": 1, "selector": "l=1"}})),
    );
    let path = format!("{FOOS}/a/scale");
    let scale = api.get(&path).body;
    assert_eq!((&scale["kind"], &scale["spec"]), (&json!("Scale"), &json!({"replicas": 2})));
    assert_eq!(scale["status"], json!({"replicas": 1, "selector": "l=1"}));
    let patched = api.call("PATCH", &path, Some(json!({"spec": {"replicas": 5}})));
    assert_eq!(patched.body["spec"]["replicas"], 5, "{}", patched.message());
    let object = api.get(&format!("{FOOS}/a")).body;
    assert_eq!(
        (&object["spec"]["replicas"], &object["metadata"]["generation"]),
        (&json!(5), &json!(2))
    );
    let stale = api.call("PUT", &path, Some(scale));
    assert_eq!((stale.code, stale.reason()), (409, "Conflict"));

    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let template = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template});
    api.create(deployments, json!({"metadata": {"name": "d"}, "spec": spec}));
    let scale = api.get(&format!("{deployments}/d/scale")).body;
    assert_eq!(scale["spec"]["replicas"], 1, "the default");
    assert_eq!(scale["status"]["selector"], "app=a");
}

#[test]
fn pods_are_bound_once_and_then_deleted_gracefully() {
    let api = Api::new();
    api.create(PODS, pod("p"));
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    let path = format!("{PODS}/p/binding");
    assert_eq!(api.call("POST", &path, Some(binding.clone())).code, 201);
    assert_eq!(api.get(&format!("{PODS}/p")).body["spec"]["nodeName"], "n");
    assert_eq!(api.call("POST", &path, Some(binding)).code, 409);
    let got = api.call("DELETE", &format!("{PODS}/p"), None);
    assert_eq!(got.body["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(got.body["metadata"]["deletionTimestamp"], "2026-01-01T00:00:30Z");
    let again = api.call("DELETE", &format!("{PODS}/p"), None);
    assert_eq!(again.revision(), got.revision());
    let now = api.call("DELETE", &format!("{PODS}/p"), Some(json!({"gracePeriodSeconds": 0})));
    assert_eq!(now.code, 200);
    assert_eq!(api.get(&format!("{PODS}/p")).code, 404);
}

/// Zone and region of the node count more than what the pod or the binding says of them.
#[test]
fn pods_have_the_zone_of_their_node() {
    let api = Api::new();
    let labels = json!({
        "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "rack": "1",
    });
    api.create("/api/v1/nodes", json!({"metadata": {"name": "n", "labels": labels}}));
    api.create("/api/v1/nodes", json!({"metadata": {"name": "bare"}}));
    let check = |name: &str, node: Option<&str>, binding: Option<Value>, expect: Value| {
        let mut pod = pod(name);
        pod["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "own", "app": "a"});
        if let Some(node) = node {
            pod["spec"]["nodeName"] = json!(node);
        }
        api.create(PODS, pod);
        if let Some(binding) = binding {
            let bound = api.call("POST", &format!("{PODS}/{name}/binding"), Some(binding));
            assert_eq!(bound.code, 201, "{}", bound.message());
        }
        let got = api.get(&format!("{PODS}/{name}")).body;
        assert_eq!(got["metadata"]["labels"], expect, "{name}");
    };
    let own = json!({"topology.kubernetes.io/zone": "own", "app": "a"});
    let both = json!({
        "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "app": "a",
    });
    check("waits", None, None, own.clone());
    check("on-node", Some("n"), None, both.clone());
    check("on-bare-node", Some("bare"), None, own.clone());
    check("on-no-node", Some("nowhere"), None, own.clone());
    let bind = |name: &str, target: Value| json!({"metadata": {"name": name}, "target": target});
    let node = json!({"kind": "Node", "name": "n"});
    check("bound", None, Some(bind("bound", node.clone())), both.clone());
    // Who does not say that it is a node gets no labels.
    check("bound-so", None, Some(bind("bound-so", json!({"name": "n"}))), own.clone());
    let nowhere = json!({"kind": "Node", "name": "nowhere"});
    check("bound-away", None, Some(bind("bound-away", nowhere)), own);
    let mut labelled = bind("labelled", node);
    labelled["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "x", "app": "b"});
    let mut expect = both;
    expect["app"] = json!("b");
    check("labelled", None, Some(labelled), expect);
}

#[test]
fn a_binding_names_a_node() {
    let api = Api::new();
    api.create(PODS, pod("p"));
    let check = |target: Value, expect: &str| {
        let binding = json!({"metadata": {"name": "p"}, "target": target});
        let got = api.call("POST", &format!("{PODS}/p/binding"), Some(binding));
        assert_eq!((got.code, got.message()), (500, expect));
    };
    check(json!({"kind": "Node"}), "target.name: Required value");
    let kind = r#"target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>""#;
    check(json!({"kind": "Pod", "name": "n"}), kind);
    check(json!({"kind": "Pod"}), &format!("[{kind}, target.name: Required value]"));
    let other = json!({
        "metadata": {"name": "p", "uid": "another"}, "target": {"kind": "Node", "name": "n"},
    });
    let got = api.call("POST", &format!("{PODS}/p/binding"), Some(other));
    assert_eq!((got.code, got.reason()), (409, "Conflict"));
    assert!(got.message().contains("UID in precondition: another"), "{}", got.message());
    assert_eq!(api.get(&format!("{PODS}/p")).body["spec"]["nodeName"], Value::Null);
}

#[test]
fn budgets_hold_back_evictions() {
    let api = Api::new();
    api.create(PODS, pod("p"));
    api.call("PATCH", &format!("{PODS}/p/status"), Some(json!({"status": {"phase": "Running"}})));
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let spec = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}});
    api.create(budgets, json!({"metadata": {"name": "b"}, "spec": spec}));
    let allow = |count: u32| {
        let status = json!({"status": {"disruptionsAllowed": count, "observedGeneration": 1}});
        api.call("PATCH", &format!("{budgets}/b/status"), Some(status));
    };
    allow(0);
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let path = format!("{PODS}/p/eviction");
    let refused = api.call("POST", &path, Some(eviction.clone()));
    assert_eq!((refused.code, refused.reason()), (429, "TooManyRequests"));
    assert_eq!(refused.body["details"]["causes"][0]["reason"], "DisruptionBudget");
    allow(1);
    assert_eq!(api.call("POST", &path, Some(eviction)).code, 201);
    assert_eq!(api.get(&format!("{PODS}/p")).code, 404);
    assert_eq!(api.get(&format!("{budgets}/b")).body["status"]["disruptionsAllowed"], 0);
}

#[test]
fn reviews_allow_everything() {
    let api = Api::new();
    let check = |path: &str, body: Value, at: &str, expect: Value| {
        let got = api.call("POST", path, Some(body));
        assert_eq!((got.code, got.body.pointer(at)), (201, Some(&expect)), "{path}");
    };
    let access =
        json!({"spec": {"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let group = "/apis/authorization.k8s.io/v1";
    for kind in ["selfsubjectaccessreviews", "subjectaccessreviews"] {
        check(&format!("{group}/{kind}"), access.clone(), "/status/allowed", json!(true));
    }
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let token = |token: &str| json!({"spec": {"token": token}});
    check(reviews, token(crate::ADMIN_TOKEN), "/status/authenticated", json!(true));
    check(reviews, token("other"), "/status/error", json!("invalid bearer token"));
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    api.create(accounts, json!({"metadata": {"name": "s"}}));
    check(
        &format!("{accounts}/s/token"),
        json!({"spec": {"audiences": []}}),
        "/status/expirationTimestamp",
        json!("2026-01-01T01:00:00Z"),
    );
    assert_eq!(api.get("/api/v1/componentstatuses").body["items"], json!([]));
}

#[test]
fn a_claim_is_stored_without_the_phase_that_everyone_reads() {
    let api = Api::new();
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let resources = json!({"requests": {"storage": "1Gi"}});
    let claim = json!({
        "metadata": {"name": "a"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources},
    });
    let created = api.create(claims, claim.clone());
    assert_eq!(created.body["status"], json!({"phase": "Pending"}));
    let path = format!("{claims}/a");
    let dry = api.call("PUT", &format!("{path}?dryRun=All"), Some(claim.clone()));
    assert_eq!(dry.revision(), created.revision());
    // The first write that changes nothing fills it in, and is one; the next is none.
    let first = api.call("PUT", &path, Some(claim.clone()));
    assert_eq!((first.code, first.revision()), (200, created.revision() + 1));
    assert_eq!(first.body["metadata"]["managedFields"], created.body["metadata"]["managedFields"]);
    assert_eq!(api.call("PUT", &path, Some(claim.clone())).revision(), first.revision());
    // No write of the status leaves it without.
    let status = format!("{path}/status");
    for body in [json!({"status": {"phase": "Bound"}}), json!({"status": {"phase": null}})] {
        assert_eq!(api.call("PATCH", &status, Some(body)).code, 200);
    }
    assert_eq!(api.get(&path).body["status"]["phase"], "Pending");
    assert_eq!(api.call("PUT", &status, Some(claim)).body["status"], json!({"phase": "Pending"}));
}
