//! Values to messages. As Go's generated code: fields in order of number; scalars without a pointer
//! always; map entries by key.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use trace::Time;

use super::ProtobufError;
use crate::encoding::{
    canonical_quantity,
    types::{Field, Kind, MessageId, Special, types},
    wire::{put_bytes, put_fixed64, put_nested, put_number},
};

type Outcome<T> = Result<T, ProtobufError>;

pub(super) fn message(out: &mut Vec<u8>, id: MessageId, value: &Value) -> Outcome<()> {
    let message = &types().messages[id];
    match message.special {
        Special::None => {}
        Special::SchemaOrBool | Special::SchemaOrArray | Special::SchemaOrStrings => {
            return schema_or(out, id, value);
        }
        special => return scalar_like(out, special, value),
    }
    let fields = value.as_object().ok_or_else(|| wrong(value, "an object"))?;
    for field in &message.fields {
        if field.inline {
            if let Kind::Message(id) = field.kind {
                nested(out, field.number, id, value)?;
            }
        } else {
            one(out, field, fields).map_err(|error| below(error, field.json))?;
        }
    }
    Ok(())
}

fn one(out: &mut Vec<u8>, field: &Field, fields: &Map<String, Value>) -> Outcome<()> {
    let value = fields.get(field.json).filter(|value| !value.is_null());
    match value {
        Some(value) if field.repeated => {
            let items = value.as_array().ok_or_else(|| wrong(value, "a list"))?;
            for (index, item) in items.iter().enumerate() {
                put(out, field, item).map_err(|error| below(error, &format!("[{index}]")))?;
            }
            Ok(())
        }
        Some(value) if field.map => {
            let entries = value.as_object().ok_or_else(|| wrong(value, "an object"))?;
            for (key, item) in entries {
                let value = Field { number: 2, json: "", ..*field };
                put_nested(out, field.number, |entry| {
                    put_bytes(entry, 1, key.as_bytes());
                    put(entry, &value, item).map_err(|error| below(error, key))
                })?;
            }
            Ok(())
        }
        Some(value) => put(out, field, value),
        None if field.repeated || field.map || field.pointer => Ok(()),
        None => put(out, field, &Value::Null),
    }
}

/// Writes one value; null stands for the zero value.
fn put(out: &mut Vec<u8>, field: &Field, value: &Value) -> Outcome<()> {
    match field.kind {
        Kind::Bool => {
            let flag = if value.is_null() { Some(false) } else { value.as_bool() };
            let flag = flag.ok_or_else(|| wrong(value, "a boolean"))?;
            put_number(out, field.number, u64::from(flag));
        }
        Kind::Integer => {
            let number = integer(value).ok_or_else(|| wrong(value, "an integer"))?;
            put_number(out, field.number, number as u64);
        }
        Kind::Double => {
            let number = if value.is_null() { Some(0.0) } else { value.as_f64() };
            let number = number.ok_or_else(|| wrong(value, "a number"))?;
            put_fixed64(out, field.number, number.to_bits());
        }
        Kind::String => {
            let text = if value.is_null() { Some("") } else { value.as_str() };
            let text = text.ok_or_else(|| wrong(value, "a string"))?;
            put_bytes(out, field.number, text.as_bytes());
        }
        // A nil slice is not written, an empty one is.
        Kind::Bytes if value.is_null() && !field.map => {}
        Kind::Bytes => {
            let text = value.as_str().unwrap_or("");
            let bytes = STANDARD.decode(text.replace(['\n', '\r'], ""));
            let bytes = bytes.map_err(|_| wrong(value, "base64 text"))?;
            put_bytes(out, field.number, &bytes);
        }
        Kind::Message(id) => nested(out, field.number, id, value)?,
    }
    Ok(())
}

fn nested(out: &mut Vec<u8>, number: u32, id: MessageId, value: &Value) -> Outcome<()> {
    let empty = Value::Object(Map::new());
    let special = types().messages[id].special != Special::None;
    let value = if value.is_null() && !special { &empty } else { value };
    put_nested(out, number, |inner| message(inner, id, value))
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Null => Some(0),
        Value::Number(number) => number.as_i64().or_else(|| {
            let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
            (number.abs() < 9.0e15).then_some(number as i64)
        }),
        _ => None,
    }
}

fn scalar_like(out: &mut Vec<u8>, special: Special, value: &Value) -> Outcome<()> {
    let null = value.is_null();
    match special {
        Special::Quantity => {
            let text = match value {
                Value::Null => "0".to_owned(),
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => return Err(wrong(value, "a quantity")),
            };
            let text = canonical_quantity(&text).ok_or_else(|| wrong(value, "a quantity"))?;
            put_bytes(out, 1, text.as_bytes());
        }
        Special::IntOrString => {
            let (kind, number, text) = match value {
                Value::String(text) => (1, 0, text.as_str()),
                other => {
                    (0, integer(other).ok_or_else(|| wrong(other, "an integer or a string"))?, "")
                }
            };
            put_number(out, 1, kind);
            put_number(out, 2, number as u64);
            put_bytes(out, 3, text.as_bytes());
        }
        Special::Time | Special::MicroTime if null => {}
        Special::Time | Special::MicroTime => {
            let time = instant(special, value)?;
            let nanos = time.0.rem_euclid(1_000_000_000) / 1000 * 1000;
            put_number(out, 1, time.seconds() as u64);
            put_number(out, 2, if special == Special::Time { 0 } else { nanos as u64 });
        }
        Special::Duration => {
            let nanos = if null { Some(0) } else { value.as_str().and_then(duration::parse) };
            put_number(out, 1, nanos.ok_or_else(|| wrong(value, "a duration"))? as u64);
        }
        Special::Wrapper => {
            for item in value.as_array().into_iter().flatten() {
                let text = item.as_str().ok_or_else(|| wrong(item, "a string"))?;
                put_bytes(out, 1, text.as_bytes());
            }
        }
        _ if null => {}
        _ => put_bytes(out, 1, value.to_string().as_bytes()),
    }
    Ok(())
}

