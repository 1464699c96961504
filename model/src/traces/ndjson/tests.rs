//! Tests of our own form.

use proptest::prelude::*;

use super::*;
use crate::traces::{Value, arbitrary};

fn read_text(text: &str) -> Result<Trace, String> {
    let read = crate::traces::read(text, "t.ndjson");
    read.map(|read| read.into_trace().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn a_record_may_leave_out_variables() {
    let text =
        "{\"state\":{\"x\":1,\"y\":2}}\n\n{\"action\":{\"name\":\"A\"},\"state\":{\"y\":3}}\n";
    let events = read_record(text, "t").unwrap();
    assert_eq!(events[1].state, State::from([("y".to_owned(), Value::Int(3))]));
    assert_eq!((events[1].line, events[1].action.clone()), (3, Some(Action::named("A"))));
    let error = "t.ndjson:3:1: state 1 has other variables than the first: x";
    assert_eq!(read_text(text), Err(error.to_owned()));
    let error = read_record("{\"state\":{}}\n{\"loop\":0}\n", "t").unwrap_err().to_string();
    assert_eq!(error, "t:2:1: a record of a run has no `loop`");
}

#[test]
fn wrong_lines_are_located_errors() {
    let check = |line: &str, expect: &str| {
        let text = format!("{{\"state\":{{\"x\":1}}}}\n{line}\n");
        assert_eq!(read_text(&text), Err(format!("t.ndjson:{expect}")));
    };
    check("{\"state\":{\"x\":1}", "2:16: this is no JSON: EOF while parsing an object");
    check("{}", "2:1: expected an object with `state`");
    check("{\"state\":{\"x\":null}}", "2:1: state.x: expected a value, found null");
    check(
        "{\"action\":\"A\",\"state\":{\"x\":1}}",
        "2:1: action: expected an object with `name`, found \"A\"",
    );
    check(
        "{\"action\":{\"name\":\"A\",\"params\":{}},\"state\":{}}",
        "2:1: action.params: expected an array, found {}",
    );
    check(
        "{\"action\":{\"name\":\"A\",\"params\":[1]},\"state\":{}}",
        "2:1: action.params[0]: expected an object with `value`",
    );
    check("{\"loop\":1}", "2:1: the loop goes to state 1, and there are 1 states, counted from 0");
    check("{\"loop\":\"x\"}", "2:1: loop: expected the number of an event, found \"x\"");
    check("{\"loop\":0}\n{\"state\":{\"x\":1}}", "3:1: line 2 closed the loop");
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(trace in arbitrary::trace()) {
        let read = crate::traces::read(&write(&trace), "t");
        prop_assert_eq!(read.map(|read| read.into_trace()), Ok(Some(trace)));
    }
}
