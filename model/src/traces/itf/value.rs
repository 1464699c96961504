//! Values in JSON: the expressions of ITF.
//!
//! Rules: ADR-015 of Apalache; what Quint adds, `#unserializable` and variants, stands in its `quint/src/itf.ts`.
//!
//! | value | JSON |
//! |---|---|
//! | integer of at most 53 bits | a number, or `{"#bigint": "1"}`; read both, written as a number |
//! | other integer | `{"#bigint": "9007199254740992"}` |
//! | string, boolean | the same |
//! | sequence or tuple | an array, or `{"#tup": [..]}`; written as an array |
//! | set | `{"#set": [..]}` |
//! | record | an object; if a field begins with `#`, a `#map` |
//! | other function | `{"#map": [[key, value], ..]}` |
//! | model value | `{"#unserializable": "name"}`, as Quint writes what it only has a name for |
//!
//! Quint's variants are records with the fields `tag` and `value`. So every value can be written and is read again.

use serde_json::{Map, Number, Value as Json, json};

use crate::traces::{error::Problem, value::Value};

/// The largest integer that every reader of JSON knows: 2^53 - 1 (RFC 7159, 6).
const NUMBER_MAX: i128 = (1 << 53) - 1;

/// Reads the value that stands at `path`.
pub(crate) fn read(json: &Json, path: &str) -> Result<Value, Problem> {
    match json {
        Json::Bool(value) => Ok(Value::Bool(*value)),
        Json::String(text) => Ok(Value::text(text)),
        Json::Number(number) => integer(number, path),
        Json::Array(items) => Ok(Value::Seq(list(items, path)?)),
        Json::Null => Err(Problem::path(path, "expected a value, found null")),
        Json::Object(object) => match object.iter().next() {
            Some((key, inner)) if object.len() == 1 && key.starts_with('#') => {
                special(key, inner, path)
            }
            _ => record(object, path),
        },
    }
}

/// A JSON number that is an integer.
pub(crate) fn integer(number: &Number, path: &str) -> Result<Value, Problem> {
    let wide = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    wide.map(Value::Int).ok_or_else(|| {
        Problem::path(
            path,
            format!("expected an integer of at most 64 bits or a #bigint, found {number}"),
        )
    })
}

fn list(items: &[Json], path: &str) -> Result<Vec<Value>, Problem> {
    items.iter().enumerate().map(|(at, item)| read(item, &format!("{path}[{at}]"))).collect()
}

fn record(object: &Map<String, Json>, path: &str) -> Result<Value, Problem> {
    if let Some(key) = object.keys().find(|key| key.starts_with('#')) {
        return Err(Problem::path(path, format!("expected a record, found the field `{key}`")));
    }
    let field = |(name, inner): (&String, &Json)| {
        Ok((name.clone(), read(inner, &format!("{path}.{name}"))?))
    };
    Ok(Value::record(object.iter().map(field).collect::<Result<Vec<_>, _>>()?))
}

fn special(key: &str, inner: &Json, path: &str) -> Result<Value, Problem> {
    let path = format!("{path}.{key}");
    let elements = |what: &str| {
        let wrong = || Problem::path(&path, format!("expected {what}, found {inner}"));
        inner.as_array().ok_or_else(wrong)
    };
    let text = |what: &str| {
        let wrong = || Problem::path(&path, format!("expected {what}, found {inner}"));
        inner.as_str().ok_or_else(wrong)
    };
    match key {
        "#bigint" => {
            let wrong = || Problem::path(&path, format!("expected an integer, found {inner}"));
            Value::integer(text("an integer in a string")?).ok_or_else(wrong)
        }
        "#tup" => Ok(Value::Seq(list(elements("an array")?, &path)?)),
        "#set" => Ok(Value::set(list(elements("an array")?, &path)?)),
        "#unserializable" => Ok(Value::Model(text("a string")?.to_owned())),
        "#map" => {
            let pairs = elements("an array of pairs")?.iter().enumerate();
            let pair = |(at, pair): (usize, &Json)| {
                let path = format!("{path}[{at}]");
                match pair.as_array().map(Vec::as_slice) {
                    Some([key, value]) => {
                        Ok((read(key, &format!("{path}[0]"))?, read(value, &format!("{path}[1]"))?))
                    }
                    _ => Err(Problem::path(path, "expected an array of a key and a value")),
                }
            };
            Ok(Value::function(pairs.map(pair).collect::<Result<Vec<_>, _>>()?))
        }
        _ => {
            let known = "#bigint, #tup, #set, #map, #unserializable";
            Err(Problem::path(path, format!("unknown form of a value, expected one of {known}")))
        }
    }
}

