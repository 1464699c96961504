//! Refusals, the cluster's and those of plans.

use serde_json::{Value, json};

use super::*;

/// A write to `a` at 10 that is answered with 409, while what `during` says happens.
fn conflict(sent: (Verb, &str, Value), during: &[Logged], injected: bool) -> Vec<Rule> {
    let (verb, content_type, sent) = sent;
    let Event::Call(mut asked) = call(1, verb, "", &format!("{PATH}/a"), Some(sent)) else {
        unreachable!()
    };
    asked.content_type = content_type.into();
    let mut events = vec![Event::Call(asked)];
    events.extend(during.iter().map(commit));
    events.push(match injected {
        true => super::injected(1, 409),
        false => answer(1, 409, json!({"kind": "Status", "reason": "Conflict"})),
    });
    rules(during.to_vec(), events)
}

fn named(revision: &str) -> Value {
    json!({"metadata": {"resourceVersion": revision}})
}

const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

#[test]
fn a_conflict_has_a_competitor_or_a_precondition() {
    let other = || vec![logged(11, Change::Updated, "a", 5)];
    let refused = [Rule::Refusal];
    let check = |sent: (Verb, &str, Value), during: &[Logged]| conflict(sent, during, false);
    assert_eq!(check((Verb::Patch, MERGE, json!({})), &[]), refused);
    assert_eq!(check((Verb::Patch, MERGE, json!({})), &other()), []);
    assert_eq!(check((Verb::Patch, MERGE, named("10")), &[]), refused);
    assert_eq!(check((Verb::Patch, MERGE, named("9")), &[]), []);
    assert_eq!(check((Verb::Patch, APPLY, json!({})), &[]), [], "a field of another manager");
    assert_eq!(check((Verb::Update, "", json!({})), &[]), refused);
    let uid = |uid: &str| json!({"metadata": {"uid": uid}});
    assert_eq!(check((Verb::Update, "", uid("uid-a")), &[]), refused);
    assert_eq!(check((Verb::Update, "", uid("z")), &[]), []);
    let options = |named: &str| json!({"preconditions": {"resourceVersion": named}});
    assert_eq!(check((Verb::Delete, "", json!({})), &[]), refused);
    assert_eq!(check((Verb::Delete, "", options("10")), &[]), refused);
    assert_eq!(check((Verb::Delete, "", options("9")), &[]), []);
    assert_eq!(check((Verb::Delete, "", options("10")), &other()), []);
    assert_eq!(check((Verb::Delete, "", json!({"preconditions": {"uid": "z"}})), &[]), []);
}

#[test]
fn a_plans_conflict_has_a_competitor() {
    let other = || vec![logged(11, Change::Updated, "a", 5)];
    let illegal = [Rule::Injected];
    let check = |sent: (Verb, &str, Value), during: &[Logged]| conflict(sent, during, true);
    assert_eq!(check((Verb::Update, "", named("9")), &[]), [], "written since it was read");
    assert_eq!(check((Verb::Update, "", named("10")), &other()), [], "written meanwhile");
    assert_eq!(check((Verb::Update, "", named("10")), &[]), illegal);
    assert_eq!(check((Verb::Patch, MERGE, json!({})), &other()), []);
    assert_eq!(check((Verb::Patch, MERGE, json!({})), &[]), illegal);
    assert_eq!(check((Verb::Patch, APPLY, json!({})), &[]), illegal);
    assert_eq!(check((Verb::Delete, "", json!({})), &[]), illegal);
    let create = |name: &str| {
        let asked = call(1, Verb::Create, "POST", PATH, Some(json!({"metadata": {"name": name}})));
        rules(vec![], vec![asked, super::injected(1, 409)])
    };
    assert_eq!(create("a"), []);
    assert_eq!(create("z"), illegal);
}

/// A request that is refused when what the log says has happened, in a store that has a namespace, the definition of the
/// type, and what else is said.
fn refused(asked: Event, status: u16, body: Value, more: Vec<Logged>) -> Vec<Rule> {
    let mut stored = vec![
        other(11, "", "namespaces", "default", json!({})),
        other(12, "", "namespaces", "ends", json!({"metadata": {"deletionTimestamp": "now"}})),
        other(
            13,
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "foos.example.com",
            json!({
                "spec": {"versions": [
                    {"name": "v1", "served": true, "subresources": {"status": {}}},
                    {"name": "v2", "served": false},
                ]},
                "status": {"conditions": [{"type": "Established", "status": "True"}]},
            }),
        ),
    ];
    stored.extend(more);
    let mut events: Vec<_> = stored.iter().map(commit).collect();
    events.extend([asked, answer(1, status, body)]);
    rules(stored, events)
}

pub fn other(revision: u64, group: &str, resource: &str, name: &str, object: Value) -> Logged {
    let mut object = object;
    object["metadata"]["name"] = name.into();
    object["metadata"]["resourceVersion"] = revision.to_string().into();
    let key = ObjectKey::new(GroupResource::new(group, resource), "", name);
    let (revision, object) = (Revision(revision), Arc::new(object));
    Logged { revision, change: Change::Created, key, object }
}

fn status(reason: &str) -> Value {
    json!({"kind": "Status", "reason": reason, "details": {"causes": [{"reason": reason}]}})
}

const REFUSAL: [Rule; 1] = [Rule::Refusal];

