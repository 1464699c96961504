//! Label selectors in the text form of requests (`labels.Parse`).

use std::fmt;

use serde_json::Value;

/// A label selector: all of its requirements hold. None: everything is selected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Requirement {
    key: String,
    /// The label has one of these values; none: any.
    values: Option<Vec<String>>,
    /// Whether the requirement is that this is not so.
    negated: bool,
}

impl Selector {
    /// Reads a selector. One that is not understood selects everything: the server may refuse it, or know more.
    pub fn parse(text: &str) -> Selector {
        let requirements: Option<Vec<Requirement>> =
            split(text).into_iter().map(|part| Requirement::parse(part.trim())).collect();
        Selector(requirements.unwrap_or_default())
    }

    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub fn selects(&self, labels: &Value) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key).and_then(Value::as_str);
            let is_so = value.is_some_and(|value| match &requirement.values {
                Some(values) => values.iter().any(|wanted| wanted == value),
                None => true,
            });
            is_so != requirement.negated
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Requirement { key, values, negated }) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match (values.as_deref(), negated) {
                (None, false) => write!(f, "{comma}{key}")?,
                (None, true) => write!(f, "{comma}!{key}")?,
                (Some([value]), false) => write!(f, "{comma}{key}={value}")?,
                (Some([value]), true) => write!(f, "{comma}{key}!={value}")?,
                (Some(values), false) => write!(f, "{comma}{key} in ({})", values.join(","))?,
                (Some(values), true) => write!(f, "{comma}{key} notin ({})", values.join(","))?,
            }
        }
        Ok(())
    }
}

/// At commas outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

impl Requirement {
    fn parse(text: &str) -> Option<Requirement> {
        let of = |key: &str, values: Option<Vec<String>>, negated: bool| {
            let key = key.trim();
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
            let valid = !key.is_empty() && key.bytes().all(plain);
            valid.then(|| Requirement { key: key.to_owned(), values, negated })
        };
        let one = |value: &str| Some(vec![value.trim().to_owned()]);
        if let Some(inside) = text.strip_suffix(')') {
            let (head, values) = inside.split_once('(')?;
            let (key, operator) = head.trim().rsplit_once(' ')?;
            let mut values: Vec<String> =
                values.split(',').map(|value| value.trim().to_owned()).collect();
            values.sort();
            return match operator {
                "in" => of(key, Some(values), false),
                "notin" => of(key, Some(values), true),
                _ => None,
            };
        }
        if let Some((key, value)) = text.split_once("!=") {
            return of(key, one(value), true);
        }
        if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return of(key, one(value), false);
        }
        match text.strip_prefix('!') {
            Some(key) => of(key, None, true),
            None => of(text, None, false),
        }
    }
}
