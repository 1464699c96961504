//! What an unquoted YAML scalar means.
//!
//! Kubernetes tools read manifests with `sigs.k8s.io/yaml`, which resolves plain scalars by YAML **1.1**:
//! `yes`, `no`, `on`, `off`, `y`, `n` are booleans, `0644` is octal, `1_000` is a thousand. A YAML 1.2
//! reader would take them for strings, or for 644. We do what the user's cluster would have been sent.
//! Dates stay strings (as there). Not taken over: sexagesimal numbers, which that reader does not know either.

use serde_json::{Number, Value};

/// Whose reader it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `sigs.k8s.io/yaml`.
    Kubectl,
    /// Resources and patches in kustomize's, where `yes` and its like are strings, and a date has a time.
    Kustomize,
}

/// Resolves a plain (unquoted, untagged) scalar. `None`: a number that JSON can't hold.
pub(crate) fn resolve(text: &str, dialect: Dialect) -> Option<Value> {
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if dialect == Dialect::Kustomize && is_word && !is_word_of_kustomize(text) {
        return Some(Value::String(text.to_owned()));
    }
    if dialect == Dialect::Kustomize && is_date(text) {
        return Some(Value::String(format!("{text}T00:00:00Z")));
    }
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return None,
        _ => match number(text) {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    })
}

/// Words that mean something to kustomize.
fn is_word_of_kustomize(text: &str) -> bool {
    matches!(
        text,
        "" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE"
    )
}

/// `2026-01-01`.
fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn number(text: &str) -> Option<Number> {
    let first = text.bytes().next()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) {
        return None;
    }
    let plain = text.replace('_', "");
    integer(&plain).or_else(|| float(&plain))
}

/// Go's `strconv.ParseInt(text, 0, 64)`: `0x`, `0o`, `0b`, and a leading zero for octal.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        _ => (10, &lower[..]),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if !negative {
        return Some(magnitude.into());
    }
    i64::try_from(-i128::from(magnitude)).ok().map(Number::from)
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`, the reader's float style.
fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let shaped = digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let exponent_shaped = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !(shaped && exponent_shaped) {
        return None;
    }
    let value: f64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
    // Written as a float, but whole: JSON has one kind of number, and Go prints it without a fraction.
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_mean_what_kubectl_takes_them_for() {
        for (text, expect) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("yes", json!(true)),
            ("off", json!(false)),
            ("oN", json!("oN")),
            ("true", json!(true)),
            ("0644", json!(420)),
            ("0o644", json!(420)),
            ("0x1F", json!(31)),
            ("-0b11", json!(-3)),
            ("0", json!(0)),
            ("08", json!(8)),
            ("1_000", json!(1000)),
            ("+12", json!(12)),
            ("1.5", json!(1.5)),
            ("1.0", json!(1)),
            (".5", json!(0.5)),
            ("1e3", json!(1000)),
            ("1e", json!("1e")),
            ("-", json!("-")),
            (".", json!(".")),
            ("1.2.3", json!("1.2.3")),
            ("10Gi", json!("10Gi")),
            ("2026-01-01", json!("2026-01-01")),
            ("1:30", json!("1:30")),
            ("18446744073709551615", json!(18446744073709551615u64)),
            ("-9223372036854775808", json!(i64::MIN)),
        ] {
            assert_eq!(resolve(text, Dialect::Kubectl), Some(expect), "{text:?}");
        }
        assert_eq!(resolve(".inf", Dialect::Kubectl), None);
        for (text, expect) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("yes", json!("yes")),
            ("N", json!("N")),
            ("True", json!(true)),
            ("0644", json!(420)),
            ("2026-01-01", json!("2026-01-01T00:00:00Z")),
        ] {
            assert_eq!(resolve(text, Dialect::Kustomize), Some(expect), "{text:?}");
        }
    }
}