/// `JSONSchemaPropsOr…`: a schema, a boolean, or a list.
fn schema_or(out: &mut Vec<u8>, id: MessageId, value: &Value) -> Outcome<()> {
    let message = &types().messages[id];
    let schema = message
        .fields
        .iter()
        .find(|field| !field.repeated && matches!(field.kind, Kind::Message(_)));
    match value {
        Value::Null => {}
        Value::Bool(flag) => put_number(out, 1, u64::from(*flag)),
        Value::Array(items) => {
            let list = message.fields.iter().find(|field| field.repeated);
            let list = list.ok_or_else(|| wrong(value, "a schema"))?;
            for item in items {
                put(out, list, item)?;
            }
        }
        Value::Object(_) => {
            if message.special == Special::SchemaOrBool {
                put_number(out, 1, 1);
            }
            put(out, schema.ok_or_else(|| wrong(value, "a schema"))?, value)?;
        }
        _ => return Err(wrong(value, "a schema")),
    }
    Ok(())
}

fn wrong(value: &Value, wanted: &'static str) -> ProtobufError {
    let given: String = value.to_string().chars().take(60).collect();
    ProtobufError::WrongType { path: String::new(), given, wanted }
}

/// What is wrong with a text where a type of this name belongs, if that is a time.
pub(crate) fn time_problem(type_name: &str, text: &str) -> Option<String> {
    let special = match type_name {
        "Time" => Special::Time,
        "MicroTime" => Special::MicroTime,
        _ => return None,
    };
    instant(special, &Value::from(text)).err().map(|error| error.to_string())
}

/// A time as Go reads it: of one with microseconds exactly six digits (`metav1.RFC3339Micro`).
fn instant(special: Special, value: &Value) -> Outcome<Time> {
    let text = value.as_str().ok_or_else(|| wrong(value, "a time in RFC 3339"))?;
    let layout = match special {
        Special::MicroTime => "2006-01-02T15:04:05.000000Z07:00",
        _ => "2006-01-02T15:04:05Z07:00",
    };
    let refuse = |rest: &str, wanted: &str| {
        let why =
            format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {wanted:?}");
        Err(ProtobufError::Time(why))
    };
    let Some(time) = Time::parse_rfc3339(text) else { return refuse(text, "2006") };
    let fraction = text.get("2006-01-02T15:04:05".len()..).unwrap_or("");
    let digits = fraction.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let exact = fraction.starts_with('.') && digits == 6;
    match special == Special::MicroTime && !exact {
        true => refuse(fraction, ".000000"),
        false => Ok(time),
    }
}

/// Puts a path segment in front of an error's path.
fn below(error: ProtobufError, segment: &str) -> ProtobufError {
    match error {
        ProtobufError::WrongType { path, given, wanted } => {
            let joint = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            ProtobufError::WrongType { path: format!("{segment}{joint}{path}"), given, wanted }
        }
        other => other,
    }
}

/// Go's durations: `1h0m0s`, `1.5s`, `100ms`.
pub(super) mod duration {
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("h", 3600e9),
    ];

    /// Nanoseconds; `None` for what Go's `ParseDuration` refuses.
    pub(in super::super) fn parse(text: &str) -> Option<i64> {
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest == "0" {
            return Some(0);
        }
        let mut nanos = 0.0;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
            let number: f64 = rest[..end].parse().ok()?;
            rest = &rest[end..];
            let length = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
            let (_, factor) = UNITS.iter().find(|(unit, _)| *unit == &rest[..length])?;
            nanos += number * factor;
            rest = &rest[length..];
        }
        Some(if negative { -nanos } else { nanos } as i64)
    }

    /// As Go's `Duration.String`.
    pub(in super::super) fn print(nanos: i64) -> String {
        let sign = if nanos < 0 { "-" } else { "" };
        let all = nanos.unsigned_abs();
        let decimals = |value: u64, unit: u64, name: &str| {
            let (whole, rest) = (value / unit, value % unit);
            let digits = unit.ilog10() as usize;
            let rest = format!("{rest:0digits$}");
            match rest.trim_end_matches('0') {
                "" => format!("{whole}{name}"),
                rest => format!("{whole}.{rest}{name}"),
            }
        };
        match all {
            0 => "0s".to_owned(),
            1..1_000 => format!("{sign}{all}ns"),
            1_000..1_000_000 => format!("{sign}{}", decimals(all, 1_000, "µs")),
            1_000_000..1_000_000_000 => format!("{sign}{}", decimals(all, 1_000_000, "ms")),
            _ => {
                let minutes = all / 60_000_000_000;
                let seconds = decimals(all % 60_000_000_000, 1_000_000_000, "s");
                match (minutes / 60, minutes % 60) {
                    (0, 0) => format!("{sign}{seconds}"),
                    (0, minutes) => format!("{sign}{minutes}m{seconds}"),
                    (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}"),
                }
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn durations_read_and_print_like_go() {
            for (text, nanos, printed) in [
                ("1h", 3_600_000_000_000, "1h0m0s"),
                ("90s", 90_000_000_000, "1m30s"),
                ("1.5s", 1_500_000_000, "1.5s"),
                ("100ms", 100_000_000, "100ms"),
                ("-2us", -2_000, "-2µs"),
                ("0", 0, "0s"),
            ] {
                assert_eq!(parse(text), Some(nanos));
                assert_eq!(print(nanos), printed);
            }
            assert_eq!(parse("1"), None);
            assert_eq!(parse(""), None);
        }
    }
}
