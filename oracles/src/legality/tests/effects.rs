//! Writes that succeeded and left nothing, or something else.

use serde_json::{Value, json};

use super::*;

/// A write to `a` at 10, while what `during` says happens; answered so.
fn write(sent: (Verb, &str, Value), during: &[Logged], status: u16, body: Value) -> Vec<Rule> {
    let (verb, content_type, sent) = sent;
    let Event::Call(mut asked) = call(1, verb, "", &format!("{PATH}/a"), Some(sent)) else {
        unreachable!()
    };
    asked.content_type = content_type.into();
    let mut events = vec![Event::Call(asked)];
    events.extend(during.iter().map(commit));
    events.push(answer(1, status, body));
    rules(during.to_vec(), events)
}

fn shown(revision: u64, x: u64) -> Value {
    (*object("a", revision, x)).clone()
}

const MERGE: &str = "application/merge-patch+json";
const NOT_KEPT: [Rule; 1] = [Rule::Write];

#[test]
fn a_name_is_created_once() {
    let mine = logged(11, Change::Created, "b", 1);
    let create = |id| {
        let sent = json!({"metadata": {"name": "b"}, "spec": {"x": 1}});
        call(id, Verb::Create, "POST", PATH, Some(sent))
    };
    let body = || (*object("b", 11, 1)).clone();
    let one = vec![create(1), commit(&mine), answer(1, 201, body())];
    assert_eq!(rules(vec![mine.clone()], one.clone()), []);
    let after = one.into_iter().chain([create(2), answer(2, 201, body())]).collect();
    assert_eq!(rules(vec![mine.clone()], after), [Rule::Write]);
    let both =
        vec![create(1), create(2), commit(&mine), answer(1, 201, body()), answer(2, 201, body())];
    assert_eq!(rules(vec![mine.clone()], both), [Rule::Write]);
    let (gone, again) = (logged(12, Change::Deleted, "b", 1), logged(13, Change::Created, "b", 1));
    let twice = vec![
        create(1),
        commit(&mine),
        answer(1, 201, body()),
        commit(&gone),
        create(2),
        commit(&again),
        answer(2, 201, (*object("b", 13, 1)).clone()),
    ];
    assert_eq!(rules(vec![mine, gone, again], twice), [], "with a deletion between");
}

#[test]
fn what_is_deleted_goes() {
    let delete = |options: Value, during: &[Logged], body: Value| {
        write((Verb::Delete, "", options), during, 200, body)
    };
    let done = || json!({"kind": "Status", "status": "Success", "details": {"uid": "uid-a"}});
    let gone = || vec![logged(11, Change::Deleted, "a", 1)];
    let mut marked = logged(11, Change::Updated, "a", 1);
    let mut object = shown(11, 1);
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    marked.object = Arc::new(object.clone());
    let marked = || vec![marked.clone()];
    assert_eq!(delete(json!({}), &gone(), done()), []);
    assert_eq!(delete(json!({}), &gone(), shown(11, 1)), [], "shown as it was");
    assert_eq!(delete(json!({}), &marked(), object.clone()), [], "it waits for its finalizers");
    assert_eq!(delete(json!({}), &[], shown(10, 1)), NOT_KEPT);
    assert_eq!(delete(json!({}), &[], done()), NOT_KEPT);
    assert_eq!(delete(json!({}), &marked(), done()), NOT_KEPT, "it is not gone");
    assert_eq!(delete(json!({"dryRun": ["All"]}), &[], shown(10, 1)), []);
    let named = |named: &str| json!({"preconditions": {"resourceVersion": named}});
    assert_eq!(delete(named("10"), &gone(), done()), []);
    assert_eq!(delete(named("9"), &gone(), done()), NOT_KEPT, "on an old revision");
    assert_eq!(delete(json!({"preconditions": {"uid": "z"}}), &gone(), done()), NOT_KEPT);
}

