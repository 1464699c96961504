//! The status of a Job (KEP-4368: also controllers outside Kubernetes write it).

use serde_json::{Value, json};
use trace::Time;

use super::{
    super::check::{Check, list, text},
    indexes,
};

/// A Job as it was and as it shall be.
struct Step<'a> {
    old: &'a Value,
    new: &'a Value,
}

impl Step<'_> {
    /// Rules count only where what they speak of changes (`getStatusValidationOptions`).
    fn changes(&self, field: &str) -> bool {
        // A number that is zero is absent in one form and there in another.
        let of =
            |job: &Value| Some(job["status"][field].clone()).filter(|value| *value != json!(0));
        let known = |value: Option<Value>| value.filter(|value| !value.is_null() && *value != "");
        known(of(self.old)) != known(of(self.new))
    }

    /// Whether the truth of a condition changes.
    fn turns(&self, condition: &str) -> bool {
        is(self.old, condition, "True") != is(self.new, condition, "True")
    }

    fn finishes(&self) -> bool {
        is_finished(self.old) != is_finished(self.new)
    }
}

fn is(job: &Value, condition: &str, status: &str) -> bool {
    let has = |one: &Value| one["type"] == condition && one["status"] == status;
    list(&job["status"], "conditions").iter().any(has)
}

fn is_finished(job: &Value) -> bool {
    is(job, "Complete", "True") || is(job, "Failed", "True")
}

/// `ValidateJobStatusUpdate`
pub(in super::super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let step = Step { old, new };
    counts(check, &step);
    uncounted(check, &new["status"]["uncountedTerminatedPods"]);
    conditions(check, &step);
    times(check, &step);
    finished(check, &step);
    completed_indexes(check, &step);
    failed_indexes(check, &step);
}

fn counts(check: &mut Check<'_>, step: &Step<'_>) {
    let (status, spec) = (&step.new["status"], &step.new["spec"]);
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        check.not_negative(&format!("status.{field}"), &status[field]);
    }
    let count = |job: &Value, field: &str| job["status"][field].as_i64().unwrap_or(0);
    let more_ready = status["ready"].as_i64() > Some(count(step.new, "active"));
    if more_ready && (step.changes("ready") || step.changes("active")) {
        check.invalid("status.ready", &status["ready"], "cannot set more ready pods than active");
    }
    // One that has as many pods as completions can shrink.
    let elastic = spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"];
    for field in ["failed", "succeeded"] {
        let (before, after) = (count(step.old, field), count(step.new, field));
        if after < before && !(elastic && field == "succeeded") {
            let detail = format!("cannot decrease the {field} counter");
            check.invalid(&format!("status.{field}"), &json!(after), &detail);
        }
    }
}

fn uncounted(check: &mut Check<'_>, pods: &Value) {
    let mut seen: Vec<&Value> = Vec::new();
    for field in ["succeeded", "failed"] {
        for (index, uid) in list(pods, field).iter().enumerate() {
            let at = format!("status.uncountedTerminatedPods.{field}[{index}]");
            if uid == "" {
                check.invalid(&at, uid, "must not be empty");
            } else if seen.contains(&uid) {
                check.duplicate(&at, uid);
            } else {
                seen.push(uid);
            }
        }
    }
}

