//! `ListOptions`, `DeleteOptions`, and those of writes: what may be asked together, and how a revision is meant
//! (`k8s.io/apimachinery/pkg/apis/meta/internalversion/validation`, `…/meta/v1/validation`).

use serde_json::{Value, json};
use trace::Revision;

use crate::{
    patch::PatchType,
    schema::{FieldError, FieldErrorKind},
    server::request::Request,
    status::Refusal,
};

/// `resourceVersionMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RevisionMatch {
    Unset,
    Exact,
    NotOlderThan,
}

/// `resourceVersion` (None if unset) and `resourceVersionMatch`. Errors: no decimal.
pub(crate) fn revision(
    request: &Request,
    named: Option<&str>,
) -> Result<(Option<Revision>, RevisionMatch), Refusal> {
    let asked = match request.query("resourceVersion") {
        "" => None,
        text => Some(parse(text).map_err(|error| {
            let error = format!("resourceVersion: Invalid value: {text:?}: {error}");
            match request.query("watch").is_empty() && named.is_none() {
                true => Refusal::bad_request(format!("invalid resource version: {error}")),
                false => Refusal::unclassified(error),
            }
        })?),
    };
    let matching = match request.query("resourceVersionMatch") {
        "Exact" => RevisionMatch::Exact,
        "NotOlderThan" => RevisionMatch::NotOlderThan,
        _ => RevisionMatch::Unset,
    };
    Ok((asked, matching))
}

/// A revision given by a client. Errors: what Go says of it.
pub(crate) fn parse(text: &str) -> Result<Revision, String> {
    // Leading zeroes are read as upstream's ParseUint reads them.
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok().map(Revision))
        .flatten()
        .ok_or_else(|| format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
}

fn forbidden(field: &str, detail: impl Into<String>) -> FieldError {
    FieldError::bare(field, FieldErrorKind::Forbidden, detail)
}

fn refuse(errors: &[FieldError]) -> Result<(), Refusal> {
    match errors {
        [] => Ok(()),
        errors => Err(Refusal::invalid("meta.k8s.io", "ListOptions", "", errors)),
    }
}

/// Checks that what has to be a number is one, as upstream's decoder of `ListOptions` does before all else. Errors: 400.
pub(crate) fn check_numbers(request: &Request) -> Result<(), Refusal> {
    for name in ["timeoutSeconds", "limit"] {
        let given = request.query(name);
        if !given.is_empty() && given.parse::<i64>().is_err() {
            let error = format!("strconv.ParseInt: parsing {given:?}: invalid syntax");
            return Err(Refusal::bad_request(error));
        }
    }
    Ok(())
}

/// Checks the parameters of a list. Errors: 400, 422.
pub(crate) fn check_list(request: &Request) -> Result<(), Refusal> {
    check_numbers(request)?;
    const FIELD: &str = "resourceVersionMatch";
    let (matching, revision) = (request.query(FIELD), request.query("resourceVersion"));
    let mut errors = Vec::new();
    if !matching.is_empty() {
        if revision.is_empty() {
            let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(forbidden(FIELD, detail));
        }
        if !request.query("continue").is_empty() {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(forbidden(FIELD, detail));
        }
        if matching != "Exact" && matching != "NotOlderThan" {
            let detail = r#"supported values: "Exact", "NotOlderThan", """#;
            let kind = FieldErrorKind::NotSupported;
            errors.push(FieldError::with_value(FIELD, kind, &Value::from(matching), detail));
        }
        if matching == "Exact" && revision == "0" {
            let detail = r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#;
            errors.push(forbidden(FIELD, detail));
        }
    }
    if request.has("sendInitialEvents") {
        errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    refuse(&errors)
}

/// Checks the parameters of a watch. Errors: 400, 422.
pub(crate) fn check_watch(request: &Request, initial_events: bool) -> Result<(), Refusal> {
    check_numbers(request)?;
    const FIELD: &str = "resourceVersionMatch";
    let matching = request.query(FIELD);
    let mut errors = Vec::new();
    if initial_events && matching != "NotOlderThan" {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(forbidden(FIELD, detail));
    }
    if !matching.is_empty() {
        if !initial_events {
            let detail =
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(forbidden(FIELD, detail));
        }
        if matching != "NotOlderThan" {
            let kind = FieldErrorKind::NotSupported;
            let detail = r#"supported values: "NotOlderThan""#;
            errors.push(FieldError::with_value(FIELD, kind, &Value::from(matching), detail));
        }
        if !request.query("continue").is_empty() {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(forbidden(FIELD, detail));
        }
    }
    refuse(&errors)
}

/// Longest name of a field manager.
const MANAGER_LENGTH_MAX_BYTES: usize = 128;

/// Checks what a write asks for beside its object: `CreateOptions`, `UpdateOptions`, `PatchOptions`. Errors: 422.
pub(crate) fn check_write(
    request: &Request,
    options: &str,
    patch: Option<PatchType>,
) -> Result<(), Refusal> {
    let manager = request.query("fieldManager");
    let mut errors = Vec::new();
    match patch {
        Some(PatchType::Apply) if manager.is_empty() => {
            let (kind, detail) = (FieldErrorKind::Required, "is required for apply patch");
            errors.push(FieldError::bare("fieldManager", kind, detail));
        }
        Some(PatchType::Apply) | None => {}
        Some(_) if request.has("force") => {
            errors.push(forbidden("force", "may not be specified for non-apply patch"));
        }
        Some(_) => {}
    }
    errors.extend(manager_errors(manager));
    let dry: Vec<Value> = request.dry_run_values().into_iter().map(Value::from).collect();
    errors.extend(dry_run_error(&dry));
    let given = request.query("fieldValidation");
    if !["", "Ignore", "Strict", "Warn"].contains(&given) {
        let detail = r#"supported values: "", "Ignore", "Strict", "Warn""#;
        let (field, kind) = ("fieldValidation", FieldErrorKind::NotSupported);
        errors.push(FieldError::with_value(field, kind, &Value::from(given), detail));
    }
    match &errors[..] {
        [] => Ok(()),
        errors => Err(Refusal::invalid("meta.k8s.io", options, "", errors)),
    }
}

/// `ValidateFieldManager`
fn manager_errors(manager: &str) -> Vec<FieldError> {
    const FIELD: &str = "fieldManager";
    let mut errors = Vec::new();
    if manager.len() > MANAGER_LENGTH_MAX_BYTES {
        let detail = format!("may not be more than {MANAGER_LENGTH_MAX_BYTES} bytes");
        errors.push(FieldError::bare(FIELD, FieldErrorKind::TooLong, detail));
    }
    let printed = |letter: char| letter == ' ' || !(letter.is_control() || letter.is_whitespace());
    for (at, letter) in manager.char_indices().filter(|(_, letter)| !printed(*letter)) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
        let (kind, value) = (FieldErrorKind::Invalid, Value::from(manager));
        errors.push(FieldError::with_value(FIELD, kind, &value, detail));
    }
    errors
}

