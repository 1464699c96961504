//! When a Job has failed and when it has succeeded (KEP-3329, KEP-3998).

use serde_json::{Value, json};

use super::{
    super::check::{Check, list, text},
    indexes,
};
use crate::verbs::qualified_name_problems;

/// Rules of either policy, and patterns of one rule.
const MOST: usize = 20;
const EXIT_CODES_MOST: usize = 255;
const INDEXES_MOST_BYTES: usize = 64 * 1024;

/// `validatePodFailurePolicy`
pub(super) fn failure(check: &mut Check<'_>, spec: &Value, at: &str) {
    let rules = list(&spec["podFailurePolicy"], "rules");
    check.at_most(&format!("{at}.rules"), rules.len(), MOST);
    for (index, rule) in rules.iter().enumerate() {
        failure_rule(check, spec, rule, &format!("{at}.rules[{index}]"));
    }
}

fn failure_rule(check: &mut Check<'_>, spec: &Value, rule: &Value, at: &str) {
    const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
    let action = format!("{at}.action");
    one_of(check, &action, &rule["action"], &ACTIONS);
    if rule["action"] == "FailIndex" && spec["backoffLimitPerIndex"].is_null() {
        check.invalid(&action, &rule["action"], "requires the backoffLimitPerIndex to be set");
    }
    let (codes, patterns) = (&rule["onExitCodes"], list(rule, "onPodConditions"));
    if codes.is_object() {
        exit_codes(check, spec, codes, &format!("{at}.onExitCodes"));
    }
    pod_conditions(check, patterns, &format!("{at}.onPodConditions"));
    let detail = match (codes.is_object(), patterns.is_empty()) {
        (true, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, true) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    check.invalid_without_value(at, detail);
}

fn exit_codes(check: &mut Check<'_>, spec: &Value, codes: &Value, at: &str) {
    const OPERATORS: [&str; 2] = ["In", "NotIn"];
    one_of(check, &format!("{at}.operator"), &codes["operator"], &OPERATORS);
    let pod = &spec["template"]["spec"];
    let containers = list(pod, "containers").iter().chain(list(pod, "initContainers"));
    let name = &codes["containerName"];
    if name.is_string() && !containers.into_iter().any(|container| container["name"] == *name) {
        let detail = "must be one of the container or initContainer names in the pod template";
        check.invalid(&format!("{at}.containerName"), name, detail);
    }
    let (values, field) = (list(codes, "values"), format!("{at}.values"));
    if values.is_empty() {
        check.invalid(&field, &json!([]), "at least one value is required");
    }
    check.at_most(&field, values.len(), EXIT_CODES_MOST);
    for (index, value) in values.iter().enumerate() {
        let place = format!("{field}[{index}]");
        if *value == json!(0) && codes["operator"] == "In" {
            check.invalid(&place, value, "must not be 0 for the In operator");
        }
        if values[..index].contains(value) {
            check.duplicate(&place, value);
        }
    }
    if !values.is_sorted_by_key(Value::as_i64) {
        check.invalid(&field, &codes["values"], "must be ordered");
    }
}

fn pod_conditions(check: &mut Check<'_>, patterns: &[Value], at: &str) {
    const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
    check.at_most(at, patterns.len(), MOST);
    for (index, pattern) in patterns.iter().enumerate() {
        let kind = format!("{at}[{index}].type");
        for why in qualified_name_problems(text(pattern, "type")) {
            check.invalid(&kind, &json!(text(pattern, "type")), &why);
        }
        one_of(check, &format!("{at}[{index}].status"), &pattern["status"], &STATUSES);
    }
}

/// A text that must be there, and be one of these.
fn one_of(check: &mut Check<'_>, field: &str, value: &Value, allowed: &[&str]) {
    match value.as_str().unwrap_or("") {
        "" => {
            let names: Vec<String> = allowed.iter().map(|name| format!("{name:?}")).collect();
            check.required_also(field, &format!("valid values: [{}]", names.join(" ")));
        }
        known if allowed.contains(&known) => {}
        _ => check.one_of_in_order(field, value, allowed),
    }
}

/// `validateSuccessPolicy`
pub(super) fn success(check: &mut Check<'_>, spec: &Value, at: &str) {
    let (rules, field) = (list(&spec["successPolicy"], "rules"), format!("{at}.rules"));
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        check.required_also(&field, detail);
    }
    check.at_most(&field, rules.len(), MOST);
    // Without completions an indexed Job is refused for that.
    let Some(completions) = spec["completions"].as_i64() else { return };
    for (index, rule) in rules.iter().enumerate() {
        success_rule(check, rule, completions, &format!("{field}[{index}]"));
    }
}

/// As Go prints its own struct.
pub(super) fn shown_success(policy: &Value) -> String {
    let rule = |rule: &Value| {
        let (indexes, count) = (&rule["succeededIndexes"], &rule["succeededCount"]);
        format!("{{\"SucceededIndexes\":{indexes},\"SucceededCount\":{count}}}")
    };
    let rules: Vec<String> = list(policy, "rules").iter().map(rule).collect();
    format!("{{\"Rules\":[{}]}}", rules.join(","))
}

fn success_rule(check: &mut Check<'_>, rule: &Value, completions: i64, at: &str) {
    let (indexes, count) = (rule["succeededIndexes"].as_str(), rule["succeededCount"].as_i64());
    if indexes.is_none() && count.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        check.required(at, detail);
    }
    let mut named = 0;
    if let Some(text) = indexes {
        let field = format!("{at}.succeededIndexes");
        check.not_longer(&field, text.len(), INDEXES_MOST_BYTES);
        match indexes::count(text, completions) {
            Ok(count) => named = count,
            Err(why) => {
                let detail = format!("error parsing succeededIndexes: {why}");
                check.invalid(&field, &rule["succeededIndexes"], &detail);
            }
        }
    }
    let (value, field) = (&rule["succeededCount"], format!("{at}.succeededCount"));
    check.not_negative(&field, value);
    if count.is_some_and(|count| count > completions) {
        let detail = format!(
            "must be less than or equal to {completions} (the number of specified completions)"
        );
        check.invalid(&field, value, &detail);
    }
    if indexes.is_some() && count.is_some_and(|count| count > named) {
        let detail = format!(
            "must be less than or equal to {named} (the number of indexes in the specified succeededIndexes field)"
        );
        check.invalid(&field, value, &detail);
    }
}
