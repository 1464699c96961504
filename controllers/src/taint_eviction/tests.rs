//! When pods go from tainted nodes, a line each.

use serde_json::{Value, json};

use crate::{
    Controller, Next, Request,
    fixture::{object, run, view},
};

/// "deleted", "stays", or after how many seconds it is looked at again. The taint is a minute old.
fn check(effect: &str, tolerations: Value, expect: &str) {
    let taint = json!({"key": "k", "effect": effect, "timeAdded": "2025-12-31T23:59:00Z"});
    let objects = [
        object("nodes/a", json!({"spec": {"taints": [taint]}})),
        object("pods/default/p", json!({"spec": {"nodeName": "a", "tolerations": tolerations}})),
    ];
    let (sent, end) = run(Controller::TaintEviction, &view(&objects), "pods/default/p", &[]);
    let told = match (&sent[..], end) {
        ([], Next::Done { requeue_after: None }) => "stays".to_owned(),
        ([], Next::Done { requeue_after: Some(left) }) => format!("{} s", left.as_secs()),
        ([Request::PodCondition { .. }, Request::Delete { .. }], _) => "deleted".to_owned(),
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect, "{tolerations}");
}

#[test]
fn pods_stay_as_long_as_they_tolerate() {
    let tolerates = |seconds: Option<u64>| {
        let mut toleration = json!({"key": "k", "operator": "Exists"});
        if let Some(seconds) = seconds {
            toleration["tolerationSeconds"] = json!(seconds);
        }
        json!([toleration])
    };
    check("NoExecute", json!([]), "deleted");
    check("NoSchedule", json!([]), "stays");
    check("NoExecute", tolerates(None), "stays");
    check("NoExecute", tolerates(Some(300)), "240 s");
    check("NoExecute", tolerates(Some(30)), "deleted");
}
