//! The one layout of PlusCal's translation that the crate's parser does not take.
//!
//! A `Next` that is longer than a line goes on with `\/` in another column than its first line has it in:
//!
//! ```text
//! Next == Start \/ CreateObject \/ MarkCreated \/ RebootDuringMarkingCreation
//!            \/ RebootDuringCreation
//! ```
//!
//! TLA+ allows that, because it is no list with bullets (Specifying Systems, 15.2.2); the crate (0.24.11,
//! `parser/expr.rs`) takes the first `\/` for a bullet and is lost at the second line. Between parentheses it is not. The
//! lines stay the same.

const BEGIN: &str = "BEGIN TRANSLATION";
const END: &str = "END TRANSLATION";
const NEXT: &str = "Next == ";

/// The same module, with the body of the translation's `Next` in parentheses if it goes over lines.
pub(super) fn in_parentheses(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let inside = lines.iter().position(|line| line.contains(BEGIN));
    let outside = lines.iter().position(|line| line.contains(END));
    let (Some(inside), Some(outside)) = (inside, outside) else { return text.to_owned() };
    let next = (inside..outside).find(|at| lines[*at].starts_with(NEXT));
    let Some(next) = next else { return text.to_owned() };
    let is_end = |at: &usize| lines[*at].trim().is_empty();
    let last = (next..outside).find(is_end).unwrap_or(outside) - 1;
    if last > next {
        lines[next].insert(NEXT.len(), '(');
        lines[last].push(')');
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_next_of_a_translation_is_changed() {
        let check = |text: &str, expect: &str| assert_eq!(in_parentheses(text), expect);
        check("Next == A\n  \\/ B\n", "Next == A\n  \\/ B\n");
        let around = |text: &str| format!("\\* BEGIN TRANSLATION\n{text}\n\n\\* END TRANSLATION\n");
        check(&around("Next == A \\/ B"), &around("Next == A \\/ B"));
        check(&around("Next == A \\/ B\n  \\/ C"), &around("Next == (A \\/ B\n  \\/ C)"));
    }
}
