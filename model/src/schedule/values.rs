//! Values of a model beside values of a cluster.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value as Json;

use crate::traces::{State, Value, literal};

/// A value of a model that files write as TLA+ does: `<<[generateName |-> "foo-"]>>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal(pub Value);

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Literal, D::Error> {
        let text = String::deserialize(deserializer)?;
        literal::parse(&text).map(Literal).map_err(D::Error::custom)
    }
}

/// The value of `barObj.created`: the variable `barObj`, and in it the field `created`. A name with dots of its own comes
/// first.
pub fn at<'s>(state: &'s State, key: &str) -> Option<&'s Value> {
    if let Some(found) = state.get(key) {
        return Some(found);
    }
    let mut parts = key.split('.');
    let variable = state.get(parts.next()?)?;
    parts.try_fold(variable, |value, part| {
        let number = || Value::integer(part).and_then(|number| value.get(&number));
        value.get(&Value::text(part)).or_else(number)
    })
}

/// Whether a value of the cluster is this value of the model. Model values are strings there, sets are lists in any order,
/// and functions over strings are objects.
pub fn agrees(model: &Value, cluster: &Json) -> bool {
    match (model, cluster) {
        (Value::Bool(one), Json::Bool(other)) => one == other,
        (Value::Int(one), Json::Number(other)) => {
            other.as_i64().map(i128::from).or_else(|| whole(other.as_f64()?)) == Some(*one)
        }
        (Value::Big(one), Json::Number(other)) => *one == other.to_string(),
        (Value::Text(one) | Value::Model(one), Json::String(other)) => one == other,
        // An empty sequence is an empty record, too.
        (Value::Seq(one), Json::Object(other)) => one.is_empty() && other.is_empty(),
        (Value::Seq(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| agrees(one, other))
        }
        (Value::Set(one), Json::Array(other)) => {
            // Elements of a set differ, and agreeing is a function of the model's value.
            let mut left: Vec<&Json> = other.iter().collect();
            one.len() == left.len()
                && one.iter().all(|one| {
                    let found = left.iter().position(|other| agrees(one, other));
                    found.map(|at| left.swap_remove(at)).is_some()
                })
        }
        (Value::Record(one), Json::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|other| agrees(one, other)))
        }
        _ => false,
    }
}

/// CEL may make a double of a whole number.
fn whole(number: f64) -> Option<i128> {
    (number.fract() == 0.0).then_some(number as i128)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_agree_if_they_mean_the_same() {
        let check = |model: &str, cluster: Json, expect: bool| {
            let value = literal::parse(model).expect("a literal");
            assert_eq!(agrees(&value, &cluster), expect, "{model} {cluster}");
        };
        check("TRUE", json!(true), true);
        check("TRUE", json!("TRUE"), false);
        check("3", json!(3), true);
        check("3", json!(3.0), true);
        check("3", json!(4), false);
        check("\"a\"", json!("a"), true);
        check("a", json!("a"), true);
        check("<<1, 2>>", json!([1, 2]), true);
        check("<<1, 2>>", json!([2, 1]), false);
        check("{1, 2}", json!([2, 1]), true);
        check("{1, 2}", json!([2, 2]), false);
        check("<<>>", json!([]), true);
        check("<<>>", json!({}), true);
        check("[generateName |-> \"foo-\"]", json!({"generateName": "foo-"}), true);
        check("[generateName |-> \"foo-\"]", json!({"generateName": "foo-", "a": 1}), false);
    }

    #[test]
    fn keys_go_into_variables() {
        let bar = literal::parse("[name |-> \"foo\", list |-> <<7, 8>>]").unwrap();
        let state = State::from([("barObj".to_owned(), bar)]);
        assert_eq!(at(&state, "barObj.name"), Some(&Value::text("foo")));
        assert_eq!(at(&state, "barObj.list.2"), Some(&Value::Int(8)));
        assert_eq!(at(&state, "barObj.other"), None);
        assert_eq!(at(&state, "other"), None);
    }
}
