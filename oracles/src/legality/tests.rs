//! Each row of the illegal table (kubernetes-api.md §8.2), planted, beside what is legal and looks alike.
//!
//! One type, `foos`, in one namespace. The store begins at 10 with `a`; then `b` is created (11), `a` changed (12), `b`
//! deleted (13), `c` created (14).

use std::sync::Arc;

use serde_json::{Value, json};
use trace::{
    Actor, Answer, Body, Call, CallId, Change, Commit, ConnectionId, Delivery, DeliveryKind, Event,
    Fate, GroupResource, History, ObjectKey, Record, Revision, Time, Verb,
};

use super::{Logged, Rule, Store, check};

mod contents;
mod effects;
mod kept;
mod lists;
mod refusals;
mod selectors;

const PATH: &str = "/apis/example.com/v1/namespaces/default/foos";

fn foos() -> GroupResource {
    GroupResource::new("example.com", "foos")
}

fn object(name: &str, revision: u64, x: u64) -> Arc<Value> {
    Arc::new(json!({
        "apiVersion": "example.com/v1", "kind": "Foo", "spec": {"x": x},
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}"),
            "labels": {"app": name}, "resourceVersion": revision.to_string()},
    }))
}

fn logged(revision: u64, change: Change, name: &str, x: u64) -> Logged {
    let key = ObjectKey::new(foos(), "default", name);
    Logged { revision: Revision(revision), change, key, object: object(name, revision, x) }
}

fn log() -> Vec<Logged> {
    vec![
        logged(11, Change::Created, "b", 1),
        logged(12, Change::Updated, "a", 2),
        logged(13, Change::Deleted, "b", 1),
        logged(14, Change::Created, "c", 1),
    ]
}

fn store(log: Vec<Logged>) -> Store {
    let key = ObjectKey::new(foos(), "default", "a");
    Store::new(Revision(10), [(key, object("a", 10, 1))], log, Revision(10))
}

fn call(id: u64, verb: Verb, method: &str, uri: &str, body: Option<Value>) -> Event {
    let name = uri.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('/')).unwrap_or("");
    Event::Call(Call {
        id: CallId(id),
        actor: Actor::Subject(0),
        incarnation: 0,
        connection: ConnectionId(id),
        verb,
        resource: Some(foos()),
        version: "v1".into(),
        namespace: "default".into(),
        name: name.split('?').next().unwrap_or_default().into(),
        subresource: String::new(),
        method: method.into(),
        uri: uri.into(),
        content_type: String::new(),
        user_agent: String::new(),
        body: body.map_or(Body::None, |body| Body::Json(Arc::new(body))),
        raw: None,
    })
}

fn answer(id: u64, status: u16, body: Value) -> Event {
    let revision = body["metadata"]["resourceVersion"].as_str().and_then(Revision::parse);
    let body = Body::Json(Arc::new(body));
    let call = CallId(id);
    Event::Answer(Answer { call, fate: Fate::Answered, status, revision, body, injected: false })
}

fn injected(id: u64, status: u16) -> Event {
    let (call, body) = (CallId(id), Body::None);
    let (fate, revision) = (Fate::Answered, None);
    Event::Answer(Answer { call, fate, status, revision, body, injected: true })
}

fn commit(logged: &Logged) -> Event {
    Event::Commit(Commit {
        revision: logged.revision,
        change: logged.change,
        key: logged.key.clone(),
        object: logged.object.clone(),
        actor: Actor::User,
        call: None,
        heartbeat: false,
    })
}

/// Everything in the log has happened.
fn all() -> Vec<Event> {
    log().iter().map(commit).collect()
}

fn event(kind: DeliveryKind, name: &str, revision: u64, x: u64) -> Event {
    let bookmark = kind == DeliveryKind::Bookmark;
    let shown = match name {
        "end" => json!({"metadata": {"resourceVersion": revision.to_string(),
            "annotations": {"k8s.io/initial-events-end": "true"}}}),
        _ => (*object(name, revision, x)).clone(),
    };
    Event::Delivery(Delivery {
        watch: CallId(1),
        index: 0,
        kind,
        revision: Some(Revision(revision)),
        object_name: if bookmark { String::new() } else { format!("default/{name}") },
        object: Some(Arc::new(shown)),
    })
}

