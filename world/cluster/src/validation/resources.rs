//! What containers ask for, and amounts of it (`pkg/apis/core/validation`, `pkg/apis/core/helper`).

use serde_json::{Value, json};

use super::check::Check;
use crate::{encoding::quantity_nanos, verbs::qualified_name_problems};

const NANOS: i128 = 1_000_000_000;

const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// The names without a domain that some resource has.
fn is_standard(name: &str) -> bool {
    let bare = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits."));
    let requested = bare.is_some_and(|bare| {
        OF_CONTAINERS.contains(&bare) || (bare == "storage" && name.starts_with("requests."))
    });
    OF_CONTAINERS.contains(&name)
        || name == "storage"
        || COUNTED.contains(&name)
        || requested
        || is_quota_for_huge_pages(name)
}

/// Those of them that a quota can limit.
pub(super) fn is_standard_for_quota(name: &str) -> bool {
    is_standard(name) && name != "storage"
}

fn is_quota_for_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && qualified_name_problems(&format!("requests.{name}")).is_empty()
}

/// What may be asked for in parts, and limited to more than is asked for.
pub(super) fn is_overcommitted(name: &str) -> bool {
    is_native(name) && !name.starts_with("hugepages-")
}

/// `validateResourceName`; says whether it is one.
pub(super) fn name(check: &mut Check<'_>, field: &str, name: &str) -> bool {
    let before = check.count();
    check.qualified_name(field, name);
    if check.count() == before && !name.contains('/') && !is_standard(name) {
        let why = "must be a standard resource type or fully qualified";
        check.invalid(field, &json!(name), why);
    }
    check.count() == before
}

/// `validateContainerResourceName`
pub(super) fn container_name(check: &mut Check<'_>, field: &str, own: &str) {
    name(check, field, own);
    if !own.contains('/') {
        if !OF_CONTAINERS.contains(&own) && !own.starts_with("hugepages-") {
            check.invalid(field, &json!(own), "must be a standard resource for containers");
        }
    } else if !is_native(own) && !is_extended(own) {
        check.invalid(field, &json!(own), "doesn't follow extended resource name standard");
    }
}

/// An amount that is no debt, and whole where things are counted (`ValidateResourceQuantityValue`).
pub(super) fn amount(check: &mut Check<'_>, field: &str, name: &str, value: &Value) {
    check.amount(field, value);
    let nanos = value.as_str().and_then(quantity_nanos);
    let counted = COUNTED.contains(&name) || is_extended(name);
    if counted && nanos.is_some_and(|nanos| nanos % NANOS != 0) {
        check.invalid(field, value, "must be an integer");
    }
}

/// Requests and limits (`ValidateContainerResourceRequirements`).
pub(super) fn requirements(check: &mut Check<'_>, resources: &Value, at: &str) {
    let amounts = |what: &str| resources.get(what).and_then(Value::as_object).into_iter().flatten();
    for what in ["limits", "requests"] {
        for (name, value) in amounts(what) {
            let field = format!("{at}.{what}[{name}]");
            container_name(check, &field, name);
            amount(check, &field, name, value);
        }
    }
    let limits = format!("{at}.limits");
    let field = format!("{at}.requests");
    let number = |value: &Value| value.as_str().and_then(quantity_nanos);
    for (name, request) in amounts("requests") {
        let Some(limit) = resources["limits"].get(name) else {
            if !is_overcommitted(name) {
                check.required(&limits, "Limit must be set for non overcommitable resources");
            }
            continue;
        };
        let (Some(asked), Some(most)) = (number(request), number(limit)) else { continue };
        let shown = limit.as_str().unwrap_or("");
        if asked != most && !is_overcommitted(name) {
            let detail = format!("must be equal to {name} limit of {shown}");
            check.invalid(&field, request, &detail);
        } else if asked > most {
            let detail = format!("must be less than or equal to {name} limit of {shown}");
            check.invalid(&field, request, &detail);
        }
    }
    let all = || amounts("limits").chain(amounts("requests")).map(|(name, _)| name.as_str());
    if all().any(|name| name.starts_with("hugepages-"))
        && !all().any(|name| matches!(name, "cpu" | "memory"))
    {
        check.forbidden(at, "HugePages require cpu or memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(resources: Value) -> Vec<String> {
        let mut errors = Vec::new();
        requirements(&mut Check::new(&mut errors), &resources, "r");
        errors.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect()
    }

    #[test]
    fn containers_ask_for_what_there_is() {
        assert_eq!(told(json!({"limits": {"cpu": "1", "x.io/gpu": "2"}})), Vec::<String>::new());
        assert_eq!(
            told(json!({"limits": {"pods": "1", "fruit": "1", "x.io/gpu": "500m"}})),
            [
                "r.limits[fruit]: must be a standard resource type or fully qualified",
                "r.limits[fruit]: must be a standard resource for containers",
                "r.limits[pods]: must be a standard resource for containers",
                "r.limits[x.io/gpu]: must be an integer",
            ]
        );
        assert_eq!(
            told(
                json!({"limits": {"cpu": "1", "x.io/gpu": "2"}, "requests": {"cpu": "2", "x.io/gpu": "1"}})
            ),
            [
                "r.requests: must be less than or equal to cpu limit of 1",
                "r.requests: must be equal to x.io/gpu limit of 2",
            ]
        );
        assert_eq!(
            told(json!({"requests": {"hugepages-2Mi": "2Mi"}})),
            [
                "r.limits: Limit must be set for non overcommitable resources",
                "r: HugePages require cpu or memory",
            ]
        );
    }

    #[test]
    fn a_quota_limits_more_than_containers_ask_for() {
        for name in ["requests.cpu", "limits.memory", "pods", "requests.storage", "hugepages-2Mi"] {
            assert!(is_standard_for_quota(name), "{name}");
        }
        for name in ["storage", "limits.storage", "fruit", "requests.pods"] {
            assert!(!is_standard_for_quota(name), "{name}");
        }
    }
}
