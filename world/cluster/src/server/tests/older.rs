//! Beta versions in worlds of older releases: what is served when, and objects that clients of two ages share.

use super::*;

const INGRESSES: &str = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const OLD_INGRESSES: &str = "/apis/extensions/v1beta1/namespaces/default/ingresses";
const OLD_BUDGETS: &str = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets";
const OLD_CRDS: &str = "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn of(release: &str) -> Api {
    let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
    let mut world = World::new(options);
    world.serve_as(release.parse().expect("a release"));
    Api { server: Server::new(world, None) }
}

fn old_ingress(name: &str) -> Value {
    json!({
        "apiVersion": "extensions/v1beta1", "kind": "Ingress",
        "metadata": {"name": name},
        "spec": {
            "backend": {"serviceName": "web", "servicePort": 80},
            "rules": [{"host": "example.com", "http": {"paths": [
                {"path": "/", "backend": {"serviceName": "web", "servicePort": "http"}}]}}],
        },
    })
}

/// `manager apiVersion` of each entry.
fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().expect("managers");
    let text = |entry: &Value, field: &str| entry[field].as_str().expect("text").to_owned();
    entries.iter().map(|entry| text(entry, "apiVersion")).collect()
}

#[test]
fn a_release_serves_the_paths_that_it_served() {
    let check = |release: &str, path: &str, code: u16| {
        assert_eq!(of(release).get(path).code, code, "{release} {path}");
    };
    check("1.36", OLD_INGRESSES, 404);
    check("1.22", OLD_INGRESSES, 404);
    check("1.21", OLD_INGRESSES, 200);
    check("1.24", OLD_BUDGETS, 200);
    check("1.25", OLD_BUDGETS, 404);
    check("1.21", INGRESSES, 200);
    check("1.25", "/apis/autoscaling/v2beta2/horizontalpodautoscalers", 200);
    check("1.25", "/apis/autoscaling/v2beta1/horizontalpodautoscalers", 404);
    assert_eq!(Api::new().get(OLD_BUDGETS).code, 404, "the default is what 1.36 serves");
}

#[test]
fn discovery_shows_what_is_served() {
    let api = of("1.21");
    let groups = api.get("/apis").body;
    let versions = |name: &str| -> Vec<String> {
        let all = groups["groups"].as_array().expect("groups");
        let group = all.iter().find(|group| group["name"] == name);
        let versions = group.map(|group| group["versions"].as_array().expect("versions").clone());
        let text = |version: Value| version["version"].as_str().expect("text").to_owned();
        versions.unwrap_or_default().into_iter().map(text).collect()
    };
    assert_eq!(versions("extensions"), ["v1beta1"]);
    assert_eq!(versions("autoscaling"), ["v2", "v1", "v2beta1", "v2beta2"]);
    let resources = api.get("/apis/networking.k8s.io/v1beta1").body;
    let names: Vec<&str> = resources["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .map(|row| row["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["ingressclasses", "ingresses", "ingresses/status"]);
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let list = api.raw("GET", "/apis", &[("accept", accept)], "").body;
    let items = list["items"].as_array().expect("items");
    assert!(items.iter().any(|item| item["metadata"]["name"] == "extensions"));
    let version = api.get("/version").body;
    let said = (&version["minor"], &version["gitVersion"], version.get("emulationMinor"));
    assert_eq!(said, (&json!("21"), &json!("v1.21.0"), None));
    assert_eq!(Api::new().get("/version").body["gitVersion"], "v1.36.3");
    assert_eq!(Api::new().get("/apis/extensions/v1beta1").code, 404);
    assert_eq!(api.get("/openapi/v3/apis/policy/v1beta1").code, 200);
}

#[test]
fn worlds_of_two_releases_stand_side_by_side_and_forks_keep_theirs() {
    let (old, new) = (of("1.21"), Api::new());
    old.create(OLD_INGRESSES, old_ingress("a"));
    assert_eq!(new.get(OLD_INGRESSES).code, 404);
    let fork = Api { server: Server::new(old.server.world(), None) };
    assert_eq!(fork.get(&format!("{OLD_INGRESSES}/a")).code, 200);
}

