//! Messages to values, with Go's rules for what JSON shows.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Number, Value};
use trace::Time;

use super::ProtobufError;
use crate::encoding::{
    types::{Field, Kind, MessageId, Special, types},
    wire::{Fields, Payload},
};

type Outcome<T> = Result<T, ProtobufError>;

pub(super) fn text(bytes: &[u8]) -> Outcome<String> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| ProtobufError::Malformed)
}

/// How deep messages may nest: objects of real clusters stay far below.
const DEPTH_MAX: u32 = 100;

pub(super) fn message(id: MessageId, bytes: &[u8]) -> Outcome<Value> {
    at_depth(id, bytes, DEPTH_MAX)
}

fn at_depth(id: MessageId, bytes: &[u8], depth: u32) -> Outcome<Value> {
    let depth = depth.checked_sub(1).ok_or(ProtobufError::Malformed)?;
    let message = &types().messages[id];
    match message.special {
        Special::None => {}
        Special::SchemaOrBool | Special::SchemaOrArray | Special::SchemaOrStrings => {
            return schema_or(id, bytes, depth);
        }
        special => return scalar_like(special, bytes),
    }
    let mut fields = Map::new();
    for wire in Fields(bytes) {
        let (number, payload) = wire?;
        let Some(field) = find(&message.fields, number) else { continue };
        if field.inline {
            if let (Kind::Message(id), Payload::Bytes(bytes)) = (field.kind, payload)
                && let Value::Object(inner) = at_depth(id, bytes, depth)?
            {
                fields.extend(inner);
            }
        } else if field.repeated {
            let item = value(field.kind, payload, depth)?;
            match fields.entry(field.json).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(items) => items.push(item),
                _ => return Err(ProtobufError::Malformed),
            }
        } else if field.map {
            let Payload::Bytes(entry) = payload else { return Err(ProtobufError::Malformed) };
            let (key, item) = entry_of(field.kind, entry, depth)?;
            match fields.entry(field.json).or_insert_with(|| Value::Object(Map::new())) {
                Value::Object(entries) => entries.insert(key, item),
                _ => return Err(ProtobufError::Malformed),
            };
        } else {
            fields.insert(field.json.to_owned(), value(field.kind, payload, depth)?);
        }
    }
    for field in &message.fields {
        show(field, &mut fields, depth)?;
    }
    Ok(Value::Object(fields))
}

/// Fields are sorted by number and mostly dense, so the place is nearly always the number itself.
fn find(fields: &[Field], number: u32) -> Option<&Field> {
    let guess = (number as usize).checked_sub(1).and_then(|index| fields.get(index));
    guess.filter(|field| field.number == number).or_else(|| {
        fields.binary_search_by_key(&number, |field| field.number).ok().map(|index| &fields[index])
    })
}

/// Adds what Go shows though it is not on the wire, and drops what it doesn't show though it is.
fn show(field: &Field, fields: &mut Map<String, Value>, depth: u32) -> Outcome<()> {
    if field.inline {
        if let (Kind::Message(id), false) = (field.kind, field.pointer)
            && let Value::Object(zero) = at_depth(id, &[], depth)?
        {
            for (name, value) in zero {
                fields.entry(name).or_insert(value);
            }
        }
        return Ok(());
    }
    let present = fields.get(field.json);
    if field.repeated || field.map || field.pointer {
        if field.always && present.is_none() {
            fields.insert(field.json.to_owned(), Value::Null);
        }
        return Ok(());
    }
    if let Kind::Message(id) = field.kind {
        if field.omit_zero {
            if present.is_some_and(|value| value.is_null()) {
                fields.remove(field.json);
            }
        } else if present.is_none() {
            let zero = at_depth(id, &[], depth)?;
            fields.insert(field.json.to_owned(), zero);
        }
        return Ok(());
    }
    if field.always {
        if present.is_none() {
            fields.insert(field.json.to_owned(), zero(field.kind));
        }
    } else if present.is_some_and(|value| *value == zero(field.kind)) {
        fields.remove(field.json);
    }
    Ok(())
}

/// Beyond it a double holds no whole numbers exactly.
const WHOLE_MAX: f64 = 9e15;

fn zero(kind: Kind) -> Value {
    match kind {
        Kind::Bool => Value::Bool(false),
        Kind::Integer => Value::from(0),
        Kind::Double => Value::from(0),
        Kind::String => Value::from(""),
        // A nil byte slice; an empty one looks the same on the wire.
        Kind::Bytes | Kind::Message(_) => Value::Null,
    }
}

