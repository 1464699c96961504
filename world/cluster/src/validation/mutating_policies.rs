//! Mutating admission policies and their bindings (`pkg/apis/admissionregistration/validation`).

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    hooks::choice,
    policies::{what_it_binds, what_it_is_about},
};
use crate::cel::Question;

/// There is nothing to change in what is deleted.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
/// Each has a field of its own, by which the change is made, and the type of what its expression results in.
const PATCHES: [(&str, &str, &str); 2] = [
    ("ApplyConfiguration", "applyConfiguration", "Object"),
    ("JSONPatch", "jsonPatch", "list(JSONPatch)"),
];

/// The spec of a policy.
pub(super) fn policy(check: &mut Check<'_>, spec: &Value) {
    what_it_is_about(check, spec);
    operations(check, &spec["matchConstraints"], "spec.matchConstraints");
    let (mutations, has_params) = (list(spec, "mutations"), spec["paramKind"].is_object());
    if mutations.is_empty() {
        check.required("spec.mutations", "mutations must contain at least one item");
    }
    for (index, one) in mutations.iter().enumerate() {
        mutation(check, one, &format!("spec.mutations[{index}]"), has_params);
    }
    match text(spec, "reinvocationPolicy") {
        "" => check.required("spec.reinvocationPolicy", ""),
        _ => {
            let given = spec.get("reinvocationPolicy");
            choice(check, given, "spec.reinvocationPolicy", &["IfNeeded", "Never"]);
        }
    }
}

/// The spec of a binding.
pub(super) fn binding(check: &mut Check<'_>, spec: &Value) {
    what_it_binds(check, spec);
    operations(check, &spec["matchResources"], "spec.matchResources");
}

fn operations(check: &mut Check<'_>, resources: &Value, at: &str) {
    let at = format!("{at}.resourceRules.operations");
    let rules = list(resources, "resourceRules").iter();
    for operation in rules.flat_map(|rule| list(rule, "operations")) {
        choice(check, Some(operation), &at, &OPERATIONS);
    }
}

fn mutation(check: &mut Check<'_>, one: &Value, at: &str, has_params: bool) {
    let named = text(one, "patchType");
    if named.is_empty() {
        return check.required(&format!("{at}.patchType"), "");
    }
    if !PATCHES.iter().any(|(patch, ..)| *patch == named) {
        let known = PATCHES.map(|(patch, ..)| patch);
        return choice(check, one.get("patchType"), &format!("{at}.patchType"), &known);
    }
    for (patch, field, result) in PATCHES {
        let at = format!("{at}.{field}");
        match (&one[field], patch == named) {
            (Value::Null, true) => {
                check.required(&at, &format!("must be specified when patchType is {named}"));
            }
            (patch, true) => {
                expression(check, patch, &format!("{at}.expression"), result, has_params);
            }
            (Value::Null, false) => {}
            (_, false) => {
                let detail = format!("must not be specified when patchType is {named}");
                check.invalid(&at, &json!(format!("{{{field}}}")), &detail);
            }
        }
    }
}

fn expression(check: &mut Check<'_>, patch: &Value, at: &str, result: &str, has_params: bool) {
    let source = text(patch, "expression").trim();
    if source.is_empty() {
        return check.required(at, "");
    }
    match Question::of_mutation(source, has_params) {
        Err(why) => check.invalid(at, &json!(source), &format!("compilation failed: {why}")),
        Ok(question) if !question.makes(result) => {
            let detail = format!("must evaluate to {result} but got {}", question.result());
            check.invalid(at, &json!(source), &detail);
        }
        Ok(_) => {}
    }
}
