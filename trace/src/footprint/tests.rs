//! What footprints cover.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    Actor, Body, CallId, ConnectionId, Record, Time,
    webhook::{Webhook, WebhookOutcome},
};

fn call(verb: Verb, resource: &str, namespace: &str, name: &str, query: &str) -> Event {
    let body = match verb {
        Verb::Create => Body::Json(Arc::new(json!({"metadata": {"name": name}}))),
        _ => Body::None,
    };
    Event::Call(Call {
        id: CallId(1),
        actor: Actor::Subject(0),
        incarnation: 0,
        connection: ConnectionId(1),
        verb,
        resource: (!resource.is_empty()).then(|| resource.parse().unwrap()),
        version: "v1".to_owned(),
        namespace: namespace.to_owned(),
        name: if verb == Verb::Create { String::new() } else { name.to_owned() },
        subresource: String::new(),
        method: "GET".to_owned(),
        uri: format!("/apis?{query}"),
        content_type: String::new(),
        user_agent: String::new(),
        body,
        raw: None,
    })
}

fn learnt(events: Vec<Event>) -> Footprint {
    let mut footprint = Footprint::default();
    let record = |event| Record { sequence: 0, at: Time(0), real_us: 0, event };
    let history = History { records: events.into_iter().map(record).collect() };
    let grew = footprint.learn(&history, &|name| name == "web-x7k2p");
    assert_eq!(grew, !footprint.is_empty());
    assert!(!footprint.learn(&history, &|name| name == "web-x7k2p"), "it is known now");
    footprint
}

fn covers(footprint: &Footprint, key: &str, labels: Value) -> bool {
    footprint.covers(&key.parse().unwrap(), &json!({"metadata": {"labels": labels}}))
}

#[test]
fn what_was_asked_about_is_covered_and_nothing_else() {
    let check = |event: Event, covered: &[&str], beyond: &[&str]| {
        let footprint = learnt(vec![event]);
        for key in covered {
            assert!(covers(&footprint, key, json!({})), "{key} in {:?}", footprint.lines());
        }
        for key in beyond {
            assert!(!covers(&footprint, key, json!({})), "{key} in {:?}", footprint.lines());
        }
    };
    let pods = &["pods/default/a", "pods/other/b"];
    check(call(Verb::List, "pods", "", "", ""), pods, &["secrets/default/a", "pods.metrics/x/y"]);
    check(call(Verb::Watch, "pods", "default", "", ""), &pods[..1], &pods[1..]);
    check(call(Verb::Get, "pods", "default", "a", ""), &pods[..1], &["pods/default/b"]);
    let named = "fieldSelector=metadata.name%3Da%2Cmetadata.namespace%3Ddefault";
    check(call(Verb::List, "pods", "", "", named), &pods[..1], &pods[1..]);
    let running = "fieldSelector=status.phase%3DRunning";
    check(call(Verb::List, "pods", "", "", running), pods, &[]);
    check(call(Verb::Create, "pods", "default", "a", ""), &pods[..1], &["pods/default/b"]);
    check(call(Verb::Patch, "pods", "default", "web-x7k2p", ""), &["pods/default/b"], &pods[1..]);
    check(call(Verb::Create, "events", "default", "a.1", ""), &[], &["events/default/a.1"]);
    let types = &["customresourcedefinitions.apiextensions.k8s.io/foos.example.com"];
    check(call(Verb::Other, "", "", "", ""), types, pods);
}

#[test]
fn selectors_narrow_where_they_are_understood() {
    let check = |selector: &str, labels: Value, expect: bool| {
        let query: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("labelSelector", selector)
            .finish();
        let footprint = learnt(vec![call(Verb::List, "pods", "", "", &query)]);
        assert_eq!(
            covers(&footprint, "pods/default/a", labels.clone()),
            expect,
            "{selector} {labels}"
        );
    };
    let web = || json!({"app": "web", "tier": "2"});
    check("app=web", web(), true);
    check("app==web,tier", web(), true);
    check("app=web,!tier", web(), false);
    check("app!=web", web(), false);
    check("app!=web", json!({}), true);
    check("app in (db, web),tier notin (1)", web(), true);
    check("app in (db)", web(), false);
    check("a ~ b", json!({}), true);
    // What the next trial has otherwise stands for all.
    check("of=web-x7k2p", json!({}), true);
    check("of in (x, 01234567-89ab-cdef-0123-456789abcdef)", json!({}), true);
}

#[test]
fn what_its_webhooks_were_sent_counts() {
    let webhook = |name: &str, about: &str, outcome| {
        let (name, about) = (name.to_owned(), about.to_owned());
        let (url, actor) = (String::new(), Actor::User);
        Event::Webhook(Webhook { name, about, url, outcome, actor, call: None })
    };
    let asked = learnt(vec![webhook(
        "w",
        "CREATE jobs default/a",
        WebhookOutcome::Allowed { patched: false },
    )]);
    assert!(covers(&asked, "jobs.batch/default/b", json!({})));
    assert!(!covers(&asked, "pods/default/b", json!({})));
    let converted =
        webhook("foos.example.com", "2 objects in v2", WebhookOutcome::Converted { objects: 2 });
    assert!(covers(&learnt(vec![converted]), "foos.example.com/default/b", json!({})));
}

#[test]
fn a_wider_question_takes_the_place_of_narrower_ones() {
    let footprint = learnt(vec![
        call(Verb::Get, "pods", "default", "a", ""),
        call(Verb::List, "pods", "default", "", "labelSelector=app%3Dweb"),
        call(Verb::List, "pods", "", "", ""),
        call(Verb::Get, "pods", "default", "b", ""),
    ]);
    assert_eq!(footprint.lines(), ["pods"]);
    let mut other = learnt(vec![call(Verb::Get, "secrets", "default", "a", "")]);
    assert!(other.merge(&footprint) && !other.merge(&footprint));
    assert_eq!(other.lines(), ["pods", "secrets a in default"]);
}
