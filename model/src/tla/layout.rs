//! What of a module's text the crate's parser does not take, in other words. Lines and columns stay the same.
//!
//! What stands before the line of `---- MODULE`, and comments, which may have comments in them (Specifying Systems, 15.1),
//! become blanks.
//!
//! And a `Next` that is longer than a line goes on with `\/` in another column than its first line has it in:
//!
//! ```text
//! Next == Start \/ CreateObject \/ MarkCreated \/ RebootDuringMarkingCreation
//!            \/ RebootDuringCreation
//! ```
//!
//! TLA+ allows that, because it is no list with bullets (Specifying Systems, 15.2.2); the crate (0.24.11,
//! `parser/expr.rs`) takes the first `\/` for a bullet and is lost at the second line. Between parentheses it is not.

const BEGIN: &str = "BEGIN TRANSLATION";
const END: &str = "END TRANSLATION";
const NEXT: &str = "Next == ";

/// The same module as the crate's parser takes it.
pub(super) fn plain(text: &str) -> String {
    in_parentheses(text, &without_comments(text))
}

/// With blanks for comments, and for what stands before the module.
fn without_comments(text: &str) -> String {
    let Some(begin) = beginning(text) else { return text.to_owned() };
    let mut plain = String::with_capacity(text.len());
    blank(&mut plain, &text[..begin]);
    let mut rest = &text[begin..];
    while let Some(next) = rest.chars().next() {
        let comment = comment(rest);
        let length = comment.or_else(|| string(rest)).unwrap_or(next.len_utf8());
        let (now, then) = rest.split_at(length);
        match comment {
            Some(_) => blank(&mut plain, now),
            None => plain += now,
        }
        rest = then;
    }
    plain
}

/// Where the line `---- MODULE` begins.
fn beginning(text: &str) -> Option<usize> {
    let begins = |line: &str| {
        let line = line.trim_start();
        line.starts_with("----") && line.trim_start_matches('-').trim_start().starts_with("MODULE")
    };
    let before = text.split_inclusive('\n').take_while(|line| !begins(line));
    let at = before.map(str::len).sum();
    (at < text.len()).then_some(at)
}

fn blank(into: &mut String, text: &str) {
    into.extend(text.chars().map(|c| if c == '\n' { c } else { ' ' }));
}

/// The length of the comment that a text begins with. One without an end is none.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("\\*") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let mut open = 0usize;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with("(*") {
            (open, at) = (open + 1, at + 2);
        } else if open > 0 && rest.starts_with("*)") {
            (open, at) = (open - 1, at + 2);
        } else {
            at += rest.chars().next()?.len_utf8();
        }
        match open {
            0 if at > 1 && text.starts_with("(*") => return Some(at),
            0 => return None,
            _ => {}
        }
    }
}

/// The length of the string that a text begins with: up to its end, or that of its line.
fn string(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.find(|c: char| {
        let ends = c == '\n' || (c == '"' && !escaped);
        escaped = c == '\\' && !escaped;
        ends
    });
    Some(end.map_or(text.len(), |end| end + 2))
}

/// Where a name stands in a text without comments: the first place, outside of strings.
pub(super) fn place_of(text: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut at, mut before) = (0, ' ');
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let ends = |rest: &str| !rest.chars().next().is_some_and(is_part);
        if !is_part(before) && rest.strip_prefix(name).is_some_and(ends) {
            return Some(at);
        }
        before = next;
        at += string(rest).unwrap_or(next.len_utf8());
    }
    None
}

/// With the body of the translation's `Next` in parentheses if it goes over lines. The marks of the translation are
/// comments.
fn in_parentheses(text: &str, plain: &str) -> String {
    let mut lines: Vec<String> = plain.lines().map(str::to_owned).collect();
    let inside = text.lines().position(|line| line.contains(BEGIN));
    let outside = text.lines().position(|line| line.contains(END));
    let (Some(inside), Some(outside)) = (inside, outside) else { return plain.to_owned() };
    let next = (inside..outside).find(|at| lines[*at].starts_with(NEXT));
    let Some(next) = next else { return plain.to_owned() };
    // The next definition begins a line.
    let is_end = |at: &usize| lines[*at].is_empty() || !lines[*at].starts_with(' ');
    let last = (next + 1..outside).find(is_end).unwrap_or(outside) - 1;
    let last = (next..=last).rfind(|at| !lines[*at].trim().is_empty()).unwrap_or(next);
    if last > next {
        lines[next].insert(NEXT.len(), '(');
        let end = lines[last].trim_end().len();
        lines[last].insert(end, ')');
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_next_of_a_translation_is_changed() {
        let check = |text: &str, expect: &str| assert_eq!(in_parentheses(text, text), expect);
        check("Next == A\n  \\/ B\n", "Next == A\n  \\/ B\n");
        let around = |text: &str| format!("\\* BEGIN TRANSLATION\n{text}\n\n\\* END TRANSLATION\n");
        check(&around("Next == A \\/ B"), &around("Next == A \\/ B"));
        check(&around("Next == A \\/ B\n  \\/ C"), &around("Next == (A \\/ B\n  \\/ C)"));
        check(
            &around("Next == A \\/ B\n  \\/ C  \nSpec == Next"),
            &around("Next == (A \\/ B\n  \\/ C)  \nSpec == Next"),
        );
    }

    #[test]
    fn comments_and_what_stands_before_are_blanks() {
        let check = |text: &str, expect: &str| assert_eq!(plain(text), expect, "{text}");
        let module = "---- MODULE M ----\n";
        let same = |text: &str| check(&format!("{module}{text}"), &format!("{module}{text}"));
        check(&format!("it (* \"é\n{module}"), &format!("        \n{module}"));
        let inside = |text: &str, expect: &str| {
            check(&format!("{module}{text}"), &format!("{module}{expect}"));
        };
        inside("a (* b (* c *)\n d *) e", "a             \n      e");
        inside("a \\* b (*\nc", "a        \nc");
        same("a == \"(* \\\" b\" *)");
        same("(* no end");
        same("f(*) ");
        check("no module (* a *)", "no module (* a *)");
        check("==== (* a *)\n", "==== (* a *)\n");
    }

    #[test]
    fn names_are_found_outside_of_strings() {
        let check = |text: &str, expect: Option<usize>| assert_eq!(place_of(text, "ab"), expect);
        check("abc \"ab\" ab", Some(9));
        check("xab ab", Some(4));
        check("xab", None);
    }
}
