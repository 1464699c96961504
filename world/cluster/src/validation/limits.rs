//! LimitRanges (`ValidateLimitRange`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    resources,
};
use crate::{encoding::quantity_nanos, verbs::qualified_name_problems};

const FIELDS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

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
        names(check, &at, kind, limit);
        amounts(check, &at, kind, limit);
    }
}

/// What is limited (`validateLimitRangeResourceName`).
fn names(check: &mut Check<'_>, at: &str, kind: &str, limit: &Value) {
    let limited = FIELDS.into_iter().filter(|field| kind != "Pod" || !field.starts_with("default"));
    for field in limited {
        for name in limit[field].as_object().into_iter().flat_map(|amounts| amounts.keys()) {
            let field = format!("{at}.{field}[{name}]");
            match kind {
                "Pod" | "Container" => resources::container_name(check, &field, name),
                _ => {
                    resources::name(check, &field, name);
                }
            }
        }
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
    let all: BTreeMap<&str, _> = FIELDS.iter().map(|field| (*field, read(field))).collect();
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
        let of = |field: &str| all[field].get(name);
        if let Some(ratio) = of("maxLimitRequestRatio") {
            ratio_problems(
                check,
                &format!("{at}.maxLimitRequestRatio[{name}]"),
                ratio,
                (of("min"), of("max")),
            );
        }
        if let (Some(limit), Some(request)) = (of("default"), of("defaultRequest"))
            && !resources::is_overcommitted(name)
            && nanos(limit) != nanos(request)
        {
            let why = format!(
                "default value {} must equal to defaultRequest value {} in {name}",
                limit.as_str().unwrap_or_default(),
                request.as_str().unwrap_or_default()
            );
            check.invalid(&format!("{at}.defaultRequest[{name}]"), request, &why);
        }
    }
}

/// How much more than it requests a container may be limited to: at least as much, and no more than the bounds allow.
fn ratio_problems(
    check: &mut Check<'_>,
    field: &str,
    ratio: &Value,
    (min, max): (Option<&Value>, Option<&Value>),
) {
    let number = |value: &Value| {
        let nanos = value.as_str().and_then(quantity_nanos);
        // Rounded to thousandths, as upstream's numbers are.
        nanos.map(|nanos| nanos.div_euclid(1_000_000) as f64 / 1000.0)
    };
    let text = ratio.as_str().unwrap_or_default();
    let Some(own) = number(ratio) else { return };
    if own < 1.0 {
        check.invalid(field, ratio, &format!("ratio {text} is less than 1"));
    }
    if let (Some(min), Some(max)) = (min.and_then(number), max.and_then(number))
        && own > max / min
    {
        check.invalid(
            field,
            ratio,
            &format!("ratio {text} is greater than max/min = {:.6}", max / min),
        );
    }
}
