//! What makes pods: Deployments and their kin, Jobs, CronJobs, budgets, autoscalers.

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    core, pod,
};
use crate::{facts::Resource, verbs::selector::Labels};

pub(super) fn workload(check: &mut Check<'_>, row: &Resource, new: &Value) {
    let spec = &new["spec"];
    let name = row.resource.as_str();
    if name == "controllerrevisions" {
        check.not_negative("revision", &new["revision"]);
        return;
    }
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        check.not_negative(&format!("spec.{field}"), &spec[field]);
    }
    if name == "deployments" {
        deployment(check, spec);
    }
    selector_and_labels(check, name, spec);
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
fn template(check: &mut Check<'_>, resource: &str, template: &Value, at: &str) {
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
        if wanted.into_iter().any(|(key, value)| labels.get(key) != Some(value)) {
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
        Value::Null => check.required(at, ""),
        selector if is_empty(selector) => {
            check.invalid(at, selector, &format!("empty selector is invalid for {noun}"));
        }
        selector if expressions(check, selector, at) => {
            check.invalid(at, selector, "invalid label selector");
            return;
        }
        _ => {}
    }
    if is_empty(selector) && !selector.is_null() {
        return;
    }
    let matches = !selector.is_null() && matches(selector, labels);
    if !matches {
        let detail = "`selector` does not match template `labels`";
        check.invalid("spec.template.metadata.labels", labels, detail);
    }
}

fn is_empty(selector: &Value) -> bool {
    let labels = selector["matchLabels"].as_object().is_none_or(serde_json::Map::is_empty);
    labels && list(selector, "matchExpressions").is_empty()
}

fn matches(selector: &Value, labels: &Value) -> bool {
    let text = crate::verbs::selector_text(selector);
    let object = json!({"metadata": {"labels": labels}});
    Labels::parse(&text).is_ok_and(|selector| selector.matches(&object))
}

/// Whether any of them is wrong.
fn expressions(check: &mut Check<'_>, selector: &Value, at: &str) -> bool {
    let before = check.count();
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let at = format!("{at}.matchExpressions[{index}]");
        let none = list(expression, "values").is_empty();
        match text(expression, "operator") {
            "In" | "NotIn" if none => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                check.required(&format!("{at}.values"), detail);
            }
            "Exists" | "DoesNotExist" if !none => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                check.forbidden(&format!("{at}.values"), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => check.invalid(
                &format!("{at}.operator"),
                &expression["operator"],
                "not a valid selector operator",
            ),
        }
    }
    check.count() > before
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

pub(super) fn batch(check: &mut Check<'_>, row: &Resource, new: &Value) {
    match row.resource.as_str() {
        "jobs" => {
            generated_selector(check, new);
            job(check, &new["spec"], "spec");
        }
        "cronjobs" => {
            schedule(check, text(&new["spec"], "schedule"));
            for field in ["startingDeadlineSeconds", "successfulJobsHistoryLimit"] {
                check.not_negative(&format!("spec.{field}"), &new["spec"][field]);
            }
            check.not_negative(
                "spec.failedJobsHistoryLimit",
                &new["spec"]["failedJobsHistoryLimit"],
            );
            job(check, &new["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec");
        }
        _ => {}
    }
}

/// Without `manualSelector` a job selects by its uid and nothing else.
fn generated_selector(check: &mut Check<'_>, job: &Value) {
    let spec = &job["spec"];
    if spec["manualSelector"] == json!(true) {
        return;
    }
    let uid = &job["metadata"]["uid"];
    let wanted = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    if spec["selector"] != wanted {
        check.invalid("spec.selector", &spec["selector"], "`selector` not auto-generated");
    }
}

fn job(check: &mut Check<'_>, spec: &Value, at: &str) {
    for field in ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"] {
        check.not_negative(&format!("{at}.{field}"), &spec[field]);
    }
    check.not_negative(&format!("{at}.ttlSecondsAfterFinished"), &spec["ttlSecondsAfterFinished"]);
    let field = format!("{at}.template.spec.restartPolicy");
    let policy = &spec["template"]["spec"]["restartPolicy"];
    if policy.as_str().is_none_or(|policy| policy == "Always") {
        check.required(&field, r#"valid values: "OnFailure", "Never""#);
    }
    template(check, "jobs", &spec["template"], &format!("{at}.template"));
}

/// The forms that the cron library reads: descriptors and five fields.
fn schedule(check: &mut Check<'_>, schedule: &str) {
    const AT: &str = "spec.schedule";
    if schedule.is_empty() {
        check.required(AT, "");
        return;
    }
    if schedule.starts_with('@') {
        return;
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        let detail =
            format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" "));
        check.invalid(AT, &json!(schedule), &detail);
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
        "jobs" => {
            // An indexed Job that runs all at once may grow and shrink (KEP-3715).
            let elastic = after["completionMode"] == "Indexed"
                && [before, after].iter().all(|spec| {
                    spec["completions"].is_number() && spec["completions"] == spec["parallelism"]
                });
            let fields = ["completions", "selector", "completionMode", "podFailurePolicy"];
            for field in fields.into_iter().filter(|field| !(elastic && *field == "completions")) {
                check.unchanged(&format!("spec.{field}"), &before[field], &after[field]);
            }
            if before["template"]["spec"] != after["template"]["spec"] {
                let value = &after["template"]["spec"];
                check.invalid("spec.template", value, "field is immutable");
            }
        }
        "controllerrevisions" => check.unchanged("data", &old["data"], &new["data"]),
        _ => {}
    }
}

pub(super) fn budget(check: &mut Check<'_>, new: &Value) {
    let spec = &new["spec"];
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

pub(super) fn autoscaler(check: &mut Check<'_>, new: &Value) {
    let spec = &new["spec"];
    let most = spec["maxReplicas"].as_i64().unwrap_or(0);
    if most < 1 {
        check.invalid("spec.maxReplicas", &json!(most), "must be greater than 0");
    }
    let least = spec["minReplicas"].as_i64().unwrap_or(1);
    if least < 1 {
        let detail = "must be greater than or equal to 1";
        check.invalid("spec.minReplicas", &json!(least), detail);
    }
    if most < least {
        let detail = "must be greater than or equal to `minReplicas`";
        check.invalid("spec.maxReplicas", &json!(most), detail);
    }
    for field in ["kind", "name"] {
        if text(&spec["scaleTargetRef"], field).is_empty() {
            check.required(&format!("spec.scaleTargetRef.{field}"), "");
        }
    }
}
