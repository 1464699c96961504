//! Collecting errors, and the small rules that many types share.

use serde_json::{Value, json};

use crate::{
    encoding::quantity_nanos,
    schema::{FieldError, FieldErrorKind},
};

/// Where errors go.
pub(super) struct Check<'a>(&'a mut Vec<FieldError>);

impl<'a> Check<'a> {
    pub(super) fn new(errors: &'a mut Vec<FieldError>) -> Check<'a> {
        Check(errors)
    }

    /// How many there are so far.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn invalid(&mut self, field: &str, value: &Value, detail: &str) {
        self.0.push(FieldError::with_value(field, FieldErrorKind::Invalid, value, detail));
    }

    /// Of a value that Go prints in its own way.
    pub(super) fn invalid_as(&mut self, field: &str, shown: String, detail: &str) {
        self.0.push(FieldError {
            field: field.to_owned(),
            kind: FieldErrorKind::Invalid,
            value: Some(shown),
            detail: detail.to_owned(),
        });
    }

    /// Of a value that upstream does not print (`OmitValueType`).
    pub(super) fn invalid_without_value(&mut self, field: &str, detail: &str) {
        self.0.push(FieldError::bare(field, FieldErrorKind::Invalid, detail));
    }

    /// Says some errors a second time, as upstream does where two of its functions look at the same thing.
    pub(super) fn repeat(&mut self, which: impl Fn(&FieldError) -> bool) {
        let again: Vec<FieldError> = self.0.iter().filter(|error| which(error)).cloned().collect();
        self.0.extend(again);
    }

    /// A list has at most so many items (`field.TooMany`).
    pub(super) fn at_most(&mut self, field: &str, items: usize, most: usize) {
        if items > most {
            let detail = format!("must have at most {most} items");
            let kind = FieldErrorKind::TooMany;
            self.0.push(FieldError::with_value(field, kind, &json!(items), detail));
        }
    }

    /// A text has at most so many bytes (`field.TooLong`).
    pub(super) fn not_longer(&mut self, field: &str, bytes: usize, most: usize) {
        if bytes > most {
            let detail = format!("may not be more than {most} bytes");
            self.0.push(FieldError::bare(field, FieldErrorKind::TooLong, detail));
        }
    }

    pub(super) fn required(&mut self, field: &str, detail: &str) {
        let known =
            |error: &FieldError| error.field == field && error.kind == FieldErrorKind::Required;
        // The schema may have said so already.
        if !self.0.iter().any(known) {
            self.0.push(FieldError::bare(field, FieldErrorKind::Required, detail));
        }
    }

    /// The same, however often it was said.
    pub(super) fn required_each_time(&mut self, field: &str, detail: &str) {
        self.0.push(FieldError::bare(field, FieldErrorKind::Required, detail));
    }

    /// The same where the schema tells less of it.
    pub(super) fn required_also(&mut self, field: &str, detail: &str) {
        self.not_required(field);
        self.required(field, detail);
    }

    /// What the schema asks for and upstream's code does not.
    pub(super) fn not_required(&mut self, field: &str) {
        self.0.retain(|error| error.field != field || error.kind != FieldErrorKind::Required);
    }

    /// The schema's word on what values there are does not count.
    pub(super) fn supported(&mut self, field: &str) {
        self.0.retain(|error| error.field != field || error.kind != FieldErrorKind::NotSupported);
    }

    pub(super) fn forbidden(&mut self, field: &str, detail: &str) {
        self.0.push(FieldError::bare(field, FieldErrorKind::Forbidden, detail));
    }

    /// What upstream fails to look at.
    pub(super) fn internal(&mut self, field: &str, detail: &str) {
        self.0.push(FieldError::bare(field, FieldErrorKind::Internal, detail));
    }

    pub(super) fn duplicate(&mut self, field: &str, value: &Value) {
        let known =
            |error: &FieldError| error.field == field && error.kind == FieldErrorKind::Duplicate;
        if !self.0.iter().any(known) {
            self.0.push(FieldError::with_value(field, FieldErrorKind::Duplicate, value, ""));
        }
    }

    /// Of a value that Go prints in its own way.
    pub(super) fn duplicate_as(&mut self, field: &str, shown: String, detail: &str) {
        // The schema may have shown it in its own way.
        self.0.retain(|error| error.field != field || error.kind != FieldErrorKind::Duplicate);
        self.0.push(FieldError {
            field: field.to_owned(),
            kind: FieldErrorKind::Duplicate,
            value: Some(shown),
            detail: detail.to_owned(),
        });
    }

    /// Of a value that Go prints in its own way.
    pub(super) fn not_supported_as(&mut self, field: &str, shown: String, allowed: &[&str]) {
        let names: Vec<String> = allowed.iter().map(|name| format!("{name:?}")).collect();
        self.0.push(FieldError {
            field: field.to_owned(),
            kind: FieldErrorKind::NotSupported,
            value: Some(shown),
            detail: format!("supported values: {}", names.join(", ")),
        });
    }

    pub(super) fn not_supported(&mut self, field: &str, value: &Value, allowed: &[&str]) {
        let names: Vec<String> = allowed.iter().map(|name| format!("{name:?}")).collect();
        let detail = format!("supported values: {}", names.join(", "));
        self.0.push(FieldError::with_value(field, FieldErrorKind::NotSupported, value, detail));
    }

