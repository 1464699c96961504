//! DaemonSets (`ValidateDaemonSet`).

use serde_json::{Value, json};

use super::{
    check::{Check, percent, text},
    pod,
    selector::label_selector,
    workloads::{is_empty, selects},
};

pub(super) fn daemon_set(check: &mut Check<'_>, new: &Value) {
    let (spec, template) = (&new["spec"], &new["spec"]["template"]);
    selector(check, spec);
    pod::template(check, template, "spec.template");
    let policy = &template["spec"]["restartPolicy"];
    if policy.is_string() && policy != "Always" {
        check.not_supported("spec.template.spec.restartPolicy", policy, &["Always"]);
    }
    if !template["spec"]["activeDeadlineSeconds"].is_null() {
        let why = "activeDeadlineSeconds in DaemonSet is not Supported";
        check.forbidden("spec.template.spec.activeDeadlineSeconds", why);
    }
    for field in ["minReadySeconds", "revisionHistoryLimit"] {
        check.not_negative(&format!("spec.{field}"), &spec[field]);
    }
    strategy(check, &spec["updateStrategy"]);
    status(check, &new["status"]);
}

fn selector(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.selector";
    let (selector, labels) = (&spec["selector"], &spec["template"]["metadata"]["labels"]);
    // Nobody asks for one, but none selects nothing.
    check.not_required(AT);
    let wrong = label_selector(check, selector, AT);
    let none = selector.is_null();
    let all = !none && is_empty(selector);
    if !wrong && !all && (none || !selects(selector, labels)) {
        let why = "`selector` does not match template `labels`";
        check.invalid("spec.template.metadata.labels", labels, why);
    }
    if all {
        check.invalid(AT, selector, "empty selector is invalid for daemonset");
    }
}

fn strategy(check: &mut Check<'_>, strategy: &Value) {
    const AT: &str = "spec.updateStrategy";
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" if rolling.is_null() => {
            check.required(&format!("{AT}.rollingUpdate"), "");
        }
        "RollingUpdate" => rolling_update(check, rolling, &format!("{AT}.rollingUpdate")),
        other => {
            check.supported(&format!("{AT}.type"));
            let rolling = match rolling.is_null() {
                true => "null".to_owned(),
                false => format!(
                    "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
                    rolling["maxUnavailable"], rolling["maxSurge"]
                ),
            };
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", json!(other));
            check.not_supported_as(AT, shown, &["RollingUpdate", "OnDelete"]);
        }
    }
}

/// `ValidateRollingUpdateDaemonSet`
fn rolling_update(check: &mut Check<'_>, rolling: &Value, at: &str) {
    let fields = ["maxUnavailable", "maxSurge"];
    for field in fields {
        check.amount_or_percent(&format!("{at}.{field}"), &rolling[field]);
    }
    let some = |field: &str| match &rolling[field] {
        Value::String(text) => percent(text).or_else(|| text.parse().ok()).is_some_and(|n| n != 0),
        number => number.as_i64().is_some_and(|number| number != 0),
    };
    match fields.map(some) {
        [true, true] => {
            let why = "may not be set when maxUnavailable is non-zero";
            check.invalid(&format!("{at}.maxSurge"), &rolling["maxSurge"], why);
        }
        [false, false] => {
            check.required(&format!("{at}.maxUnavailable"), "cannot be 0 when maxSurge is 0");
        }
        _ => {}
    }
}

fn status(check: &mut Check<'_>, status: &Value) {
    for field in [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ] {
        check.not_negative(&format!("status.{field}"), &status[field]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::check::told;

    #[test]
    fn pods_come_or_go_first() {
        let check = |unavailable: Value, surge: Value, expect: &[&str]| {
            let rolling = json!({"maxUnavailable": unavailable, "maxSurge": surge});
            assert_eq!(told(|check| rolling_update(check, &rolling, "r")), expect, "{rolling}");
        };
        check(json!(1), json!(0), &[]);
        check(json!("10%"), json!("0%"), &[]);
        check(json!(0), json!(1), &[]);
        check(json!(1), json!(1), &["r.maxSurge: may not be set when maxUnavailable is non-zero"]);
        check(json!(0), json!("0%"), &["r.maxUnavailable: cannot be 0 when maxSurge is 0"]);
        check(json!(-1), json!(0), &["r.maxUnavailable: must be greater than or equal to 0"]);
        check(json!("101%"), json!(0), &["r.maxUnavailable: must not be greater than 100%"]);
        let none = "r.maxUnavailable: a valid percent string must be a numeric string followed by an ending '%' (e.g. \
                    '1%',  or '93%', regex used for validation is '[0-9]+%')";
        check(json!(""), json!(0), &[none, "r.maxUnavailable: cannot be 0 when maxSurge is 0"]);
    }

    #[test]
    fn a_selector_that_is_none_is_told_alone() {
        let spec = |selector: Value| json!({"selector": selector, "template": {"metadata": {"labels": {"a": "b"}}}});
        let check = |asked: Value, expect: &[&str]| {
            let found = told(|check| selector(check, &spec(asked.clone())));
            let fields: Vec<&str> = found.iter().filter_map(|one| one.split(": ").next()).collect();
            assert_eq!(fields, expect, "{asked}");
        };
        check(json!({"matchLabels": {"a": "b"}}), &[]);
        check(json!({"matchLabels": {"a": "c"}}), &["spec.template.metadata.labels"]);
        check(json!({"matchLabels": {"a": "!"}}), &["spec.selector.matchLabels"]);
        check(json!({}), &["spec.selector"]);
        check(Value::Null, &["spec.template.metadata.labels"]);
    }
}
