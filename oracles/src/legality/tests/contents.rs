//! Objects that are not what the store has.

use serde_json::{Value, json};

use super::*;

/// `a` at 12, changed.
fn a(change: impl Fn(&mut Value)) -> Value {
    let mut shown = (*object("a", 12, 2)).clone();
    change(&mut shown);
    shown
}

#[test]
fn every_part_of_an_object_is_compared() {
    let get = |shown: Value| read(Verb::Get, "/a", 200, shown);
    let content = [Rule::Content];
    let owner = json!([{"uid": "z", "name": "z", "kind": "Foo", "apiVersion": "example.com/v1"}]);
    assert_eq!(get(a(|a| a["metadata"]["ownerReferences"] = owner.clone())), content);
    assert_eq!(
        get(a(|a| a["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into())),
        content
    );
    assert_eq!(get(a(|a| a["roleRef"] = json!({"name": "cluster-admin"}))), content);
    assert_eq!(get(a(|a| a["type"] = "Opaque".into())), content);
    assert_eq!(get(a(|a| a["webhooks"] = json!([{"name": "w"}]))), content);
    assert_eq!(get(a(|a| a["spec"] = Value::Null)), content);
    let managed = json!([{"manager": "m"}]);
    assert_eq!(get(a(|a| a["metadata"]["managedFields"] = managed.clone())), []);
    assert_eq!(get(a(|a| a["status"] = json!({"n": 0, "on": false}))), [], "as protobuf has it");
}

#[test]
fn other_forms_say_less() {
    let get = |shown: Value| read(Verb::Get, "/a", 200, shown);
    let partial = |a: &mut Value| {
        a["kind"] = "PartialObjectMetadata".into();
        a["apiVersion"] = "meta.k8s.io/v1".into();
        a["spec"] = Value::Null;
    };
    assert_eq!(get(a(partial)), []);
    let labelled = a(|a| {
        partial(a);
        a["metadata"]["labels"] = json!({"app": "z"});
    });
    assert_eq!(get(labelled), [Rule::Content]);
    let table = json!({"kind": "Table", "metadata": {"resourceVersion": "12"}, "rows": []});
    assert_eq!(get(table), []);
}

/// What a webhook that converts may change of the metadata.
#[test]
fn another_version_may_have_other_labels() {
    let get = |version: &str, change: &dyn Fn(&mut Value)| {
        let asked = call(1, Verb::Get, "GET", &format!("{PATH}/a"), None);
        let Event::Call(mut asked) = asked else { unreachable!() };
        asked.version = version.into();
        let shown = a(|a| {
            a["apiVersion"] = format!("example.com/{version}").into();
            change(a);
        });
        rules(log(), all().into_iter().chain([Event::Call(asked), answer(1, 200, shown)]).collect())
    };
    let labels = |a: &mut Value| a["metadata"]["labels"] = json!({"app": "z"});
    assert_eq!(get("v2", &labels), []);
    assert_eq!(get("v2", &|a| a["spec"] = json!({"y": 2})), []);
    assert_eq!(get("v2", &|a| a["metadata"]["uid"] = "z".into()), [Rule::Content]);
    assert_eq!(get("v1", &labels), [Rule::Content]);
}

/// Items of typed lists don't name their type.
#[test]
fn items_of_lists_are_compared_as_a_whole() {
    let listed = |kind: &str, x: u64| {
        let mut body = list(14, &[("a", 12, x), ("c", 14, 1)]);
        body["kind"] = kind.into();
        for item in body["items"].as_array_mut().unwrap() {
            item.as_object_mut().unwrap().retain(|name, _| name == "metadata" || name == "spec");
        }
        read(Verb::List, "", 200, body)
    };
    assert_eq!(listed("FooList", 2), []);
    assert_eq!(listed("FooList", 9), [Rule::Content]);
    assert_eq!(listed("PartialObjectMetadataList", 9), []);
}

#[test]
fn what_goes_is_shown_as_it_was() {
    let gone = |x| watch("resourceVersion=12", vec![event(Deleted, "b", 13, x)]);
    assert_eq!(gone(1), []);
    assert_eq!(gone(77), [Rule::Content]);
    // It leaves a selector: as it was before.
    let relabelled = |x| {
        let mut change = logged(11, Change::Updated, "a", 2);
        let mut object = (*change.object).clone();
        object["metadata"]["labels"]["app"] = "z".into();
        change.object = Arc::new(object);
        let uri = format!("{PATH}?watch=true&resourceVersion=10&labelSelector=app%3Da");
        let events = vec![
            commit(&change),
            call(1, Verb::Watch, "GET", &uri, None),
            event(Deleted, "a", 11, x),
        ];
        rules(vec![change], events)
    };
    assert_eq!(relabelled(1), []);
    assert_eq!(relabelled(2), [Rule::Content], "as it is now");
}

#[test]
fn of_a_type_that_never_was_there_is_nothing_to_show() {
    let ask = |verb, uri: &str, resource: GroupResource, then: Vec<Event>| {
        let asked = call(1, verb, "GET", uri, None);
        let Event::Call(mut asked) = asked else { unreachable!() };
        asked.resource = Some(resource);
        rules(log(), all().into_iter().chain([Event::Call(asked)]).chain(then).collect())
    };
    let bars = || GroupResource::new("example.com", "bars");
    let watch = format!("{PATH}?watch=true&resourceVersion=10");
    let ghost = || vec![event(Added, "ghost", 11, 1)];
    assert_eq!(ask(Verb::Watch, &watch, bars(), ghost()), [Rule::StreamOrder]);
    assert_eq!(ask(Verb::Watch, &watch, bars(), vec![event(Bookmark, "", 14, 0)]), []);
    let listed = |items: &[(&str, u64, u64)]| vec![answer(1, 200, list(14, items))];
    assert_eq!(ask(Verb::List, PATH, bars(), listed(&[("ghost", 11, 1)])), [Rule::Content]);
    assert_eq!(ask(Verb::List, PATH, bars(), listed(&[])), []);
    let got = vec![answer(1, 200, (*object("ghost", 11, 1)).clone())];
    assert_eq!(ask(Verb::Get, &format!("{PATH}/ghost"), bars(), got), [Rule::Content]);
    // Nothing that is stored: no revision.
    let healthy = vec![answer(1, 200, json!({"metadata": {"name": "ghost"}}))];
    assert_eq!(ask(Verb::Get, &format!("{PATH}/ghost"), bars(), healthy), []);
}
