//! `metav1.Status`: every refusal that the server gives, worded as upstream words it.
//!
//! Clients branch on `reason` and `code`, people read `message`, and some controllers match on the text;
//! so the sentences here are upstream's (`k8s.io/apimachinery/pkg/api/errors`).

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use trace::GroupResource;

use crate::schema::FieldError;

/// One entry of `details.causes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Machine-readable, for example `FieldValueRequired`.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Path of the field, or empty.
    pub field: String,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// HTTP status.
    pub code: u16,
    /// `reason`, or empty.
    pub reason: Cow<'static, str>,
    /// The sentence.
    pub message: String,
    /// `details`, where upstream gives any.
    pub details: Map<String, Value>,
    /// Seconds for the `Retry-After` header and `details.retryAfterSeconds`.
    pub retry_after: Option<u32>,
    /// For the `Warning` headers.
    pub warnings: Box<[String]>,
    /// `metadata.continue`: where an expired list can go on, inconsistently.
    pub continue_token: Option<Box<str>>,
}

impl Refusal {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Refusal {
        Refusal {
            code,
            reason: reason.into(),
            message: message.into(),
            details: Map::new(),
            retry_after: None,
            warnings: Box::default(),
            continue_token: None,
        }
    }

    fn about(mut self, resource: &GroupResource, name: &str) -> Refusal {
        for (key, value) in
            [("name", name), ("group", &*resource.group), ("kind", &*resource.resource)]
        {
            if !value.is_empty() {
                self.details.insert(key.to_owned(), json!(value));
            }
        }
        self
    }

    fn causes(mut self, causes: &[Cause]) -> Refusal {
        if causes.is_empty() {
            return self;
        }
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| {
                let mut entry = Map::new();
                let parts = [
                    ("reason", &cause.reason),
                    ("message", &cause.message),
                    ("field", &cause.field),
                ];
                for (key, value) in parts {
                    if !value.is_empty() {
                        entry.insert(key.to_owned(), json!(value));
                    }
                }
                Value::Object(entry)
            })
            .collect();
        self.details.insert("causes".to_owned(), Value::Array(causes));
        self
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Refusal {
        Refusal::new(400, "BadRequest", message)
    }