/// `ValidateDryRun`
fn dry_run_error(values: &[Value]) -> Option<FieldError> {
    let (kind, detail) = (FieldErrorKind::NotSupported, r#"supported values: "All""#);
    let value = Value::from(values.to_vec());
    let wrong = values.iter().any(|value| value != "All");
    wrong.then(|| FieldError::with_value("dryRun", kind, &value, detail))
}

/// What a delete asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) revision: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) propagation: Option<Propagation>,
}

/// `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

impl DeleteOptions {
    /// As a `DeleteOptions` object; `grace_seconds` is what a type that has a grace period makes of it.
    pub(crate) fn shown(&self, grace_seconds: Option<i64>) -> Value {
        let mut shown = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"});
        if let Some(seconds) = grace_seconds.or(self.grace_seconds) {
            shown["gracePeriodSeconds"] = json!(seconds);
        }
        for (field, value) in [("uid", &self.uid), ("resourceVersion", &self.revision)] {
            if let Some(value) = value {
                shown["preconditions"][field] = json!(value);
            }
        }
        if let Some(orphan) = self.orphan_dependents {
            shown["orphanDependents"] = json!(orphan);
        }
        if let Some(policy) = self.propagation {
            shown["propagationPolicy"] = json!(format!("{policy:?}"));
        }
        if self.dry_run {
            shown["dryRun"] = json!(["All"]);
        }
        shown
    }

    /// From the body if there is one, else from the query, as upstream does. Errors: 422.
    pub(crate) fn read(request: &Request, body: Option<&Value>) -> Result<DeleteOptions, Refusal> {
        let text = |name: &str| match body {
            Some(body) => body.get(name).and_then(Value::as_str).unwrap_or("").to_owned(),
            None => request.query(name).to_owned(),
        };
        let number = match body {
            Some(body) => body.get("gracePeriodSeconds").and_then(Value::as_i64),
            None => request.query("gracePeriodSeconds").parse().ok(),
        };
        let orphan = match body {
            Some(body) => body.get("orphanDependents").and_then(Value::as_bool),
            None => request.has("orphanDependents").then(|| request.flag("orphanDependents")),
        };
        let precondition = |name: &str| {
            let found = body.and_then(|body| body.get("preconditions")?.get(name)?.as_str());
            found.map(str::to_owned)
        };
        let mut errors = Vec::new();
        let propagation = match text("propagationPolicy").as_str() {
            "" => None,
            "Orphan" => Some(Propagation::Orphan),
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            other => {
                let detail = r#"supported values: "Foreground", "Background", "Orphan", "nil""#;
                let kind = FieldErrorKind::NotSupported;
                let value = Value::from(other);
                errors.push(FieldError::with_value("propagationPolicy", kind, &value, detail));
                None
            }
        };
        if propagation.is_some() && orphan.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            let kind = FieldErrorKind::Invalid;
            let value = Value::from(text("propagationPolicy"));
            errors.push(FieldError::with_value("propagationPolicy", kind, &value, detail));
        }
        let dry: Vec<Value> = match body {
            Some(body) => body.get("dryRun").and_then(Value::as_array).cloned().unwrap_or_default(),
            None => request.dry_run_values().into_iter().map(Value::from).collect(),
        };
        errors.extend(dry_run_error(&dry));
        if !errors.is_empty() {
            return Err(Refusal::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        Ok(DeleteOptions {
            dry_run: !dry.is_empty(),
            // Upstream takes a negative grace period for one second.
            grace_seconds: number.map(|seconds: i64| if seconds < 0 { 1 } else { seconds }),
            uid: precondition("uid"),
            revision: precondition("resourceVersion"),
            orphan_dependents: orphan,
            propagation,
        })
    }
}
