//! ResourceQuotas (`ValidateResourceQuota`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    resources,
};

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

/// Scopes that no object is in both of.
const OPPOSITES: [[&str; 2]; 2] =
    [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

pub(super) fn quota(check: &mut Check<'_>, quota: &Value) {
    let spec = &quota["spec"];
    amounts(check, &spec["hard"], "spec.hard");
    scopes(check, spec);
    if spec["scopeSelector"].is_object() {
        selector(check, spec);
    }
    for field in ["hard", "used"] {
        amounts(check, &quota["status"][field], &format!("status.{field}"));
    }
}

/// Scopes stay (`ValidateResourceQuotaUpdate`).
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let scopes = |quota: &Value| -> BTreeSet<String> {
        let scopes = list(&quota["spec"], "scopes").iter().filter_map(Value::as_str);
        scopes.map(str::to_owned).collect()
    };
    if scopes(old) != scopes(new) {
        check.invalid("spec.scopes", &new["spec"]["scopes"], "field is immutable");
    }
}

fn amounts(check: &mut Check<'_>, amounts: &Value, at: &str) {
    for (name, value) in amounts.as_object().into_iter().flatten() {
        let field = format!("{at}[{name}]");
        resources::name(check, &field, name);
        if !name.contains('/') && !resources::is_standard_for_quota(name) {
            check.invalid(&field, &json!(name), "must be a standard resource for quota");
        }
        resources::amount(check, &field, name, value);
    }
}

/// Whether a resource can be counted in a scope (`IsResourceQuotaScopeValidForResource`).
fn is_counted_in(scope: &str, resource: &str) -> bool {
    let computed =
        ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        _ if SCOPES.contains(&scope) => resource == "pods" || computed.contains(&resource),
        _ => true,
    }
}

/// Resources with a limit that a scope does not go with.
fn strangers(spec: &Value, scope: &str) -> usize {
    let limited = spec["hard"].as_object().into_iter().flat_map(|hard| hard.keys());
    let standard = limited.filter(|name| resources::is_standard_for_quota(name));
    standard.filter(|name| !is_counted_in(scope, name)).count()
}

fn contradicts(scopes: &BTreeSet<&str>) -> usize {
    OPPOSITES.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))).count()
}

fn scopes(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.scopes";
    let scopes: Vec<&str> = list(spec, "scopes").iter().filter_map(Value::as_str).collect();
    let shown = &spec["scopes"];
    for (index, scope) in scopes.iter().enumerate() {
        check.supported(&format!("{AT}[{index}]"));
        if !SCOPES.contains(scope) {
            check.invalid(AT, shown, "unsupported scope");
        }
        for _ in 0..strangers(spec, scope) {
            check.invalid(AT, shown, "unsupported scope applied to resource");
        }
    }
    for _ in 0..contradicts(&scopes.into_iter().collect()) {
        check.invalid(AT, shown, "conflicting scopes");
    }
}

/// `validateScopedResourceSelectorRequirement`
fn selector(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.scopeSelector.matchExpressions";
    let requirements = list(&spec["scopeSelector"], "matchExpressions");
    for requirement in requirements {
        let (scope, operator) = (text(requirement, "scopeName"), text(requirement, "operator"));
        if !SCOPES.contains(&scope) {
            check.invalid(&format!("{AT}.scopeName"), &json!(scope), "unsupported scope");
        }
        for _ in 0..strangers(spec, scope) {
            check.invalid(AT, &spec["scopeSelector"], "unsupported scope applied to resource");
        }
        let existing =
            !matches!(scope, "PriorityClass" | "VolumeAttributesClass") && SCOPES.contains(&scope);
        if existing && operator != "Exists" {
            let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                       ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                       ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            check.invalid(&format!("{AT}.operator"), &json!(operator), why);
        }
        let (field, values) = (format!("{AT}.values"), list(requirement, "values"));
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                check.required(&field, why);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                check.invalid(&field, &requirement["values"], why);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                check.supported(&format!("{AT}.operator"));
                let why = "not a valid selector operator";
                check.invalid(&format!("{AT}.operator"), &json!(operator), why);
            }
        }
    }
    let names = requirements.iter().map(|requirement| text(requirement, "scopeName")).collect();
    for _ in 0..contradicts(&names) {
        check.invalid(AT, &spec["scopes"], "conflicting scopes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(spec: Value) -> Vec<String> {
        let mut errors = Vec::new();
        quota(&mut Check::new(&mut errors), &json!({"spec": spec}));
        errors.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect()
    }

    #[test]
    fn limits_are_amounts_of_what_can_be_counted() {
        let good = json!({"hard": {"pods": "5", "cpu": "500m", "count/foos.example.io": "1",
            "requests.x.io/gpu": "1"}});
        assert_eq!(told(good), Vec::<String>::new());
        assert_eq!(
            told(
                json!({"hard": {"pods": "500m", "storage": "1", "count/foos.example.io": "-1", "fruit": "1"}})
            ),
            [
                "spec.hard[count/foos.example.io]: must be greater than or equal to 0",
                "spec.hard[fruit]: must be a standard resource type or fully qualified",
                "spec.hard[fruit]: must be a standard resource for quota",
                "spec.hard[pods]: must be an integer",
                "spec.hard[storage]: must be a standard resource for quota",
            ]
        );
    }

    #[test]
    fn scopes_go_with_what_is_limited() {
        assert_eq!(
            told(json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})),
            Vec::<String>::new()
        );
        assert_eq!(
            told(
                json!({"hard": {"services": "1"}, "scopes": ["Terminating", "NotTerminating", "Red"]})
            ),
            [
                "spec.scopes: unsupported scope applied to resource",
                "spec.scopes: unsupported scope applied to resource",
                "spec.scopes: unsupported scope",
                "spec.scopes: conflicting scopes",
            ]
        );
        let selector =
            json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]});
        assert_eq!(
            told(json!({"scopeSelector": selector})),
            [
                "spec.scopeSelector.matchExpressions.values: must be at least one value when `operator` is 'In' or \
              'NotIn' for scope selector"
            ]
        );
    }
}
