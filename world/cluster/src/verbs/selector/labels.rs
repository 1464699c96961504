//! Label selectors: upstream's lexer and parser (`k8s.io/apimachinery/pkg/labels/selector.go`), with its sentences.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    status::Refusal,
    verbs::{label_value_problems, qualified_name_problems},
};

/// A parsed label selector; matches everything when empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl Labels {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`. Errors: 400.
    pub fn parse(text: &str) -> Result<Labels, Refusal> {
        Parser { tokens: tokens(text), at: 0 }.selector().map(Labels).map_err(Refusal::bad_request)
    }

    /// Whether it selects nothing in particular.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the object's labels satisfy it.
    pub fn matches(&self, object: &Value) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
        self.0.iter().all(|requirement| {
            let value =
                labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.test {
                Test::In(values) => value.is_some_and(|value| values.contains(value)),
                Test::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::Greater(than) => number().is_some_and(|number| number > *than),
                Test::Less(than) => number().is_some_and(|number| number < *than),
            }
        })
    }
}

/// A keyword, a symbol, an identifier (also `in` and `notin`, which are names where one is expected), or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Symbol(&'a str),
    Word(&'a str),
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Token::Symbol(text) | Token::Word(text) => text,
            Token::End => "",
        }
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ">", "<", "(", ")", ","];

/// Every text has tokens.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let special = |letter: char| "=!(),><".contains(letter);
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
    while !rest.is_empty() {
        let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
        let length = match symbol {
            Some(symbol) => symbol.len(),
            None => {
                let ends = |letter: char| special(letter) || " \t\r\n".contains(letter);
                rest.find(ends).unwrap_or(rest.len())
            }
        };
        let (token, after) = rest.split_at(length);
        tokens.push(if symbol.is_some() { Token::Symbol(token) } else { Token::Word(token) });
        rest = after.trim_start_matches([' ', '\t', '\r', '\n']);
    }
    tokens.push(Token::End);
    tokens
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                Token::End => return Ok(requirements),
                other => {
                    let found = other.text();
                    return Err(format!(
                        "found '{found}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
            let requirement = self.requirement();
            requirements
                .push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Symbol(",")
                    if matches!(self.peek(), Token::Word(_) | Token::Symbol("!")) => {}
                Token::Symbol(",") => {
                    let found = self.peek().text();
                    return Err(format!("found '{found}', expected: identifier after ','"));
                }
                other => {
                    let found = other.text();
                    return Err(format!("found '{found}', expected: ',' or 'end of string'"));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == Token::Symbol("!");
        if absent {
            self.next();
        }
        let Token::Word(key) = self.next() else {
            self.at -= 1;
            return Err(format!("found '{}', expected: identifier", self.peek().text()));
        };
        check_key(key)?;
        let key = key.to_owned();
        if absent {
            return Ok(Requirement { key, test: Test::Absent });
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement { key, test: Test::Exists });
        }
        let operator = self.next().text();
        let values = match operator {
            "in" | "notin" => self.values()?,
            "=" | "==" | "!=" | ">" | "<" => BTreeSet::from([self.value()?]),
            other => {
                return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        let test = match operator {
            ">" => Test::Greater(number(&values)?),
            "<" => Test::Less(number(&values)?),
            "notin" | "!=" => Test::NotIn(values),
            _ => Test::In(values),
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            check_values(&key, values)?;
        }
        Ok(Requirement { key, test })
    }

    /// `(a, b)`; between commas may be nothing, which is the empty value.
    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            Token::Word(_) | Token::Symbol(",") => {}
            Token::Symbol(")") => {
                self.next();
                return Ok(BTreeSet::from([String::new()]));
            }
            other => {
                return Err(format!("found '{}', expected: ',', ')' or identifier", other.text()));
            }
        }
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value.to_owned());
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => {
                            self.next();
                            return Ok(values);
                        }
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                        }
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() || self.peek() == Token::Symbol(",") {
                        values.insert(String::new());
                    }
                    if self.peek() == Token::Symbol(")") {
                        self.next();
                        values.insert(String::new());
                        return Ok(values);
                    }
                }
                other => {
                    return Err(format!("found '{}', expected: ',', or identifier", other.text()));
                }
            }
        }
    }

    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            Token::Word(value) => {
                self.next();
                Ok(value.to_owned())
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }
}

fn number(values: &BTreeSet<String>) -> Result<i64, String> {
    let value = values.first().map_or("", String::as_str);
    value.parse().map_err(|_| {
        format!(
            "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
        )
    })
}

fn check_key(key: &str) -> Result<(), String> {
    match &qualified_name_problems(key)[..] {
        [] => Ok(()),
        problems => Err(format!("<nil>: Invalid value: {key:?}: {}", problems.join("; "))),
    }
}

fn check_values(key: &str, values: &BTreeSet<String>) -> Result<(), String> {
    for (index, value) in values.iter().enumerate() {
        let problems = label_value_problems(value);
        if !problems.is_empty() {
            let why = problems.join("; ");
            return Err(format!("values[{index}][{key}]: Invalid value: {value:?}: {why}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_match_as_upstreams() {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "x", "e/f": "y"}}});
        let cases = [
            ("", true),
            ("a=1", true),
            ("a==1,b=x", true),
            ("a=2", false),
            ("a!=2", true),
            ("zz!=2", true),
            ("a in (1, 2)", true),
            ("a notin (1,2)", false),
            ("zz notin (1)", true),
            ("zz in (1)", false),
            ("e/f", true),
            ("!e/f", false),
            ("!zz", true),
            ("zz", false),
            ("a>0", true),
            ("a<1", false),
            ("a in (1),b notin (y,z),!c", true),
        ];
        for (text, expect) in cases {
            let selector = Labels::parse(text).expect(text);
            assert_eq!(selector.matches(&object), expect, "{text}");
        }
    }

    #[test]
    fn errors_are_upstreams() {
        let cases = [
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("a in 1", "unable to parse requirement: found '1' expected: '('"),
            ("a in (1", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in ((", "unable to parse requirement: found '(', expected: ',', ')' or identifier"),
            ("=1", "found '=', expected: !, identifier, or 'end of string'"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("a,", "found '', expected: identifier after ','"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            ("a===1", "unable to parse requirement: found '=', expected: identifier"),
            (
                "a!",
                "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the \
                 value must be an integer",
            ),
            (
                "/a",
                "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty",
            ),
        ];
        for (text, expect) in cases {
            assert_eq!(Labels::parse(text).expect_err(text).message, expect, "{text}");
        }
        for text in ["a in ()", "a in (,)", "in", "a=in", "a in (b,,c)", ""] {
            assert!(Labels::parse(text).is_ok(), "{text}");
        }
    }
}