    /// 404 of an object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Refusal {
        Refusal::new(404, "NotFound", format!("{resource} {name:?} not found"))
            .about(resource, name)
    }

    /// 404 of a resource type or path below a served group version.
    pub fn no_such_path() -> Refusal {
        Refusal::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// 405.
    pub fn method_not_allowed() -> Refusal {
        let message = "the server does not allow this method on the requested resource";
        Refusal::new(405, "MethodNotAllowed", message)
    }

    /// 406 with the media types that would do.
    pub fn not_acceptable(accepted: &[&str]) -> Refusal {
        let list = accepted.join(", ");
        let message = format!("only the following media types are accepted: {list}");
        Refusal::new(406, "NotAcceptable", message)
    }

    /// 415 with the media types that would do.
    pub fn unsupported_media_type(accepted: &[&str]) -> Refusal {
        let list = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {list}"
        );
        Refusal::new(415, "UnsupportedMediaType", message)
    }

    /// 413.
    pub fn too_large(why: impl std::fmt::Display) -> Refusal {
        let message = format!("Request entity too large: {why}");
        Refusal::new(413, "RequestEntityTooLarge", message)
    }

    /// 409 of a create.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Refusal {
        let message = format!("{resource} {name:?} already exists");
        Refusal::new(409, "AlreadyExists", message).about(resource, name)
    }

    /// 409 of a write whose precondition does not hold.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Refusal {
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Refusal::new(409, "Conflict", message).about(resource, name)
    }

    /// The 409 that optimistic concurrency gives.
    pub fn modified(resource: &GroupResource, name: &str) -> Refusal {
        let why = "the object has been modified; please apply your changes to the latest version \
                   and try again";
        Refusal::conflict(resource, name, why)
    }

    /// 403.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Refusal {
        let what = match name {
            "" => resource.to_string(),
            name => format!("{resource} {name:?}"),
        };
        let message = format!("{what} is forbidden: {why}");
        Refusal::new(403, "Forbidden", message).about(resource, name)
    }

    /// 403 of a create in a namespace that is being deleted.
    pub fn terminating(resource: &GroupResource, name: &str, namespace: &str) -> Refusal {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = Cause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        Refusal::forbidden(resource, name, &why).causes(&[cause])
    }

    /// 422 of an object, by group and kind.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Refusal {
        let dot = if group.is_empty() { "" } else { "." };
        let mut lines: Vec<String> = Vec::new();
        for line in errors.iter().map(FieldError::to_string) {
            // The same is said once (`ErrorList.ToAggregate`), though it is a cause as often as it was found.
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let text = match &lines[..] {
            [line] => line.clone(),
            lines => format!("[{}]", lines.join(", ")),
        };
        let message = format!("{kind}{dot}{group} {name:?} is invalid: {text}");
        let causes: Vec<Cause> = errors
            .iter()
            .map(|error| Cause {
                reason: error.kind.reason().to_owned(),
                message: error.body(),
                field: error.field.clone(),
            })
            .collect();
        Refusal::new(422, "Invalid", message)
            .about(&GroupResource::new(group, kind), name)
            .causes(&causes)
    }

    /// 410: the history asked for is gone. Lists and watches word it differently.
    pub fn expired(message: impl Into<String>) -> Refusal {
        Refusal::new(410, "Expired", message)
    }

    /// 410 of a watch or an exact list.
    pub fn too_old(asked: trace::Revision, oldest: trace::Revision) -> Refusal {
        Refusal::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    /// 504: the revision asked for lies in the future. A real server waits three seconds first; ours
    /// knows that waiting can't help, as no time passes while a request runs.
    pub fn too_large_revision(asked: trace::Revision, now: trace::Revision) -> Refusal {
        let message = format!("Timeout: Too large resource version: {asked}, current: {now}");
        let cause = Cause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        let mut refusal = Refusal::new(504, "Timeout", message).causes(&[cause]);
        refusal.details.insert("retryAfterSeconds".to_owned(), json!(1));
        refusal.retry_after = Some(1);
        refusal
    }

    /// 500. The message stands in the causes too (`apierrors.NewInternalError`).
    pub fn internal(message: impl std::fmt::Display) -> Refusal {
        let (reason, field) = (String::new(), String::new());
        let cause = Cause { reason, message: message.to_string(), field };
        let message = format!("Internal error occurred: {message}");
        Refusal::new(500, "InternalError", message).causes(&[cause])
    }

    /// 500 of an error that upstream has no class for: its text alone.
    pub fn unclassified(message: impl Into<String>) -> Refusal {
        Refusal::new(500, "", message)
    }

    /// 429 of an eviction.
    pub fn too_many_requests(message: impl Into<String>, retry_after: Option<u32>) -> Refusal {
        let mut refusal = Refusal::new(429, "TooManyRequests", message);
        if let Some(seconds) = retry_after {
            refusal.details.insert("retryAfterSeconds".to_owned(), json!(seconds));
        }
        refusal.retry_after = retry_after;
        refusal
    }

    /// An answer of upstream's router, not of a resource.
    fn is_generic(&self) -> bool {
        self.code == 405
            || self.message.starts_with("406: ")
            || self.message.starts_with("415: ")
            || self.message.starts_with("the server rejected our request due to")
            || self.message.starts_with("forbidden: ")
            || (self.code == 404 && self.message.starts_with("the server could not find"))
    }

    /// The `Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(token) = &self.continue_token {
            status["metadata"] = json!({"continue": token});
        }
        // Upstream's generic answers carry empty details.
        if !self.details.is_empty() || self.is_generic() {
            status["details"] = Value::Object(self.details.clone());
        }
        status
    }
}

/// The `Status` that a completed delete answers.
pub fn deleted(resource: &GroupResource, name: &str, uid: &str) -> Value {
    let mut details = json!({"name": name, "kind": resource.resource, "uid": uid});
    if !resource.group.is_empty() {
        details["group"] = json!(resource.group);
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_upstreams() {
        let foos = GroupResource::new("example.com", "foos");
        let pods = GroupResource::new("", "pods");
        let cases = [
            (Refusal::already_exists(&foos, "a"), r#"foos.example.com "a" already exists"#),
            (Refusal::not_found(&pods, "a"), r#"pods "a" not found"#),
            (
                Refusal::modified(&foos, "a"),
                r#"Operation cannot be fulfilled on foos.example.com "a": the object has been modified; please apply your changes to the latest version and try again"#,
            ),
            (
                Refusal::invalid("example.com", "Foo", "a", &[FieldError::required("spec.x")]),
                r#"Foo.example.com "a" is invalid: spec.x: Required value"#,
            ),
            (
                Refusal::too_large_revision(trace::Revision(9), trace::Revision(3)),
                "Timeout: Too large resource version: 9, current: 3",
            ),
        ];
        for (refusal, message) in cases {
            assert_eq!(refusal.message, message);
        }
        let details = &Refusal::not_found(&foos, "a").to_value()["details"];
        assert_eq!(*details, json!({"name": "a", "group": "example.com", "kind": "foos"}));
    }
}