/// A create of `z` in a namespace.
fn create(namespace: &str, version: &str, subresource: &str) -> Event {
    let sent = json!({"metadata": {"name": "z"}});
    let Event::Call(mut asked) = call(1, Verb::Create, "POST", PATH, Some(sent)) else {
        unreachable!()
    };
    asked.namespace = namespace.into();
    asked.version = version.into();
    asked.subresource = subresource.into();
    Event::Call(asked)
}

#[test]
fn what_is_not_found_is_not_there() {
    let missing = |asked| refused(asked, 404, status("NotFound"), vec![]);
    assert_eq!(missing(create("default", "v1", "")), REFUSAL);
    assert_eq!(missing(create("nowhere", "v1", "")), [], "no such namespace");
    assert_eq!(missing(create("default", "v2", "")), [], "a version that is not served");
    let of_a = |verb, subresource: &str| {
        let Event::Call(mut asked) = call(1, verb, "", &format!("{PATH}/a"), Some(json!({})))
        else {
            unreachable!()
        };
        asked.subresource = subresource.into();
        Event::Call(asked)
    };
    for verb in [Verb::Update, Verb::Patch, Verb::Delete] {
        assert_eq!(missing(of_a(verb, "")), REFUSAL, "{verb}");
    }
    assert_eq!(missing(of_a(Verb::Update, "status")), REFUSAL);
    assert_eq!(missing(of_a(Verb::Update, "scale")), [], "it has no such subresource");
    assert_eq!(missing(of_a(Verb::Get, "log")), [], "a node's answer");
    for (verb, query) in [(Verb::List, ""), (Verb::Watch, "?watch=true&resourceVersion=11")] {
        let asked = || call(1, verb, "GET", &format!("{PATH}{query}"), None);
        assert_eq!(missing(asked()), REFUSAL, "{verb}");
        let Event::Call(mut other) = asked() else { unreachable!() };
        other.version = "v2".into();
        assert_eq!(missing(Event::Call(other)), []);
    }
}

#[test]
fn a_subresource_that_was_answered_is_there() {
    let scale = |id, name: &str| {
        let Event::Call(mut asked) = call(id, Verb::Get, "GET", &format!("{PATH}/{name}"), None)
        else {
            unreachable!()
        };
        asked.subresource = "scale".into();
        Event::Call(asked)
    };
    let then = |name: &str| {
        let missing = answer(2, 404, status("NotFound"));
        let first = [scale(1, "a"), answer(1, 200, json!({"kind": "Scale"}))];
        rules(vec![], first.into_iter().chain([scale(2, name), missing]).collect())
    };
    assert_eq!(then("a"), REFUSAL);
    assert_eq!(then("z"), []);
}

#[test]
fn reads_meet_no_conflict_and_only_old_states_expire() {
    let ask = |verb, uri: &str, code, reason: &str| {
        let asked = call(1, verb, "GET", &format!("{PATH}{uri}"), None);
        refused(asked, code, status(reason), vec![])
    };
    assert_eq!(ask(Verb::Get, "/a", 409, "Conflict"), REFUSAL);
    assert_eq!(ask(Verb::List, "", 409, "Conflict"), REFUSAL);
    assert_eq!(ask(Verb::List, "", 410, "Expired"), REFUSAL);
    assert_eq!(ask(Verb::List, "?resourceVersion=0", 410, "Expired"), REFUSAL);
    assert_eq!(ask(Verb::List, "?continue=t", 410, "Expired"), []);
    let exact = "?resourceVersion=11&resourceVersionMatch=Exact";
    assert_eq!(ask(Verb::List, exact, 410, "Expired"), []);
    assert_eq!(ask(Verb::Get, "/a", 410, "Expired"), REFUSAL);
    assert_eq!(ask(Verb::Watch, "?watch=true&resourceVersion=11", 410, "Expired"), []);
    assert_eq!(ask(Verb::Watch, "?watch=true", 410, "Expired"), REFUSAL);
    for code in [400, 403, 422, 429, 500, 503, 504] {
        assert_eq!(ask(Verb::Get, "/a", code, "Whatever"), [], "{code}: the store can't tell");
    }
}

#[test]
fn creates_conflict_with_quotas_only() {
    let quota = |namespace: &str| {
        let mut quota = other(20, "", "resourcequotas", "q", json!({}));
        quota.key = ObjectKey::new(quota.key.resource, namespace, "q");
        vec![quota]
    };
    let conflict = |more| refused(create("default", "v1", ""), 409, status("Conflict"), more);
    assert_eq!(conflict(vec![]), REFUSAL);
    assert_eq!(conflict(quota("default")), []);
    assert_eq!(conflict(quota("elsewhere")), REFUSAL);
}

#[test]
fn a_namespace_that_is_said_to_end_ends() {
    let ends = |namespace: &str| {
        refused(create(namespace, "v1", ""), 403, status("NamespaceTerminating"), vec![])
    };
    assert_eq!(ends("ends"), []);
    assert_eq!(ends("default"), REFUSAL);
}

#[test]
fn an_apply_that_takes_fields_conflicts_with_writes_only() {
    let apply = |query: &str| {
        let uri = format!("{PATH}/a{query}");
        let Event::Call(mut asked) = call(1, Verb::Patch, "", &uri, Some(json!({}))) else {
            unreachable!()
        };
        asked.content_type = APPLY.into();
        refused(Event::Call(asked), 409, status("Conflict"), vec![])
    };
    assert_eq!(apply("?fieldManager=m"), []);
    assert_eq!(apply("?fieldManager=m&force=true"), REFUSAL);
}
