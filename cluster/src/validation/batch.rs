//! CronJobs (`pkg/apis/batch/validation`); Jobs have a file of their own.

use jiff::tz::TimeZoneDatabase;
use serde_json::{Value, json};

use super::{
    check::{Check, text},
    job,
};
use crate::facts::Resource;

pub(super) fn batch(check: &mut Check<'_>, row: &Resource, old: Option<&Value>, new: &Value) {
    match row.resource.as_str() {
        "jobs" => job::job(check, new, old.is_some()),
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
            job::spec(check, &new["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec");
        }
        _ => {}
    }
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
