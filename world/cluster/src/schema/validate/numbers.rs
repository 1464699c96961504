//! Numbers: their range, and limits (`numberValidator` of `k8s.io/kube-openapi/pkg/validation/validate/validator.go`).

use serde_json::{Number, Value};

use super::{
    super::{FieldError, FieldErrorKind, Node, Path, Type, shown_number},
    Check,
};

impl Check<'_> {
    /// Limits that the format can't hold are errors of every value, as upstream tells them.
    pub(super) fn number(&mut self, node: &Node, value: &Value, at: &Path<'_>) {
        self.in_range(node, value, "Checked", at);
        let Some(limits) = &node.limits else { return };
        if let Some(factor) = limits.multiple_of {
            let limit = Limit { what: "MultipleOf", bound: factor, asked: "a multiple of" };
            self.limit(node, value, limit, |number, factor| (number / factor).fract() != 0.0, at);
        }
        if let Some((bound, exclusive)) = limits.minimum {
            let asked = if exclusive { "greater than" } else { "greater than or equal to" };
            let limit = Limit { what: "Minimum boundary", bound, asked };
            let broken = |number, least| number < least || (exclusive && number == least);
            self.limit(node, value, limit, broken, at);
        }
        if let Some((bound, exclusive)) = limits.maximum {
            let asked = if exclusive { "less than" } else { "less than or equal to" };
            let limit = Limit { what: "Maximum boundary", bound, asked };
            let broken = |number, most| number > most || (exclusive && number == most);
            self.limit(node, value, limit, broken, at);
        }
    }

    /// What is said of one limit. An integer is held against the limit without its fraction, if the format can hold it.
    fn limit(
        &mut self,
        node: &Node,
        value: &Value,
        limit: Limit,
        broken: impl Fn(f64, f64) -> bool,
        at: &Path<'_>,
    ) {
        let Limit { what, bound, asked } = limit;
        let fits = self.in_range(node, &Value::from(bound), what, at);
        let Some(number) = value.as_f64() else { return };
        let native = fits && value.is_i64();
        if !broken(number, if native { bound.trunc() } else { bound }) {
            return;
        }
        let (bound, value) = match native {
            true => ((bound as i64).to_string(), value.clone()),
            false => (as_float(bound), Value::from(number)),
        };
        self.invalid(at, &value, format!("{at} in body should be {asked} {bound}"));
    }

    /// Whether a number is one of the node's type and format (`IsValueValidAgainstRange`). Upstream loses where it is
    /// and what (`kubeOpenAPIResultToFieldErrors` of what is no `Validation`).
    fn in_range(&mut self, node: &Node, number: &Value, what: &str, at: &Path<'_>) -> bool {
        let format = node.format.as_deref();
        let (name, format) = match node.kind {
            _ if node.int_or_string => return true,
            Type::Integer if integer_fits(node, number) => return true,
            Type::Integer => ("integer", format.filter(|one| matches!(*one, "int32" | "int64"))),
            Type::Number if format == Some("float") && !single_fits(number) => ("number", format),
            _ => return true,
        };
        let format = match format {
            Some(format) => format!("with format {format}"),
            None => "(default format)".to_owned(),
        };
        let detail = format!("{what} value must be of type {name} {format} in {at}");
        let kind = FieldErrorKind::Invalid;
        self.errors.push(FieldError::with_value("<nil>", kind, &Value::from(""), detail));
        false
    }
}

/// A limit of numbers.
struct Limit {
    /// What upstream calls it.
    what: &'static str,
    bound: f64,
    /// What a number should be, of the bound.
    asked: &'static str,
}

fn as_float(number: f64) -> String {
    Number::from_f64(number).as_ref().map(shown_number).unwrap_or_default()
}

/// Whether a number is an integer of the node's format; of 64 bits, if it names no other.
fn integer_fits(node: &Node, value: &Value) -> bool {
    const BITS_63: f64 = 9_223_372_036_854_775_808.0;
    let whole = |number: &f64| number.fract() == 0.0 && (-BITS_63..BITS_63).contains(number);
    let of_float = || value.as_f64().filter(whole).map(|number| number as i64);
    let number = value.as_i64().or_else(of_float);
    let small = node.format.as_deref() == Some("int32");
    number.is_some_and(|number| !small || i32::try_from(number).is_ok())
}

/// Whether a number has a place among those of 32 bits.
fn single_fits(value: &Value) -> bool {
    value.as_f64().is_none_or(|number| (number as f32).is_finite())
}

/// Whether upstream takes a number for an integer (`IsFloat64AJSONInteger`).
pub(super) fn is_whole(value: &Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    let whole = |number: f64| number.fract() == 0.0 && number.abs() <= EXACT;
    value.is_i64() || value.as_f64().is_some_and(whole)
}
