//! Arithmetic operators, which chainsaw's engine has and standard JMESPath has not: `$index + $offset`.
//!
//! `a + b * c` is written anew as `add(a, multiply(b, c))` before the standard parser sees it. Operators bind more
//! tightly than comparisons and less than `.` and `[…]`; an operator is one only after an operand, so
//! that `[*]`, `a.*` and `[-1]` stay what they are. Text without operators comes out as it went in.

/// Writes operators as calls.
pub(super) fn rewrite(text: &str) -> String {
    let mut rewriter = Rewriter { text: text.chars().collect(), at: 0 };
    let mut out = rewriter.group(None);
    // A bracket that closes nothing: the parser will say so.
    while rewriter.at < rewriter.text.len() {
        out.push(rewriter.text[rewriter.at]);
        rewriter.at += 1;
        out.push_str(&rewriter.group(None));
    }
    out
}

struct Rewriter {
    text: Vec<char>,
    at: usize,
}

/// Operands of one segment, each with the operator before it.
#[derive(Default)]
struct Chain {
    terms: Vec<(char, String)>,
    operator: Option<char>,
    operand: String,
}

impl Rewriter {
    /// Rewrites up to the bracket that closes this group, which is left to the caller.
    fn group(&mut self, close: Option<char>) -> String {
        let mut out = String::new();
        let mut chain = Chain::default();
        while let Some(&character) = self.text.get(self.at) {
            match character {
                '\'' | '"' | '`' => self.quoted(character, &mut chain.operand),
                '(' | '[' | '{' => self.bracket(character, &mut chain.operand),
                ')' | ']' | '}' if close == Some(character) || close.is_none() => break,
                ',' | ':' | '|' | '&' | '=' | '!' | '<' | '>' | '?' => {
                    out.push_str(&std::mem::take(&mut chain).finish());
                    out.push(character);
                    self.at += 1;
                }
                '+' | '-' | '*' | '/' | '%' if chain.has_operand() => {
                    chain.push(character);
                    self.at += 1;
                }
                _ => {
                    chain.operand.push(character);
                    self.at += 1;
                }
            }
        }
        out + &chain.finish()
    }

    fn bracket(&mut self, open: char, operand: &mut String) {
        let close = match open {
            '(' => ')',
            '[' => ']',
            _ => '}',
        };
        self.at += 1;
        operand.push(open);
        operand.push_str(&self.group(Some(close)));
        if self.at < self.text.len() {
            operand.push(close);
            self.at += 1;
        }
    }

    fn quoted(&mut self, quote: char, operand: &mut String) {
        operand.push(quote);
        self.at += 1;
        while let Some(&character) = self.text.get(self.at) {
            operand.push(character);
            self.at += 1;
            match character {
                '\\' => {
                    operand.extend(self.text.get(self.at));
                    self.at += 1;
                }
                _ if character == quote => return,
                _ => {}
            }
        }
    }
}

impl Chain {
    fn has_operand(&self) -> bool {
        let operand = self.operand.trim_end();
        !operand.is_empty() && !operand.ends_with('.')
    }

    fn push(&mut self, next: char) {
        let before = self.operator.replace(next).unwrap_or('+');
        self.terms.push((before, std::mem::take(&mut self.operand)));
    }

    /// Products first, then sums, each from the left.
    fn finish(mut self) -> String {
        let Some(last) = self.operator else { return self.operand };
        self.terms.push((last, self.operand));
        let mut sums: Vec<(char, String)> = Vec::new();
        for (operator, operand) in self.terms {
            let operand = operand.trim();
            match (operator, sums.last_mut()) {
                ('*' | '/' | '%', Some((_, product))) => {
                    *product = call(operator, product, operand)
                }
                _ => sums.push((operator, operand.to_owned())),
            }
        }
        let sum = sums
            .into_iter()
            .reduce(|(first, left), (operator, right)| (first, call(operator, &left, &right)));
        sum.map(|(_, text)| text).unwrap_or_default()
    }
}

fn call(operator: char, left: &str, right: &str) -> String {
    let name = match operator {
        '+' => "add",
        '-' => "subtract",
        '*' => "multiply",
        '/' => "divide",
        _ => "modulo",
    };
    format!("{name}({left}, {right})")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn operators_are_calls() {
        for (text, expect) in [
            ("a + b", "add(a, b)"),
            ("$i + `1`", "add($i, `1`)"),
            ("a - b - c", "subtract(subtract(a, b), c)"),
            ("a + b * c", "add(a, multiply(b, c))"),
            ("a * b + c / d % e", "add(multiply(a, b), modulo(divide(c, d), e))"),
            ("(a + b) * c", "multiply((add(a, b)), c)"),
            ("length(x) + length(y) == `3`", "add(length(x), length(y))== `3`"),
            ("f(a + b, c)", "f(add(a, b), c)"),
            ("x[?a + b > `2`].c", "x[?add(a, b)> `2`].c"),
            ("a.* + b[-1]", "add(a.*, b[-1])"),
            ("x && a - b || c", "x &&subtract(a, b)|| c"),
            ("{k: a + b}", "{k:add(a, b)}"),
        ] {
            assert_eq!(rewrite(text), expect, "{text}");
        }
    }

    #[test]
    fn all_else_stays() {
        for text in [
            "a.b[*].c[-1]",
            "a[1:-1]",
            "*.a",
            "a.*",
            "'a + b'",
            "`-1`",
            "\"a-b\".c",
            "a[?b == '-']",
            "f(&a, @)",
            "[*]",
            "a[*].*.b",
            "(a",
            "a)",
            "'open + ",
            "!a && b",
            "a[?contains(@, 'x')] | [0]",
        ] {
            assert_eq!(rewrite(text), text);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[a-c$'`\"()\\[\\]{},.*+/% \\\\-]{0,24}") {
            rewrite(&text);
        }
    }
}
