//! Label selectors (`metav1.LabelSelector`).

use serde_json::Value;

use crate::{
    object::{Labels, Text},
    read,
};

/// A label selector.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selector {
    /// `matchLabels`.
    pub labels: Labels,
    /// `matchExpressions`.
    pub expressions: Vec<Expression>,
}

/// An entry of `matchExpressions`.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// `key`.
    pub key: Text,
    /// `operator`: In, NotIn, Exists, DoesNotExist.
    pub operator: Text,
    /// `values`.
    pub values: Vec<Text>,
}

impl Selector {
    pub(crate) fn read(selector: &Value) -> Selector {
        Selector {
            labels: read::labels(selector, "matchLabels"),
            expressions: read::list(selector, "matchExpressions").map(expression).collect(),
        }
    }

    /// The selector that a `scale` shows as text (`labels.Parse`), as far as label selectors go.
    pub(crate) fn parse(text: &str) -> Selector {
        let mut parts: Vec<String> = vec![String::new()];
        let mut depth = 0;
        for letter in text.chars() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            match parts.last_mut() {
                Some(part) if letter != ',' || depth > 0 => part.push(letter),
                _ => parts.push(String::new()),
            }
        }
        let requirements = parts.iter().filter(|part| !part.is_empty());
        Selector {
            labels: Labels::new(),
            expressions: requirements.map(|r| requirement(r)).collect(),
        }
    }

    /// Whether it selects nothing: a workload with an empty selector controls nothing.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.expressions.is_empty()
    }

    /// Whether it selects an object with these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.expressions.iter().all(|expression| expression.matches(labels))
    }
}

impl Expression {
    /// Whether an object with these labels satisfies it. An unknown operator never does.
    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        let found = labels.get(&self.key);
        let listed = found.is_some_and(|value| self.values.contains(value));
        match &*self.operator {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    }
}

/// One requirement of a selector's text: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`.
fn requirement(text: &str) -> Expression {
    let of = |key: &str, operator: &str, values: &str| Expression {
        key: key.trim().into(),
        operator: operator.into(),
        values: values.trim_matches(['(', ')', ' ']).split(',').map(|v| v.trim().into()).collect(),
    };
    if let Some((key, values)) = text.split_once(" notin ") {
        return of(key, "NotIn", values);
    }
    if let Some((key, values)) = text.split_once(" in ") {
        return of(key, "In", values);
    }
    if let Some((key, value)) = text.split_once("!=") {
        return of(key, "NotIn", value);
    }
    if let Some((key, value)) = text.split_once('=') {
        return of(key, "In", value.trim_start_matches('='));
    }
    match text.strip_prefix('!') {
        Some(key) => of(key, "DoesNotExist", ""),
        None => of(text, "Exists", ""),
    }
}

pub(crate) fn expression(value: &Value) -> Expression {
    Expression {
        key: read::text(value, "key"),
        operator: read::text(value, "operator"),
        values: read::list(value, "values").filter_map(Value::as_str).map(Text::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_are_read_from_their_text() {
        let check = |text: &str, labels: Value, expect: bool| {
            let labels = read::labels(&json!({"labels": labels}), "labels");
            assert_eq!(Selector::parse(text).matches(&labels), expect, "{text} {labels:?}");
        };
        check("a=1,b in (2,3),!c,d", json!({"a": "1", "b": "3", "d": ""}), true);
        check("a=1,b in (2,3)", json!({"a": "1", "b": "4"}), false);
        check("a notin (2)", json!({}), true);
        check("a!=2", json!({"a": "2"}), false);
        check("!a", json!({"a": "2"}), false);
        check("a", json!({}), false);
    }

    #[test]
    fn selectors_select() {
        let check = |selector: Value, labels: Value, expect: bool| {
            let selector = Selector::read(&selector);
            let labels = read::labels(&json!({"labels": labels}), "labels");
            assert_eq!(selector.matches(&labels), expect, "{selector:?} {labels:?}");
        };
        let one = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
        check(json!({"matchLabels": {"a": "1"}}), json!({"a": "1", "b": "2"}), true);
        check(json!({"matchLabels": {"a": "1", "b": "3"}}), json!({"a": "1", "b": "2"}), false);
        check(one("In", &["1", "2"]), json!({"a": "1"}), true);
        check(one("In", &["2"]), json!({"a": "1"}), false);
        check(one("NotIn", &["2"]), json!({}), true);
        check(one("NotIn", &["1"]), json!({"a": "1"}), false);
        check(one("Exists", &[]), json!({"a": ""}), true);
        check(one("DoesNotExist", &[]), json!({"a": ""}), false);
        check(one("Gt", &["1"]), json!({"a": "2"}), false);
    }
}
