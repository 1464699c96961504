//! Conflicts, the cluster's and those of plans.

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
