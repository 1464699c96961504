//! What becomes of a token, a line each. It is the first of January 2026.

use serde_json::{Value, json};
use trace::ObjectKey;

use super::{INVALID_SINCE, LAST_USED, TRACKING};
use crate::{
    Controller, Next, Request,
    fixture::{affected, object, run, view},
};

const SECRET: &str = "secrets/default/bot-token";
const DAY: u64 = 24 * 3600;

fn tracking(since: &str) -> (ObjectKey, Value) {
    object(&format!("configmaps/kube-system/{TRACKING}"), json!({"data": {"since": since}}))
}

fn account(secrets: Value) -> (ObjectKey, Value) {
    object("serviceaccounts/default/bot", json!({"secrets": secrets}))
}

fn secret(created: &str, labels: Value) -> (ObjectKey, Value) {
    let metadata = json!({
        "creationTimestamp": format!("{created}T00:00:00Z"), "labels": labels,
        "annotations": {"kubernetes.io/service-account.name": "bot"},
    });
    object(SECRET, json!({"type": "kubernetes.io/service-account-token", "metadata": metadata}))
}

fn told(objects: &[(ObjectKey, Value)]) -> String {
    let (sent, end) = run(Controller::TokenCleaner, &view(objects), SECRET, &[]);
    match (&sent[..], end) {
        ([], Next::Done { requeue_after: None }) => "nothing".to_owned(),
        ([], Next::Done { requeue_after: Some(after) }) => {
            let (days, seconds) = (after.as_secs() / DAY, after.as_secs() % DAY);
            format!("in {days} days and {seconds} s")
        }
        ([Request::Update { fields, .. }], _) => format!("mark {}", fields[0].1[INVALID_SINCE]),
        ([Request::Delete { revision: Some(_), .. }], _) => "delete".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn what_is_unused_for_a_year_is_marked_and_goes() {
    let named = || account(json!([{"name": "bot-token"}]));
    let check = |since: &str, created: &str, labels: Value, expect: &str| {
        assert_eq!(told(&[tracking(since), named(), secret(created, labels)]), expect);
    };
    let old = "2024-06-01";
    check("2023-01-01", old, json!({}), r#"mark "2026-01-01""#);
    check("2023-01-01", old, json!({INVALID_SINCE: "last week"}), r#"mark "2026-01-01""#);
    check("2023-01-01", old, json!({INVALID_SINCE: "2024-12-31"}), "delete");
    check("2023-01-01", old, json!({INVALID_SINCE: "2025-01-01"}), "in 1 days and 0 s");
    check("2023-01-01", old, json!({LAST_USED: "2024-12-31"}), r#"mark "2026-01-01""#);
    check("2023-01-01", old, json!({LAST_USED: "2025-12-31"}), "in 365 days and 0 s");
    check("2023-01-01", old, json!({LAST_USED: "never"}), "nothing");
    check("2023-01-01", "2025-01-01", json!({}), "in 0 days and 1 s");
    check("2025-12-31", old, json!({}), "in 365 days and 0 s");
    check("not long ago", old, json!({}), "nothing");
}

#[test]
fn what_is_used_or_made_by_hand_stays() {
    let all = |account: (ObjectKey, Value)| {
        vec![tracking("2023-01-01"), account, secret("2024-06-01", json!({}))]
    };
    let named = || account(json!([{"name": "bot-token"}]));
    assert_eq!(told(&all(account(json!([])))), "nothing");
    assert_eq!(told(&all(named())[1..]), "nothing", "nobody keeps account of uses");
    for volume in [
        json!({"secret": {"secretName": "bot-token"}}),
        json!({"projected": {"sources": [{"secret": {"name": "bot-token"}}]}}),
        json!({"csi": {"nodePublishSecretRef": {"name": "bot-token"}}}),
    ] {
        let mut world = all(named());
        world.push(object("pods/default/p", json!({"spec": {"volumes": [volume]}})));
        assert_eq!(told(&world), "nothing");
    }
    let mut world = all(named());
    world.push(object("pods/default/p", json!({"spec": {"imagePullSecrets": [{"name": "s"}]}})));
    assert_eq!(told(&world), r#"mark "2026-01-01""#);
}

#[test]
fn looked_at_when_that_may_have_changed() {
    let world = view(&[account(json!([{"name": "bot-token"}])), secret("2024-06-01", json!({}))]);
    let keys = |key: &str, before: Option<Value>, after: Option<Value>| {
        affected(Controller::TokenCleaner, &world, key, before, after).len()
    };
    let (account, tracking) = (account(json!([{"name": "bot-token"}])), tracking("2023-01-01"));
    assert_eq!(keys(&account.0.to_string(), None, Some(account.1)), 1);
    assert_eq!(keys(&tracking.0.to_string(), None, Some(tracking.1)), 1);
    let pulls = json!({"spec": {"imagePullSecrets": [{"name": "bot-token"}, {"name": "other"}]}});
    assert_eq!(keys("pods/default/p", Some(pulls.clone()), None), 1);
    assert_eq!(keys("pods/default/p", None, Some(pulls)), 0);
    assert_eq!(keys(SECRET, None, Some(secret("2024-06-01", json!({})).1)), 1);
}
