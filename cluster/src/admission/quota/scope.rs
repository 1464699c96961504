//! Which pods a quota is about.

use serde_json::{Value, json};
use trace::GroupResource;

use crate::verbs::qos_class;

/// Whether a quota's scopes cover an object; a quota without scopes is about everything, one with scopes about
/// pods only.
pub(super) fn covers(quota: &Value, served: &GroupResource, object: &Value) -> bool {
    let scopes = quota.pointer("/spec/scopes").and_then(Value::as_array).into_iter().flatten();
    let scopes = scopes.map(|scope| json!({"scopeName": scope, "operator": "Exists"}));
    let selector = quota.pointer("/spec/scopeSelector/matchExpressions");
    let selector = selector.and_then(Value::as_array).into_iter().flatten().cloned();
    let pods = served.group.is_empty() && &*served.resource == "pods";
    scopes.chain(selector).all(|scope| pods && matches(&scope, object))
}

fn matches(scope: &Value, pod: &Value) -> bool {
    let terminating = pod["spec"]["activeDeadlineSeconds"].as_i64().is_some_and(|most| most >= 0);
    let best_effort = qos_class(pod) == "BestEffort";
    match scope["scopeName"].as_str() {
        Some("Terminating") => terminating,
        Some("NotTerminating") => !terminating,
        Some("BestEffort") => best_effort,
        Some("NotBestEffort") => !best_effort,
        Some("PriorityClass") => has_class(scope, pod["spec"]["priorityClassName"].as_str()),
        Some("CrossNamespacePodAffinity") => crosses_namespaces(pod),
        _ => false,
    }
}

fn has_class(scope: &Value, class: Option<&str>) -> bool {
    let class = class.filter(|class| !class.is_empty());
    let listed =
        || scope["values"].as_array().into_iter().flatten().any(|value| value.as_str() == class);
    match scope["operator"].as_str() {
        Some("In") => class.is_some() && listed(),
        Some("NotIn") => !(class.is_some() && listed()),
        Some("Exists") => class.is_some(),
        Some("DoesNotExist") => class.is_none(),
        _ => false,
    }
}

fn crosses_namespaces(pod: &Value) -> bool {
    let kinds = ["podAffinity", "podAntiAffinity"];
    let terms = kinds.iter().flat_map(|kind| {
        let affinity = &pod["spec"]["affinity"][kind];
        let required = affinity["requiredDuringSchedulingIgnoredDuringExecution"].as_array();
        let preferred = affinity["preferredDuringSchedulingIgnoredDuringExecution"].as_array();
        let preferred = preferred.into_iter().flatten().map(|term| &term["podAffinityTerm"]);
        required.into_iter().flatten().chain(preferred)
    });
    terms.into_iter().any(|term| {
        !term["namespaceSelector"].is_null()
            || term["namespaces"].as_array().is_some_and(|list| !list.is_empty())
    })
}