fn list(revision: u64, items: &[(&str, u64, u64)]) -> Value {
    let items: Vec<Value> =
        items.iter().map(|(name, revision, x)| (*object(name, *revision, *x)).clone()).collect();
    json!({"kind": "FooList", "metadata": {"resourceVersion": revision.to_string()}, "items": items})
}

fn rules(log: Vec<Logged>, events: Vec<Event>) -> Vec<Rule> {
    rules_of(36, log, events)
}

fn rules_of(minor: u8, log: Vec<Logged>, events: Vec<Event>) -> Vec<Rule> {
    let record =
        |(sequence, event)| Record { sequence: sequence as u64, at: Time(0), real_us: 0, event };
    let history = History { records: events.into_iter().enumerate().map(record).collect() };
    check(&history, &store(log), minor).illegal.into_iter().map(|illegal| illegal.rule).collect()
}

/// A watch that was opened when all had happened, and showed this.
fn watch(query: &str, shown: Vec<Event>) -> Vec<Rule> {
    let opened = call(1, Verb::Watch, "GET", &format!("{PATH}?watch=true&{query}"), None);
    let events = all().into_iter().chain([opened]).chain(shown);
    rules(log(), events.chain([answer(1, 200, Value::Null)]).collect())
}

/// A read when all had happened.
fn read(verb: Verb, uri: &str, status: u16, body: Value) -> Vec<Rule> {
    let asked = call(1, verb, "GET", &format!("{PATH}{uri}"), None);
    rules(log(), all().into_iter().chain([asked, answer(1, status, body)]).collect())
}

use DeliveryKind::{Added, Bookmark, Deleted, Modified};

#[test]
fn a_stream_shows_each_event_once_and_in_order() {
    let b = || event(Added, "b", 11, 1);
    let a = || event(Modified, "a", 12, 2);
    let gone = || event(Deleted, "b", 13, 1);
    let from = "resourceVersion=10";
    assert_eq!(watch(from, vec![b(), a(), gone(), event(Added, "c", 14, 1)]), []);
    assert_eq!(watch(from, vec![b()]), [], "a prefix: the rest lags");
    assert_eq!(watch("resourceVersion=12", vec![gone()]), []);
    let order = [Rule::StreamOrder];
    assert_eq!(watch(from, vec![b(), gone()]), order, "one is left out");
    assert_eq!(watch(from, vec![b(), b()]), order, "one comes twice");
    assert_eq!(watch(from, vec![a(), b()]), order, "another order");
    assert_eq!(watch("resourceVersion=12", vec![a()]), order, "at the revision asked for");
    assert_eq!(watch("resourceVersion=11", vec![gone()]), order, "a gap after it began again");
    assert_eq!(watch(from, vec![event(Deleted, "a", 11, 1)]), order, "no deletion happened");
    assert_eq!(watch(from, vec![b(), event(Added, "a", 12, 2)]), order, "it is there already");
    let never = watch(from, vec![b(), a(), gone(), event(Modified, "c", 15, 3)]);
    assert_eq!(never[0], Rule::StreamOrder, "an event without a change of the store");
}

#[test]
fn a_selector_decides_what_an_event_is() {
    let labels = "resourceVersion=10&labelSelector=app%3Db";
    let (b, gone) = (event(Added, "b", 11, 1), event(Deleted, "b", 13, 1));
    assert_eq!(watch(labels, vec![b, gone]), []);
    assert_eq!(watch(labels, vec![event(Modified, "a", 12, 2)]), [Rule::StreamOrder]);
    let field = "resourceVersion=10&fieldSelector=metadata.name%3Da";
    assert_eq!(watch(field, vec![event(Modified, "a", 12, 2)]), []);
}