#[test]
fn an_ingress_is_one_object_in_all_its_versions() {
    let api = of("1.21");
    let mut watch = api.watch(&format!("{OLD_INGRESSES}?watch=1"));
    let created = api.create(OLD_INGRESSES, old_ingress("a"));
    let spec = &created.body["spec"];
    assert_eq!(spec["rules"][0]["http"]["paths"][0]["pathType"], "ImplementationSpecific");
    assert_eq!(managers(&created.body), ["extensions/v1beta1"]);
    assert!(created.header("warning").contains("use networking.k8s.io/v1 Ingress"));
    let new = api.get(&format!("{INGRESSES}/a")).body;
    let service = json!({"name": "web", "port": {"number": 80}});
    assert_eq!(new["spec"]["defaultBackend"]["service"], service);
    let path = &new["spec"]["rules"][0]["http"]["paths"][0];
    assert_eq!(path["backend"]["service"]["port"], json!({"name": "http"}));
    // What a new client writes, an old one sees in its own words.
    let change = json!({"spec": {"defaultBackend": {"service": {"name": "other"}}}});
    assert_eq!(api.call("PATCH", &format!("{INGRESSES}/a"), Some(change)).code, 200);
    let beside = "/apis/networking.k8s.io/v1beta1/namespaces/default/ingresses/a";
    assert_eq!(api.get(beside).body["spec"]["backend"]["serviceName"], "other");
    let events: Vec<Value> = std::iter::from_fn(|| match watch.next() {
        Next::Event(event) => Some(event),
        _ => None,
    })
    .collect();
    let seen: Vec<(&Value, &Value, &Value)> = events
        .iter()
        .map(|event| {
            let object = &event["object"];
            (&event["type"], &object["apiVersion"], &object["spec"]["backend"]["serviceName"])
        })
        .collect();
    let version = json!("extensions/v1beta1");
    let expect = [("ADDED", "web"), ("MODIFIED", "other")];
    let expect = expect.map(|(kind, name)| (json!(kind), json!(name)));
    assert_eq!(seen.len(), expect.len());
    for (seen, (kind, name)) in seen.iter().zip(&expect) {
        assert_eq!(*seen, (kind, &version, name));
    }
    let list = api.get(OLD_INGRESSES).body;
    assert_eq!(list["apiVersion"], "extensions/v1beta1");
    assert_eq!(list["items"][0]["spec"]["backend"]["serviceName"], "other");
}

#[test]
fn old_clients_update_patch_apply_and_delete() {
    let api = of("1.21");
    api.create(OLD_INGRESSES, old_ingress("a"));
    let at = format!("{OLD_INGRESSES}/a");
    let mut read = api.get(&at).body;
    read["spec"]["backend"]["servicePort"] = json!(81);
    let updated = api.call("PUT", &at, Some(read)).body;
    assert_eq!(updated["spec"]["backend"]["servicePort"], 81);
    assert_eq!(updated["metadata"]["generation"], 2);
    let strategic = ("content-type", "application/strategic-merge-patch+json");
    let patch = r#"{"spec": {"backend": {"servicePort": 82}}}"#;
    let patched = api.raw("PATCH", &at, &[strategic], patch);
    assert_eq!(patched.body["spec"]["backend"]["servicePort"], 82, "{}", patched.message());
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}});
    let status = api.call("PATCH", &format!("{at}/status"), Some(status)).body;
    assert_eq!(status["status"]["loadBalancer"]["ingress"][0]["ip"], "10.0.0.1");
    let mut config = old_ingress("b");
    config["spec"].as_object_mut().expect("an object").remove("rules");
    let apply = ("content-type", "application/apply-patch+yaml");
    let path = format!("{OLD_INGRESSES}/b?fieldManager=m");
    let applied = api.raw("PATCH", &path, &[apply], config.to_string());
    assert_eq!(applied.code, 201, "{}", applied.message());
    assert_eq!(managers(&applied.body), ["extensions/v1beta1"]);
    let again = api.raw("PATCH", &path, &[apply], config.to_string());
    assert_eq!(again.body, applied.body, "the same again changes nothing");
    assert_eq!(api.call("DELETE", &at, None).code, 200);
    assert_eq!(api.get(&format!("{INGRESSES}/a")).code, 404);
}

#[test]
fn an_update_by_an_old_client_keeps_what_only_new_ones_know() {
    let api = of("1.24");
    let path = "/namespaces/default/horizontalpodautoscalers";
    let new = format!("/apis/autoscaling/v2{path}");
    let old = format!("/apis/autoscaling/v2beta1{path}");
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
    let created = api.create(
        &new,
        json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "behavior": behavior,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}),
    );
    let mut read = api.get(&format!("{old}/a")).body;
    let cpu =
        json!([{"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 80}}]);
    assert_eq!(read["spec"]["metrics"], cpu);
    assert!(read["spec"].get("behavior").is_none());
    read["spec"]["maxReplicas"] = json!(5);
    let got = api.call("PUT", &format!("{old}/a"), Some(read));
    assert_eq!(got.code, 200, "{}", got.message());
    let after = api.get(&format!("{new}/a")).body;
    assert_eq!(after["spec"]["maxReplicas"], 5);
    assert_eq!(after["spec"]["behavior"], created.body["spec"]["behavior"]);
    assert!(after["metadata"].get("annotations").is_none(), "what it is kept in is not stored");
    assert_eq!(managers(&after).len(), 2);
}

#[test]
fn an_empty_selector_selects_no_pods_in_old_budgets() {
    let api = of("1.21");
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}});
    let created = api.create(OLD_BUDGETS, budget);
    assert_eq!(created.body["spec"]["selector"], json!({}));
    let new = OLD_BUDGETS.replace("v1beta1", "v1");
    let selector = &api.get(&format!("{new}/b")).body["spec"]["selector"];
    assert_eq!(selector["matchExpressions"][0]["operator"], "Exists");
}

