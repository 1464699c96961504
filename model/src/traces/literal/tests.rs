//! Tests of reading and printing values.

use proptest::prelude::*;

use super::*;
use crate::traces::arbitrary;

#[test]
fn values_are_read_and_printed() {
    let check = |text: &str, printed: &str| {
        let value = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(value.to_string(), printed);
        assert_eq!(parse(printed), Ok(value), "{printed}");
    };
    check("TRUE", "TRUE");
    check(" -12 ", "-12");
    check("170141183460469231731687303715884105728", "170141183460469231731687303715884105728");
    check(r#""a \"b\" \\ c\td\ne""#, r#""a \"b\" \\ c\td\ne""#);
    check("<<>>", "<<>>");
    check("<<1,<<\"x\">> >>", "<<1, <<\"x\">>>>");
    check("{3, 1, 3}", "{1, 3}");
    check("2..4", "{2, 3, 4}");
    check("-1..1", "{-1, 0, 1}");
    check("5..4", "{}");
    check("[b |-> 1, a |-> [c |-> {}]]", "[a |-> [c |-> {}], b |-> 1]");
    check("(0 :> p1 @@ 1 :> p2)", "(0 :> p1 @@ 1 :> p2)");
    check("(1 :> TRUE @@ 2 :> FALSE)", "<<TRUE, FALSE>>");
    check("(\"a\" :> 1 @@ \"b\" :> 2)", "[a |-> 1, b |-> 2]");
    check("(\"a b\" :> 1)", "(\"a b\" :> 1)");
    check("(0 :> 1 @@ 0 :> 2)", "(0 :> 1)");
    check("{p1, 1a, _x, TRUEish}", "{1a, TRUEish, _x, p1}");
    check("<<\n  1,\n  2\n>>", "<<1, 2>>");
}

#[test]
fn other_texts_are_located_errors() {
    let check = |text: &str, expect: &str| {
        assert_eq!(parse(text).map_err(|error| error.to_string()), Err(expect.to_owned()));
    };
    check("", "value:1:1: expected a value, found the end");
    check("<<1, ", "value:1:6: expected a value, found the end");
    check("<<1 2>>", "value:1:5: expected `,` or `>>`, found `2>>`");
    check("{1,\n 2", "value:2:3: expected `,` or `}`, found the end");
    check("[a -> 1]", "value:1:4: expected `|->`, found `-> 1]`");
    check("[{1} -> {2}]", "value:1:2: expected the name of a field, found `{1} -> {2}]`");
    check("SUBSET {1}", "value:1:8: expected the end of the value, found `{1}`");
    check("(1 :> 2", "value:1:8: expected `@@` or `)`, found the end");
    check("\"abc", "value:1:1: this string has no end");
    check(r#""a\q""#, "value:1:3: expected one of \\\" \\\\ \\n \\t \\r \\f, found `\\q\"`");
    check("1..", "value:1:4: expected an integer, found the end");
    check("0..99999999", "value:1:2: 0..99999999 has more than 65536 elements");
    check("- 1", "value:1:1: expected an integer, found `- 1`");
    let deep = "<<".repeat(DEPTH_MAX + 1);
    assert!(parse(&deep).unwrap_err().what.starts_with("expected at most 200 values"));
}

proptest! {
    #[test]
    fn what_is_printed_is_read_again(value in arbitrary::value()) {
        prop_assert_eq!(parse(&value.to_string()), Ok(value));
    }

    #[test]
    fn no_text_is_a_panic(text in "[<>{}\\[\\]()|:@.,\" \\\\a-c0-9-]{0,24}") {
        let _ = parse(&text);
    }
}
