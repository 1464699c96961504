//! A schema as it is written, keyword by keyword, and what may be wrong with one.

use serde_json::{Map, Value};

use super::{FieldError, FieldErrorKind};

/// A keyword that says something: null says nothing.
pub(crate) fn keyword<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get(name).filter(|value| !value.is_null())
}

/// Schemas by name, if there are any.
pub(crate) fn schemas<'a>(schema: &'a Value, name: &str) -> Option<&'a Map<String, Value>> {
    schema.get(name).and_then(Value::as_object).filter(|all| !all.is_empty())
}

/// What a keyword lists; nothing if it lists nothing.
pub(crate) fn list<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}

/// A value that may not be.
pub(crate) fn invalid(field: &str, value: &Value, detail: &str) -> FieldError {
    FieldError::with_value(field, FieldErrorKind::Invalid, value, detail)
}

/// What is missing, and why it has to be there.
pub(crate) fn required(field: &str, detail: impl Into<String>) -> FieldError {
    FieldError::bare(field, FieldErrorKind::Required, detail)
}

/// What may not be there.
pub(crate) fn forbidden(field: &str, detail: impl Into<String>) -> FieldError {
    FieldError::bare(field, FieldErrorKind::Forbidden, detail)
}
