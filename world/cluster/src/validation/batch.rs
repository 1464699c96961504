//! CronJobs (`pkg/apis/batch/validation`); Jobs have a file of their own.

use jiff::tz::TimeZoneDatabase;
use serde_json::{Value, json};

use super::{
    check::{Check, text},
    cron, job,
};
use crate::facts::Resource;

/// A Job's name is its CronJob's and eleven characters more.
const NAME_MOST_BYTES: usize = 52;

pub(super) fn batch(check: &mut Check<'_>, row: &Resource, old: Option<&Value>, new: &Value) {
    match row.resource.as_str() {
        "jobs" => job::job(check, old, new),
        "cronjobs" => {
            let was = old.map_or("", |old| text(&old["spec"], "schedule"));
            schedule(check, was, &new["spec"]);
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
            job_template(check, &new["spec"]["jobTemplate"]["spec"]);
            let name = text(&new["metadata"], "name");
            if old.is_none() && name.len() > NAME_MOST_BYTES {
                let detail = format!("must be no more than {NAME_MOST_BYTES} characters");
                check.invalid("metadata.name", &json!(name), &detail);
            }
        }
        _ => {}
    }
}

/// Jobs select their pods by themselves (`ValidateJobTemplateSpec`).
fn job_template(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.jobTemplate.spec";
    job::spec(check, spec, AT);
    if !spec["selector"].is_null() {
        let detail = "`selector` will be auto-generated";
        check.invalid(&format!("{AT}.selector"), &spec["selector"], detail);
    }
    if spec["manualSelector"] == json!(true) {
        let field = format!("{AT}.manualSelector");
        check.not_supported(&field, &spec["manualSelector"], &["nil", "false"]);
    }
}

/// `validateScheduleFormat`; a zone in a schedule is tolerated where it was.
fn schedule(check: &mut Check<'_>, was: &str, spec: &Value) {
    const AT: &str = "spec.schedule";
    let (schedule, zoned) = (text(spec, "schedule"), was.contains("TZ"));
    if schedule.is_empty() {
        return check.required(AT, "");
    }
    if let Some(why) = cron::problem(schedule) {
        check.invalid(AT, &json!(schedule), &why);
    }
    if !schedule.contains("TZ") {
        return;
    }
    if !zoned {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        check.invalid(AT, &json!(schedule), detail);
    } else if !spec["timeZone"].is_null() {
        let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        check.invalid(AT, &json!(schedule), detail);
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
