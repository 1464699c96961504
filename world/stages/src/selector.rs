//! Which objects a stage is for.

use std::collections::BTreeMap;

use jaq_json::Val;
use serde_json::Value;

use crate::query::{Found, Query};

/// All of it must hold.
pub(crate) struct Selector {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) expressions: Vec<Requirement>,
}

/// A query and what it has to find.
pub(crate) struct Requirement {
    pub(crate) query: Query,
    pub(crate) operator: Operator,
}

/// What a query has to find.
pub(crate) enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

impl Operator {
    /// Errors: what is wrong with it.
    pub(crate) fn parse(name: &str, values: &[String]) -> Result<Operator, String> {
        let operator = match name {
            "In" => Operator::In(values.to_vec()),
            "NotIn" => Operator::NotIn(values.to_vec()),
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => {
                return Err(format!(
                    "operator {name:?} is none of In, NotIn, Exists, DoesNotExist"
                ));
            }
        };
        match (&operator, values.is_empty()) {
            (Operator::In(_) | Operator::NotIn(_), true) => {
                Err(format!("{name} needs values: list what it compares with"))
            }
            (Operator::Exists | Operator::DoesNotExist, false) => {
                Err(format!("{name} has no values: leave them out, or say In or NotIn"))
            }
            _ => Ok(operator),
        }
    }
}

impl Selector {
    pub(crate) fn matches(&self, object: &Value, input: &Val) -> bool {
        let has = |field: &str, wanted: &BTreeMap<String, String>| {
            let found = &object["metadata"][field];
            wanted.iter().all(|(key, value)| found[key].as_str() == Some(value))
        };
        has("labels", &self.labels)
            && has("annotations", &self.annotations)
            && self.expressions.iter().all(|requirement| requirement.holds(input))
    }
}

impl Requirement {
    fn holds(&self, input: &Val) -> bool {
        let found = self.query.find(input);
        let among = |values: &[String]| {
            found.iter().filter_map(Found::text).any(|text| values.contains(&text))
        };
        match &self.operator {
            Operator::In(values) => among(values),
            Operator::NotIn(values) => !among(values),
            Operator::Exists => !found.is_empty(),
            Operator::DoesNotExist => found.is_empty(),
        }
    }
}
