//! RBAC and priority classes.

use serde_json::{Value, json};

use super::check::{Check, list, text};
use crate::{facts::Resource, verbs::path_segment_problem};

/// Greatest value of a class that is not the system's.
const USER_PRIORITY_MAX: i64 = 1_000_000_000;

/// The group of roles, and of all whom they are given to.
const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn rbac(check: &mut Check<'_>, row: &Resource, new: &Value) {
    match row.resource.as_str() {
        "roles" | "clusterroles" => rules(check, new, row.resource == "roles"),
        _ => binding(check, new, row.resource == "rolebindings"),
    }
}

fn rules(check: &mut Check<'_>, role: &Value, namespaced: bool) {
    for (index, rule) in list(role, "rules").iter().enumerate() {
        let at = format!("rules[{index}]");
        let none = |field: &str| list(rule, field).is_empty();
        if none("verbs") {
            check.required(&format!("{at}.verbs"), "verbs must contain at least one value");
        }
        if !none("nonResourceURLs") {
            if namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                let value = &rule["nonResourceURLs"];
                check.invalid(&format!("{at}.nonResourceURLs"), value, detail);
            } else if !none("apiGroups") || !none("resources") || !none("resourceNames") {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                check.invalid(&format!("{at}.nonResourceURLs"), &rule["nonResourceURLs"], detail);
            }
            continue;
        }
        if none("apiGroups") {
            let detail = "resource rules must supply at least one api group";
            check.required(&format!("{at}.apiGroups"), detail);
        }
        if none("resources") {
            let detail = "resource rules must supply at least one resource";
            check.required(&format!("{at}.resources"), detail);
        }
    }
}

/// `ValidateRoleBinding`, `ValidateClusterRoleBinding`
fn binding(check: &mut Check<'_>, binding: &Value, namespaced: bool) {
    let role = &binding["roleRef"];
    let (group, kind, name) = (text(role, "apiGroup"), text(role, "kind"), text(role, "name"));
    if group != GROUP {
        check.not_supported("roleRef.apiGroup", &json!(group), &[GROUP]);
    }
    let known: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !known.contains(&kind) {
        check.not_supported("roleRef.kind", &json!(kind), known);
    }
    if name.is_empty() {
        check.required("roleRef.name", "");
    } else if let Some(why) = path_segment_problem(name) {
        check.invalid("roleRef.name", &json!(name), &why);
    }
    for (index, one) in list(binding, "subjects").iter().enumerate() {
        subject(check, one, namespaced, &format!("subjects[{index}]"));
    }
}

/// `ValidateRoleBindingSubject`
fn subject(check: &mut Check<'_>, subject: &Value, namespaced: bool, at: &str) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        check.required(&format!("{at}.name"), "");
    }
    let field = format!("{at}.apiGroup");
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                check.subdomain(&format!("{at}.name"), name);
            }
            if !group.is_empty() {
                check.not_supported(&field, &json!(group), &[""]);
            }
            // In a namespace the binding's own is filled in by nobody, yet not missed.
            if !namespaced && text(subject, "namespace").is_empty() {
                check.required(&format!("{at}.namespace"), "");
            }
        }
        "User" | "Group" if group == GROUP => {}
        "User" | "Group" => check.not_supported(&field, &json!(group), &[GROUP]),
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            check.not_supported(&format!("{at}.kind"), &json!(other), &kinds);
        }
    }
}

/// What a binding binds to stays.
pub(super) fn role_ref_update(check: &mut Check<'_>, old: &Value, new: &Value) {
    if old["roleRef"] != new["roleRef"] {
        let field = |name: &str| json!(text(&new["roleRef"], name));
        let (group, kind, name) = (field("apiGroup"), field("kind"), field("name"));
        let shown = format!("{{\"APIGroup\":{group},\"Kind\":{kind},\"Name\":{name}}}");
        check.invalid_as("roleRef", shown, "cannot change roleRef");
    }
}

pub(super) fn priority_class(check: &mut Check<'_>, class: &Value) {
    let name = text(&class["metadata"], "name");
    let system = name.starts_with("system-");
    if system && !["system-cluster-critical", "system-node-critical"].contains(&name) {
        let detail = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: {name} is \
             not a known system priority class"
        );
        check.forbidden("metadata.name", &detail);
    }
    if !system && class["value"].as_i64().is_some_and(|value| value > USER_PRIORITY_MAX) {
        let detail =
            format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        check.forbidden("value", &detail);
    }
}
