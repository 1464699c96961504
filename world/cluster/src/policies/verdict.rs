//! What a policy's expressions say of one write (`validator.Validate`).

use serde_json::Value;

use super::policy::{Binding, Denial, Policy};
use crate::{
    cel::{Asker, Question, Variables},
    rbac::Attributes,
    webhooks::hold,
};

/// Longer messages of a `messageExpression` don't count (`MaxEvaluatedMessageExpressionSizeBytes`).
const LONGEST_MESSAGE: usize = 5 * 1024;

/// What expressions can be about; a parameter comes beside it.
pub(super) struct Inputs<'a> {
    /// The `request`, whose `resource` is the one that the policy asked for.
    pub(super) request: &'a Value,
    /// The same as it was sent.
    pub(super) unconverted: &'a Value,
    pub(super) namespace: &'a Value,
    /// Who sent it.
    pub(super) asker: &'a Asker,
    /// What `authorizer.requestResource` checks.
    pub(super) resource: &'a Attributes,
}

/// Which expressions of a policy: they don't see the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `matchConditions`, which see no namespace.
    Conditions,
    Validations,
    /// `messageExpression`, which can't ask for permissions; nor can the variables that it uses.
    Messages,
}

/// Compiles an expression of a policy, which may name what there is here.
fn compile(source: &str) -> Result<Question, String> {
    Question::of_policy(source, true)
}

fn items<'a>(policy: &'a Policy, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    policy.spec[field].as_array().into_iter().flatten()
}

impl Inputs<'_> {
    /// All that expressions can name, the policy's own variables included.
    fn variables(&self, policy: &Policy, param: &Value, part: Part) -> Variables {
        let (request, namespace) = match part {
            Part::Conditions => (self.unconverted, &Value::Null),
            Part::Validations | Part::Messages => (self.request, self.namespace),
        };
        let mut variables = Variables::of(request);
        variables.set("namespaceObject", namespace);
        variables.set("params", param);
        if part != Part::Messages {
            variables.authorize(self.asker, self.resource.clone());
        }
        for variable in items(policy, "variables") {
            let compiled = compile(variable["expression"].as_str().unwrap_or(""));
            variables.compose(variable["name"].as_str().unwrap_or(""), compiled);
        }
        variables
    }
}

/// What denies the write, where one binding puts the policy to work with one parameter.
pub(super) fn denials(
    policy: &Policy,
    binding: &Binding,
    inputs: &Inputs<'_>,
    param: &Value,
) -> Vec<Denial> {
    let fails = |why: String| -> Option<Denial> {
        (!policy.ignores_failures()).then(|| policy.denial(Some(binding), why, ""))
    };
    let variables = |part| inputs.variables(policy, param, part);
    let conditions: Vec<_> = items(policy, "matchConditions").cloned().collect();
    if !conditions.is_empty() {
        match hold(&conditions, &variables(Part::Conditions), compile) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(why) => return fails(why).into_iter().collect(),
        }
    }
    let known = variables(Part::Validations);
    let each = items(policy, "validations").filter_map(|validation| {
        let source = validation["expression"].as_str().unwrap_or("");
        match compile(source).and_then(|question| question.is_true(&known)) {
            Ok(true) => None,
            Ok(false) => {
                let reason = validation["reason"].as_str().unwrap_or("");
                let message = message(validation, || variables(Part::Messages));
                Some(policy.denial(Some(binding), message, reason))
            }
            Err(why) => fails(format!("expression '{source}' resulted in error: {why}")),
        }
    });
    each.collect()
}

/// By the expression for it, or as it is written down, or the expression that failed.
fn message(validation: &Value, variables: impl Fn() -> Variables) -> String {
    let text = |field: &str| validation[field].as_str().unwrap_or("").trim().to_owned();
    let source = validation["messageExpression"].as_str().filter(|source| !source.is_empty());
    let compile = |source: &str| Question::of_message(source, true).ok();
    let made = source.and_then(|source| compile(source)?.text(&variables()));
    let made = made
        .map(|made| made.trim().to_owned())
        .filter(|made| !made.is_empty() && made.len() <= LONGEST_MESSAGE && !made.contains('\n'));
    made.unwrap_or_else(|| match text("message") {
        message if message.is_empty() => format!("failed expression: {}", text("expression")),
        message => message,
    })
}
