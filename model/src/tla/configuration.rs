//! Where in a configuration something is wrong: the crate says what, and not where.

use tla_checker::config::parse_cfg;

use crate::traces::Place;

/// Where a text can't be parsed: in the line with which its beginning is wrong as the whole is, and stays so.
pub(super) fn unparsed(text: &str, what: &str) -> Place {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1).chain([text.len()]);
    let read = |end: &usize| parse_cfg(&text[..*end]).err().as_deref() != Some(what);
    let start = ends.rev().find(read).unwrap_or_default();
    let blank = text[start..].chars().take_while(|c| c.is_whitespace()).count();
    at(text, start + blank)
}

/// Where what a sentence has in quotation marks is named, as in `INVARIANT definition 'Inv' not found in spec`.
pub(super) fn named(text: &str, what: &str) -> Place {
    let quoted = what.split('\'').nth(1).and_then(|quoted| quoted.split_whitespace().next());
    quoted.map_or(Place::Whole, |name| word(text, name))
}

/// Where a word stands first outside of comments.
pub(super) fn word(text: &str, word: &str) -> Place {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let stands = |(start, _): &(usize, &str)| {
        let (before, behind) = (&text[..*start], &text[start + word.len()..]);
        !before.ends_with(is_part) && !behind.starts_with(is_part) && !is_comment(before)
    };
    let found = text.match_indices(word).find(stands);
    found.map_or(Place::Whole, |(start, _)| at(text, start))
}

/// Whether what follows is a part of a comment.
fn is_comment(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.contains("\\*") || before.rfind("(*") > before.rfind("*)")
}

fn at(text: &str, offset: usize) -> Place {
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    Place::At { line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_from_which_on_it_is_wrong() {
        let check = |text: &str, expect: &str| {
            let what = parse_cfg(text).expect_err("it is wrong");
            assert_eq!(unparsed(text, &what).to_string(), expect, "{what}");
        };
        check("INIT Init\nNEXT Next\n  INVARIENT Inv\nCONSTANT N = 3\n", ":3:3");
        check("INIT Init\nCONSTANT\n  N = {1,\n    2; 3}\nNEXT Next", ":4:5");
        check("CHECK_DEADLOCK perhaps", ":1:1");
        check("INIT Init\nSPECIFICATION Spec\nCONSTANT N = 3", ":2:1");
        check("SPECIFICATION Spec\nINVARIANT A\nINIT", ":3:1");
    }

    #[test]
    fn words_are_whole_and_no_comments() {
        let text = "\\* Inv\nINIT Init\n(* Inv\n Inv *) INVARIANT Invs Inv\n";
        assert_eq!(named(text, "'Inv' is nowhere").to_string(), ":4:24");
        assert_eq!(named(text, "substitution 'Init <- A': none").to_string(), ":2:6");
        assert_eq!(named(text, "'Other' is nowhere"), Place::Whole);
        assert_eq!(named(text, "nothing is quoted"), Place::Whole);
    }
}