    /// The same, if the schema has not said so already.
    pub(super) fn one_of(&mut self, field: &str, value: &Value, allowed: &[&str]) {
        let known =
            |error: &FieldError| error.field == field && error.kind == FieldErrorKind::NotSupported;
        if !self.0.iter().any(known) {
            self.not_supported(field, value, allowed);
        }
    }

    /// The same where upstream's own list has another order than the schema's.
    pub(super) fn one_of_in_order(&mut self, field: &str, value: &Value, allowed: &[&str]) {
        self.supported(field);
        self.not_supported(field, value, allowed);
    }

    /// A repeated key of an item; the schema tells it of the item.
    pub(super) fn duplicate_key(&mut self, item: &str, key: &str, value: &Value) {
        self.0.retain(|error| error.field != item || error.kind != FieldErrorKind::Duplicate);
        self.duplicate(&format!("{item}.{key}"), value);
    }

    pub(super) fn not_found(&mut self, field: &str, value: &Value) {
        self.0.push(FieldError::with_value(field, FieldErrorKind::NotFound, value, ""));
    }

    /// `ValidateImmutableField`
    pub(super) fn unchanged(&mut self, field: &str, old: &Value, new: &Value) {
        if old != new {
            self.invalid(field, new, "field is immutable");
        }
    }

    /// `ValidateNonnegativeField`
    pub(super) fn not_negative(&mut self, field: &str, value: &Value) {
        if value.as_i64().is_some_and(|number| number < 0) {
            self.invalid(field, value, "must be greater than or equal to 0");
        }
    }

    /// `IsValidPortNum`; zero counts as given.
    pub(super) fn port(&mut self, field: &str, value: &Value) {
        if value.as_i64().is_some_and(|number| !(1..=65535).contains(&number)) {
            self.invalid(field, value, "must be between 1 and 65535, inclusive");
        }
    }

    /// A quantity that is no debt.
    pub(super) fn amount(&mut self, field: &str, value: &Value) {
        if value.as_str().and_then(quantity_nanos).is_some_and(|amount| amount < 0) {
            self.invalid(field, value, "must be greater than or equal to 0");
        }
    }

    /// `ValidateLabels`
    pub(super) fn labels(&mut self, field: &str, labels: &Value) {
        self.0.extend(crate::verbs::label_errors(labels, field));
    }

    /// `ValidateAnnotations`
    pub(super) fn annotations(&mut self, field: &str, annotations: &Value) {
        self.0.extend(crate::verbs::annotation_errors(annotations, field));
    }

    /// `ValidateQualifiedName`
    pub(super) fn qualified_name(&mut self, field: &str, name: &str) {
        for why in crate::verbs::qualified_name_problems(name) {
            self.invalid(field, &json!(name), &why);
        }
    }

    /// A number of a port, or a port's name (`ValidatePortNumOrName`).
    pub(super) fn port_or_name(&mut self, field: &str, value: &Value) {
        match value.as_str() {
            None => self.port(field, value),
            Some(name) => {
                for why in port_name_problems(name) {
                    self.invalid(field, value, why);
                }
            }
        }
    }

    /// A number that is not negative, or a share in percent (`ValidatePositiveIntOrPercent`,
    /// `IsNotMoreThan100Percent`).
    pub(super) fn amount_or_percent(&mut self, field: &str, value: &Value) {
        const RULE: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
            '93%', regex used for validation is '[0-9]+%')";
        match value.as_str() {
            None => self.not_negative(field, value),
            Some(text) => match percent(text) {
                None => self.invalid(field, value, RULE),
                Some(101..) => self.invalid(field, value, "must not be greater than 100%"),
                Some(_) => {}
            },
        }
    }

    /// A name that is a DNS-1123 subdomain.
    pub(super) fn subdomain(&mut self, field: &str, name: &str) {
        if let Some(why) = crate::verbs::subdomain_problem(name) {
            self.invalid(field, &json!(name), &why);
        }
    }

    /// `IsDomainPrefixedPath`
    pub(super) fn domain_prefixed_path(&mut self, field: &str, path: &str) {
        const LEGAL: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
        if path.is_empty() {
            return self.required(field, "");
        }
        match path.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty()) {
            Some((host, rest)) => {
                self.subdomain(field, host);
                let legal = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
                if !rest.chars().all(legal) {
                    let why = format!("Invalid path (regex used for validation is '{LEGAL}')");
                    self.invalid(field, &json!(rest), &why);
                }
            }
            None => {
                let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
                self.invalid(field, &json!(path), detail);
            }
        }
    }

    /// A name that is a DNS-1123 label.
    pub(super) fn label_name(&mut self, field: &str, name: &str) {
        if let Some(why) = crate::verbs::label_problem(name) {
            self.invalid(field, &json!(name), &why);
        }
    }
}

/// A text field; empty if absent.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("")
}

/// A list field; empty if absent.
pub(super) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A share in percent; None if it is none.
pub(super) fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// `IsValidPortName`
pub(super) fn port_name_problems(name: &str) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    if name.len() > 15 {
        wrong.push("must be no more than 15 characters");
    }
    let charset = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if name.is_empty() || !name.bytes().all(charset) {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.bytes().any(|c| c.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        wrong.push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong.push("must not begin or end with a hyphen");
    }
    wrong
}

/// What a look finds wrong, a line each: for tests.
#[cfg(test)]
pub(super) fn told(look: impl Fn(&mut Check<'_>)) -> Vec<String> {
    let mut errors = Vec::new();
    look(&mut Check::new(&mut errors));
    errors.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect()
}
