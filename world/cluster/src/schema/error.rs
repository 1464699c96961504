//! A wrong field, with upstream's wording (`k8s.io/apimachinery/pkg/util/validation/field`).

use std::fmt;

use serde_json::{Number, Value, json};

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldErrorKind {
    /// The value has a wrong form, type or range.
    Invalid,
    /// The value is missing.
    Required,
    /// The value is not one of a closed set.
    NotSupported,
    /// Twice in a set or map list.
    Duplicate,
    /// Longer than allowed.
    TooLong,
    /// More items than allowed.
    TooMany,
    /// Not of the wanted type.
    TypeInvalid,
    /// May not be set.
    Forbidden,
    /// Refers to something that doesn't exist.
    NotFound,
    /// Could not be judged.
    Internal,
}

/// One wrong field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// Path as upstream prints it: `spec.containers[0].name`, `metadata.labels[a/b]`.
    pub field: String,
    /// What is wrong.
    pub kind: FieldErrorKind,
    /// The bad value as printed by upstream, where the message shows it.
    pub value: Option<String>,
    /// What would be right; may be empty.
    pub detail: String,
}

impl FieldErrorKind {
    /// The text in the message.
    pub fn text(self) -> &'static str {
        match self {
            FieldErrorKind::Invalid | FieldErrorKind::TypeInvalid => "Invalid value",
            FieldErrorKind::Required => "Required value",
            FieldErrorKind::NotSupported => "Unsupported value",
            FieldErrorKind::Duplicate => "Duplicate value",
            FieldErrorKind::TooLong => "Too long",
            FieldErrorKind::TooMany => "Too many",
            FieldErrorKind::Forbidden => "Forbidden",
            FieldErrorKind::NotFound => "Not found",
            FieldErrorKind::Internal => "Internal error",
        }
    }

    /// The `reason` of the cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            FieldErrorKind::Invalid => "FieldValueInvalid",
            FieldErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::NotSupported => "FieldValueNotSupported",
            FieldErrorKind::Duplicate => "FieldValueDuplicate",
            FieldErrorKind::TooLong => "FieldValueTooLong",
            FieldErrorKind::TooMany => "FieldValueTooMany",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
            FieldErrorKind::NotFound => "FieldValueNotFound",
            FieldErrorKind::Internal => "InternalError",
        }
    }
}

impl FieldError {
    /// An error that shows the bad value.
    pub fn with_value(
        field: &str,
        kind: FieldErrorKind,
        value: &Value,
        detail: impl Into<String>,
    ) -> FieldError {
        FieldError {
            field: field.to_owned(),
            kind,
            value: Some(show(value)),
            detail: detail.into(),
        }
    }

    /// An error without a value.
    pub fn bare(field: &str, kind: FieldErrorKind, detail: impl Into<String>) -> FieldError {
        FieldError { field: field.to_owned(), kind, value: None, detail: detail.into() }
    }

    /// A missing value.
    pub fn required(field: &str) -> FieldError {
        FieldError::bare(field, FieldErrorKind::Required, "")
    }

    /// As it is told of a custom object's status that is written by itself: its texts name places in the status
    /// (`customResourceValidator.ValidateStatusUpdate`).
    pub(crate) fn within_status(mut self) -> FieldError {
        if let Some(inside) = self.field.strip_prefix("status") {
            let inside = inside.strip_prefix('.').unwrap_or(inside);
            self.detail = self.detail.replacen(&self.field, inside, 1);
        }
        self
    }

    /// The message without the path.
    pub fn body(&self) -> String {
        let mut text = self.kind.text().to_owned();
        for part in self.value.iter().chain(Some(&self.detail).filter(|detail| !detail.is_empty()))
        {
            text.push_str(": ");
            text.push_str(part);
        }
        text
    }

    /// The entry in a Status' `details.causes`.
    pub fn cause(&self) -> Value {
        json!({"reason": self.kind.reason(), "message": self.body(), "field": self.field})
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// A bad value as upstream prints it: strings quoted, numbers and booleans bare, the rest as JSON.
fn show(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Number(number) => shown_number(number),
        other => other.to_string(),
    }
}

/// A number as Go prints it (`%v`): what is no int64 is a float64, with an exponent
/// from a million on.
pub(crate) fn shown_number(number: &Number) -> String {
    let float = match number.as_f64() {
        Some(float) if !number.is_i64() => float,
        _ => return number.to_string(),
    };
    if float == 0.0 || (1e-4..1e6).contains(&float.abs()) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// A path into an object, printed as upstream prints field paths.
#[derive(Debug, Clone, Copy)]
pub enum Path<'a> {
    /// The object itself.
    Root,
    /// A field of a struct: `.name`.
    Field(&'a Path<'a>, &'a str),
    /// An entry of a map: `[key]`.
    Key(&'a Path<'a>, &'a str),
    /// An item of a list: `[0]`.
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Field(Path::Root, name) => f.write_str(name),
            Path::Field(parent, name) => write!(f, "{parent}.{name}"),
            Path::Key(parent, key) => write!(f, "{parent}[{key}]"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_go_shows_them() {
        let check = |number: Value, expect: &str| assert_eq!(show(&number), expect);
        check(json!(5), "5");
        check(json!(2.0), "2");
        check(json!(-1.5), "-1.5");
        check(json!(123456.0), "123456");
        check(json!(1e6), "1e+06");
        check(json!(1e30), "1e+30");
        check(json!(0.00001), "1e-05");
        check(json!(u64::MAX), "1.8446744073709552e+19");
    }

    #[test]
    fn messages_read_like_upstream() {
        let check = |error: FieldError, expect: &str| assert_eq!(error.to_string(), expect);
        check(FieldError::required("spec.x"), "spec.x: Required value");
        check(
            FieldError::with_value(
                "spec.replicas",
                FieldErrorKind::TypeInvalid,
                &Value::from("string"),
                "spec.replicas in body must be of type integer: \"string\"",
            ),
            "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type \
             integer: \"string\"",
        );
        let spec = Path::Field(&Path::Root, "spec");
        let item = Path::Index(&Path::Field(&spec, "list"), 3).to_string();
        assert_eq!(item, "spec.list[3]");
    }
}
