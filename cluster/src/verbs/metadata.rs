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
pub(super) fn metadata_errors(object: &Value, built_in: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let metadata = &object["metadata"];
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        let problems = qualified_name_problems(key);
        errors.extend(problems.iter().map(|why| label_error(key, why)));
        if let Some(why) = value.as_str().and_then(label_value_problem) {
            errors.push(label_error(value.as_str().unwrap_or(""), &why));
        }
    }
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        for why in qualified_name_problems(&key.to_lowercase()) {
            let kind = FieldErrorKind::Invalid;
            let value = Value::from(key.as_str());
            errors.push(FieldError::with_value("metadata.annotations", kind, &value, why));
        }
    }
    if size > ANNOTATIONS_LIMIT_BYTES {
        let detail = format!("may not be more than {ANNOTATIONS_LIMIT_BYTES} bytes");
        errors.push(FieldError::bare("metadata.annotations", FieldErrorKind::TooLong, detail));
    }
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

fn label_error(value: &str, why: &str) -> FieldError {
    let value = Value::from(value);
    FieldError::with_value("metadata.labels", FieldErrorKind::Invalid, &value, why)
}

/// `validation.IsQualifiedName`: everything that is wrong with it.
pub(crate) fn qualified_name_problems(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let (prefix, name) = match text.rsplit_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    match prefix {
        Some("") => problems.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            let why = strategy::subdomain_problem(prefix);
            problems.extend(why.map(|why| format!("prefix part {why}")));
        }
        None => {}
    }
    match name.len() {
        0 => problems.push("name part must be non-empty".to_owned()),
        64.. => problems.push("name part must be no more than 63 characters".to_owned()),
        _ => {}
    }
    if !is_name_like(name) {
        problems.push(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                .to_owned(),
        );
    }
    problems
}

pub(crate) fn label_value_problem(text: &str) -> Option<String> {
    if text.len() > 63 {
        return Some("must be no more than 63 characters".to_owned());
    }
    (!text.is_empty() && !is_name_like(text)).then(|| {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
         must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
         regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            .to_owned()
    })
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
