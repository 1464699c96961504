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
