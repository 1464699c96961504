//! Admission policies and their bindings (`pkg/apis/admissionregistration/validation`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    hooks::{Compile, choice, conditions, expression, rule},
};
use crate::{
    cel::Question,
    verbs::{dns_1035_problem, subdomain_problem},
};

const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// The spec of a policy.
pub(super) fn policy(check: &mut Check<'_>, spec: &Value) {
    let has_params = spec["paramKind"].is_object();
    let compile = |source: &str| Question::of_policy(source, has_params);
    let message = |source: &str| Question::of_message(source, has_params);
    what_it_is_about(check, spec);
    let (validations, annotations) = (list(spec, "validations"), list(spec, "auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        check.required("spec.validations", detail);
        check.required("spec.auditAnnotations", detail);
    }
    for (index, one) in validations.iter().enumerate() {
        validation(check, one, &format!("spec.validations[{index}]"), &compile, &message);
    }
}

/// What both kinds of policies say before they say what is to be done.
pub(super) fn what_it_is_about(check: &mut Check<'_>, spec: &Value) {
    let has_params = spec["paramKind"].is_object();
    let compile = |source: &str| Question::of_policy(source, has_params);
    let condition = |source: &str| Question::of_condition(source, has_params);
    choice(check, spec.get("failurePolicy"), "spec.failurePolicy", &["Fail", "Ignore"]);
    if has_params {
        param_kind(check, &spec["paramKind"], "spec.paramKind");
    }
    match &spec["matchConstraints"] {
        Value::Null => check.required("spec.matchConstraints", ""),
        constraints => {
            match_resources(check, constraints, "spec.matchConstraints");
            if list(constraints, "resourceRules").is_empty() {
                check.required("spec.matchConstraints.resourceRules", "");
            }
        }
    }
    conditions(check, list(spec, "matchConditions"), "spec.matchConditions", &condition);
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        self::variable(check, variable, &format!("spec.variables[{index}]"), &compile);
    }
}

fn param_kind(check: &mut Check<'_>, named: &Value, at: &str) {
    let (api_version, kind) = (text(named, "apiVersion"), text(named, "kind"));
    let field = format!("{at}.apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if api_version.is_empty() {
        check.required(&field, "");
    } else if version.contains('/') {
        let detail = format!("unexpected GroupVersion string: {api_version}");
        check.invalid(&field, &json!(api_version), &detail);
    } else {
        if let Some(why) = subdomain_problem(group).filter(|_| !group.is_empty()) {
            check.invalid(&field, &json!(group), &why);
        }
        if let Some(why) = dns_1035_problem(version) {
            check.invalid(&field, &json!(version), why);
        }
    }
    let field = format!("{at}.kind");
    if kind.is_empty() {
        check.required(&field, "");
    } else if let Some(why) = dns_1035_problem(&kind.to_lowercase()) {
        let detail = format!("may have mixed case, but should otherwise match: {why}");
        check.invalid(&field, &json!(kind), &detail);
    }
}

fn match_resources(check: &mut Check<'_>, resources: &Value, at: &str) {
    let field = format!("{at}.matchPolicy");
    choice(check, resources.get("matchPolicy"), &field, &["Equivalent", "Exact"]);
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, one) in list(resources, field).iter().enumerate() {
            let at = format!("{at}.{field}[{index}]");
            let mut names = BTreeSet::new();
            for (index, name) in list(one, "resourceNames").iter().enumerate() {
                if !names.insert(name.as_str()) {
                    check.duplicate(&format!("{at}.resourceNames[{index}]"), name);
                }
            }
            rule(check, one, &at);
        }
    }
}

fn variable(check: &mut Check<'_>, variable: &Value, at: &str, compile: Compile<'_>) {
    let name = text(variable, "name");
    let field = format!("{at}.name");
    if name.trim().is_empty() {
        check.required_also(&field, "name is not specified");
    } else if !is_identifier(name) {
        check.invalid(&field, &json!(name), "must be a valid CEL identifier");
    }
    needed_expression(check, variable, at, None, compile);
}

fn needed_expression(
    check: &mut Check<'_>,
    of: &Value,
    at: &str,
    result: Option<&str>,
    compile: Compile<'_>,
) {
    let (source, field) = (text(of, "expression"), format!("{at}.expression"));
    match source.trim() {
        "" => check.required_also(&field, "expression is not specified"),
        _ => expression(check, source, &field, result, compile),
    }
}

fn is_identifier(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
    starts && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}

fn validation(
    check: &mut Check<'_>,
    one: &Value,
    at: &str,
    compile: Compile<'_>,
    compile_message: Compile<'_>,
) {
    needed_expression(check, one, at, Some("bool"), compile);
    let (made, field) = (text(one, "messageExpression"), format!("{at}.messageExpression"));
    if !made.trim().is_empty() {
        expression(check, made, &field, Some("string"), compile_message);
    } else if !made.is_empty() {
        check.invalid(&field, &json!(made), "must be non-empty if specified");
    }
    let (message, field) = (text(one, "message"), format!("{at}.message"));
    if !message.is_empty() && message.trim().is_empty() {
        check.invalid(&field, &json!(message), "must be non-empty if specified");
    } else if message.trim().contains(['\n', '\r']) {
        check.invalid(&field, &json!(message), "must not contain line breaks");
    }
    choice(check, one.get("reason"), &format!("{at}.reason"), &REASONS);
}

/// The spec of a binding.
pub(super) fn binding(check: &mut Check<'_>, spec: &Value) {
    what_it_binds(check, spec);
    actions(check, spec);
}

/// What both kinds of bindings say.
pub(super) fn what_it_binds(check: &mut Check<'_>, spec: &Value) {
    let name = text(spec, "policyName");
    match name {
        "" => check.required("spec.policyName", ""),
        name => {
            if let Some(why) = subdomain_problem(name) {
                check.invalid("spec.policyName", &json!(name), &why);
            }
        }
    }
    if spec["paramRef"].is_object() {
        param_reference(check, &spec["paramRef"]);
    }
    if spec["matchResources"].is_object() {
        match_resources(check, &spec["matchResources"], "spec.matchResources");
    }
}

fn param_reference(check: &mut Check<'_>, reference: &Value) {
    let (named, selects) = (!text(reference, "name").is_empty(), reference["selector"].is_object());
    let both = "name and selector are mutually exclusive";
    match (named, selects) {
        (true, true) => {
            check.forbidden("spec.paramRef.name", both);
            check.forbidden("spec.paramRef.selector", both);
        }
        (false, false) => {
            check.required("spec.paramRef", "one of name or selector must be specified")
        }
        _ => {}
    }
    match &reference["parameterNotFoundAction"] {
        Value::Null => check.required("spec.paramRef.parameterNotFoundAction", ""),
        given => {
            let field = "spec.paramRef.parameterNotFoundAction";
            if given != "Allow" && given != "Deny" {
                check.one_of_in_order(field, given, &["Deny", "Allow"]);
            }
        }
    }
}

fn actions(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.validationActions";
    let actions = list(spec, "validationActions");
    if actions.is_empty() {
        check.required_also(AT, "at least one validation action is required");
    }
    let mut seen = BTreeSet::new();
    for (index, action) in actions.iter().enumerate() {
        let at = format!("{AT}[{index}]");
        choice(check, Some(action), &at, &["Audit", "Deny", "Warn"]);
        if !seen.insert(action.as_str().unwrap_or("")) {
            check.duplicate(&at, action);
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the \
                      API response and headers serves no purpose)";
        check.invalid(AT, &spec["validationActions"], detail);
    }
}
