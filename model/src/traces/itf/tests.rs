//! Tests of ITF documents.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::traces::arbitrary;

fn read_text(document: &Json) -> Result<Trace, String> {
    let read = crate::traces::read(&document.to_string(), "t.itf.json");
    read.map(|read| read.into_trace().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn picks_are_parameters() {
    let state = |x: i64, action: &str, picks: Json| json!({"#meta": {}, "x": x, "mbt::actionTaken": action, "mbt::nondetPicks": picks});
    let trace = read_text(&json!({"vars": ["x"], "states": [
        state(0, "wrong", json!({"p": {"tag": "None", "value": {"#tup": []}}})),
        state(1, "take", json!({"p": {"tag": "Some", "value": "a"}, "q": {"tag": "None", "value": {"#tup": []}}})),
        state(2, "old", json!({"p": {"#bigint": "3"}})),
        state(3, "", json!({})),
    ]}))
    .unwrap();
    assert_eq!(trace.vars, ["x"]);
    let names: Vec<Option<String>> =
        trace.actions.iter().map(|action| action.as_ref().map(ToString::to_string)).collect();
    assert_eq!(names, [Some("take(\"a\")".to_owned()), Some("old(3)".to_owned()), None]);
    assert_eq!(trace.actions[0].as_ref().unwrap().params[0].name.as_deref(), Some("p"));
}

#[test]
fn a_variable_by_convention_names_the_step_that_led_there() {
    for name in BY_CONVENTION {
        let state = |action: &str| json!({ name: action, "x": 1 });
        let trace = read_text(&json!({"states": [state("Init"), state("Send")]})).unwrap();
        assert_eq!(trace.actions, [Some(Action::named("Send"))]);
        assert_eq!(trace.vars, [name, "x"]);
    }
}

#[test]
fn wrong_documents_are_located_errors() {
    let check = |document: Json, expect: &str| {
        assert_eq!(read_text(&document), Err(format!("t.itf.json: {expect}")));
    };
    check(json!({"states": 1}), "states: expected an array of states");
    check(json!({"states": []}), "states: there is no state");
    check(json!({"states": [3]}), "states[0]: expected a state, found 3");
    check(json!({"vars": [1], "states": []}), "vars: expected an array of names");
    check(
        json!({"vars": ["x", "y"], "states": [{"x": 1}]}),
        "states[0]: expected the variable `y`, which `vars` names",
    );
    check(
        json!({"states": [{"x": 1}, {"x": 1, "z": 2}]}),
        "states[1]: state 1 has other variables than the first: z",
    );
    check(
        json!({"states": [{"x": 1}], "loop": 1}),
        "loop: expected the index of one of 1 states, found 1",
    );
    check(
        json!({"states": [{"x": 1}], "loop": -1}),
        "loop: expected the index of one of 1 states, found -1",
    );
    check(
        json!({"states": [{"x": [{"#bag": 1}]}]}),
        "states[0].x[0].#bag: unknown form of a value, expected one of #bigint, #tup, #set, #map, #unserializable",
    );
    check(
        json!({"states": [{"x": 1, "mbt::actionTaken": 3, "mbt::nondetPicks": {}}]}),
        "states[0].mbt::actionTaken: expected a string, found 3",
    );
    check(
        json!({"states": [{"x": 1}], "loop": 0, "#meta": {"closing": 3}}),
        "#meta.closing: expected a record, found 3",
    );
}

#[test]
fn an_operation_stands_beside_its_state() {
    let trace = Trace::new(vec![State::new()], vec![], None).unwrap();
    let text = write(&trace, |at| Some(json!({ "at": at })));
    let document: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(document["states"][0]["#meta"], json!({"index": 0, "operation": {"at": 0}}));
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(trace in arbitrary::trace()) {
        let read = crate::traces::read(&write(&trace, |_| None), "t");
        prop_assert_eq!(read.map(|read| read.into_trace()), Ok(Some(trace)));
    }
}
