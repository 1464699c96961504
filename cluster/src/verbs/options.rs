//! `ListOptions` and `DeleteOptions`: what may be asked together, and how a revision is meant
//! (`k8s.io/apimachinery/pkg/apis/meta/internalversion/validation`).

use serde_json::{Value, json};
use trace::Revision;

use crate::{
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

/// Checks the parameters of a list. Errors: 400, 422.
pub(crate) fn check_list(request: &Request) -> Result<(), Refusal> {
    let limit = request.query("limit");
    if !limit.is_empty() && limit.parse::<i64>().is_err() {
        let error = format!("strconv.ParseInt: parsing {limit:?}: invalid syntax");
        return Err(Refusal::bad_request(error));
    }
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

/// Checks the parameters of a watch. Errors: 422.
pub(crate) fn check_watch(request: &Request, initial_events: bool) -> Result<(), Refusal> {
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
        let in_body = body.and_then(|body| body.get("dryRun")?.as_array());
        if let Some(all) = in_body.filter(|all| all.iter().any(|one| one != "All")) {
            let value = Value::from(all.clone());
            let (kind, detail) = (FieldErrorKind::NotSupported, r#"supported values: "All""#);
            errors.push(FieldError::with_value("dryRun", kind, &value, detail));
        }
        if !errors.is_empty() {
            return Err(Refusal::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        let dry_in_body = in_body.is_some_and(|all| all.iter().any(|one| one == "All"));
        Ok(DeleteOptions {
            dry_run: dry_in_body || request.dry_run()?,
            // Upstream takes a negative grace period for one second.
            grace_seconds: number.map(|seconds: i64| if seconds < 0 { 1 } else { seconds }),
            uid: precondition("uid"),
            revision: precondition("resourceVersion"),
            orphan_dependents: orphan,
            propagation,
        })
    }
}
