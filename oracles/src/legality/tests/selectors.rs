//! Selectors, limits and pages.

use serde_json::{Value, json};

use super::*;

/// A list of nodes by this selector, of which the store has `on` (nothing said), and `off` (unschedulable).
fn nodes(selector: &str, shown: &[&str]) -> Vec<Rule> {
    let node = |name: &str| {
        let mut node = json!({"kind": "Node", "apiVersion": "v1", "spec": {},
            "metadata": {"name": name, "resourceVersion": "10"}});
        if name == "off" {
            node["spec"]["unschedulable"] = true.into();
        }
        node
    };
    let stored = ["off", "on"].map(|name| {
        (ObjectKey::new(GroupResource::new("", "nodes"), "", name), Arc::new(node(name)))
    });
    let store = Store::new(Revision(10), stored, vec![], Revision(10));
    let uri = format!("/api/v1/nodes?fieldSelector={selector}");
    let Event::Call(mut asked) = call(1, Verb::List, "GET", &uri, None) else { unreachable!() };
    asked.resource = Some(GroupResource::new("", "nodes"));
    asked.namespace = String::new();
    let items: Vec<Value> = shown.iter().map(|name| node(name)).collect();
    let body = json!({"kind": "NodeList", "metadata": {"resourceVersion": "10"}, "items": items});
    let events = [Event::Call(asked), answer(1, 200, body)];
    let record =
        |(sequence, event)| Record { sequence: sequence as u64, at: Time(0), real_us: 0, event };
    let history = History { records: events.into_iter().enumerate().map(record).collect() };
    check(&history, &store, 36).illegal.into_iter().map(|illegal| illegal.rule).collect()
}

#[test]
fn fields_that_are_left_out_have_a_value() {
    assert_eq!(nodes("spec.unschedulable%3Dfalse", &["on"]), []);
    assert_eq!(nodes("spec.unschedulable%3Dtrue", &["off"]), []);
    assert_eq!(nodes("spec.unschedulable!%3Dtrue", &["on"]), []);
    assert_eq!(nodes("spec.unschedulable%3Dfalse", &[]), [Rule::Snapshot]);
    assert_eq!(nodes("spec.unschedulable%3D%3Dfalse", &["off", "on"]), [Rule::Snapshot]);
    assert_eq!(nodes("metadata.name%3Don", &["on"]), []);
}

/// Fields are those of the version that is asked for, and conversions are not known here.
#[test]
fn fields_of_another_version_are_not_judged() {
    let list = |version: &str, field: &str| {
        let uri = format!("{PATH}?fieldSelector={field}");
        let Event::Call(mut asked) = call(1, Verb::List, "GET", &uri, None) else { unreachable!() };
        asked.version = version.into();
        let answered = answer(1, 200, list(14, &[]));
        rules(log(), all().into_iter().chain([Event::Call(asked), answered]).collect())
    };
    assert_eq!(list("v2", "spec.y%3D2"), []);
    assert_eq!(list("v2", "metadata.name%3Da"), [Rule::Snapshot]);
    assert_eq!(list("v1", "spec.x%3D2"), [Rule::Snapshot]);
}

#[test]
fn labels_are_read_as_upstream_reads_them() {
    let both = || list(14, &[("a", 12, 2), ("c", 14, 1)]);
    let labels = |text: &str, body| read(Verb::List, &format!("?labelSelector={text}"), 200, body);
    assert_eq!(labels("app%20in%20(a,c)", both()), []);
    assert_eq!(labels("app%20in(a,c)", both()), []);
    assert_eq!(labels("app%20notin(z),app", both()), []);
    assert_eq!(labels("!nope,app%3D%3Da", list(14, &[("a", 12, 2)])), []);
    assert_eq!(labels("app%20notin(a)", both()), [Rule::Snapshot]);
}

#[test]
fn a_limit_means_exactly_only_where_nothing_else_is_said() {
    let now = || list(14, &[("a", 12, 2), ("c", 14, 1)]);
    let asked =
        |query: &str| read(Verb::List, &format!("?limit=500&resourceVersion={query}"), 200, now());
    assert_eq!(asked("11&resourceVersionMatch=NotOlderThan"), []);
    assert_eq!(asked("0"), []);
    assert_eq!(asked("14"), []);
    assert_eq!(asked("11"), [Rule::AskedRevision]);
    assert_eq!(asked("15&resourceVersionMatch=NotOlderThan"), [Rule::AskedRevision]);
    let short = list(14, &[("a", 12, 2)]);
    assert_eq!(read(Verb::List, "?limit=500", 200, short), [Rule::Snapshot], "it is all");
}
