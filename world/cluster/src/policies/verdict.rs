//! What a policy's expressions say of one write (`validator.Validate`).

use serde_json::Value;

use super::{
    inputs::{Inputs, Part, compile, items},
    policy::{Binding, Denial, Policy},
};
use crate::cel::{Question, Variables};

/// Longer messages of a `messageExpression` don't count (`MaxEvaluatedMessageExpressionSizeBytes`).
const LONGEST_MESSAGE: usize = 5 * 1024;

/// What denies the write, where one binding puts the policy to work with one parameter.
pub(super) fn denials(
    policy: &Policy,
    binding: &Binding,
    inputs: &Inputs,
    param: &Value,
) -> Vec<Denial> {
    let fails = |why: String| -> Option<Denial> {
        (!policy.ignores_failures()).then(|| policy.denial(Some(binding), why, ""))
    };
    match inputs.are_met(policy, param) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return fails(why).into_iter().collect(),
    }
    let variables = |part| inputs.variables(policy, param, part);
    let known = variables(Part::Main);
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
