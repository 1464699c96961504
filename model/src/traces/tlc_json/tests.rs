//! Tests of TLC's JSON, beside those with what TLC wrote.

use serde_json::json;

use super::*;

fn read_text(document: &Json) -> Result<Trace, String> {
    let read = crate::traces::read(&document.to_string(), "t.json");
    read.map(|read| read.into_trace().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn states_without_actions_are_named_by_pc() {
    let state = |pc: &str| json!({ "pc": {"p": pc, "q": "w"} });
    let trace = read_text(&json!([state("a"), state("b")])).unwrap();
    assert_eq!(trace.actions[0].as_ref().unwrap().to_string(), "a(\"p\")");
}

#[test]
fn a_context_without_an_order_is_by_name() {
    let step =
        json!([[1, {"x": 0}], {"name": "Do", "context": {"b": 2, "a": true}}, [2, {"x": 1}]]);
    let trace =
        read_text(&json!({"state": [[1, {"x": 0}], [2, {"x": 1}]], "action": [step]})).unwrap();
    assert_eq!(trace.actions[0].as_ref().unwrap().to_string(), "Do(TRUE,2)");
}

#[test]
fn wrong_documents_are_located_errors() {
    let check = |document: Json, expect: &str| {
        assert_eq!(read_text(&document), Err(format!("t.json: {expect}")));
    };
    let two = json!([[1, {"x": 0}], [2, {"x": 1}]]);
    check(json!([]), "states: there is no state");
    check(json!([{"x": 0}, 4]), "states[1]: expected a state, found 4");
    check(
        json!([{"x": 0}, {"y": 0}]),
        "states[1]: state 1 has other variables than the first: x, y",
    );
    check(json!([{"x": null}]), "states[0].x: expected a value, found null");
    check(
        json!([{"x": [0.5]}]),
        "states[0].x[0]: expected an integer of at most 64 bits or a #bigint, found 0.5",
    );
    check(json!({"state": two}), "action: expected an array, found nothing");
    check(json!({"state": [1], "action": []}), "state[0]: expected a number and a state, found 1");
    check(
        json!({"state": two, "action": [[[1, {}], {"name": "A"}, [3, {}]]]}),
        "action[0][2]: there is no state 3",
    );
    check(
        json!({"state": two, "action": [[[1, {}], {"name": "A"}, [1, {}]]]}),
        "action[0]: expected a step to the next state, or from the last state back",
    );
    check(
        json!({"state": two, "action": [[[1, {}], {}, [2, {}]]]}),
        "action[0][1]: expected an action with a name, found {}",
    );
}