#[test]
fn old_definitions_make_types_that_keep_unknown_fields() {
    let api = of("1.18");
    let definition = json!({
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "version": "v1", "names": {"plural": "foos", "kind": "Foo"},
            "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".spec.a"}],
            "subresources": {"status": {}},
            // Not structural: the root has no type.
            "validation": {"openAPIV3Schema": {"properties": {"spec": {"properties": {
                "x": {"type": "integer", "minimum": 1}}}}}},
        },
    });
    let created = api.create(OLD_CRDS, definition);
    assert_eq!(created.body["spec"]["preserveUnknownFields"], true);
    assert_eq!(created.body["spec"]["additionalPrinterColumns"][0]["JSONPath"], ".spec.a");
    let new = api.get(&format!("{CRDS}/foos.example.com")).body;
    let version = &new["spec"]["versions"][0];
    assert_eq!(version["additionalPrinterColumns"][0]["jsonPath"], ".spec.a");
    assert_eq!(version["subresources"], json!({"status": {}}));
    let stored = api.create(FOOS, foo("a", json!({"x": 1, "unknown": {"y": 2}}))).body;
    assert_eq!(stored["spec"], json!({"x": 1, "unknown": {"y": 2}}));
    let refused = api.call("POST", FOOS, Some(foo("b", json!({"x": 0}))));
    assert_eq!(refused.code, 422, "{}", refused.message());
    // A new client may change it, and not make such a type.
    let labels = json!({"metadata": {"labels": {"l": "1"}}});
    let changed = api.call("PATCH", &format!("{CRDS}/foos.example.com"), Some(labels));
    assert_eq!(changed.code, 200, "{}", changed.message());
    let mut fresh = foos_crd();
    fresh["metadata"]["name"] = json!("bars.example.com");
    fresh["spec"]["names"] = json!({"plural": "bars", "kind": "Bar"});
    fresh["spec"]["preserveUnknownFields"] = json!(true);
    let refused = api.call("POST", CRDS, Some(fresh));
    assert!(refused.message().contains("cannot set to true"), "{}", refused.message());
}

#[test]
fn old_webhooks_have_what_was_allowed_then() {
    let api = of("1.21");
    let path = "/apis/admissionregistration.k8s.io/v1beta1/validatingwebhookconfigurations";
    let hook = json!({"name": "w.example.com", "clientConfig": {"url": "https://127.0.0.1:1"}});
    let created = api.create(path, json!({"metadata": {"name": "w"}, "webhooks": [hook]}));
    assert_eq!(created.body["webhooks"][0]["sideEffects"], "Unknown");
    let new = format!("{}/w", path.replace("v1beta1", "v1"));
    let labels = json!({"metadata": {"labels": {"l": "1"}}});
    let changed = api.call("PATCH", &new, Some(labels));
    assert_eq!(changed.code, 200, "what is stored may stay: {}", changed.message());
}

#[test]
fn old_versions_have_a_protobuf_form() {
    let api = of("1.21");
    let protobuf = "application/vnd.kubernetes.protobuf";
    for (path, mut object) in [
        (OLD_INGRESSES, old_ingress("a")),
        (
            "/apis/autoscaling/v2beta1/namespaces/default/horizontalpodautoscalers",
            json!({"apiVersion": "autoscaling/v2beta1", "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "a"}, "spec": {"maxReplicas": 2,
                    "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}}),
        ),
        (
            OLD_CRDS,
            json!({"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "foos.example.com"}, "spec": {"group": "example.com",
                    "version": "v1", "names": {"plural": "foos", "kind": "Foo"}}}),
        ),
    ] {
        crate::encoding::canonical(&mut object).expect("a message");
        let bytes = crate::encoding::encode(&object, crate::encoding::Format::Protobuf);
        let headers = [("content-type", protobuf), ("accept", protobuf)];
        let got = api.raw("POST", path, &headers, bytes.expect("a message"));
        assert_eq!(got.code, 201, "{path}");
        assert_eq!(got.header("content-type"), protobuf);
        let read = crate::encoding::decode(Some(protobuf), &got.bytes).expect("a message");
        assert_eq!(read["apiVersion"], object["apiVersion"]);
        let name = object["metadata"]["name"].as_str().expect("a name");
        assert_eq!(read, api.get(&format!("{path}/{name}")).body);
    }
}

#[test]
fn old_versions_are_printed_like_new_ones() {
    let api = of("1.21");
    api.create(OLD_INGRESSES, old_ingress("a"));
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table = |path: &str| {
        let path = format!("{path}?includeObject=Object");
        api.raw("GET", &path, &[("accept", accept)], "").body
    };
    let (old, new) = (table(OLD_INGRESSES), table(INGRESSES));
    assert_eq!(old["rows"][0]["cells"], new["rows"][0]["cells"]);
    assert_eq!(old["rows"][0]["object"]["apiVersion"], "extensions/v1beta1");
    assert_eq!(new["rows"][0]["object"]["apiVersion"], "networking.k8s.io/v1");
}
