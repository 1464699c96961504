//! Reads TLA+ values: the literals that TLC prints.
//!
//! Integers, strings, `TRUE` and `FALSE`, model values, `<<..>>`, `{..}`, `[k |-> v, ..]`, `(k :> v @@ ..)` and `a..b`
//! (Specifying Systems, chapter 16; TLC's `Value.toString`). What TLC prints for a set that it did not enumerate, as
//! `SUBSET {1}` or `[{1} -> {2}]`, is no literal: an error.

use super::{
    error::{Place, Problem},
    value::{ESCAPES, Value, is_identifier},
};

/// A range with more elements than this is not read: as a set it would fill the memory.
const RANGE_ELEMENTS_MAX: i128 = 1 << 16;

/// Literals may be this deep in each other.
const DEPTH_MAX: usize = 200;

/// Reads `text`, which is one value and nothing else.
///
/// # Errors
///
/// Line and column, and what was expected there.
pub fn parse(text: &str) -> Result<Value, super::ReadError> {
    whole(text, 1, 1).map_err(|problem| problem.of("value"))
}

/// The same, for a text that begins at `line` and `column` of a file.
pub(crate) fn whole(text: &str, line: usize, column: usize) -> Result<Value, Problem> {
    let mut cursor = Cursor::new(text, line, column);
    let value = cursor.value()?;
    cursor.skip_space();
    if cursor.rest.is_empty() { Ok(value) } else { Err(cursor.expected("the end of the value")) }
}

/// A place in a text that is being read.
pub(crate) struct Cursor<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `text`, which begins at `line` and `column` of a file.
    pub(crate) fn new(text: &'a str, line: usize, column: usize) -> Self {
        Self { rest: text, line, column, depth: 0 }
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Where this is.
    pub(crate) fn place(&self) -> Place {
        Place::At { line: self.line, column: self.column }
    }

    /// Says that `what` was expected here, and what stands here.
    pub(crate) fn expected(&self, what: &str) -> Problem {
        let found: String = self.rest.chars().take_while(|c| *c != '\n').take(20).collect();
        let found = if self.rest.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        Problem { place: self.place(), what: format!("expected {what}, found {found}") }
    }

    /// Goes over the next `bytes` bytes, and gives them.
    pub(crate) fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        match taken.rfind('\n') {
            Some(at) => {
                self.line += taken.matches('\n').count();
                self.column = taken[at + 1..].chars().count() + 1;
            }
            None => self.column += taken.chars().count(),
        }
        self.rest = rest;
        taken
    }

    pub(crate) fn skip_space(&mut self) {
        self.take(self.rest.len() - self.rest.trim_start().len());
    }

    /// Goes over `token` and the space in front of it, if it is what comes next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let there = self.rest.starts_with(token);
        if there {
            self.take(token.len());
        }
        there
    }

    fn need(&mut self, token: &str) -> Result<(), Problem> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.take(self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len()))
    }

    /// One value.
    pub(crate) fn value(&mut self) -> Result<Value, Problem> {
        self.skip_space();
        if self.depth == DEPTH_MAX {
            return Err(self.expected(&format!("at most {DEPTH_MAX} values in each other")));
        }
        self.depth += 1;
        let value = match self.rest.as_bytes().first() {
            Some(b'"') => self.string().map(Value::Text),
            Some(b'<') => self.need("<<").and_then(|()| self.items(">>")).map(Value::Seq),
            Some(b'{') => self.need("{").and_then(|()| self.items("}")).map(Value::set),
            Some(b'[') => self.record(),
            Some(b'(') => self.function(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'A'..=b'Z' | b'a'..=b'z' | b'_') => Ok(match self.word() {
                "TRUE" => Value::Bool(true),
                "FALSE" => Value::Bool(false),
                name => Value::Model(name.to_owned()),
            }),
            _ => Err(self.expected("a value")),
        }?;
        self.depth -= 1;
        Ok(value)
    }

    /// Values with commas between them, up to `close`.
    pub(crate) fn items(&mut self, close: &str) -> Result<Vec<Value>, Problem> {
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() && !self.eat(",") {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
            items.push(self.value()?);
        }
        Ok(items)
    }

    fn record(&mut self) -> Result<Value, Problem> {
        self.need("[")?;
        let mut fields = Vec::new();
        loop {
            let name = self.word();
            if name.is_empty() {
                return Err(self.expected("the name of a field"));
            }
            self.need("|->")?;
            fields.push((name, self.value()?));
            if self.eat("]") {
                return Ok(Value::record(fields));
            }
            if !self.eat(",") {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn function(&mut self) -> Result<Value, Problem> {
        self.need("(")?;
        let mut pairs = Vec::new();
        loop {
            let key = self.value()?;
            self.need(":>")?;
            pairs.push((key, self.value()?));
            if self.eat(")") {
                // `f @@ g` is f where both are defined.
                return Ok(Value::function(pairs.into_iter().rev()));
            }
            if !self.eat("@@") {
                return Err(self.expected("`@@` or `)`"));
            }
        }
    }

    fn number(&mut self) -> Result<Value, Problem> {
        // A model value may begin with digits.
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word = &self.rest[..self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len())];
        if is_identifier(word) {
            return Ok(Value::Model(self.take(word.len()).to_owned()));
        }
        let first = self.integer()?;
        let here = self.place();
        if !self.eat("..") {
            return Ok(first);
        }
        self.skip_space();
        let last = self.integer()?;
        match (&first, &last) {
            (Value::Int(first), Value::Int(last))
                if last.saturating_sub(*first) < RANGE_ELEMENTS_MAX =>
            {
                Ok(Value::set((*first..=*last).map(Value::Int)))
            }
            _ => {
                let what = format!("{first}..{last} has more than {RANGE_ELEMENTS_MAX} elements");
                Err(Problem { place: here, what })
            }
        }
    }

    fn integer(&mut self) -> Result<Value, Problem> {
        let sign = usize::from(self.rest.starts_with('-'));
        let digits = self.rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        match Value::integer(&self.rest[..sign + digits]) {
            Some(number) => {
                self.take(sign + digits);
                Ok(number)
            }
            None => Err(self.expected("an integer")),
        }
    }

    /// A string in quotes.
    pub(crate) fn string(&mut self) -> Result<String, Problem> {
        let open = self.place();
        self.need("\"")?;
        let mut text = String::new();
        loop {
            let Some(next) = self.rest.chars().next() else {
                return Err(Problem { place: open, what: "this string has no end".to_owned() });
            };
            if next == '\\' {
                let written = self.rest[1..].chars().next();
                let escape = ESCAPES.iter().find(|(name, _)| Some(*name) == written);
                let Some((_, meant)) = escape else {
                    return Err(self.expected("one of \\\" \\\\ \\n \\t \\r \\f"));
                };
                text.push(*meant);
                self.take(2);
                continue;
            }
            self.take(next.len_utf8());
            if next == '"' {
                return Ok(text);
            }
            text.push(next);
        }
    }
}

#[cfg(test)]
mod tests;
