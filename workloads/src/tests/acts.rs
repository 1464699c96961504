//! Writes: which calls, which answers, which messages.

use super::*;

const STRICT: &str = "?fieldValidation=Strict";
const HEAD: &str = "apiVersion: example.com/v1, kind: Bar, metadata: {name: bar}";

fn calls(store: &toy::Shared) -> Vec<String> {
    let calls = store.lock().unwrap().calls.clone();
    calls.into_iter().filter(|call| call.contains("/bars")).collect()
}

#[tokio::test]
async fn apply_creates_and_then_patches_at_the_found_version() {
    let (client, store) = toy();
    let text = format!("- apply: {{resource: {{{HEAD}, spec: {{a: 1, b: 2}}}}}}");
    assert_eq!(
        outcome(&text, &client).await,
        "0.0 step 1: apply bars.example.com/default/bar -> bars.example.com/default/bar"
    );
    let text = format!("- apply: {{resource: {{{HEAD}, spec: {{a: 5}}}}}}");
    outcome(&text, &client).await;
    let found = store.lock().unwrap().objects[BAR].clone();
    assert_eq!(found["spec"], json!({"a": 5, "b": 2}), "a key left out stays");
    let collection = BAR.trim_end_matches("/bar");
    assert_eq!(
        calls(&store),
        [
            format!("user GET {BAR}"),
            format!("user POST {collection}{STRICT}"),
            format!("user GET {BAR}"),
            format!("user PATCH {BAR}{STRICT}"),
        ]
    );
}

#[tokio::test]
async fn conflicts_are_tried_again() {
    for verb in ["apply", "patch", "update"] {
        let (client, store) = toy();
        store.lock().unwrap().put(BAR, bar(json!({"a": 1})));
        store.lock().unwrap().interfere = 3;
        let text = format!("- {verb}: {{resource: {{{HEAD}, spec: {{a: 2}}}}}}");
        let line = outcome(&text, &client).await;
        assert!(line.ends_with("-> bars.example.com/default/bar"), "{line}");
        assert_eq!(store.lock().unwrap().objects[BAR]["spec"], json!({"a": 2}), "{verb}");
        assert_eq!(calls(&store).len(), 8, "{verb}: three conflicts, then through");
    }
}

