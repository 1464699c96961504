//! LimitRanges (`ValidateLimitRange`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::check::{Check, list, text};
use crate::{encoding::quantity_nanos, verbs::qualified_name_problems};

const STANDARD: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];

/// What is compared with what: field that is wrong, the lesser, the greater, and the sentence. The field that is wrong is
/// shown, but for defaults, where upstream shows the limit.
const ORDERS: [(&str, &str, &str, &str, &str); 6] = [
    ("min", "min", "max", "min value", "max value"),
    ("defaultRequest", "min", "defaultRequest", "min value", "default request value"),
    ("defaultRequest", "defaultRequest", "max", "default request value", "max value"),
    ("defaultRequest", "defaultRequest", "default", "default request value", "default limit value"),
    ("default", "min", "default", "min value", "default value"),
    ("default", "default", "max", "default value", "max value"),
];

pub(super) fn range(check: &mut Check<'_>, range: &Value) {
    let mut kinds = BTreeSet::new();
    for (index, limit) in list(&range["spec"], "limits").iter().enumerate() {
        let (at, kind) = (format!("spec.limits[{index}]"), text(limit, "type"));
        kind_name(check, &format!("{at}.type"), kind);
        if !kinds.insert(kind) {
            check.duplicate(&format!("{at}.type"), &json!(kind));
        }
        if kind == "Pod" {
            for field in ["default", "defaultRequest"] {
                if limit[field].as_object().is_some_and(|amounts| !amounts.is_empty()) {
                    let why = "may not be specified when `type` is 'Pod'";
                    check.forbidden(&format!("{at}.{field}"), why);
                }
            }
        }
        let bounded = |field: &str| limit[field].get("storage").is_some();
        if kind == "PersistentVolumeClaim" && !bounded("min") && !bounded("max") {
            let why =
                "either minimum or maximum storage value is required, but neither was provided";
            check.required(&format!("{at}.limits"), why);
        }
        amounts(check, &at, kind, limit);
    }
}

fn kind_name(check: &mut Check<'_>, field: &str, kind: &str) {
    let problems = qualified_name_problems(kind);
    for why in &problems {
        check.invalid(field, &json!(kind), why);
    }
    if problems.is_empty() && !kind.contains('/') && !STANDARD.contains(&kind) {
        check.invalid(field, &json!(kind), "must be a standard limit type or fully qualified");
    }
}

fn amounts(check: &mut Check<'_>, at: &str, kind: &str, limit: &Value) {
    let read = |field: &str| -> BTreeMap<String, Value> {
        let unread = kind == "Pod" && field.starts_with("default");
        let fields = limit[field].as_object().filter(|_| !unread);
        fields.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let fields = ["min", "max", "default", "defaultRequest", "maxLimitRequestRatio"];
    let all: BTreeMap<&str, _> = fields.iter().map(|field| (*field, read(field))).collect();
    let names: BTreeSet<&String> = all.values().flat_map(BTreeMap::keys).collect();
    let nanos = |value: &Value| value.as_str().and_then(quantity_nanos);
    for name in names {
        for (field, lesser, greater, less, more) in ORDERS {
            let (Some(low), Some(high)) = (all[lesser].get(name), all[greater].get(name)) else {
                continue;
            };
            if nanos(low) > nanos(high) {
                let (low_text, high_text) = (low.as_str(), high.as_str());
                let why = format!(
                    "{less} {} is greater than {more} {}",
                    low_text.unwrap_or_default(),
                    high_text.unwrap_or_default()
                );
                let shown = match (field, lesser) {
                    ("default", "min") => low,
                    ("default", _) => high,
                    _ => &all[field][name],
                };
                check.invalid(&format!("{at}.{field}[{name}]"), shown, &why);
            }
        }
        if let Some(ratio) = all["maxLimitRequestRatio"].get(name)
            && nanos(ratio).is_some_and(|ratio| ratio < 1_000_000_000)
        {
            let why = format!("ratio {} is less than 1", ratio.as_str().unwrap_or_default());
            check.invalid(&format!("{at}.maxLimitRequestRatio[{name}]"), ratio, &why);
        }
    }
}
