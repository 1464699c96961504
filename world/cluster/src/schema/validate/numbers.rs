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
            self.multiple(node, value, factor, at);
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

    /// Integers are divided as integers, if the format can hold the factor: by the factor without its fraction, which may
    /// be none (`MultipleOfNativeType`).
    fn multiple(&mut self, node: &Node, value: &Value, factor: f64, at: &Path<'_>) {
        let fits = self.in_range(node, &Value::from(factor), "MultipleOf", at);
        let Some(number) = value.as_f64() else { return };
        let native = value.as_i64().filter(|_| fits);
        let factor = if native.is_some() { factor.trunc() } else { factor };
        let shown = match native {
            Some(_) => (factor as i64).to_string(),
            None => as_float(factor),
        };
        if factor <= 0.0 {
            let detail = format!("factor MultipleOf declared for {at} must be positive: {shown}");
            let field = at.to_string();
            self.errors.push(FieldError {
                value: Some(shown),
                ..FieldError::bare(&field, FieldErrorKind::Invalid, detail)
            });
            return;
        }
        let holds = match native {
            Some(number) => number.checked_rem(factor as i64) == Some(0),
            None if factor < 1.0 => is_json_integer(1.0 / factor * number),
            None => is_json_integer(number / factor),
        };
        if !holds {
            let value = if native.is_some() { value.clone() } else { Value::from(number) };
            self.invalid(at, &value, format!("{at} in body should be a multiple of {shown}"));
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

/// Whether upstream takes a number for an integer.
pub(super) fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.as_f64().is_some_and(is_json_integer)
}

/// `IsFloat64AJSONInteger` of `github.com/go-openapi/swag`: within 53 bits, and whole or hardly above it.
fn is_json_integer(number: f64) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    let (whole, over) = (number.trunc(), number.fract());
    number.abs() <= EXACT && (over == 0.0 || (whole > 0.0 && over / (number + whole) < 1e-9))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::super::{Gvk, Schema},
        *,
    };

    #[test]
    fn multiples_are_as_upstream_reckons() {
        let gvk = Gvk { group: "example.com".into(), version: "v1".into(), kind: "Foo".into() };
        let check = |factor: Value, number: Value, expect: Option<&str>| {
            let field = json!({"type": "number", "multipleOf": factor});
            let schema = json!({"type": "object", "properties": {"n": field}});
            let schema = Schema::custom(&gvk, Some(&schema)).unwrap();
            let found = schema.validate(&json!({"n": number}), None);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expect.into_iter().collect::<Vec<_>>(), "{number} of {factor}");
        };
        for good in [0.3, 0.6, 0.7, 1.1] {
            check(json!(0.1), json!(good), None);
        }
        check(json!(0.01), json!(0.07), None);
        check(json!(2), json!(4), None);
        check(
            json!(2.5),
            json!(5),
            Some("n: Invalid value: 5: n in body should be a multiple of 2"),
        );
        check(
            json!(0.01),
            json!(0.29),
            Some("n: Invalid value: 0.29: n in body should be a multiple of 0.01"),
        );
        check(
            json!(0.1),
            json!(1e15),
            Some("n: Invalid value: 1e+15: n in body should be a multiple of 0.1"),
        );
        check(
            json!(0.1),
            json!(3),
            Some("n: Invalid value: 0: factor MultipleOf declared for n must be positive: 0"),
        );
    }
}