fn value(kind: Kind, payload: Payload<'_>, depth: u32) -> Outcome<Value> {
    Ok(match (kind, payload) {
        (Kind::Bool, Payload::Varint(number)) => Value::Bool(number != 0),
        (Kind::Integer, Payload::Varint(number)) => Value::from(number as i64),
        (Kind::Double, Payload::Fixed64(bits)) => {
            let number = f64::from_bits(bits);
            // Go writes whole numbers without a fraction.
            if number.fract() == 0.0 && number.abs() < WHOLE_MAX {
                return Ok(Value::from(number as i64));
            }
            Number::from_f64(number).map_or(Value::Null, Value::Number)
        }
        (Kind::String, Payload::Bytes(bytes)) => Value::from(text(bytes)?),
        (Kind::Bytes, Payload::Bytes(bytes)) => Value::from(STANDARD.encode(bytes)),
        (Kind::Message(id), Payload::Bytes(bytes)) => at_depth(id, bytes, depth)?,
        _ => return Err(ProtobufError::Malformed),
    })
}

fn entry_of(kind: Kind, bytes: &[u8], depth: u32) -> Outcome<(String, Value)> {
    let mut key = String::new();
    let mut found = None;
    for field in Fields(bytes) {
        match field? {
            (1, Payload::Bytes(bytes)) => key = text(bytes)?,
            (2, payload) => found = Some(value(kind, payload, depth)?),
            _ => {}
        }
    }
    let absent = || match kind {
        Kind::Message(id) => at_depth(id, &[], depth),
        Kind::Bytes => Ok(Value::from("")),
        other => Ok(zero(other)),
    };
    Ok((key, found.map_or_else(absent, Ok)?))
}

/// Messages that JSON writes as a scalar, a list of strings, or as they are.
fn scalar_like(special: Special, bytes: &[u8]) -> Outcome<Value> {
    let mut numbers = [0u64; 4];
    let mut last = None;
    let mut strings = Vec::new();
    for field in Fields(bytes) {
        match field? {
            (number @ 1..=3, Payload::Varint(value)) => numbers[number as usize] = value,
            (_, Payload::Bytes(bytes)) => {
                last = Some(bytes);
                if special == Special::Wrapper {
                    strings.push(Value::from(text(bytes)?));
                }
            }
            _ => {}
        }
    }
    let (first, second) = (numbers[1] as i64, numbers[2] as i64);
    let time = || {
        let nanos = first.checked_mul(1_000_000_000).and_then(|nanos| nanos.checked_add(second));
        nanos.filter(|_| first != 0 || second != 0).map(Time)
    };
    Ok(match special {
        Special::Quantity => match text(last.unwrap_or_default())? {
            empty if empty.is_empty() => Value::from("0"),
            other => Value::from(other),
        },
        Special::IntOrString if first == 1 => Value::from(text(last.unwrap_or_default())?),
        Special::IntOrString => Value::from(second),
        Special::Time => time().map_or(Value::Null, |time| Value::from(time.rfc3339())),
        Special::MicroTime => time().map_or(Value::Null, |time| Value::from(time.rfc3339_micro())),
        Special::Duration => Value::from(super::write::duration::print(first)),
        Special::Wrapper => Value::Array(strings),
        _ => match last {
            None | Some([]) => Value::Null,
            Some(raw) if raw.starts_with(super::MAGIC) => super::decode(raw)?,
            Some(raw) => serde_json::from_slice(raw).map_err(|_| ProtobufError::Malformed)?,
        },
    })
}

/// `JSONSchemaPropsOr…`: whichever of its fields is set.
fn schema_or(id: MessageId, bytes: &[u8], depth: u32) -> Outcome<Value> {
    let message = &types().messages[id];
    let mut list = Vec::new();
    let mut allows = false;
    for wire in Fields(bytes) {
        let (number, payload) = wire?;
        let Some(field) = find(&message.fields, number) else { continue };
        let value = value(field.kind, payload, depth)?;
        match value {
            Value::Bool(value) => allows = value,
            value if field.repeated => list.push(value),
            value => return Ok(value),
        }
    }
    Ok(match message.special {
        Special::SchemaOrBool => Value::Bool(allows),
        _ => Value::Array(list),
    })
}