#[test]
fn initial_events_are_one_state() {
    let (a, c) = (|| event(Added, "a", 12, 2), || event(Added, "c", 14, 1));
    let end = |revision| event(Bookmark, "end", revision, 0);
    let streamed = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    assert_eq!(watch(streamed, vec![c(), a(), end(14)]), [], "in any order");
    assert_eq!(watch(streamed, vec![a()]), [], "cut before the end");
    assert_eq!(watch(streamed, vec![a(), end(14)]), [Rule::InitialEventsEnd]);
    let stale = "sendInitialEvents=true&resourceVersion=0&resourceVersionMatch=NotOlderThan";
    let old = |end_at| vec![event(Added, "a", 10, 1), end(end_at)];
    assert_eq!(watch(stale, old(10)), []);
    assert_eq!(watch(stale, old(14)), [Rule::StreamOrder], "what happened until 14 is not shown");
    let gone = |end_at| vec![a(), end(end_at)];
    assert_eq!(watch(stale, gone(13)), []);
    let older = [Rule::Bookmark, Rule::InitialEventsEnd];
    assert_eq!(watch(stale, gone(11)), older, "older than the last initial event");
    assert_eq!(watch(stale, gone(12)), [Rule::InitialEventsEnd], "`b` was there until 13");
    assert_eq!(watch("resourceVersion=0", vec![event(Added, "a", 10, 1)]), [], "any state");
    assert_eq!(watch("resourceVersion=0", vec![a(), event(Added, "b", 11, 1)]), []);
    let mixed = vec![event(Added, "a", 10, 1), c()];
    assert_eq!(watch("resourceVersion=0", mixed), [Rule::StreamOrder], "two states");
    let old = watch(streamed, vec![event(Added, "a", 10, 1), end(10)]);
    assert!(!old.is_empty(), "not the present state");
}

#[test]
fn bookmarks_and_errors() {
    let b = event(Added, "b", 11, 1);
    let from = "resourceVersion=10";
    assert_eq!(watch(from, vec![b.clone(), event(Bookmark, "", 11, 0)]), []);
    assert_eq!(watch(from, vec![event(Bookmark, "", 11, 0)]), [Rule::Bookmark]);
    let both = |last| vec![b.clone(), event(Modified, "a", 12, 2), event(Bookmark, "", last, 0)];
    assert_eq!(watch(from, both(12)), []);
    assert_eq!(watch(from, both(11)), [Rule::Bookmark], "older than the last event");
    assert_eq!(watch("resourceVersion=12", vec![event(Bookmark, "", 11, 0)]), [Rule::Bookmark]);
    let two = vec![event(Bookmark, "", 12, 0), event(Bookmark, "", 11, 0)];
    assert_eq!(watch("resourceVersion=12", two), [Rule::Bookmark], "older than the one before");
    let error = event(DeliveryKind::Error, "", 0, 0);
    assert_eq!(watch(from, vec![error.clone()]), []);
    assert_eq!(watch(from, vec![error, b]), [Rule::AfterError]);
}

#[test]
fn gets_are_fresh() {
    let shown = |name: &str, revision, x| (*object(name, revision, x)).clone();
    assert_eq!(read(Verb::Get, "/a", 200, shown("a", 12, 2)), []);
    assert_eq!(read(Verb::Get, "/b", 404, json!({"kind": "Status"})), []);
    assert_eq!(read(Verb::Get, "/a?resourceVersion=0", 200, shown("a", 10, 1)), []);
    assert_eq!(read(Verb::Get, "/a", 200, shown("a", 10, 1)), [Rule::ConsistentRead]);
    assert_eq!(read(Verb::Get, "/b", 200, shown("b", 11, 1)), [Rule::ConsistentRead]);
    assert_eq!(read(Verb::Get, "/a", 404, json!({"kind": "Status"})), [Rule::ConsistentRead]);
    assert_eq!(read(Verb::Get, "/a", 200, shown("a", 12, 9)), [Rule::Content]);
}

/// An update of `a` that says it is based on `base`, while what `during` says happens; answered so.
fn update(base: u64, during: &[Logged], status: u16, body: Value) -> Vec<Rule> {
    let sent = (*object("a", base, 5)).clone();
    let mut events = vec![call(1, Verb::Update, "PUT", &format!("{PATH}/a"), Some(sent))];
    events.extend(during.iter().map(commit));
    events.push(answer(1, status, body));
    rules(during.to_vec(), events)
}