#[test]
fn all_of_a_deleted_collection_goes() {
    let delete = |during: &[Logged]| {
        let mut events = vec![call(1, Verb::DeleteCollection, "DELETE", PATH, None)];
        events.extend(during.iter().map(commit));
        events.push(answer(1, 200, list(10, &[("a", 10, 1)])));
        rules(during.to_vec(), events)
    };
    assert_eq!(delete(&[logged(11, Change::Deleted, "a", 1)]), []);
    assert_eq!(delete(&[]), NOT_KEPT);
}

#[test]
fn what_is_sent_is_kept() {
    let put = |sent: Value, during: &[Logged], body: Value| {
        write((Verb::Update, "application/json", sent), during, 200, body)
    };
    let mine = || vec![logged(11, Change::Updated, "a", 5)];
    assert_eq!(put(shown(10, 5), &mine(), shown(11, 5)), []);
    assert_eq!(put(shown(10, 1), &[], shown(10, 1)), [], "it changes nothing");
    assert_eq!(put(shown(10, 5), &[], shown(10, 1)), NOT_KEPT);
    let said = put(shown(10, 6), &mine(), shown(11, 6));
    assert_eq!(said, [Rule::Content], "the store has another");
    let finalized = |mut object: Value| {
        object["metadata"]["finalizers"] = json!(["f"]);
        object
    };
    assert_eq!(put(finalized(shown(10, 1)), &[], shown(10, 1)), NOT_KEPT);
    // What a server fills in, prunes or leaves to another endpoint.
    let mut more = shown(10, 1);
    more["spec"]["pruned"] = 7.into();
    more["status"] = json!({"x": 7});
    more["metadata"]["generation"] = 9.into();
    assert_eq!(put(more, &[], shown(10, 1)), []);
    let patch = |sent: Value| write((Verb::Patch, MERGE, sent), &[], 200, shown(10, 1));
    assert_eq!(patch(json!({"spec": {"x": 1}})), []);
    assert_eq!(patch(json!({"spec": {"x": 5}})), NOT_KEPT);
    assert_eq!(patch(json!({"metadata": {"labels": {"app": "z"}}})), NOT_KEPT);
}

/// The last write of an object that goes is stored nowhere.
#[test]
fn the_last_finalizer_is_taken_and_the_object_goes() {
    let gone = logged(11, Change::Deleted, "a", 1);
    let put = (Verb::Update, "application/json", shown(10, 5));
    assert_eq!(write(put, &[gone], 200, shown(10, 5)), []);
}

#[test]
fn webhooks_may_change_what_is_sent() {
    let asked = |id| call(id, Verb::Update, "PUT", &format!("{PATH}/a"), Some(shown(10, 5)));
    let hooked = Event::Webhook(trace::Webhook {
        name: "w".into(),
        about: String::new(),
        url: String::new(),
        outcome: trace::WebhookOutcome::Allowed { patched: true },
        actor: Actor::Subject(0),
        call: Some(CallId(1)),
    });
    assert_eq!(rules(vec![], vec![asked(1), hooked, answer(1, 200, shown(10, 1))]), []);
}

#[test]
fn a_patch_that_names_a_revision_is_based_on_it() {
    let mine = logged(11, Change::Updated, "a", 5);
    let merge = |named: &str| {
        let sent = json!({"metadata": {"resourceVersion": named}, "spec": {"x": 5}});
        write((Verb::Patch, MERGE, sent), std::slice::from_ref(&mine), 200, shown(11, 5))
    };
    assert_eq!(merge("10"), []);
    assert_eq!(merge("9"), NOT_KEPT);
    let steps = |named: &str| {
        let sent = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": named},
            {"op": "replace", "path": "/spec/x", "value": 5},
        ]);
        let steps = (Verb::Patch, "application/json-patch+json", sent);
        write(steps, std::slice::from_ref(&mine), 200, shown(11, 5))
    };
    assert_eq!(steps("10"), []);
    assert_eq!(steps("9"), NOT_KEPT);
    let nothing = json!({"metadata": {"resourceVersion": "9"}});
    assert_eq!(write((Verb::Patch, MERGE, nothing), &[], 200, shown(10, 1)), NOT_KEPT);
}