/// Which conditions go together, and which stay.
fn conditions(check: &mut Check<'_>, step: &Step<'_>) {
    const AT: &str = "status.conditions";
    let now = |condition: &str| is(step.new, condition, "True");
    let [complete, failed] = ["Complete", "Failed"].map(now);
    let [met, target] = ["SuccessCriteriaMet", "FailureTarget"].map(now);
    let has_policy = !step.new["spec"]["successPolicy"].is_null();
    let rules = [
        (
            complete && failed && (step.turns("Complete") || step.turns("Failed")),
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            complete && target && (step.turns("Complete") || step.turns("FailureTarget")),
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
        (
            failed && !target && (step.turns("Failed") || step.changes("failedIndexes")),
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ),
        (
            complete && !met && (step.turns("Complete") || step.turns("SuccessCriteriaMet")),
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
        (met && failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions"),
        (met && target, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
        (
            has_policy && complete && !met,
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        ),
    ];
    for (_, detail) in rules.iter().filter(|(broken, _)| *broken) {
        check.invalid_without_value(AT, detail);
    }
    let before = |condition: &str| is(step.old, condition, "True");
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if before(condition) && !now(condition) {
            let detail = format!("cannot disable the terminal {condition}=True condition");
            check.invalid_without_value(AT, &detail);
        }
    }
    if before("SuccessCriteriaMet") && !met {
        let detail = "cannot disable the SuccessCriteriaMet=True condition";
        check.invalid_without_value(AT, detail);
    }
    if before("Complete") && !before("SuccessCriteriaMet") && met {
        let detail =
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        check.invalid_without_value(AT, detail);
    }
}

fn times(check: &mut Check<'_>, step: &Step<'_>) {
    let (old, new) = (&step.old["status"], &step.new["status"]);
    let [start, end] = ["startTime", "completionTime"].map(|field| &new[field]);
    let complete = is(step.new, "Complete", "True");
    if step.turns("Complete") || step.changes("completionTime") {
        if !end.is_null() && !complete {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            check.invalid("status.completionTime", end, detail);
        }
        if end.is_null() && complete {
            let detail = "completionTime is required for Complete jobs";
            check.required("status.completionTime", detail);
        }
    }
    let moved = step.changes("startTime") || step.changes("completionTime");
    let time = |value: &Value| Time::parse_rfc3339(value.as_str()?);
    if moved && time(start).zip(time(end)).is_some_and(|(start, end)| end < start) {
        check.invalid("status.completionTime", end, "must be equal to or after `startTime`");
    }
    if !end.is_null() && !old["completionTime"].is_null() && *end != old["completionTime"] {
        check.invalid("status.completionTime", end, "field is immutable");
    }
    let resumes = is(step.old, "Suspended", "True") && is(step.new, "Suspended", "False");
    let suspended = step.new["spec"]["suspend"] == json!(true);
    if !old["startTime"].is_null() && old["startTime"] != *start && !suspended && !resumes {
        let detail = "field is immutable for unsuspended job once set";
        check.invalid("status.startTime", start, detail);
    }
}

/// A Job that is over has no pods at work.
fn finished(check: &mut Check<'_>, step: &Step<'_>) {
    const UNCOUNTED: &str = "uncountedTerminatedPods";
    if !is_finished(step.new) {
        return;
    }
    let (status, spec) = (&step.new["status"], &step.new["spec"]);
    let more_than_none = |field: &str| status[field].as_i64().is_some_and(|count| count > 0);
    for field in ["active", "terminating"] {
        if more_than_none(field) && (step.finishes() || step.changes(field)) {
            let detail = format!("{field}>0 is invalid for finished job");
            check.invalid(&format!("status.{field}"), &status[field], &detail);
        }
    }
    let never_ran = spec["suspend"] == json!(true) && spec["completions"] == json!(0);
    let told = step.finishes() || step.changes("startTime");
    if status["startTime"].is_null() && told && !never_ran {
        check.required("status.startTime", "startTime is required for finished job");
    }
    let pods = &status[UNCOUNTED];
    let some = ["failed", "succeeded"].iter().any(|field| !list(pods, field).is_empty());
    if some && (step.finishes() || step.changes(UNCOUNTED)) {
        let uids = |field: &str| json!(list(pods, field)).to_string();
        let shown =
            format!("{{\"Succeeded\":{},\"Failed\":{}}}", uids("succeeded"), uids("failed"));
        check.invalid_as(&format!("status.{UNCOUNTED}"), shown, "must be empty for finished job");
    }
}

fn completed_indexes(check: &mut Check<'_>, step: &Step<'_>) {
    const AT: &str = "status.completedIndexes";
    if !step.changes("completedIndexes") {
        return;
    }
    let (status, spec) = (&step.new["status"], &step.new["spec"]);
    let written = text(status, "completedIndexes");
    let completions = spec["completions"].as_i64();
    if let Some(Err(why)) = completions.map(|completions| indexes::count(written, completions)) {
        let detail = format!("error parsing completedIndexes: {why}");
        check.invalid(AT, &json!(written), &detail);
    }
    if !written.is_empty() && spec["completionMode"] != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        check.invalid(AT, &json!(written), detail);
    }
}

fn failed_indexes(check: &mut Check<'_>, step: &Step<'_>) {
    const AT: &str = "status.failedIndexes";
    let (status, spec) = (&step.new["status"], &step.new["spec"]);
    let Some(written) = status["failedIndexes"].as_str() else { return };
    let limited = !spec["backoffLimitPerIndex"].is_null();
    let completions = spec["completions"].as_i64();
    if step.changes("failedIndexes") {
        if let Some(Err(why)) =
            completions.filter(|_| limited).map(|all| indexes::count(written, all))
        {
            let detail = format!("error parsing failedIndexes: {why}");
            check.invalid(AT, &json!(written), &detail);
        }
        if !limited {
            let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            check.invalid(AT, &json!(written), detail);
        }
    }
    let told = step.changes("failedIndexes") || step.changes("completedIndexes");
    let completed = text(status, "completedIndexes");
    let both = completions.filter(|_| told && !written.is_empty() && !completed.is_empty());
    if let Some(index) = both.and_then(|all| indexes::overlap(completed, written, all)) {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        check.invalid(AT, &json!(written), &detail);
    }
}
