//! Events (`pkg/apis/core/validation/events.go`): lax through core `v1`, strict through `events.k8s.io`.

use serde_json::{Value, json};

use super::{
    Asked,
    check::{Check, text},
};
use crate::{
    facts::{self, Resource},
    verbs::qualified_name_problems,
};

const LENGTH_MAX: usize = 128;
const NOTE_LENGTH_MAX: usize = 1024;

/// What an update through `events.k8s.io` leaves as it is.
const FIXED: [&str; 14] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
];

/// Errors are told of the fields of core `v1`. More is asked of `events.k8s.io/v1` only (`legacyValidateEvent`).
pub(super) fn event(
    check: &mut Check<'_>,
    row: &Resource,
    old: Option<&Value>,
    new: &Value,
    asked: Asked,
) {
    let as_core = |event: &Value| {
        let mut event = event.clone();
        facts::convert(&mut event, "v1").ok().map(|()| event)
    };
    let Some(new) = as_core(new) else { return };
    let strict = row.group == "events.k8s.io" && asked == Asked::Now;
    let reporter = if strict { "reportingController" } else { "reportingComponent" };
    match new["eventTime"].is_null() {
        true => old_style(check, &new),
        false => new_style(check, &new, reporter),
    }
    if !strict {
        return;
    }
    match old.and_then(as_core) {
        None => strict_create(check, &new),
        Some(old) => strict_update(check, &old, &new),
    }
}

fn namespaces(event: &Value) -> (&str, &str) {
    (text(&event["metadata"], "namespace"), text(&event["involvedObject"], "namespace"))
}

fn misplaced(check: &mut Check<'_>, involved: &str) {
    let detail = "does not match event.namespace";
    check.invalid("involvedObject.namespace", &json!(involved), detail);
}

fn old_style(check: &mut Check<'_>, event: &Value) {
    let (own, involved) = namespaces(event);
    if own != involved && !(involved.is_empty() && own == "default") {
        misplaced(check, involved);
    }
}

fn new_style(check: &mut Check<'_>, event: &Value, reporter: &str) {
    let (own, involved) = namespaces(event);
    if involved.is_empty() && !matches!(own, "default" | "kube-system") {
        misplaced(check, involved);
    }
    let name = text(event, "reportingComponent");
    if name.is_empty() {
        check.required(reporter, "");
    }
    for why in qualified_name_problems(name) {
        check.invalid(reporter, &json!(name), &why);
    }
    for field in ["reportingInstance", "action", "reason"] {
        if text(event, field).is_empty() {
            check.required(field, "");
        }
        too_long(check, event, field, LENGTH_MAX);
    }
    too_long(check, event, "message", NOTE_LENGTH_MAX);
}

fn too_long(check: &mut Check<'_>, event: &Value, field: &str, most: usize) {
    if text(event, field).len() > most {
        check.invalid(field, &json!(""), &format!("can have at most {most} characters"));
    }
}

fn strict_create(check: &mut Check<'_>, event: &Value) {
    series(check, &event["series"]);
    if event["eventTime"].is_null() {
        check.required("eventTime", "");
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        check.invalid("type", &json!(""), &format!("has invalid value: {kind}"));
    }
    let source = &event["source"];
    let sourced = !text(source, "component").is_empty() || !text(source, "host").is_empty();
    let given = |field: &str| !event[field].is_null() && event[field] != json!(0);
    for (field, set) in [
        ("firstTimestamp", given("firstTimestamp")),
        ("lastTimestamp", given("lastTimestamp")),
        ("count", given("count")),
        ("source", sourced),
    ] {
        if set {
            check.invalid(field, &json!(""), "needs to be unset");
        }
    }
}

fn strict_update(check: &mut Check<'_>, old: &Value, new: &Value) {
    if old["series"] != new["series"] {
        series(check, &new["series"]);
    }
    for field in FIXED {
        let stored = if field == "reportingController" { "reportingComponent" } else { field };
        check.unchanged(field, &old[stored], &new[stored]);
    }
}

fn series(check: &mut Check<'_>, series: &Value) {
    if !series.is_object() {
        return;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        check.invalid("series.count", &json!(""), "should be at least 2");
    }
    if series["lastObservedTime"].is_null() {
        check.required("series.lastObservedTime", "");
    }
}
