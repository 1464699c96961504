//! What is wrong with `metadata` (`apimachinery/pkg/api/validation/objectmeta.go`).

use serde_json::{Value, json};

use super::{
    object::{finalizers, is_terminating},
    strategy,
};
use crate::schema::{FieldError, FieldErrorKind};

/// Finalizers of built-in types that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Longest total of annotations in bytes.
const ANNOTATIONS_LIMIT_BYTES: usize = 256 * 1024;
/// Errors of the metadata of an object.
pub(crate) fn metadata_errors(object: &Value, built_in: bool) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    let mut errors = label_errors(&metadata["labels"], "metadata.labels");
    errors.extend(annotation_errors(&metadata["annotations"], "metadata.annotations"));
    for owner in metadata["ownerReferences"].as_array().into_iter().flatten() {
        let empty = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or("").is_empty();
        for field in ["apiVersion", "kind", "name", "uid"].into_iter().filter(|field| empty(field))
        {
            let path = format!("metadata.ownerReferences.{field}");
            let detail = if field == "apiVersion" {
                "version must not be empty"
            } else {
                "must not be empty"
            };
            let kind = FieldErrorKind::Invalid;
            errors.push(FieldError::with_value(&path, kind, &Value::from(""), detail));
        }
        if owner["kind"] == "Event" && owner["apiVersion"] == "v1" {
            errors.push(FieldError {
                field: "metadata.ownerReferences".to_owned(),
                kind: FieldErrorKind::Invalid,
                value: Some(shown_owner(owner)),
                detail: "/v1, Kind=Event is disallowed from being an owner".to_owned(),
            });
        }
    }
    let controllers = metadata["ownerReferences"].as_array().into_iter().flatten();
    let controllers: Vec<String> = controllers
        .filter(|owner| owner["controller"] == json!(true))
        .map(|owner| {
            let text = |field: &str| owner[field].as_str().unwrap_or("");
            format!("{}/{}", text("kind"), text("name"))
        })
        .collect();
    if let [first, second, ..] = &controllers[..] {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
             and {second}"
        );
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        errors.push(FieldError {
            field: "metadata.ownerReferences".to_owned(),
            kind: FieldErrorKind::Invalid,
            value: Some(format!("[{}]", owners.map(shown_owner).collect::<Vec<_>>().join(","))),
            detail,
        });
    }
    for (index, finalizer) in finalizers(object).into_iter().enumerate() {
        if built_in && !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let field = format!("metadata.finalizers[{index}]");
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            let kind = FieldErrorKind::Invalid;
            errors.push(FieldError::with_value(&field, kind, &Value::from(finalizer), detail));
        }
        for why in qualified_name_problems(finalizer) {
            let value = Value::from(finalizer);
            let kind = FieldErrorKind::Invalid;
            errors.push(FieldError::with_value("metadata.finalizers", kind, &value, why));
        }
    }
    errors
}

/// An owner as Go prints it: its fields in the struct's order.
fn shown_owner(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let shown: Vec<String> = fields
        .iter()
        .filter_map(|field| Some(format!("{:?}:{}", field, owner.get(field)?)))
        .collect();
    format!("{{{}}}", shown.join(","))
}

/// Labels, or a selector's, that are none (`ValidateLabels`).
pub(crate) fn label_errors(labels: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut invalid = |value: &str, why: String| {
        let kind = FieldErrorKind::Invalid;
        errors.push(FieldError::with_value(field, kind, &Value::from(value), why));
    };
    for (key, value) in labels.as_object().into_iter().flatten() {
        for why in qualified_name_problems(key) {
            invalid(key, why);
        }
        let value = value.as_str().unwrap_or("");
        for why in label_value_problems(value) {
            invalid(value, why);
        }
    }
    errors
}

/// Annotations that are none, or too many (`ValidateAnnotations`).
pub(crate) fn annotation_errors(annotations: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        for why in qualified_name_problems(&key.to_lowercase()) {
            let kind = FieldErrorKind::Invalid;
            let value = Value::from(key.as_str());
            errors.push(FieldError::with_value(field, kind, &value, why));
        }
    }
    if size > ANNOTATIONS_LIMIT_BYTES {
        let detail = format!("may not be more than {ANNOTATIONS_LIMIT_BYTES} bytes");
        errors.push(FieldError::bare(field, FieldErrorKind::TooLong, detail));
    }
    errors
}

/// How long the name part of a label's key may be, and its value.
const LABEL_LENGTH_MAX_BYTES: usize = 63;

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// `content.IsLabelKey`: everything that is wrong with it.
pub(crate) fn qualified_name_problems(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let (prefix, name) = match text.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    match prefix {
        Some("") => problems.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            let why = strategy::subdomain_problem(prefix);
            // Of labels upstream counts bytes, elsewhere characters, which are bytes too.
            let why =
                why.map(|why| why.replace("no more than 253 characters", "no more than 253 bytes"));
            problems.extend(why.map(|why| format!("prefix part {why}")));
        }
        None => {}
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LENGTH_MAX_BYTES {
        problems.push(format!("name part must be no more than {LABEL_LENGTH_MAX_BYTES} bytes"));
    }
    if !is_name_like(name) {
        problems.push(format!("name part {NAME_RULE}"));
    }
    problems
}

/// `content.IsLabelValue`: everything that is wrong with it.
pub(crate) fn label_value_problems(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_LENGTH_MAX_BYTES {
        problems.push(format!("must be no more than {LABEL_LENGTH_MAX_BYTES} bytes"));
    }
    if !text.is_empty() && !is_name_like(text) {
        problems.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
             must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
             regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

fn is_name_like(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

pub(super) fn immutable_errors(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let fixed = [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ];
    for field in fixed {
        let (before, after) = (&old["metadata"][field], &object["metadata"][field]);
        if before != after {
            let path = format!("metadata.{field}");
            let kind = FieldErrorKind::Invalid;
            errors.push(FieldError::with_value(&path, kind, after, "field is immutable"));
        }
    }
    if is_terminating(old) {
        let before = finalizers(old);
        let new: Vec<&str> =
            finalizers(object).into_iter().filter(|name| !before.contains(name)).collect();
        if !new.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers \
                 []string{{{}}}",
                new.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
            );
            let kind = FieldErrorKind::Forbidden;
            errors.push(FieldError::bare("metadata.finalizers", kind, detail));
        }
    }
    errors
}
