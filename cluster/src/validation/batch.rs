//! Jobs and CronJobs (`pkg/apis/batch/validation`).

use jiff::tz::TimeZoneDatabase;
use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    workloads::template,
};
use crate::facts::Resource;

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

/// What a job does is settled when it is made.
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let (before, after) = (&old["spec"], &new["spec"]);
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
