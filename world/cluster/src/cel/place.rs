//! Where in its source a part of an expression stands: the crate's syntax trees don't say, so the checker
//! counts. It visits the parts of one sort (identifiers `x`, selections `.x`, calls `x(`, an operator) in the
//! order in which they are written; the n-th of them is the n-th such token.

use std::collections::HashMap;

/// What can be looked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// `x`, at its start.
    Ident(String),
    /// `.x` or `.?x`, at the dot.
    Select(String),
    /// `x(` or `.x(`, at the parenthesis.
    Call(String),
    /// A number, a string, `true`, `false` or `null`; at its start.
    Literal,
    /// An operator.
    Operator(&'static str),
}

/// A source, and how often each part was visited.
pub(super) struct Places<'a> {
    source: &'a str,
    /// Offsets, in characters, of each part's occurrences.
    all: HashMap<Part, Vec<usize>>,
    visited: HashMap<Part, usize>,
}

/// Longer ones first.
const OPERATORS: [&str; 16] =
    ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", "["];

/// Lexemes with their offsets.
enum Token<'a> {
    Word(&'a str),
    Literal,
    Operator(&'static str),
    Other(char),
}

impl<'a> Places<'a> {
    pub(super) fn new(source: &'a str) -> Places<'a> {
        let tokens = tokens(source);
        let mut all: HashMap<Part, Vec<usize>> = HashMap::new();
        let is = |at: Option<usize>, letter: char| {
            let token = at.and_then(|at| tokens.get(at));
            matches!(token, Some((Token::Other(found), _)) if *found == letter)
        };
        for (at, (token, offset)) in tokens.iter().enumerate() {
            let (part, place) = match token {
                Token::Operator("?") if is(at.checked_sub(1), '.') => continue,
                Token::Operator(operator) => (Part::Operator(operator), *offset),
                Token::Literal => (Part::Literal, *offset),
                Token::Other(_) => continue,
                Token::Word(word) => {
                    let optional = at > 0 && matches!(tokens[at - 1].0, Token::Operator("?"));
                    let dot = at.checked_sub(if optional { 2 } else { 1 });
                    let word = (*word).to_owned();
                    match (is(Some(at + 1), '('), is(dot, '.')) {
                        (true, _) => (Part::Call(word), tokens[at + 1].1),
                        (false, true) => {
                            (Part::Select(word), dot.map_or(*offset, |dot| tokens[dot].1))
                        }
                        (false, false) => (Part::Ident(word), *offset),
                    }
                }
            };
            all.entry(part).or_default().push(place);
        }
        Places { source, all, visited: HashMap::new() }
    }

    /// The place of the next occurrence of a part; the start where there is none (what macros made).
    pub(super) fn next(&mut self, part: Part) -> usize {
        let Some(places) = self.all.get(&part) else { return 0 };
        let visited = self.visited.entry(part).or_default();
        let place = places.get(*visited).or(places.last()).copied().unwrap_or(0);
        *visited += 1;
        place
    }

    /// Whether there is such a part.
    pub(super) fn has(&self, part: &Part) -> bool {
        self.all.contains_key(part)
    }

    /// An error as cel-go prints it (`common.Error.ToDisplayString`).
    pub(super) fn describe(&self, offset: usize, message: &str) -> String {
        describe(self.source, offset, message)
    }
}

/// See [`Places::describe`].
pub(super) fn describe(source: &str, offset: usize, message: &str) -> String {
    let mut start = 0;
    let mut found = (1, "", offset);
    for (number, line) in source.split('\n').enumerate() {
        let length = line.chars().count();
        found = (number + 1, line, offset - start);
        if offset <= start + length {
            break;
        }
        start += length + 1;
    }
    let (number, line, column) = found;
    let (line, dots) = (line.replace('\t', " "), ".".repeat(column));
    format!("ERROR: <input>:{number}:{}: {message}\n | {line}\n | {dots}^", column + 1)
}

fn tokens(source: &str) -> Vec<(Token<'_>, usize)> {
    let mut found = Vec::new();
    let (mut rest, mut offset) = (source, 0);
    while let Some(first) = rest.chars().next() {
        let word = rest
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .unwrap_or(rest.len());
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
        let length = if first == '"' || first == '\'' {
            found.push((Token::Literal, offset));
            literal(rest)
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if word > 0 {
            let quote = rest[word..].chars().next().filter(|letter| matches!(letter, '"' | '\''));
            let named = matches!(&rest[..word], "true" | "false" | "null");
            let number = first.is_ascii_digit();
            if number || named || (quote.is_some() && word <= 2) {
                found.push((Token::Literal, offset));
            } else {
                found.push((Token::Word(&rest[..word]), offset));
            }
            // A prefix is a part of its string, a fraction of its number.
            let rest = &rest[word..];
            let fraction = rest.strip_prefix('.').filter(|_| number).map_or(0, |digits| {
                let digits = digits.len()
                    - digits.trim_start_matches(|d: char| d.is_ascii_alphanumeric()).len();
                if digits > 0 { digits + 1 } else { 0 }
            });
            word + fraction + if quote.is_some() && word <= 2 && !named { literal(rest) } else { 0 }
        } else if let Some(operator) = operator {
            found.push((Token::Operator(operator), offset));
            operator.len()
        } else {
            if !first.is_whitespace() {
                found.push((Token::Other(first), offset));
            }
            first.len_utf8()
        };
        offset += rest[..length].chars().count();
        rest = &rest[length..];
    }
    found
}

/// How long the string literal is that the text begins with.
fn literal(text: &str) -> usize {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let end = if text.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = end.len();
    while at < text.len() {
        if text[at..].starts_with(end) {
            return at + end.len();
        }
        let letter = text[at..].chars().next().map_or(1, char::len_utf8);
        let escaped = text[at..].starts_with('\\');
        at += letter
            + if escaped {
                text[at + letter..].chars().next().map_or(0, char::len_utf8)
            } else {
                0
            };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_in_their_order() {
        let check = |source: &str, part: Part, expect: &[usize]| {
            let mut places = Places::new(source);
            let found: Vec<usize> = expect.iter().map(|_| places.next(part.clone())).collect();
            assert_eq!(found, expect, "{source}");
        };
        check("self.a == self.b", Part::Ident("self".into()), &[0, 10]);
        check("'self' == self.?b.c", Part::Ident("self".into()), &[10]);
        check("self.?b.c", Part::Select("b".into()), &[4]);
        check("a.size() > size(b)", Part::Call("size".into()), &[6, 15]);
        check("a >= 1 ? a > 2 : b", Part::Operator(">"), &[11]);
    }

    #[test]
    fn errors_show_their_line() {
        assert_eq!(describe("a ||\n  b", 7, "m"), "ERROR: <input>:2:3: m\n |   b\n | ..^");
    }
}