/// `value` in JSON.
pub(crate) fn write(value: &Value) -> Json {
    let all = |items: &mut dyn Iterator<Item = &Value>| items.map(write).collect::<Vec<_>>();
    match value {
        Value::Bool(value) => json!(value),
        Value::Int(number) => match i64::try_from(*number) {
            Ok(small) if number.unsigned_abs() <= NUMBER_MAX.unsigned_abs() => json!(small),
            _ => json!({ "#bigint": number.to_string() }),
        },
        Value::Big(digits) => json!({ "#bigint": digits }),
        Value::Text(text) => json!(text),
        Value::Model(name) => json!({ "#unserializable": name }),
        Value::Set(elements) => json!({ "#set": all(&mut elements.iter()) }),
        Value::Seq(elements) => json!(all(&mut elements.iter())),
        Value::Record(fields) if !fields.keys().any(|name| name.starts_with('#')) => {
            fields.iter().map(|(name, value)| (name.clone(), write(value))).collect()
        }
        Value::Record(fields) => {
            let pairs: Vec<Json> =
                fields.iter().map(|(name, value)| json!([name, write(value)])).collect();
            json!({ "#map": pairs })
        }
        Value::Function(pairs) => {
            let pairs: Vec<Json> =
                pairs.iter().map(|(key, value)| json!([write(key), write(value)])).collect();
            json!({ "#map": pairs })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::traces::arbitrary;

    #[test]
    fn forms_of_adr_15_and_of_quint_are_read() {
        let check = |json: Json, expect: &str| {
            let value = read(&json, "x").unwrap_or_else(|problem| panic!("{json}: {problem:?}"));
            assert_eq!(value.to_string(), expect);
        };
        check(json!(3), "3");
        check(json!({"#bigint": "-9007199254740993"}), "-9007199254740993");
        check(json!([1, "a", true]), "<<1, \"a\", TRUE>>");
        check(json!({"#tup": [1, {"#tup": []}]}), "<<1, <<>>>>");
        check(json!({"#set": [2, 1, 2]}), "{1, 2}");
        check(json!({"#map": [[1, "a"], [2, "b"]]}), "<<\"a\", \"b\">>");
        check(json!({"#map": [["E", {"#set": []}], ["W", 1]]}), "[E |-> {}, W |-> 1]");
        check(json!({"#map": []}), "<<>>");
        check(
            json!({"tag": "Some", "value": {"#bigint": "40"}}),
            "[tag |-> \"Some\", value |-> 40]",
        );
        check(json!({"#unserializable": "Int"}), "Int");
    }

    #[test]
    fn other_forms_are_located_errors() {
        let check = |json: Json, path: &str, expect: &str| {
            let problem = read(&json, "x").unwrap_err();
            assert_eq!(problem, Problem::path(path, expect));
        };
        check(json!([null]), "x[0]", "expected a value, found null");
        check(
            json!({"a": 1.5}),
            "x.a",
            "expected an integer of at most 64 bits or a #bigint, found 1.5",
        );
        check(json!({"#bigint": 3}), "x.#bigint", "expected an integer in a string, found 3");
        check(json!({"#bigint": "3x"}), "x.#bigint", "expected an integer, found \"3x\"");
        check(json!({"#set": {}}), "x.#set", "expected an array, found {}");
        check(json!({"#map": [[1]]}), "x.#map[0]", "expected an array of a key and a value");
        let known =
            "unknown form of a value, expected one of #bigint, #tup, #set, #map, #unserializable";
        check(json!({"#bag": []}), "x.#bag", known);
        check(json!({"#set": [], "a": 1}), "x", "expected a record, found the field `#set`");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in arbitrary::value()) {
            prop_assert_eq!(read(&write(&value), "x"), Ok(value));
        }
    }
}
