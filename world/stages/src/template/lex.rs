//! From text to pieces, and from an action to words.

use serde_json::Value;

use super::TemplateError;

/// Text, or what stands between `{{` and `}}`, with its line.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Action(u64, Vec<Word>),
}

/// A word of an action.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// Of a function, a keyword, `true`, `false`, `nil`.
    Name(String),
    /// `.a` is `a`; `.` is empty. `glued`: no space before it, so it is a field of what stands there.
    Field {
        name: String,
        glued: bool,
    },
    Variable(String),
    Literal(Value),
    Open,
    Close,
    Pipe,
    Comma,
    Declare,
    Assign,
}

fn wrong(line: u64, message: impl Into<String>) -> TemplateError {
    TemplateError { line, message: message.into() }
}

/// All of a template.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let (mut pieces, mut rest, mut line, mut trim) = (vec![], text, 1, false);
    while let Some(open) = rest.find("{{") {
        let (before, after) = (&rest[..open], &rest[open + 2..]);
        line += lines(before);
        let before = if trim { before.trim_start() } else { before };
        let cut = after.starts_with('-') && after[1..].starts_with(char::is_whitespace);
        let before = if cut { before.trim_end() } else { before };
        pieces.push(Piece::Text(before.to_owned()));
        let inner = if cut { &after[1..] } else { after };
        let end = end(inner).ok_or_else(|| wrong(line, "an action has no end: write }}"))?;
        let action = &inner[..end];
        trim = action.ends_with('-') && action[..end - 1].ends_with(char::is_whitespace);
        let action = if trim { &action[..end - 1] } else { action };
        if !action.trim_start().starts_with("/*") {
            pieces.push(Piece::Action(line, words(action, line)?));
        }
        line += lines(action);
        rest = &inner[end + 2..];
    }
    pieces.push(Piece::Text(if trim { rest.trim_start() } else { rest }.to_owned()));
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    Ok(pieces)
}

fn lines(text: &str) -> u64 {
    text.matches('\n').count() as u64
}

/// Where the `}}` of an action stands; not inside a text or a comment.
fn end(action: &str) -> Option<usize> {
    if let Some(comment) = action.trim_start().strip_prefix("/*") {
        let begin = action.len() - comment.len();
        let close = begin + comment.find("*/")? + 2;
        return Some(close + action[close..].find("}}")?);
    }
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in action.char_indices() {
        match quote {
            Some(mark) => {
                let over = c == mark && !escaped;
                escaped = c == '\\' && !escaped && mark != '`';
                quote = quote.filter(|_| !over);
            }
            None if matches!(c, '"' | '`' | '\'') => quote = Some(c),
            None if action[at..].starts_with("}}") => return Some(at),
            None => {}
        }
    }
    None
}

/// All of an action.
fn words(action: &str, line: u64) -> Result<Vec<Word>, TemplateError> {
    let (mut words, mut rest, mut glued) = (vec![], action, false);
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() {
            (rest, glued) = (&rest[c.len_utf8()..], false);
            continue;
        }
        let (word, length) = word(rest, glued).map_err(|message| wrong(line, message))?;
        words.push(word);
        (rest, glued) = (&rest[length..], true);
    }
    Ok(words)
}

/// The first word, and its length.
fn word(rest: &str, glued: bool) -> Result<(Word, usize), String> {
    let name = |from: usize| {
        let plain = |c: char| !(c.is_alphanumeric() || c == '_');
        from + rest[from..].find(plain).unwrap_or(rest.len() - from)
    };
    let first = rest.chars().next().unwrap_or(' ');
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    Ok(match first {
        '(' => (Word::Open, 1),
        ')' => (Word::Close, 1),
        '|' => (Word::Pipe, 1),
        ',' => (Word::Comma, 1),
        ':' if rest.starts_with(":=") => (Word::Declare, 2),
        '=' => (Word::Assign, 1),
        '"' | '`' | '\'' => quoted(rest, first)?,
        '$' => (Word::Variable(rest[1..name(1)].to_owned()), name(1)),
        '.' if !digit(&rest[1..]) => {
            (Word::Field { name: rest[1..name(1)].to_owned(), glued }, name(1))
        }
        c if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => {
            let length = 1 + rest[1..]
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'))
                .unwrap_or(rest.len() - 1);
            (Word::Literal(number(&rest[..length])?), length)
        }
        c if c.is_alphabetic() || c == '_' => (Word::Name(rest[..name(0)].to_owned()), name(0)),
        c => return Err(format!("unexpected {c:?}")),
    })
}

fn number(text: &str) -> Result<Value, String> {
    let plain = text.strip_prefix('+').unwrap_or(text).replace('_', "");
    let whole = match plain.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => plain.parse().ok(),
    };
    let value = whole.map(Value::from).or_else(|| plain.parse::<f64>().ok().map(Value::from));
    value.ok_or_else(|| format!("{text:?} is no number"))
}

/// A text, and its length with its quotes. A character is its number, as in Go.
fn quoted(rest: &str, mark: char) -> Result<(Word, usize), String> {
    let (mut text, mut chars) = (String::new(), rest.char_indices().skip(1));
    while let Some((at, c)) = chars.next() {
        if c == mark {
            let value = match mark {
                '\'' => Value::from(text.chars().next().map_or(0, u32::from)),
                _ => Value::from(text),
            };
            return Ok((Word::Literal(value), at + 1));
        }
        if c != '\\' || mark == '`' {
            text.push(c);
            continue;
        }
        text.push(match chars.next().map(|(_, c)| c) {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some(c @ ('"' | '\'' | '\\')) => c,
            other => {
                return Err(format!(
                    "\\{} in a text: write the character itself",
                    other.unwrap_or(' ')
                ));
            }
        });
    }
    Err(format!("a text has no end: write {mark}"))
}
