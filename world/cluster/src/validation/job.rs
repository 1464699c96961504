//! Jobs (`pkg/apis/batch/validation`).

mod indexes;
mod policies;
mod status;
mod template;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    check::{Check, text},
    selector,
    workloads::{self, selects},
};

pub(super) use status::update as status_update;

const COMPLETION_MODES: [&str; 2] = ["NonIndexed", "Indexed"];
/// Of an indexed Job.
const PARALLELISM_MOST: i64 = 100_000;
const FAILED_INDEXES_MOST: i64 = 100_000;
/// From so many completions on, a limit per index asks for the two limits below.
const COMPLETIONS_MANY: i64 = 100_000;
const PARALLELISM_OF_MANY: i64 = 10_000;
const FAILED_INDEXES_OF_MANY: i64 = 10_000;
const MANAGED_BY_MOST_BYTES: usize = 63;

/// Labels of a Job's pods that say whose they are; both have a twin without a prefix.
const PREFIXED_LABELS: [&str; 2] =
    ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];

/// What is said of a change, once.
const OF_CHANGES: [&str; 2] = ["field is immutable", IN_TANDEM];
const IN_TANDEM: &str = "can only be modified in tandem with spec.parallelism";

/// `ValidateJob`
pub(super) fn job(check: &mut Check<'_>, old: Option<&Value>, job: &Value) {
    let spec = &job["spec"];
    self::spec(check, spec, "spec");
    selects_its_pods(check, spec);
    if old.is_some() {
        // `ValidateUpdate` of its strategy looks at the whole Job, and then at its spec again.
        check.repeat(|error| {
            error.field.starts_with("spec.") && !OF_CHANGES.contains(&error.detail.as_str())
        });
    }
    generated_selector(check, old, job);
    pod_names(check, job);
}

/// Without `manualSelector` a job selects by its uid, which stands in its pods' labels with its name
/// (`validateGeneratedSelector`).
fn generated_selector(check: &mut Check<'_>, old: Option<&Value>, job: &Value) {
    const AT: &str = "spec.template.metadata.labels";
    let spec = &job["spec"];
    if spec["manualSelector"] == json!(true) || spec["selector"].is_null() {
        return;
    }
    let (uid, name) = (&job["metadata"]["uid"], &job["metadata"]["name"]);
    let labels = |job: &Value| job["spec"]["template"]["metadata"]["labels"].clone();
    // A Job of old releases has no prefixed labels.
    let prefixed =
        old.is_none_or(|old| PREFIXED_LABELS.iter().all(|key| !labels(old)[key].is_null()));
    let plain = [("controller-uid", uid), ("job-name", name)];
    let prefixed = PREFIXED_LABELS.into_iter().zip([uid, name]).filter(|_| prefixed);
    let expected: BTreeMap<&str, &Value> = plain.into_iter().chain(prefixed).collect();
    let given = labels(job);
    for (key, value) in &expected {
        let (at, detail) =
            (format!("{AT}[{key}]"), format!("must be '{}'", value.as_str().unwrap_or("")));
        match &given[*key] {
            Value::Null => check.required(&at, &detail),
            found if found != *value => check.invalid(&at, &given, &detail),
            _ => {}
        }
    }
    let readable =
        !selector::label_selector(&mut Check::new(&mut Vec::new()), &spec["selector"], "");
    if readable && !selects(&spec["selector"], &json!(expected)) {
        check.invalid("spec.selector", &spec["selector"], "`selector` not auto-generated");
    }
}

/// A selector must match the pods that are made (`ValidateJobSpec`).
fn selects_its_pods(check: &mut Check<'_>, spec: &Value) {
    let selector = &spec["selector"];
    if selector.is_null() {
        check.required("spec.selector", "");
    } else if selector::label_selector(check, selector, "spec.selector") {
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if selector.is_null() || !selects(selector, labels) {
        let detail = "`selector` does not match template `labels`";
        check.invalid("spec.template.metadata.labels", labels, detail);
    }
}

/// Pods of an indexed Job are called after it and their index.
fn pod_names(check: &mut Check<'_>, job: &Value) {
    let (spec, name) = (&job["spec"], text(&job["metadata"], "name"));
    let completions = spec["completions"].as_i64().filter(|completions| *completions > 0);
    let Some(completions) = completions.filter(|_| spec["completionMode"] == "Indexed") else {
        return;
    };
    let longest = format!("{name}-{}", completions - 1);
    if crate::verbs::label_problem(&longest).is_some() {
        let detail = format!("will not able to create pod with invalid DNS label: {longest}");
        check.invalid("metadata.name", &json!(name), &detail);
    }
}

/// `validateJobSpec`, also of a CronJob's Jobs.
pub(super) fn spec(check: &mut Check<'_>, spec: &Value, at: &str) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        check.not_negative(&format!("{at}.{field}"), &spec[field]);
    }
    if !spec["maxFailedIndexes"].is_null() && spec["backoffLimitPerIndex"].is_null() {
        let detail = "when maxFailedIndexes is specified";
        check.required(&format!("{at}.backoffLimitPerIndex"), detail);
    }
    managed_by(check, &spec["managedBy"], &format!("{at}.managedBy"));
    completion_mode(check, spec, at);
    if spec["podFailurePolicy"].is_object() {
        policies::failure(check, spec, &format!("{at}.podFailurePolicy"));
    }
    success_policy(check, spec, &format!("{at}.successPolicy"));
    replacement_policy(check, spec, &format!("{at}.podReplacementPolicy"));
    workloads::template(check, "jobs", &spec["template"], &format!("{at}.template"));
    restart_policy(check, spec, &format!("{at}.template.spec.restartPolicy"));
}

