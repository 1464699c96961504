//! What makes pods: Deployments and their kin, Jobs, CronJobs, budgets, autoscalers.

use jiff::tz::TimeZoneDatabase;
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
        return;
    }
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        check.not_negative(&format!("spec.{field}"), &spec[field]);
    }
    if name == "deployments" {
        deployment(check, spec);
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
        Value::Null if resource == "daemonsets" => {}
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

pub(super) fn batch(check: &mut Check<'_>, row: &Resource, old: Option<&Value>, new: &Value) {
    match row.resource.as_str() {
        "jobs" => {
            generated_selector(check, new);
            job(check, &new["spec"], "spec");
        }
        "cronjobs" => {
            schedule(check, text(&new["spec"], "schedule"));
            time_zone(
                check,
                old.map_or(&Value::Null, |old| &old["spec"]),
                &new["spec"]["timeZone"],
            );
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

/// The zone of a schedule must be one that is known, where it is new (`validateTimeZone`).
fn time_zone(check: &mut Check<'_>, before: &Value, zone: &Value) {
    const AT: &str = "spec.timeZone";
    let Some(name) = zone.as_str().filter(|_| before["timeZone"] != *zone) else { return };
    let local = name.eq_ignore_ascii_case("local");
    if name.is_empty() {
        check.invalid(AT, zone, "timeZone must be nil or non-empty string");
    } else if local {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        check.invalid(AT, zone, detail);
    } else if !is_time_zone(name) {
        check.invalid(AT, zone, &format!("unknown time zone {name}"));
    }
}

/// Zones are told by their names as they are written, which upstream finds as files.
fn is_time_zone(name: &str) -> bool {
    let found = TimeZoneDatabase::bundled().get(name);
    found.is_ok_and(|zone| zone.iana_name() == Some(name))
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
            let fields = [
                "completions",
                "selector",
                "completionMode",
                "podFailurePolicy",
                "backoffLimitPerIndex",
                "managedBy",
                "successPolicy",
            ];
            for field in fields.into_iter().filter(|field| !(elastic && *field == "completions")) {
                check.unchanged(&format!("spec.{field}"), &before[field], &after[field]);
            }
            job_template(check, old, new);
        }
        "controllerrevisions" => check.unchanged("data", &old["data"], &new["data"]),
        _ => {}
    }
}

/// The pods of a job stay as they are; while it is suspended they may ask for other resources, and before it ever
/// started be placed elsewhere (`validatePodTemplateUpdate`, KEP-2926, KEP-5440).
fn job_template(check: &mut Check<'_>, old: &Value, new: &Value) {
    let suspended = old["spec"]["suspend"] == json!(true);
    let never_ran = suspended && old["status"]["startTime"].is_null();
    let (mut before, after) = (old["spec"]["template"].clone(), &new["spec"]["template"]);
    if never_ran {
        for field in ["labels", "annotations"] {
            before["metadata"][field] = after["metadata"][field].clone();
        }
        for field in ["nodeSelector", "tolerations", "schedulingGates"] {
            before["spec"][field] = after["spec"][field].clone();
        }
        let affinity = after.pointer("/spec/affinity/nodeAffinity").cloned();
        before["spec"]["affinity"]["nodeAffinity"] = affinity.unwrap_or_default();
    }
    if !suspended {
        if without_nulls(&before) != without_nulls(after) {
            check.invalid("spec.template", after, "field is immutable");
        }
        return;
    }
    for kind in ["containers", "initContainers"] {
        let new = list(&after["spec"], kind);
        let old = before["spec"][kind].as_array_mut().filter(|old| old.len() == new.len());
        for (old, new) in old.into_iter().flatten().zip(new) {
            if old["name"] == new["name"] {
                old["resources"] = new["resources"].clone();
            }
        }
    }
    if without_nulls(&before["spec"]) != without_nulls(&after["spec"]) {
        check.invalid("spec.template.spec", &after["spec"], "field is immutable");
    }
}

/// A value without what is null or holds nothing, which Go's structs don't tell from what is absent.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, value)| (name.clone(), without_nulls(value)));
            let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
            kept.filter(|(_, value)| !value.is_null() && !empty(value)).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
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
