//! What a policy's expressions can be about.

use serde_json::Value;

use super::policy::Policy;
use crate::{
    cel::{Asker, Question, Variables},
    rbac::Attributes,
};

/// All but the parameter, which comes beside it.
pub(super) struct Inputs {
    /// The `request`, whose `resource` is the one that the policy asked for.
    pub(super) request: Value,
    /// The same as it was sent.
    pub(super) unconverted: Value,
    pub(super) namespace: Value,
    /// Who sent it.
    pub(super) asker: Asker,
    /// What `authorizer.requestResource` checks.
    pub(super) resource: Attributes,
}

/// Which expressions of a policy: they don't see the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// `matchConditions`, which see no namespace.
    Conditions,
    /// What it is there for: `validations`, `mutations`.
    Main,
    /// `messageExpression`, which can't ask for permissions; nor can the variables that it uses.
    Messages,
}

/// Compiles an expression of a policy, which may name what there is here.
pub(super) fn compile(source: &str) -> Result<Question, String> {
    Question::of_policy(source, true)
}

pub(super) fn items<'a>(
    policy: &'a Policy,
    field: &str,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    policy.spec[field].as_array().into_iter().flatten()
}

impl Inputs {
    /// All that expressions can name, the policy's own variables included.
    pub(super) fn variables(&self, policy: &Policy, param: &Value, part: Part) -> Variables {
        let (request, namespace) = match part {
            Part::Conditions => (&self.unconverted, &Value::Null),
            Part::Main | Part::Messages => (&self.request, &self.namespace),
        };
        let mut variables = Variables::of(request);
        variables.set("namespaceObject", namespace);
        variables.set("params", param);
        if part != Part::Messages {
            variables.authorize(&self.asker, self.resource.clone());
        }
        for variable in items(policy, "variables") {
            let compiled = compile(variable["expression"].as_str().unwrap_or(""));
            variables.compose(variable["name"].as_str().unwrap_or(""), compiled);
        }
        variables
    }

    /// Whether the policy is about the write at all. Errors: it can't be told.
    pub(super) fn are_met(&self, policy: &Policy, param: &Value) -> Result<bool, String> {
        let conditions: Vec<_> = items(policy, "matchConditions").cloned().collect();
        let variables = || self.variables(policy, param, Part::Conditions);
        Ok(conditions.is_empty() || crate::webhooks::hold(&conditions, &variables(), compile)?)
    }
}
