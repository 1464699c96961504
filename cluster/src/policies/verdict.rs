//! What a policy's expressions say of one write (`validator.Validate`).

use serde_json::Value;

use super::policy::{Binding, Denial, Policy};
use crate::{
    cel::{Question, Variables},
    webhooks::hold,
};

/// Longer messages of a `messageExpression` don't count (`MaxEvaluatedMessageExpressionSizeBytes`).
const LONGEST_MESSAGE: usize = 5 * 1024;

/// Compiles an expression of a policy, which may name what there is here.
fn compile(source: &str) -> Result<Question, String> {
    Question::of_policy(source, true)
}

fn items<'a>(policy: &'a Policy, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    policy.spec[field].as_array().into_iter().flatten()
}

/// All that the expressions can name, the policy's own variables included.
pub(super) fn variables(
    policy: &Policy,
    request: &Value,
    namespace: &Value,
    param: &Value,
) -> Variables {
    let mut variables = Variables::of(request);
    variables.set("namespaceObject", namespace);
    variables.set("params", param);
    for variable in items(policy, "variables") {
        let compiled = compile(variable["expression"].as_str().unwrap_or(""));
        variables.compose(variable["name"].as_str().unwrap_or(""), compiled);
    }
    variables
}

/// What denies the write, where one binding puts the policy to work.
pub(super) fn denials(policy: &Policy, binding: &Binding, variables: &Variables) -> Vec<Denial> {
    let fails = |why: String| -> Option<Denial> {
        (!policy.ignores_failures()).then(|| policy.denial(Some(binding), why, ""))
    };
    let conditions: Vec<_> = items(policy, "matchConditions").cloned().collect();
    match hold(&conditions, variables, compile) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return fails(why).into_iter().collect(),
    }
    let each = items(policy, "validations").filter_map(|validation| {
        let source = validation["expression"].as_str().unwrap_or("");
        match compile(source).and_then(|question| question.is_true(variables)) {
            Ok(true) => None,
            Ok(false) => {
                let reason = validation["reason"].as_str().unwrap_or("");
                Some(policy.denial(Some(binding), message(validation, variables), reason))
            }
            Err(why) => fails(format!("expression '{source}' resulted in error: {why}")),
        }
    });
    each.collect()
}

/// By the expression for it, or as it is written down, or the expression that failed.
fn message(validation: &Value, variables: &Variables) -> String {
    let text = |field: &str| validation[field].as_str().unwrap_or("").trim().to_owned();
    let source = validation["messageExpression"].as_str().filter(|source| !source.is_empty());
    let made = source.and_then(|source| compile(source).ok()?.text(variables));
    let made = made
        .map(|made| made.trim().to_owned())
        .filter(|made| !made.is_empty() && made.len() <= LONGEST_MESSAGE && !made.contains('\n'));
    made.unwrap_or_else(|| match text("message") {
        message if message.is_empty() => format!("failed expression: {}", text("expression")),
        message => message,
    })
}
