//! Tests of TLC's text, beside those with what TLC wrote.

use crate::traces::{Trace, read};

fn read_text(text: &str) -> Result<Trace, String> {
    let read = read(text, "t.txt");
    read.map(|read| read.into_trace().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn forms_of_older_versions_are_read() {
    let text = "Error: ..\nState 1: <Initial predicate>\nx = 1\n\nState 2: <Action line 3, col 1 to line 4, col 2 of module M>\nx = <<2,\n   3>>\n\nBack to state 1.\n\nState 1: <Initial predicate>\nx = 9\n";
    let trace = read_text(text).unwrap();
    assert_eq!(trace.states.len(), 2);
    assert_eq!(trace.states[1]["x"].to_string(), "<<2, 3>>");
    assert_eq!((trace.loop_, trace.actions), (Some(0), vec![None, None]));
}

#[test]
fn wrong_texts_are_located_errors() {
    let check = |text: &str, expect: &str| {
        let text = format!("State 1: <Initial predicate>\n/\\ x = 1\n/\\ y = 2\n\n{text}");
        assert_eq!(read_text(&text), Err(format!("t.txt:{expect}")));
    };
    check("State 3: <A line 1>\n/\\ x = 1\n", "5:1: expected state 2, found state 3");
    check("State 2: <A line 1>\n/\\ x = 1\n", "5:1: state 1 has other variables than the first: y");
    check(
        "State 2: <A line 1>\n/\\ x = {1\n/\\ y = 2\n",
        "6:10: expected `,` or `}`, found the end",
    );
    check(
        "State 2: <A line 1>\n/\\ x = SUBSET {1}\n/\\ y = 2\n",
        "6:15: expected the end of the value, found `{1}`",
    );
    check(
        "State 2: <A line 1>\n/\\ x 1\n",
        "6:1: expected `/\\ variable = value`, found `/\\ x 1`",
    );
    check("State 2: <A line 1>\n/\\ x = 1\n/\\ x = 1\n", "7:1: the variable `x` is there twice");
    check("State 2: <(1) line 1>\n", "5:11: expected the name of an action, found `(1) line 1>`");
    check("Back to state 4: <A line 1>\n", "5:1: expected one of 1 states, found 4");
}
