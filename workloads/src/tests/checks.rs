//! Looks: what holds, and what is said where it does not.

use super::*;

async fn looks(rows: &[&str]) -> String {
    let (client, store) = toy();
    let mut object = bar(json!({"replicas": 3}));
    object["metadata"]["labels"] = json!({"app": "x"});
    object["metadata"]["generation"] = json!(2);
    object["status"] = json!({"phase": "Running", "conditions": [
        {"type": "Ready", "status": "True"},
        {"type": "Old", "status": "True", "observedGeneration": 1},
    ]});
    store.lock().unwrap().put(BAR, object);
    let mut other = bar(json!({"replicas": 1}));
    other["metadata"]["name"] = "other".into();
    other["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    other["metadata"]["finalizers"] = json!(["example.com/hold"]);
    store.lock().unwrap().put(&BAR.replace("bars/bar", "bars/other"), other);
    let mut lines = Vec::new();
    for row in rows {
        lines.push(outcome(row, &client).await);
    }
    lines.join("\n")
}

#[tokio::test]
async fn assertions() {
    let head = "apiVersion: example.com/v1, kind: Bar";
    let rows = [
        format!(
            "- assert: {{resource: {{{head}, metadata: {{name: bar}}, spec: {{replicas: 3}}}}}}"
        ),
        format!(
            "- assert: {{resource: {{{head}, metadata: {{name: bar}}, spec: {{replicas: 4}}}}}}"
        ),
        format!("- assert: {{resource: {{{head}, metadata: {{name: none}}}}}}"),
        format!("- assert: {{resource: {{{head}, spec: {{replicas: 1}}}}}}"),
        format!(
            "- assert: {{resource: {{{head}, metadata: {{labels: {{app: x}}}}, spec: {{replicas: 1}}}}}}"
        ),
        format!("- assert: {{resource: {{{head}, metadata: {{labels: {{app: zz}}}}}}}}"),
        format!("- assert: {{resource: {{{head}, metadata: {{namespace: elsewhere}}}}}}"),
        format!("- error: {{resource: {{{head}, metadata: {{name: none}}}}}}"),
        format!("- error: {{resource: {{{head}, spec: {{replicas: 5}}}}}}"),
        format!("- error: {{resource: {{{head}, spec: {{(replicas > `0`): true}}}}}}"),
        "- error: {resource: {apiVersion: example.com/v1, kind: Typo}}".to_owned(),
        "- assert:\n    bindings: [{name: x, value: 3}]\n    resource: {($x): 3}".to_owned(),
        "- assert:\n    bindings: [{name: x, value: 3}]\n    resource: {($x): 4}".to_owned(),
        "- error:\n    bindings: [{name: x, value: 3}]\n    resource: {($x): 3}".to_owned(),
        format!(
            "- assert:\n    bindings: [{{name: b, value: bar}}]\n    resource: {{{head}, metadata: {{name: ($b)}}, spec: {{(length(none)): 1}}}}"
        ),
    ];
    insta::assert_snapshot!(looks(&rows.each_ref().map(String::as_str)).await);
}

#[tokio::test]
async fn waits() {
    let head = "apiVersion: example.com/v1, kind: Bar";
    let one = format!("{head}, name: bar");
    let rows = [
        format!("- wait: {{{one}, for: {{condition: {{name: ready}}}}}}"),
        format!("- wait: {{{one}, for: {{condition: {{name: Ready, value: 'False'}}}}}}"),
        format!("- wait: {{{one}, for: {{condition: {{name: Old}}}}}}"),
        format!("- wait: {{{one}, for: {{condition: {{name: None}}}}}}"),
        format!(
            "- wait: {{{one}, for: {{jsonPath: {{path: '{{.status.phase}}', value: Running}}}}}}"
        ),
        format!("- wait: {{{one}, for: {{jsonPath: {{path: '{{.status.phase}}', value: Done}}}}}}"),
        format!("- wait: {{{one}, for: {{jsonPath: {{path: '{{.spec.replicas}}', value: '3'}}}}}}"),
        format!("- wait: {{{one}, for: {{jsonPath: {{path: '{{.status.ip}}'}}}}}}"),
        format!(
            "- wait: {{{head}, for: {{jsonPath: {{path: '{{.spec.replicas}}', value: '3'}}}}}}"
        ),
        format!("- wait: {{{head}, selector: app=x, for: {{condition: {{name: Ready}}}}}}"),
        format!("- wait: {{{head}, selector: app=zz, for: {{condition: {{name: Ready}}}}}}"),
        format!("- wait: {{{one}, for: {{deletion: {{}}}}}}"),
        format!("- wait: {{{head}, name: other, for: {{deletion: {{}}}}}}"),
        format!("- wait: {{{head}, name: none, for: {{deletion: {{}}}}}}"),
        format!("- wait: {{{one}, for: {{creation: {{}}}}}}"),
        format!("- wait: {{{head}, name: none, for: {{creation: {{}}}}}}"),
    ];
    insta::assert_snapshot!(looks(&rows.each_ref().map(String::as_str)).await);
}

#[tokio::test]
async fn an_upstream_that_is_gone_is_an_error_and_not_a_mismatch() {
    let upstream = crate::Upstream::new(tower::service_fn(|_| async {
        Err::<http::Response<crate::Body>, crate::BoxError>("connection refused".into())
    }));
    let text = "- assert: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}";
    assert_eq!(
        outcome(text, &Client::new(upstream)).await,
        "0.0 step 1: assert configmaps/default/a -> failed: GET /api/v1: no answer: connection refused"
    );
}
