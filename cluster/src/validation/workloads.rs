//! What makes pods: Deployments and their kin; and their budgets.

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    core, pod,
    selector::label_selector,
};
use crate::{facts::Resource, verbs::selector::Labels};

pub(super) fn workload(check: &mut Check<'_>, row: &Resource, new: &Value) {
    let spec = &new["spec"];
    let name = row.resource.as_str();
    if name == "controllerrevisions" {
        check.not_negative("revision", &new["revision"]);
        match &new["data"] {
            Value::Object(_) => {}
            Value::Null => check.required("data", "data is mandatory"),
            _ => check.required("data", "data must be a valid JSON object"),
        }
        return;
    }
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        check.not_negative(&format!("spec.{field}"), &spec[field]);
    }
    match name {
        "deployments" => deployment(check, spec),
        "statefulsets" => update_strategy(check, &spec["updateStrategy"]),
        _ => {}
    }
    selector_and_labels(check, name, spec);
    if name == "replicationcontrollers" && !spec["template"].is_object() {
        check.required("spec.template", "");
        return;
    }
    let with_claims = with_volumes_of_claims(spec);
    template(check, name, with_claims.as_ref().unwrap_or(&spec["template"]), "spec.template");
    for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        core::claim(check, &claim["spec"], &format!("spec.volumeClaimTemplates[{index}].spec"));
    }
    status(check, &new["status"]);
}

/// The template of a StatefulSet as its pods will have it: each claim template is a volume of its name, which containers
/// mount (`volumesToAddForTemplates`). None where there are no claim templates.
fn with_volumes_of_claims(spec: &Value) -> Option<Value> {
    let claims = list(spec, "volumeClaimTemplates");
    let of_claim = |claim: &Value| json!({"name": claim["metadata"]["name"]});
    let named = |volume: &&Value| claims.iter().all(|c| c["metadata"]["name"] != volume["name"]);
    let mut template = (!claims.is_empty()).then(|| spec["template"].clone())?;
    let own = list(&template["spec"], "volumes").iter().filter(named).cloned();
    template["spec"]["volumes"] = claims.iter().map(of_claim).chain(own).collect();
    Some(template)
}

/// The pods of a workload restart always.
pub(super) fn template(check: &mut Check<'_>, resource: &str, template: &Value, at: &str) {
    let policy = &template["spec"]["restartPolicy"];
    if policy.is_string() && policy != "Always" && resource != "jobs" {
        check.not_supported(&format!("{at}.spec.restartPolicy"), policy, &["Always"]);
    }
    pod::spec(check, &template["spec"], &format!("{at}.spec"));
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

/// How a StatefulSet is updated (`ValidateStatefulSetSpec`).
fn update_strategy(check: &mut Check<'_>, strategy: &Value) {
    const AT: &str = "spec.updateStrategy";
    let rolling = &strategy["rollingUpdate"];
    let shown = match rolling.is_null() {
        true => "null".to_owned(),
        false => format!(
            "{{\"Partition\":{},\"MaxUnavailable\":{}}}",
            rolling["partition"].as_i64().unwrap_or(0),
            rolling["maxUnavailable"]
        ),
    };
    match text(strategy, "type") {
        "RollingUpdate" => {
            check.not_negative(&format!("{AT}.rollingUpdate.partition"), &rolling["partition"]);
        }
        "OnDelete" if rolling.is_null() => {}
        "OnDelete" => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            check.invalid_as(&format!("{AT}.rollingUpdate"), shown, detail);
        }
        "" => check.required(AT, ""),
        other => {
            check.supported(&format!("{AT}.type"));
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":{shown}}}", json!(other));
            check.invalid_as(AT, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// An IntOrString in a message.
fn go_int_or_string(value: &Value) -> String {
    value.to_string()
}

fn selector_and_labels(check: &mut Check<'_>, resource: &str, spec: &Value) {
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
        return;
    }
    let noun = match resource {
        "deployments" => "deployment",
        "statefulsets" => "statefulset",
        "daemonsets" => "daemonset",
        _ => "deployment",
    };
    match selector {
        // Of a DaemonSet nobody asks for one.
        Value::Null if resource == "daemonsets" => check.not_required(at),
        Value::Null => check.required(at, ""),
        selector if is_empty(selector) => {
            check.invalid(at, selector, &format!("empty selector is invalid for {noun}"));
        }
        selector if label_selector(check, selector, at) => {
            check.invalid(at, selector, "invalid label selector");
            return;
        }
        _ => {}
    }
    if is_empty(selector) && !selector.is_null() {
        return;
    }
    let matches = !selector.is_null() && selects(selector, labels);
    if !matches {
        let detail = "`selector` does not match template `labels`";
        check.invalid("spec.template.metadata.labels", labels, detail);
    }
}

fn is_empty(selector: &Value) -> bool {
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
        "statefulsets" => {
            let fixed = |spec: &Value| {
                let mut spec = spec.clone();
                for field in [
                    "replicas",
                    "ordinals",
                    "template",
                    "updateStrategy",
                    "revisionHistoryLimit",
                    "persistentVolumeClaimRetentionPolicy",
                    "minReadySeconds",
                ] {
                    spec.as_object_mut().map(|spec| spec.remove(field));
                }
                spec
            };
            if fixed(before) != fixed(after) {
                let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
                    'template', 'updateStrategy', 'revisionHistoryLimit', \
                    'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
                check.forbidden("spec", detail);
            }
        }
        "controllerrevisions" => check.unchanged("data", &old["data"], &new["data"]),
        _ => {}
    }
}

pub(super) fn budget(check: &mut Check<'_>, new: &Value) {
    let spec = &new["spec"];
    label_selector(check, &spec["selector"], "spec.selector");
    for field in ["minAvailable", "maxUnavailable"] {
        check.not_negative(&format!("spec.{field}"), &spec[field]);
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
