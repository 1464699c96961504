//! What built-in types do to what is written: rules of upstream's Go types that no schema tells.

use super::*;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

#[test]
fn string_data_becomes_data_whatever_verb_brings_it() {
    let api = Api::new();
    let path = format!("{SECRETS}/a");
    let check = |got: Got, code: u16, data: Value| {
        assert_eq!(got.code, code, "{}", got.message());
        assert_eq!((&got.body["data"], got.body.get("stringData")), (&data, None));
        assert_eq!(api.get(&path).body["data"], data);
    };
    let body = json!({"metadata": {"name": "a"}, "data": {"x": "MQ==", "y": "Mg=="},
        "stringData": {"x": "one"}});
    let created = api.call("POST", SECRETS, Some(body));
    let mut whole = created.body.clone();
    check(created, 201, json!({"x": "b25l", "y": "Mg=="}));
    whole["stringData"] = json!({"z": "three"});
    check(
        api.call("PUT", &path, Some(whole)),
        200,
        json!({"x": "b25l", "y": "Mg==", "z": "dGhyZWU="}),
    );
    let patch = json!({"data": {"x": null}, "stringData": {"y": ""}});
    check(api.call("PATCH", &path, Some(patch)), 200, json!({"y": "", "z": "dGhyZWU="}));
    let applied = "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {w: four}}";
    let headers = [("content-type", "application/apply-patch+yaml")];
    let got = api.raw("PATCH", &format!("{path}?fieldManager=m"), &headers, applied);
    check(got, 200, json!({"w": "Zm91cg==", "y": "", "z": "dGhyZWU="}));
}

/// The cluster has addresses of one family.
#[test]
fn services_of_two_families_are_refused() {
    let api = Api::new();
    let services = "/api/v1/namespaces/default/services";
    let check = |more: Value, expect: Result<(&str, Value), &str>| {
        let mut spec = json!({"ports": [{"port": 80}], "selector": {"a": "b"}});
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let object = json!({"metadata": {"name": "s"}, "spec": spec});
        let got = api.call("POST", &format!("{services}?dryRun=All"), Some(object));
        let spec = &got.body["spec"];
        let found = match got.code {
            201 => Ok((spec["ipFamilyPolicy"].as_str().unwrap_or(""), spec["ipFamilies"].clone())),
            _ => Err(got.message().trim_start_matches("Service \"s\" is invalid: ")),
        };
        assert_eq!(found, expect);
    };
    let four = || json!(["IPv4"]);
    let both = || json!(["IPv4", "IPv6"]);
    check(json!({}), Ok(("SingleStack", four())));
    check(json!({"ipFamilyPolicy": "PreferDualStack"}), Ok(("PreferDualStack", four())));
    let one_family = "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured \
                      for dual-stack services";
    check(json!({"ipFamilyPolicy": "RequireDualStack"}), Err(one_family));
    let unknown = "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster";
    check(json!({"ipFamilies": ["IPv6"]}), Err(unknown));
    let single = "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or \
                  'PreferDualStack' when multiple IP families are specified";
    check(json!({"ipFamilies": both()}), Err(single));
    // One without address and selector is of whatever its user says.
    let free = |more: Value| {
        let mut spec = json!({"clusterIP": "None", "selector": null});
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        spec
    };
    check(free(json!({})), Ok(("RequireDualStack", both())));
    check(free(json!({"ipFamilyPolicy": "SingleStack"})), Ok(("SingleStack", four())));
    let six = json!(["IPv6", "IPv4"]);
    check(free(json!({"ipFamilies": ["IPv6"]})), Ok(("RequireDualStack", six)));
}

#[test]
fn the_cost_of_deleting_a_pod_is_a_number() {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let api = Api::new();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |cost: &str| {
        json!({
            "metadata": {"name": "p", "annotations": {COST: cost}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        })
    };
    for cost in ["0", "-1", "10", "2147483647"] {
        let got = api.call("POST", &format!("{pods}?dryRun=All"), Some(pod(cost)));
        assert_eq!(got.code, 201, "{cost}: {}", got.message());
    }
    for cost in ["", "+1", "08", "x", "2147483648"] {
        let got = api.call("POST", &format!("{pods}?dryRun=All"), Some(pod(cost)));
        let why = format!(
            "Pod \"p\" is invalid: metadata.annotations[{COST}]: Invalid value: {cost:?}: must be a 32bit integer"
        );
        assert_eq!((got.code, got.message()), (422, &*why));
    }
    let template = json!({
        "metadata": {"labels": {"a": "b"}, "annotations": {COST: "x"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let object = json!({"metadata": {"name": "d"}, "spec": spec});
    let got = api.call("POST", "/apis/apps/v1/namespaces/default/deployments", Some(object));
    let why = format!("spec.template.annotations[{COST}]: Invalid value: \"x\"");
    assert!(got.code == 422 && got.message().contains(&why), "{}", got.message());
}

/// As by default in 1.36.
#[test]
fn stateful_sets_lose_max_unavailable() {
    let api = Api::new();
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    let template = json!({
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let rolling = json!({"maxUnavailable": 2, "partition": 1});
    let spec = json!({
        "serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": template,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
    });
    let made = api.create(sets, json!({"metadata": {"name": "s"}, "spec": spec}));
    let kept = json!({"partition": 1});
    assert_eq!(made.body["spec"]["updateStrategy"]["rollingUpdate"], kept);
    let patch = json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}}}});
    let got = api.call("PATCH", &format!("{sets}/s"), Some(patch));
    assert_eq!(got.code, 200, "{}", got.message());
    assert_eq!(got.body["spec"]["updateStrategy"]["rollingUpdate"], kept);
    assert_eq!(got.body["metadata"]["generation"], 1, "nothing has changed");
}
