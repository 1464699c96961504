//! When pods go from tainted nodes, a line each.

use serde_json::{Value, json};
use trace::Time;

use crate::{
    Controller, Next, Request,
    fixture::{NOW, object, run, view},
    request::Memory,
};

/// "deleted", "stays", or after how many seconds it is looked at again; `seen` is when it was settled that it goes.
fn check(effect: &str, tolerations: Value, seen: Option<Time>, expect: &str) {
    let taint = json!({"key": "k", "effect": effect});
    let objects = [
        object("nodes/a", json!({"spec": {"taints": [taint]}})),
        object("pods/default/p", json!({"spec": {"nodeName": "a", "tolerations": tolerations}})),
    ];
    let mut view = view(&objects);
    view.remember(&"pods/default/p".parse().expect("a key"), Memory::GoesAt(seen));
    let (sent, end) = run(Controller::TaintEviction, &view, "pods/default/p", &[]);
    let told = match (&sent[..], end) {
        ([], Next::Done { requeue_after: None }) => "stays".to_owned(),
        ([Request::Remember { memory: Memory::GoesAt(None), .. }], _) => {
            "stays after all".to_owned()
        }
        ([], Next::Done { requeue_after: Some(left) }) => format!("{} s", left.as_secs()),
        (
            [Request::Remember { memory: Memory::GoesAt(Some(at)), .. }],
            Next::Done { requeue_after: Some(left) },
        ) => {
            assert_eq!(*at, NOW.plus(left));
            format!("{} s from now", left.as_secs())
        }
        ([.., Request::PodCondition { .. }, Request::Delete { .. }], _) => "deleted".to_owned(),
        other => format!("{other:?}"),
    };
    assert_eq!(told, expect, "{tolerations}");
}

#[test]
fn pods_stay_as_long_as_they_tolerate() {
    let tolerates = |seconds: Option<i64>| {
        let mut toleration = json!({"key": "k", "operator": "Exists"});
        if let Some(seconds) = seconds {
            toleration["tolerationSeconds"] = json!(seconds);
        }
        json!([toleration])
    };
    let later = |seconds: i64| Some(Time(NOW.0 + seconds * 1_000_000_000));
    check("NoExecute", json!([]), None, "deleted");
    check("NoSchedule", json!([]), None, "stays");
    check("NoExecute", tolerates(None), None, "stays");
    check("NoExecute", tolerates(Some(0)), None, "deleted");
    check("NoExecute", tolerates(Some(300)), None, "300 s from now");
    // What was settled stays, whatever taint came since.
    check("NoExecute", tolerates(Some(300)), later(20), "20 s");
    check("NoExecute", tolerates(Some(300)), later(0), "deleted");
    check("NoExecute", tolerates(None), later(20), "stays after all");
    check("NoSchedule", json!([]), later(20), "stays after all");
}
