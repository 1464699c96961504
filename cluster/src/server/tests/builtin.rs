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
