//! Label and field selectors.
//!
//! Grammar as in `k8s.io/apimachinery/pkg/labels` and `pkg/fields`; which fields can be selected is the
//! type's affair, so the caller passes what the object's fields are.

use serde_json::Value;

use crate::status::Refusal;

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
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl Labels {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`. Errors: 400.
    pub fn parse(text: &str) -> Result<Labels, Refusal> {
        let parts = split_outside_parentheses(text);
        let requirements = parts
            .into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| {
                requirement(part).ok_or_else(|| {
                    let message = format!(
                        "unable to parse requirement: found '{part}', expected: a label requirement"
                    );
                    Refusal::bad_request(message)
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Labels(requirements))
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
                Test::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
                Test::NotIn(values) => {
                    !value.is_some_and(|value| values.iter().any(|v| v == value))
                }
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::Greater(than) => number().is_some_and(|number| number > *than),
                Test::Less(than) => number().is_some_and(|number| number < *than),
            }
        })
    }
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn requirement(text: &str) -> Option<Requirement> {
    let make = |key: &str, test| {
        let key = key.trim();
        let legal = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
        (!key.is_empty() && key.chars().all(legal))
            .then(|| Requirement { key: key.to_owned(), test })
    };
    if let Some(key) = text.strip_prefix('!') {
        return make(key, Test::Absent);
    }
    if let Some(open) = text.find('(') {
        let values = text[open + 1..].trim().strip_suffix(')')?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let mut head = text[..open].split_whitespace();
        let (key, operator) = (head.next()?, head.next()?);
        return match (operator, head.next()) {
            ("in", None) => make(key, Test::In(values)),
            ("notin", None) => make(key, Test::NotIn(values)),
            _ => None,
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        return make(key, Test::NotIn(vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = text.split_once('=') {
        let value = value.strip_prefix('=').unwrap_or(value).trim();
        return make(key, Test::In(vec![value.to_owned()]));
    }
    if let Some((key, value)) = text.split_once('>') {
        return make(key, Test::Greater(value.trim().parse().ok()?));
    }
    if let Some((key, value)) = text.split_once('<') {
        return make(key, Test::Less(value.trim().parse().ok()?));
    }
    make(text, Test::Exists)
}

/// A parsed field selector: (field, must be equal, value).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields(Vec<(String, bool, String)>);

impl Fields {
    /// Reads `a=b,c==d,e!=f`; `problem` says why a field can't be selected by. Errors: 400.
    pub fn parse(text: &str, problem: impl Fn(&str) -> Option<String>) -> Result<Fields, Refusal> {
        let mut terms = Vec::new();
        for part in split_unescaped(text) {
            if part.is_empty() {
                continue;
            }
            let (field, equal, value) = if let Some((field, value)) = part.split_once("!=") {
                (field, false, value)
            } else if let Some((field, value)) = part.split_once("==") {
                (field, true, value)
            } else if let Some((field, value)) = part.split_once('=') {
                (field, true, value)
            } else {
                let message = format!("invalid selector: '{text}'; can't understand '{part}'");
                return Err(Refusal::bad_request(message));
            };
            if let Some(problem) = problem(field) {
                return Err(Refusal::bad_request(problem));
            }
            terms.push((field.to_owned(), equal, unescape(value)));
        }
        Ok(Fields(terms))
    }

    /// Whether it selects nothing in particular.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value that `field` must have, if one is demanded.
    pub fn demanded(&self, field: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(of, equal, _)| of == field && *equal)
            .map(|(_, _, value)| value.as_str())
    }

    /// Whether the object satisfies it. Absent fields count as empty text.
    pub fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(field, equal, value)| (at_path(object, field) == *value) == *equal)
    }
}

/// The text of a field such as `spec.nodeName`; numbers and booleans as JSON writes them.
fn at_path(object: &Value, field: &str) -> String {
    // Fields whose label is not their path.
    let found = match field {
        "status.successful" => object.pointer("/status/succeeded"),
        "source" => object
            .pointer("/source/component")
            .filter(|source| source.as_str() != Some(""))
            .or_else(|| object.get("reportingComponent")),
        field => field.split('.').try_fold(object, |at, step| at.get(step)),
    };
    match found {
        None | Some(Value::Null) => match field {
            // The zero value, which JSON leaves out.
            "spec.unschedulable" | "spec.hostNetwork" => "false".to_owned(),
            "status.successful" | "status.replicas" => "0".to_owned(),
            _ => String::new(),
        },
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            letter => out.push(letter),
        }
    }
    out
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
        for text in ["a b", "a in 1", "a like (x)", "=", "a>x", "!", "a in (1"] {
            assert!(Labels::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fields_match_as_upstreams() {
        let object = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "replicas": 3}});
        let known = |field: &str| (field == "spec.unknown").then(|| "unknown".to_owned());
        let cases = [
            ("metadata.name=p", true),
            ("metadata.name!=p", false),
            ("metadata.name==p,spec.nodeName=n", true),
            ("spec.replicas=3", true),
            ("status.phase=", true),
            ("status.phase!=Running", true),
        ];
        for (text, expect) in cases {
            assert_eq!(Fields::parse(text, known).expect(text).matches(&object), expect, "{text}");
        }
        assert!(Fields::parse("spec.unknown=1", known).is_err());
        assert!(Fields::parse("metadata.name", known).is_err());
        assert_eq!(Fields::parse(r"a=x\,y", known).expect("escaped").demanded("a"), Some("x,y"));
    }
}
