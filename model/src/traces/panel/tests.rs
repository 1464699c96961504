//! Tests of the panel's text, beside those with Bar/Foo.

use crate::traces::{Trace, read};

fn read_text(text: &str) -> Result<Trace, String> {
    let read = read(text, "t.txt");
    read.map(|read| read.into_trace().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn unfolded_parts_are_passed_over() {
    let check = |text: &str, expect: &[(&str, &str)]| {
        let trace = read_text(&format!("1: Initial predicate\n{text}")).unwrap();
        let vars: Vec<(&str, String)> = trace.states[0]
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_string()))
            .collect();
        let vars: Vec<(&str, &str)> =
            vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(vars, expect, "{text}");
    };
    let both = [("r", "[a |-> {7}, b |-> 2]"), ("x", "1")];
    check("r (2) [b |-> 2, a |-> {7}]\nx 1\n", &both);
    check("  r (2)\tM\t[b |-> 2, a |-> {7}]\n    a (1) {7}\n      1 7\n    b 2\n  x 1\n", &both);
    check("r (2) [b |-> 2, a |-> {7}]\na (1) {7}\n1 7\nb M 2\nx 1\n", &both);
    // A variable that is called like a part, further left.
    check(" r [b |-> 2, a |-> {7}]\n  b 2\n x 1\n", &both);
    check("b 3\nr [b |-> 2]\nx M\n", &[("b", "3"), ("r", "[b |-> 2]"), ("x", "M")]);
}

#[test]
fn the_end_of_a_lasso_is_read() {
    let loop_of = |end: &str| read_text(&format!("1: Init in m >>\nx 1\n2: A in m >>\nx 2\n{end}"));
    assert_eq!(loop_of("3: Back to state 1\n").unwrap().loop_, Some(0));
    assert_eq!(loop_of("3: Stuttering\n").unwrap().loop_, Some(1));
    assert_eq!(loop_of("").unwrap().loop_, None);
    let error = "t.txt: the loop goes to state 8, and there are 2 states, counted from 0";
    assert_eq!(loop_of("3: Back to state 9\n"), Err(error.to_owned()));
}

#[test]
fn wrong_texts_are_located_errors() {
    let check = |text: &str, expect: &str| {
        let text = format!("1: Initial predicate\nx 1\n{text}");
        assert_eq!(read_text(&text), Err(format!("t.txt:{expect}")));
    };
    check("3: A in m >>\nx 1\n", "3:1: expected state 2, found state 3");
    check("2: A in m >>\ny 1\n", "3:1: state 1 has other variables than the first: x, y");
    check("2: A in m >>\n x M <<1\n", "4:9: expected `,` or `>>`, found the end");
    check("2: A in m >>\n x (2)\n", "4:6: expected `:>`, found `)`");
    check("x 2\n", "3:1: the variable `x` is there twice");
    check("y\n", "3:1: expected a name and a value, found `y`");
}
