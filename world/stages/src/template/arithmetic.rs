//! sprig's arithmetic, on 64-bit integers.

use serde_json::{Value, json};

/// The result, if it is one of these functions.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Result<Value, String>> {
    if !matches!(
        name,
        "add" | "add1" | "sub" | "mul" | "div" | "mod" | "min" | "max" | "int" | "int64" | "atoi"
    ) {
        return None;
    }
    let numbers: Vec<i64> = arguments.iter().map(number).collect();
    let [first, rest @ ..] = &numbers[..] else { return Some(Err("it wants a number".to_owned())) };
    let fold = |of: fn(i64, i64) -> Option<i64>| {
        rest.iter()
            .try_fold(*first, |sum, next| of(sum, *next))
            .ok_or_else(|| "the result is no number of 64 bits".to_owned())
    };
    let result = match name {
        "add" => fold(i64::checked_add),
        "add1" => first.checked_add(1).ok_or_else(|| "too large".to_owned()),
        "sub" => fold(i64::checked_sub),
        "mul" => fold(i64::checked_mul),
        "div" => fold(i64::checked_div),
        "mod" => fold(i64::checked_rem),
        "min" => Ok(rest.iter().fold(*first, |least, next| least.min(*next))),
        "max" => Ok(rest.iter().fold(*first, |most, next| most.max(*next))),
        _ => Ok(*first),
    };
    Some(result.map(|n| json!(n)))
}

/// `cast.ToInt64`: what is no number counts as 0.
fn number(value: &Value) -> i64 {
    match value {
        Value::Number(number) => number.as_i64().or(number.as_f64().map(|n| n as i64)).unwrap_or(0),
        Value::String(text) => text.trim().parse().unwrap_or(0),
        Value::Bool(is) => i64::from(*is),
        _ => 0,
    }
}
