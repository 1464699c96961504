//! The functions that expressions may call: JMESPath's own, and those of kyverno-json and chainsaw that
//! are functions of their arguments alone.
//!
//! `env` knows the variables that the campaign lists, and no others: a workload does not depend on the machine.
//!
//! Left out on purpose: `k8s_*` and `x509_*` (they reach outside), `random`, `time_now*` (not the same twice).
//! Calling one is an error at load time.
//! Of the arithmetic functions we do numbers; kyverno's also do quantities and durations.

use jmespath::{
    Context, ErrorReason, JmespathError, Rcvar, Runtime, Variable,
    functions::{ArgumentType, CustomFunction, Signature},
};
use serde_json::Number;

mod structure;
mod text;

/// All names, in order.
pub(crate) const NAMES: &[&str] = &[
    "abs",
    "add",
    "as_string",
    "at",
    "avg",
    "base64_decode",
    "base64_encode",
    "ceil",
    "compare",
    "concat",
    "contains",
    "divide",
    "ends_with",
    "env",
    "equal_fold",
    "floor",
    "items",
    "join",
    "json_parse",
    "keys",
    "label_match",
    "length",
    "lookup",
    "lower",
    "map",
    "max",
    "max_by",
    "merge",
    "min",
    "min_by",
    "modulo",
    "multiply",
    "not_null",
    "object_from_lists",
    "parse_json",
    "parse_yaml",
    "pattern_match",
    "regex_match",
    "regex_replace_all",
    "regex_replace_all_literal",
    "replace",
    "replace_all",
    "reverse",
    "round",
    "semver_compare",
    "sort",
    "sort_by",
    "split",
    "starts_with",
    "subtract",
    "sum",
    "to_array",
    "to_boolean",
    "to_lower",
    "to_number",
    "to_string",
    "to_upper",
    "trim",
    "trim_prefix",
    "trim_space",
    "truncate",
    "type",
    "upper",
    "values",
    "wildcard",
];

/// The three names that are written most like this one.
pub(crate) fn nearest(name: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = NAMES.to_vec();
    names.sort_by_key(|known| edits(name, known));
    names.truncate(3);
    names
}

/// How many letters to change, add or take away.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

type Body = fn(&[Rcvar]) -> Result<Variable, String>;

/// A runtime that knows all of [`NAMES`].
pub(crate) fn runtime() -> Runtime {
    let mut runtime = Runtime::new();
    runtime.register_builtin_functions();
    text::register(&mut runtime);
    numbers(&mut runtime);
    structure::register(&mut runtime);
    runtime
}

fn numbers(runtime: &mut Runtime) {
    use ArgumentType::Number as Num;
    add(runtime, "add", [Num, Num], |a| float(number(&a[0]) + number(&a[1])));
    add(runtime, "subtract", [Num, Num], |a| float(number(&a[0]) - number(&a[1])));
    add(runtime, "multiply", [Num, Num], |a| float(number(&a[0]) * number(&a[1])));
    add(runtime, "divide", [Num, Num], |a| match number(&a[1]) {
        0.0 => Err("division by zero".to_owned()),
        divisor => float(number(&a[0]) / divisor),
    });
    add(runtime, "modulo", [Num, Num], |a| match whole(&a[1])? {
        0 => Err("division by zero".to_owned()),
        divisor => Ok(int(whole(&a[0])? % divisor)),
    });
    add(runtime, "round", [Num, Num], |a| {
        let scale = 10_f64.powi(whole(&a[1])?.clamp(0, 15) as i32);
        float((number(&a[0]) * scale).round() / scale)
    });
}

fn add<const N: usize>(
    runtime: &mut Runtime,
    name: &'static str,
    arguments: [ArgumentType; N],
    body: Body,
) {
    let call = move |args: &[Rcvar], context: &mut Context<'_>| {
        body(args).map(Rcvar::new).map_err(|message| {
            JmespathError::from_ctx(context, ErrorReason::Parse(format!("{name}: {message}")))
        })
    };
    let function = CustomFunction::new(Signature::new(arguments.into(), None), Box::new(call));
    runtime.register_function(name, Box::new(function));
}

// Types are checked by the signature before a body runs: the defaults below are never seen.

fn string(variable: &Rcvar) -> &str {
    variable.as_string().map(String::as_str).unwrap_or_default()
}

fn number(variable: &Rcvar) -> f64 {
    variable.as_number().unwrap_or_default()
}

fn whole(variable: &Rcvar) -> Result<i64, String> {
    let value = number(variable);
    if value.fract() != 0.0 || value.abs() >= i64::MAX as f64 {
        return Err(format!("{value} is not an integer"));
    }
    Ok(value as i64)
}

