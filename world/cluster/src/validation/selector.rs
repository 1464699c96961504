//! Label selectors (`k8s.io/apimachinery/pkg/apis/meta/v1/validation`).

use serde_json::{Value, json};

use super::check::{Check, list, text};
use crate::verbs::{label_value_problems, qualified_name_problems};

/// Adds what is wrong with a selector, and says whether anything is.
pub(super) fn label_selector(check: &mut Check<'_>, selector: &Value, at: &str) -> bool {
    let before = check.count();
    check.labels(&format!("{at}.matchLabels"), &selector["matchLabels"]);
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        requirement(check, expression, &format!("{at}.matchExpressions[{index}]"));
    }
    check.count() > before
}

/// `ValidateLabelSelectorRequirement`
fn requirement(check: &mut Check<'_>, expression: &Value, at: &str) {
    let values = list(expression, "values");
    match text(expression, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            check.required(&format!("{at}.values"), detail);
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            check.forbidden(&format!("{at}.values"), detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            check.invalid(
                &format!("{at}.operator"),
                &json!(other),
                "not a valid selector operator",
            );
        }
    }
    label_key(check, &format!("{at}.key"), text(expression, "key"));
    for (index, value) in values.iter().enumerate() {
        for why in label_value_problems(value.as_str().unwrap_or("")) {
            check.invalid(&format!("{at}.values[{index}]"), value, &why);
        }
    }
}

/// `ValidateLabelName`
pub(super) fn label_key(check: &mut Check<'_>, field: &str, key: &str) {
    for why in qualified_name_problems(key) {
        check.invalid(field, &json!(key), &why);
    }
}