#[test]
fn writes_are_in_the_store_on_top_of_what_they_name() {
    let written = (*object("a", 11, 5)).clone();
    let mine = || logged(11, Change::Updated, "a", 5);
    assert_eq!(update(10, &[mine()], 200, written.clone()), []);
    assert_eq!(update(9, &[mine()], 200, written.clone()), [Rule::Write], "on an old revision");
    assert_eq!(update(10, &[], 200, written), [Rule::Write], "it was lost");
    let conflict = json!({"kind": "Status", "reason": "Conflict"});
    assert_eq!(update(10, &[mine()], 409, conflict.clone()), [], "somebody was faster");
    assert_eq!(update(9, &[], 409, conflict.clone()), []);
    assert_eq!(update(10, &[], 409, conflict), [Rule::Refusal], "nobody competed");
    let missing = json!({"kind": "Status", "reason": "NotFound"});
    assert_eq!(update(10, &[], 404, missing), [Rule::Refusal], "it is there");
}

#[test]
fn creates_are_refused_for_what_is_there() {
    let create = |name: &str, status, reason: &str| {
        let sent = json!({"metadata": {"name": name}});
        let events = vec![
            call(1, Verb::Create, "POST", PATH, Some(sent)),
            answer(1, status, json!({"kind": "Status", "reason": reason})),
        ];
        rules(vec![], events)
    };
    assert_eq!(create("a", 409, "AlreadyExists"), []);
    assert_eq!(create("z", 409, "AlreadyExists"), [Rule::Refusal]);
}

#[test]
fn the_log_keeps_its_word() {
    let broken = |log: Vec<Logged>| rules(log, vec![]);
    assert_eq!(broken(log()), []);
    assert_eq!(broken(vec![logged(11, Change::Created, "a", 1)]), [Rule::Log], "created twice");
    let again = vec![logged(11, Change::Updated, "a", 1), logged(11, Change::Updated, "a", 2)];
    assert_eq!(broken(again), [Rule::Log], "a revision is used again");
    let mut other = logged(11, Change::Updated, "a", 1);
    let mut changed = (*other.object).clone();
    changed["metadata"]["uid"] = "other".into();
    other.object = Arc::new(changed);
    assert_eq!(broken(vec![other]), [Rule::Log], "another uid");
}

#[test]
fn what_is_injected_could_have_been_said() {
    let check = |verb, method: &str, uri: &str, status, legal: bool| {
        let asked = call(1, verb, method, &format!("{PATH}{uri}"), None);
        let found = rules(vec![], vec![asked, injected(1, status)]);
        assert_eq!(found.is_empty(), legal, "{status} to {method} {uri}: {found:?}");
        assert!(found.iter().all(|rule| *rule == Rule::Injected));
    };
    check(Verb::Create, "POST", "", 503, true);
    check(Verb::List, "GET", "", 429, true);
    check(Verb::Watch, "GET", "?watch=true&sendInitialEvents=true", 503, true);
    check(Verb::Watch, "GET", "?watch=true&sendInitialEvents=true", 422, false);
    check(Verb::Watch, "GET", "?watch=true&resourceVersion=10", 200, true);
    check(Verb::Watch, "GET", "?watch=true&resourceVersion=10", 422, false);
    check(Verb::Watch, "GET", "?watch=true&sendInitialEvents=true", 200, false);
    check(Verb::Update, "PUT", "/a", 409, false);
    check(Verb::Update, "PUT", "/a", 200, false);
    check(Verb::List, "GET", "", 410, false);
}

#[test]
fn servers_refuse_streamed_lists_by_their_release() {
    let check = |minor, legal: bool| {
        let uri = format!("{PATH}?watch=true&sendInitialEvents=true");
        let asked = call(1, Verb::Watch, "GET", &uri, None);
        let found = rules_of(minor, vec![], vec![asked, injected(1, 422)]);
        assert_eq!(found.is_empty(), legal, "1.{minor}");
    };
    check(31, true);
    check(32, false);
    check(33, true);
    check(34, false);
    check(37, false);
}
