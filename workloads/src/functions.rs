//! The functions that expressions may call: JMESPath's own, and those of kyverno-json and chainsaw that
//! are functions of their arguments alone.
//!
//! Left out on purpose: `env` (a workload does not depend on the machine), `k8s_*` and `x509_*` (they reach
//! outside), `random`, `time_now*` (not the same twice). Calling one is an error at load time.
//! Of the arithmetic functions we do numbers; kyverno's also do quantities and durations.

use base64::{Engine, prelude::BASE64_STANDARD};
use jmespath::{
    Context, ErrorReason, JmespathError, Rcvar, Runtime, Variable,
    functions::{ArgumentType, CustomFunction, Signature},
};
use serde_json::Number;

use crate::expression::to_variable;

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
    texts(&mut runtime);
    numbers(&mut runtime);
    structures(&mut runtime);
    runtime
}

fn texts(runtime: &mut Runtime) {
    use ArgumentType::{Any, Number as Num, String as Text};
    let text_or_number = || ArgumentType::Union(vec![Text, Num]);
    // The crate's own writes whole floats, which its arithmetic gives, with a fraction.
    add(runtime, "to_string", [Any], |a| Ok(text(shown(&a[0]))));
    add(runtime, "as_string", [Any], |a| Ok(a[0].as_string().map_or(Variable::Null, text)));
    add(runtime, "base64_decode", [Text], |a| {
        let bytes = BASE64_STANDARD.decode(string(&a[0])).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map(Variable::String).map_err(|error| error.to_string())
    });
    add(runtime, "base64_encode", [Text], |a| Ok(text(BASE64_STANDARD.encode(string(&a[0])))));
    add(runtime, "compare", [Text, Text], |a| Ok(int(string(&a[0]).cmp(string(&a[1])) as i64)));
    add(runtime, "concat", [Text, Text], |a| {
        Ok(text(format!("{}{}", string(&a[0]), string(&a[1]))))
    });
    add(runtime, "equal_fold", [Text, Text], |a| {
        Ok(Variable::Bool(string(&a[0]).to_lowercase() == string(&a[1]).to_lowercase()))
    });
    for name in ["lower", "to_lower"] {
        add(runtime, name, [Text], |a| Ok(text(string(&a[0]).to_lowercase())));
    }
    for name in ["upper", "to_upper"] {
        add(runtime, name, [Text], |a| Ok(text(string(&a[0]).to_uppercase())));
    }
    add(runtime, "pattern_match", [Text, text_or_number()], |a| {
        Ok(Variable::Bool(wildcard(string(&a[0]), &shown(&a[1]))))
    });
    add(runtime, "wildcard", [Text, Text], |a| {
        Ok(Variable::Bool(wildcard(string(&a[0]), string(&a[1]))))
    });
    add(runtime, "regex_match", [Text, text_or_number()], |a| {
        Ok(Variable::Bool(regex(string(&a[0]))?.is_match(&shown(&a[1]))))
    });
    let three = || [Text, text_or_number(), text_or_number()];
    add(runtime, "regex_replace_all", three(), |a| {
        let (source, by) = (shown(&a[1]), shown(&a[2]));
        Ok(text(regex(string(&a[0]))?.replace_all(&source, by.as_str())))
    });
    add(runtime, "regex_replace_all_literal", three(), |a| {
        let (source, by) = (shown(&a[1]), shown(&a[2]));
        Ok(text(regex(string(&a[0]))?.replace_all(&source, regex::NoExpand(&by))))
    });
    add(runtime, "replace", [Text, Text, Text, Num], |a| {
        let (source, from, to) = (string(&a[0]), string(&a[1]), string(&a[2]));
        Ok(text(match whole(&a[3])? {
            count if count < 0 => source.replace(from, to),
            count => source.replacen(from, to, count as usize),
        }))
    });
    add(runtime, "replace_all", [Text, Text, Text], |a| {
        Ok(text(string(&a[0]).replace(string(&a[1]), string(&a[2]))))
    });
    add(runtime, "semver_compare", [Text, Text], |a| semver_compare(string(&a[0]), string(&a[1])));
    add(runtime, "split", [Text, Text], |a| {
        let parts = string(&a[0]).split(string(&a[1])).map(|part| Rcvar::new(text(part)));
        Ok(Variable::Array(parts.collect()))
    });
    add(runtime, "to_boolean", [Text], |a| match string(&a[0]).to_lowercase().as_str() {
        "true" => Ok(Variable::Bool(true)),
        "false" => Ok(Variable::Bool(false)),
        other => Err(format!("{other:?} is neither true nor false")),
    });
    add(runtime, "trim", [Text, Text], |a| {
        Ok(text(string(&a[0]).trim_matches(|c| string(&a[1]).contains(c))))
    });
    add(runtime, "trim_prefix", [Text, Text], |a| {
        let source = string(&a[0]);
        Ok(text(source.strip_prefix(string(&a[1])).unwrap_or(source)))
    });
    add(runtime, "trim_space", [Text], |a| Ok(text(string(&a[0]).trim())));
    add(runtime, "truncate", [Text, Num], |a| {
        let length = usize::try_from(whole(&a[1])?).unwrap_or(0);
        Ok(text(string(&a[0]).chars().take(length).collect::<String>()))
    });
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

fn structures(runtime: &mut Runtime) {
    use ArgumentType::{Any, Array, Number as Num, Object, String as Text};
    add(runtime, "at", [Array, Num], |a| {
        let items = a[0].as_array().map(Vec::as_slice).unwrap_or_default();
        let index = usize::try_from(whole(&a[1])?).ok();
        let item = index.and_then(|index| items.get(index));
        item.map(|item| (**item).clone()).ok_or_else(|| "the index is out of range".to_owned())
    });
    add(runtime, "items", [ArgumentType::Union(vec![Object, Array]), Text, Text], |a| {
        let pair = |key: Variable, value: &Rcvar| {
            let entries = [
                (string(&a[1]).to_owned(), Rcvar::new(key)),
                (string(&a[2]).to_owned(), value.clone()),
            ];
            Rcvar::new(Variable::Object(entries.into_iter().collect()))
        };
        Ok(Variable::Array(match &*a[0] {
            Variable::Object(map) => map.iter().map(|(key, v)| pair(text(key), v)).collect(),
            Variable::Array(items) => {
                items.iter().enumerate().map(|(index, v)| pair(int(index as i64), v)).collect()
            }
            _ => Vec::new(),
        }))
    });
    for name in ["json_parse", "parse_json"] {
        add(runtime, name, [Text], |a| {
            let value = serde_json::from_str(string(&a[0])).map_err(|error| error.to_string())?;
            Ok((*to_variable(&value)).clone())
        });
    }
    add(runtime, "parse_yaml", [Text], |a| {
        let nodes = crate::node::parse("parse_yaml".as_ref(), string(&a[0]));
        let nodes = nodes.map_err(|error| error.to_string())?;
        Ok(nodes.first().map_or(Variable::Null, |node| (*to_variable(&node.to_json())).clone()))
    });
    add(runtime, "label_match", [Object, Object], |a| {
        let labels = a[1].as_object();
        Ok(Variable::Bool(a[0].as_object().into_iter().flatten().all(|(key, value)| {
            labels.and_then(|labels| labels.get(key)).is_some_and(|found| found == value)
        })))
    });
    let container = || ArgumentType::Union(vec![Object, Array]);
    add(runtime, "lookup", [container(), ArgumentType::Union(vec![Text, Num])], |a| {
        let found = match (&*a[0], &*a[1]) {
            (Variable::Object(map), Variable::String(key)) => map.get(key),
            (Variable::Array(items), Variable::Number(_)) => {
                usize::try_from(whole(&a[1])?).ok().and_then(|index| items.get(index))
            }
            _ => return Err("an object is looked up by a string, an array by a number".to_owned()),
        };
        Ok(found.map_or(Variable::Null, |value| (**value).clone()))
    });
    let list = || ArgumentType::TypedArray(Box::new(Text));
    add(runtime, "object_from_lists", [list(), ArgumentType::TypedArray(Box::new(Any))], |a| {
        let keys = a[0].as_array().map(Vec::as_slice).unwrap_or_default();
        let values = a[1].as_array().map(Vec::as_slice).unwrap_or_default();
        let null = Rcvar::new(Variable::Null);
        let value = |index| values.get(index).unwrap_or(&null).clone();
        let entries = keys.iter().enumerate();
        Ok(Variable::Object(
            entries.map(|(index, key)| (string(key).to_owned(), value(index))).collect(),
        ))
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

fn regex(pattern: &str) -> Result<regex::Regex, String> {
    regex::Regex::new(pattern).map_err(|error| error.to_string())
}

/// `*` any characters, `?` one character.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, t) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|character| *character == '*')
}

/// Ranges as `>=1.2.3 <2.0.0`, joined by spaces (and) or ` || ` (or); pre-releases are not ordered.
fn semver_compare(version: &str, range: &str) -> Result<Variable, String> {
    let parse = |text: &str| -> Result<[u64; 3], String> {
        let core = text.trim().trim_start_matches('v').split(['-', '+']).next().unwrap_or_default();
        let mut parts = [0; 3];
        for (index, part) in core.split('.').enumerate() {
            let slot = parts.get_mut(index).ok_or_else(|| format!("{text:?} is no version"))?;
            *slot = part.parse().map_err(|_| format!("{text:?} is no version"))?;
        }
        Ok(parts)
    };
    let version = parse(version)?;
    for alternative in range.split("||") {
        let mut all = true;
        for bound in alternative.split_whitespace() {
            let digits =
                bound.find(|c: char| c.is_ascii_digit() || c == 'v').unwrap_or(bound.len());
            let order = version.cmp(&parse(&bound[digits..])?);
            all &= match &bound[..digits] {
                "" | "=" | "==" => order.is_eq(),
                "!" | "!=" => order.is_ne(),
                ">" => order.is_gt(),
                ">=" => order.is_ge(),
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                other => return Err(format!("unknown comparison {other:?}")),
            };
        }
        if all {
            return Ok(Variable::Bool(true));
        }
    }
    Ok(Variable::Bool(false))
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
        for name in ["env", "k8s_get", "random"] {
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
                "env('HOME')"
            ]
            .map(|text| format!("{text}: {}", evaluate(text).unwrap_err()))
            .join("\n")
        );
    }
}