fn managed_by(check: &mut Check<'_>, value: &Value, at: &str) {
    if let Some(path) = value.as_str() {
        check.domain_prefixed_path(at, path);
        check.not_longer(at, path.len(), MANAGED_BY_MOST_BYTES);
    }
}

fn completion_mode(check: &mut Check<'_>, spec: &Value, at: &str) {
    let mode = text(spec, "completionMode");
    if spec["completionMode"].is_string() && !COMPLETION_MODES.contains(&mode) {
        let field = format!("{at}.completionMode");
        check.one_of_in_order(&field, &spec["completionMode"], &COMPLETION_MODES);
    }
    match mode {
        "Indexed" => indexed(check, spec, at),
        "" | "NonIndexed" => {
            for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if !spec[field].is_null() {
                    let detail = "requires indexed completion mode";
                    check.invalid(&format!("{at}.{field}"), &spec[field], detail);
                }
            }
        }
        _ => {}
    }
}

fn indexed(check: &mut Check<'_>, spec: &Value, at: &str) {
    let number = |field: &str| spec[field].as_i64();
    let [completions, failed] = ["completions", "maxFailedIndexes"].map(number);
    let limit = |check: &mut Check<'_>, field: &str, most: i64, when: &str| {
        if number(field).is_some_and(|number| number > most) {
            let detail = format!("must be less than or equal to {most}{when}");
            check.invalid(&format!("{at}.{field}"), &spec[field], &detail);
        }
    };
    if completions.is_none() {
        check.required(&format!("{at}.completions"), "when completion mode is Indexed");
    }
    limit(check, "parallelism", PARALLELISM_MOST, " when completion mode is Indexed");
    if completions.is_some_and(|all| failed.is_some_and(|failed| failed > all)) {
        let detail = "must be less than or equal to completions";
        check.invalid(&format!("{at}.maxFailedIndexes"), &spec["maxFailedIndexes"], detail);
    }
    limit(check, "maxFailedIndexes", FAILED_INDEXES_MOST, "");
    let many = completions.is_some_and(|all| all > COMPLETIONS_MANY);
    if many && !spec["backoffLimitPerIndex"].is_null() {
        if failed.is_none() {
            let detail = format!("must be specified when completions is above {COMPLETIONS_MANY}");
            check.required(&format!("{at}.maxFailedIndexes"), &detail);
        }
        let when = format!(
            " when completions are above {COMPLETIONS_MANY} and used with backoff limit per index"
        );
        limit(check, "parallelism", PARALLELISM_OF_MANY, &when);
        limit(check, "maxFailedIndexes", FAILED_INDEXES_OF_MANY, &when);
    }
}

fn success_policy(check: &mut Check<'_>, spec: &Value, at: &str) {
    let policy = &spec["successPolicy"];
    if policy.is_null() {
        return;
    }
    if spec["completionMode"] == "Indexed" {
        policies::success(check, spec, at);
    } else {
        let shown = policies::shown_success(policy);
        check.invalid_as(at, shown, "requires indexed completion mode");
    }
}

fn replacement_policy(check: &mut Check<'_>, spec: &Value, at: &str) {
    let value = &spec["podReplacementPolicy"];
    let allowed: &[&str] = match spec["podFailurePolicy"].is_object() {
        true => &["Failed"],
        false => &["Failed", "TerminatingOrFailed"],
    };
    if value.as_str().is_some_and(|policy| !allowed.contains(&policy)) {
        check.one_of_in_order(at, value, allowed);
    }
}

fn restart_policy(check: &mut Check<'_>, spec: &Value, at: &str) {
    let policy = &spec["template"]["spec"]["restartPolicy"];
    match policy.as_str().unwrap_or("") {
        "" | "Always" => check.required(at, r#"valid values: "OnFailure", "Never""#),
        "Never" => {}
        "OnFailure" if spec["podFailurePolicy"].is_object() => {
            let detail = r#"only "Never" is supported when podFailurePolicy is specified"#;
            check.invalid(at, policy, detail);
        }
        "OnFailure" => {}
        _ => {
            // Once as of any pod, once as of one that ends.
            check.one_of_in_order(at, policy, &["Always", "OnFailure", "Never"]);
            check.not_supported(at, policy, &["OnFailure", "Never"]);
        }
    }
}

/// What a Job does is settled when it is made (`ValidateJobSpecUpdate`).
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let (before, after) = (&old["spec"], &new["spec"]);
    completions(check, before, after);
    for field in [
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        check.unchanged(&format!("spec.{field}"), &before[field], &after[field]);
    }
    template::update(check, old, new);
}

/// An indexed Job that runs all at once may grow and shrink (KEP-3715).
fn completions(check: &mut Check<'_>, before: &Value, after: &Value) {
    const AT: &str = "spec.completions";
    let (old, new) = (&before["completions"], &after["completions"]);
    if after["completionMode"] != "Indexed" {
        check.unchanged(AT, old, new);
    } else if old != new && !new.is_null() && *new != after["parallelism"] {
        check.invalid(AT, new, IN_TANDEM);
    }
}