#[tokio::test]
async fn what_is_refused_is_said() {
    let mut lines = Vec::new();
    for (operation, exists, refuse) in [
        ("create", true, None),
        (
            "create",
            false,
            Some((422, "Invalid", "Bar.example.com \"bar\" is invalid: spec.a: too big")),
        ),
        ("create", false, Some((429, "TooManyRequests", "slow down"))),
        ("apply", false, Some((500, "InternalError", "failed calling webhook \"v.example.com\""))),
        ("patch", true, Some((500, "InternalError", "failed calling webhook \"v.example.com\""))),
        ("patch", false, None),
        ("update", false, None),
    ] {
        let (client, store) = toy();
        if exists {
            store.lock().unwrap().put(BAR, bar(json!({})));
        }
        store.lock().unwrap().refuse.extend(refuse);
        let text = format!("- {operation}: {{resource: {{{HEAD}, spec: {{a: 2}}}}}}");
        lines.push(outcome(&text, &client).await);
    }
    let (client, _) = toy();
    for head in ["apiVersion: example.com/v2, kind: Bar", "apiVersion: example.com/v1, kind: Baz"] {
        let text = format!("- patch: {{resource: {{{head}, metadata: {{name: bar}}}}}}");
        lines.push(outcome(&text, &client).await);
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn expectations_decide() {
    let mut lines = Vec::new();
    for expect in [
        "[{check: {($error != null): true}}]",
        "[{check: {\"(contains($error, 'already exists'))\": true}}]",
        "[{check: {($error): null}}]",
        "[{match: {kind: Other}, check: {($error != null): true}}]",
        "[{match: {spec: {a: 2}}, check: {spec: {a: 2}}}]",
    ] {
        let (client, store) = toy();
        store.lock().unwrap().put(BAR, bar(json!({"a": 1})));
        let text =
            format!("- create:\n    expect: {expect}\n    resource: {{{HEAD}, spec: {{a: 2}}}}");
        lines.push(outcome(&text, &client).await);
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn delete_by_name_labels_and_kind_waits_for_the_end() {
    let (client, store) = toy();
    for (name, labels, finalizers) in [
        ("bar", json!({"app": "x"}), json!([])),
        ("held", json!({"app": "x"}), json!(["example.com/hold"])),
        ("other", json!({"app": "z"}), json!([])),
    ] {
        let mut object = bar(json!({}));
        object["metadata"]["name"] = name.into();
        object["metadata"]["labels"] = labels;
        object["metadata"]["finalizers"] = finalizers;
        let path = BAR.replace("bars/bar", &format!("bars/{name}"));
        store.lock().unwrap().put(&path, object);
    }
    let kind = "apiVersion: example.com/v1, kind: Bar";
    let text = format!(
        "- delete: {{ref: {{{kind}, name: absent}}}}\n\
         - delete: {{ref: {{{kind}, labels: {{app: x}}}}}}\n\
         - delete: {{ref: {{{kind}}}}}"
    );
    insta::assert_snapshot!(outcome(&text, &client).await);
}

#[tokio::test]
async fn documents_are_sent_one_by_one_and_outputs_are_handed_on() {
    let (client, store) = toy();
    let file = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {ns: ($namespace)}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    let test = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\nspec:\n  namespace: own\n  steps:\n  - name: first\n    try:\n    - apply:\n        file: m/*.yaml\n        outputs: [{name: rv, match: {metadata: {name: b}}, value: (metadata.resourceVersion)}]\n    - create:\n        resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"(join('-', ['c', $rv]))\"}}\n";
    let (workload, _folder) = load(test, &[("m/a.yaml", file)]).unwrap();
    insta::assert_snapshot!(carry_out(&workload, &client, Cursor::default()).await.join("\n"));
    let a = store.lock().unwrap().objects["/api/v1/namespaces/own/configmaps/a"].clone();
    assert_eq!(a["data"]["ns"], "own");
    let again = carry_out(&workload, &client, Cursor::default()).await;
    assert!(again[0].ends_with("if absent -> namespaces/own"), "{}", again[0]);
}

#[tokio::test]
async fn a_status_is_patched_and_a_dry_run_says_so() {
    let (client, store) = toy();
    store.lock().unwrap().put(BAR, bar(json!({})));
    let text = format!(
        "- patch: {{subresource: status, resource: {{{HEAD}, status: {{ready: true}}}}}}\n\
         - patch: {{dryRun: true, resource: {{{HEAD}}}}}"
    );
    outcome(&text, &client).await;
    let calls = calls(&store);
    assert_eq!(calls[1], format!("user PATCH {BAR}/status{STRICT}"));
    assert_eq!(calls[3], format!("user PATCH {BAR}{STRICT}&dryRun=All"));
}

#[tokio::test]
async fn manifests_are_created_or_replaced_in_order() {
    let (_, store) = toy();
    let client = Client::as_actor(toy::upstream(store.clone()), trace::Actor::Trommel);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let objects = [bar(json!({"a": 1})), namespace];
    apply_manifests(&client, &objects).await.unwrap();
    apply_manifests(&client, &[bar(json!({"b": 1}))]).await.unwrap();
    assert_eq!(store.lock().unwrap().objects[BAR]["spec"], json!({"b": 1}), "replaced, not merged");
    let calls = store.lock().unwrap().calls.clone();
    let writes: Vec<&String> = calls.iter().filter(|call| !call.contains(" GET ")).collect();
    assert_eq!(writes[0], "trommel POST /api/v1/namespaces");
    assert_eq!(writes.len(), 4);
    let unknown = json!({"apiVersion": "no.example/v1", "kind": "X", "metadata": {"name": "x"}});
    let error = apply_manifests(&client, &[unknown]).await.unwrap_err();
    assert_eq!(error.to_string(), "X x: the cluster has no kind X in no.example/v1");
}

#[tokio::test]
async fn kinds_that_come_later_are_found() {
    let (client, store) = toy();
    store.lock().unwrap().served = vec!["v1"];
    let text = format!("- apply: {{resource: {{{HEAD}}}}}");
    let line = outcome(&text, &client).await;
    assert!(line.contains("may pass: Bar bar: the cluster has no kind Bar"), "{line}");
    store.lock().unwrap().served.push("example.com/v1");
    assert!(outcome(&text, &client).await.ends_with("-> bars.example.com/default/bar"));
}

#[tokio::test]
async fn env_knows_what_the_campaign_lists() {
    let (client, store) = toy();
    let value = "{a: (env('WHO')), b: \"(join('-', ['x', env(to_string('WHO'))]))\"}";
    outcome(&format!("- apply: {{resource: {{{HEAD}, spec: {value}}}}}"), &client).await;
    let found = store.lock().unwrap().objects[BAR].clone();
    assert_eq!(found["spec"], json!({"a": "me", "b": "x-me"}));
    let value = "{a: (env(to_string('HOME')))}";
    let error =
        outcome(&format!("- apply: {{resource: {{{HEAD}, spec: {value}}}}}"), &client).await;
    assert!(error.contains("the campaign lists no variable HOME: write it"), "{error}");
}
