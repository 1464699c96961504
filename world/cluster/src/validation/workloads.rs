//! What makes pods: Deployments and their kin; and their budgets.

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    daemon_set, pod,
    selector::label_selector,
};
use crate::{facts::Resource, verbs::selector::Labels};

pub(super) fn workload(check: &mut Check<'_>, row: &Resource, new: &Value) {
    let spec = &new["spec"];
    let name = row.resource.as_str();
    if name == "daemonsets" {
        return daemon_set::daemon_set(check, new);
    }
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        check.not_negative(&format!("spec.{field}"), &spec[field]);
    }
    if name == "deployments" {
        deployment(check, spec);
    }
    let readable = selector_and_labels(check, name, spec);
    if name == "replicationcontrollers" && !spec["template"].is_object() {
        check.required("spec.template", "");
        return;
    }
    if readable {
        template(check, name, &spec["template"], "spec.template");
    }
    status(check, &new["status"]);
}

/// The pods of a workload restart always.
pub(super) fn template(check: &mut Check<'_>, resource: &str, template: &Value, at: &str) {
    let policy = &template["spec"]["restartPolicy"];
    if policy.is_string() && policy != "Always" && resource != "jobs" {
        check.not_supported(&format!("{at}.spec.restartPolicy"), policy, &["Always"]);
    }
    let of = match resource {
        "deployments" | "replicasets" => "ReplicaSet",
        "replicationcontrollers" => "ReplicationController",
        _ => "",
    };
    if !of.is_empty() && !template["spec"]["activeDeadlineSeconds"].is_null() {
        let detail = format!("activeDeadlineSeconds in {of} is not Supported");
        check.forbidden(&format!("{at}.spec.activeDeadlineSeconds"), &detail);
    }
    pod::template(check, template, at);
}

/// `ValidateControllerRevisionCreate`; of an update only the number, as what it holds stays.
pub(super) fn revision(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    check.not_negative("revision", &new["revision"]);
    match &new["data"] {
        _ if old.is_some() => {}
        Value::Object(_) => {}
        Value::Null => check.required("data", "data is mandatory"),
        _ => check.required("data", "data must be a valid JSON object"),
    }
}

fn deployment(check: &mut Check<'_>, spec: &Value) {
    let strategy = &spec["strategy"];
    let rolling = &strategy["rollingUpdate"];
    if text(strategy, "type") == "Recreate" && rolling.is_object() {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        check.forbidden("spec.strategy.rollingUpdate", detail);
    }
    let zero = |field: &str| {
        let value = &rolling[field];
        value == &json!(0) || value == &json!("0%")
    };
    if rolling.is_object() && zero("maxSurge") && zero("maxUnavailable") {
        let (field, detail) =
            ("spec.strategy.rollingUpdate.maxUnavailable", "may not be 0 when `maxSurge` is 0");
        check.invalid_as(field, go_int_or_string(&rolling["maxUnavailable"]), detail);
    }
    let deadline = spec["progressDeadlineSeconds"].as_i64();
    check.not_negative("spec.progressDeadlineSeconds", &spec["progressDeadlineSeconds"]);
    if deadline.is_some_and(|deadline| deadline <= spec["minReadySeconds"].as_i64().unwrap_or(0)) {
        let detail = "must be greater than minReadySeconds";
        check.invalid("spec.progressDeadlineSeconds", &spec["progressDeadlineSeconds"], detail);
    }
}

/// An IntOrString in a message.
fn go_int_or_string(value: &Value) -> String {
    value.to_string()
}

/// Whether the selector can be read; else nobody looks at the template.
fn selector_and_labels(check: &mut Check<'_>, resource: &str, spec: &Value) -> bool {
    let at = "spec.selector";
    let selector = &spec["selector"];
    let labels = &spec["template"]["metadata"]["labels"];
    if resource == "replicationcontrollers" {
        let wanted = selector.as_object().into_iter().flatten();
        if selector.as_object().is_none_or(serde_json::Map::is_empty) {
            check.required(at, "");
        }
        let template = spec["template"].is_object();
        if template && wanted.into_iter().any(|(key, value)| labels.get(key) != Some(value)) {
            let detail = "`selector` does not match template `labels`";
            check.invalid("spec.template.metadata.labels", labels, detail);
        }
        return true;
    }
    match selector {
        Value::Null => check.required(at, ""),
        selector if is_empty(selector) => {
            check.invalid(at, selector, "empty selector is invalid for deployment");
        }
        selector if label_selector(check, selector, at) => {
            check.invalid(at, selector, "invalid label selector");
            return false;
        }
        _ => {}
    }
    if is_empty(selector) && !selector.is_null() {
        return true;
    }
    let matches = !selector.is_null() && selects(selector, labels);
    if !matches {
        let detail = "`selector` does not match template `labels`";
        check.invalid("spec.template.metadata.labels", labels, detail);
    }
    true
}

/// Whether a selector selects everything.
pub(super) fn is_empty(selector: &Value) -> bool {
    let labels = selector["matchLabels"].as_object().is_none_or(serde_json::Map::is_empty);
    labels && list(selector, "matchExpressions").is_empty()
}

/// Whether a label selector selects these labels.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    let text = crate::verbs::selector_text(selector);
    let object = json!({"metadata": {"labels": labels}});
    Labels::parse(&text).is_ok_and(|selector| selector.matches(&object))
}

fn status(check: &mut Check<'_>, status: &Value) {
    let fields = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
    for field in fields.iter().chain(&["unavailableReplicas", "fullyLabeledReplicas"]) {
        check.not_negative(&format!("status.{field}"), &status[*field]);
    }
    if status["replicas"].is_null() {
        return;
    }
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    let more = "cannot be greater than status.replicas";
    let known = |field: &&&str| **field != "fullyLabeledReplicas" || !status[**field].is_null();
    let parts = ["updatedReplicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"];
    for field in parts.iter().filter(known) {
        if count(field) > count("replicas") {
            check.invalid(&format!("status.{field}"), &json!(count(field)), more);
        }
    }
    if count("availableReplicas") > count("readyReplicas") {
        let detail = "cannot be greater than readyReplicas";
        check.invalid("status.availableReplicas", &status["availableReplicas"], detail);
    }
}

pub(super) fn update(check: &mut Check<'_>, row: &Resource, old: &Value, new: &Value) {
    let (before, after) = (&old["spec"], &new["spec"]);
    match row.resource.as_str() {
        "deployments" | "replicasets" | "daemonsets" => {
            check.unchanged("spec.selector", &before["selector"], &after["selector"]);
        }
        "controllerrevisions" => check.unchanged("data", &old["data"], &new["data"]),
        _ => {}
    }
}

/// `ValidatePodDisruptionBudgetSpec`
pub(super) fn budget(check: &mut Check<'_>, new: &Value) {
    let spec = &new["spec"];
    for field in ["minAvailable", "maxUnavailable"] {
        if !spec[field].is_null() {
            check.amount_or_percent(&format!("spec.{field}"), &spec[field]);
        }
    }
    label_selector(check, &spec["selector"], "spec.selector");
    let known = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = &spec["unhealthyPodEvictionPolicy"];
    if policy.as_str().is_some_and(|own| !known.contains(&own)) {
        check.one_of_in_order("spec.unhealthyPodEvictionPolicy", policy, &known);
    }
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\
             \"UnhealthyPodEvictionPolicy\":{}}}",
            spec["minAvailable"],
            spec["selector"],
            spec["maxUnavailable"],
            spec["unhealthyPodEvictionPolicy"]
        );
        check.invalid_as("spec", shown, detail);
    }
}