fn shown(variable: &Rcvar) -> String {
    match &**variable {
        Variable::String(text) => text.clone(),
        other => crate::expression::to_value(other).to_string(),
    }
}

fn text(text: impl Into<String>) -> Variable {
    Variable::String(text.into())
}

fn int(value: i64) -> Variable {
    Variable::Number(value.into())
}

/// A whole result is an integer, as Go prints it: `to_string($index + $one)` is `2`, not `2.0`.
fn float(value: f64) -> Result<Variable, String> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Ok(int(value as i64));
    }
    Number::from_f64(value).map(Variable::Number).ok_or_else(|| "not a finite number".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::{expression::Expression, place::Place};

    fn evaluate(text: &str) -> Result<Value, String> {
        let place = Place { file: "t".into(), line: 1, column: 1 };
        let expression = Expression::compile(text, &place).map_err(|error| error.to_string())?;
        let bindings =
            BTreeMap::from([("n".to_owned(), json!(3)), ("o".to_owned(), json!({"a": [1]}))]);
        expression.evaluate(&json!({"a": {"b": "x"}}), &bindings).map_err(|error| error.message)
    }

    #[test]
    fn every_listed_name_is_a_function_and_none_else() {
        let runtime = runtime();
        for name in NAMES {
            assert!(runtime.get_function(name).is_some(), "{name}");
        }
        assert!(NAMES.windows(2).all(|pair| pair[0] < pair[1]), "in order");
        for name in ["k8s_get", "random"] {
            assert!(runtime.get_function(name).is_none(), "{name}");
        }
    }

    #[test]
    fn expressions_give_values() {
        for (text, expect) in [
            ("a.b", json!("x")),
            ("$n", json!(3)),
            ("$o.a[0]", json!(1)),
            ("'$n'", json!("$n")),
            ("add($n, `2`)", json!(5)),
            ("$n + `2` * `2` == `7` && length($o) - `1` == `0`", json!(true)),
            ("subtract(`1`, `2.5`)", json!(-1.5)),
            ("divide(`9`, `3`)", json!(3)),
            ("modulo(`9`, `4`)", json!(1)),
            ("length($o)", json!(1)),
            ("$n > `2` && $n < `4`", json!(true)),
            ("join('-', ['a', a.b])", json!("a-x")),
            ("to_string($n + `1`)", json!("4")),
            ("to_string(length(`[1]`))", json!("1")),
            ("to_string(sum(`[1, 2]`))", json!("3")),
            ("to_string($o)", json!("{\"a\":[1]}")),
            ("to_string('x')", json!("x")),
            ("join('-', ['bar', to_string($n)])", json!("bar-3")),
            ("split('a,b', ',')", json!(["a", "b"])),
            ("replace('aaa', 'a', 'b', `2`)", json!("bba")),
            ("trim('xxaxx', 'x')", json!("a")),
            ("trim_space(' a\n')", json!("a")),
            ("regex_match('^a+$', 'aaa')", json!(true)),
            ("pattern_match('web-*', 'web-0')", json!(true)),
            ("wildcard('a?c*', 'abcd')", json!(true)),
            ("wildcard('a?c', 'abcd')", json!(false)),
            ("parse_json('{\"a\": 1}').a", json!(1)),
            ("parse_yaml('a: [1, 2]').a[1]", json!(2)),
            ("base64_decode(base64_encode('é'))", json!("é")),
            ("items({x: `1`}, 'k', 'v')", json!([{"k": "x", "v": 1}])),
            ("lookup(`[7, 8]`, `1`)", json!(8)),
            ("at(`[7, 8]`, `0`)", json!(7)),
            ("object_from_lists(['a', 'b'], `[1]`)", json!({"a": 1, "b": null})),
            ("semver_compare('1.2.3', '>=1.2.0 <2.0.0')", json!(true)),
            ("truncate('abcdef', `3`)", json!("abc")),
            ("to_boolean('True')", json!(true)),
            ("label_match({a: 'x'}, {a: 'x', b: 'y'})", json!(true)),
            ("round(`1.2345`, `2`)", json!(1.23)),
            ("missing", json!(null)),
        ] {
            assert_eq!(evaluate(text), Ok(expect), "{text}");
        }
    }

    #[test]
    fn what_goes_wrong_is_said() {
        insta::assert_snapshot!(
            [
                "nope(a)",
                "a +",
                "$",
                "let $x = a in $x",
                "add(`1`, 'a')",
                "divide(`1`, `0`)",
                "$missing",
                "env('HOME')",
                "env()"
            ]
            .map(|text| format!("{text}: {}", evaluate(text).unwrap_err()))
            .join("\n")
        );
    }
}
