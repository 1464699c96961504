//! Values of variables, as TLA+ knows them.
//!
//! In TLA+ a sequence is a function with the domain `1..n`, and a record is a function whose domain is a set of
//! strings. Checkers print the same value now as one, now as the other, so a value has one form here: [`Value::seq`],
//! [`Value::record`] and [`Value::function`] all give the shortest that fits. Two values are equal if TLA+ says so.
//! Tuples are sequences, and ranges are sets.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display, Formatter, Write},
};

/// A value. Build functions and records with [`Value::function`] and [`Value::record`], which choose the form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// `TRUE` or `FALSE`.
    Bool(bool),
    /// An integer that fits.
    Int(i128),
    /// An integer that does not: its decimal digits, without zeros in front, perhaps after a `-`.
    Big(String),
    /// A string, without quotes and escapes.
    Text(String),
    /// A model value, which equals nothing but itself. Whatever else a format only has a name for is one too.
    Model(String),
    /// A finite set.
    Set(BTreeSet<Value>),
    /// A sequence or tuple; the empty one is also the empty function and the empty record.
    Seq(Vec<Value>),
    /// A function whose domain is a set of strings, not the empty one.
    Record(BTreeMap<String, Value>),
    /// Any other function.
    Function(BTreeMap<Value, Value>),
}

impl Value {
    /// The string `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The set of `elements`.
    pub fn set(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Set(elements.into_iter().collect())
    }

    /// The sequence of `elements`.
    pub fn seq(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Seq(elements.into_iter().collect())
    }

    /// The record of `fields`.
    pub fn record<K: Into<String>>(fields: impl IntoIterator<Item = (K, Self)>) -> Self {
        let fields: BTreeMap<String, Self> =
            fields.into_iter().map(|(name, value)| (name.into(), value)).collect();
        if fields.is_empty() { Self::Seq(Vec::new()) } else { Self::Record(fields) }
    }

    /// The function that maps each key of `pairs` to its value.
    pub fn function(pairs: impl IntoIterator<Item = (Self, Self)>) -> Self {
        let pairs: BTreeMap<Self, Self> = pairs.into_iter().collect();
        if pairs.keys().zip(1..).all(|(key, at)| *key == Self::Int(at)) {
            return Self::Seq(pairs.into_values().collect());
        }
        if !pairs.keys().all(|key| matches!(key, Self::Text(_))) {
            return Self::Function(pairs);
        }
        let name = |key| match key {
            Self::Text(name) => name,
            other => unreachable!("{other} is no string, and all keys are"),
        };
        Self::Record(pairs.into_iter().map(|(key, value)| (name(key), value)).collect())
    }

    /// The integer that `digits` say, perhaps after a `-`; none if they are no such thing.
    pub fn integer(digits: &str) -> Option<Self> {
        let (sign, bare) = match digits.strip_prefix('-') {
            Some(bare) => ("-", bare),
            None => ("", digits),
        };
        if bare.is_empty() || !bare.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(match digits.parse() {
            Ok(number) => Self::Int(number),
            Err(_) => Self::Big(format!("{sign}{}", bare.trim_start_matches('0'))),
        })
    }

    /// What a function, sequence or record maps `key` to.
    pub fn get(&self, key: &Self) -> Option<&Self> {
        match (self, key) {
            (Self::Seq(elements), Self::Int(at)) => {
                elements.get(usize::try_from(*at).ok()?.checked_sub(1)?)
            }
            (Self::Record(fields), Self::Text(name)) => fields.get(name),
            (Self::Function(pairs), key) => pairs.get(key),
            _ => None,
        }
    }

    /// The pairs of a function, sequence or record, in the order of the keys; none if it is something else.
    pub fn pairs(&self) -> Option<Vec<(Self, &Self)>> {
        match self {
            Self::Seq(elements) => Some((1..).map(Self::Int).zip(elements).collect()),
            Self::Record(fields) => {
                Some(fields.iter().map(|(name, value)| (Self::text(name), value)).collect())
            }
            Self::Function(pairs) => {
                Some(pairs.iter().map(|(key, value)| (key.clone(), value)).collect())
            }
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i128> for Value {
    fn from(value: i128) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::text(value)
    }
}

/// Whether `name` may stand for itself in TLA+: letters, digits and `_`, and not digits only.
pub fn is_identifier(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The value as TLC prints it, on one line.
///
/// A model value is printed as its name. If that is no identifier, what is printed is not TLA+.
impl Display for Value {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(true) => out.write_str("TRUE"),
            Self::Bool(false) => out.write_str("FALSE"),
            Self::Int(number) => write!(out, "{number}"),
            Self::Big(text) | Self::Model(text) => out.write_str(text),
            Self::Text(text) => quote(text, out),
            Self::Set(elements) => list(out, "{", elements, ", ", "}", Display::fmt),
            Self::Seq(elements) => list(out, "<<", elements, ", ", ">>", Display::fmt),
            Self::Record(fields) if fields.keys().all(|name| is_identifier(name)) => {
                list(out, "[", fields, ", ", "]", |(name, value), out| {
                    write!(out, "{name} |-> {value}")
                })
            }
            Self::Record(fields) => list(out, "(", fields, " @@ ", ")", |(name, value), out| {
                quote(name, out)?;
                write!(out, " :> {value}")
            }),
            Self::Function(pairs) => list(out, "(", pairs, " @@ ", ")", |(key, value), out| {
                write!(out, "{key} :> {value}")
            }),
        }
    }
}

fn list<T>(
    out: &mut Formatter<'_>,
    open: &str,
    items: impl IntoIterator<Item = T>,
    between: &str,
    close: &str,
    item: impl Fn(T, &mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    out.write_str(open)?;
    for (at, each) in items.into_iter().enumerate() {
        if at > 0 {
            out.write_str(between)?;
        }
        item(each, out)?;
    }
    out.write_str(close)
}

/// The escapes of a TLA+ string: what stands after the backslash, and what it means (Specifying Systems, 16.1.10).
pub(super) const ESCAPES: [(char, char); 6] =
    [('"', '"'), ('\\', '\\'), ('n', '\n'), ('t', '\t'), ('r', '\r'), ('f', '\u{c}')];

fn quote(text: &str, out: &mut Formatter<'_>) -> fmt::Result {
    out.write_char('"')?;
    for character in text.chars() {
        match ESCAPES.iter().find(|(_, meant)| *meant == character) {
            Some((written, _)) => write!(out, "\\{written}")?,
            None => out.write_char(character)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_one_form() {
        let int = Value::Int;
        let check = |pairs: Vec<(Value, Value)>, expect: Value| {
            assert_eq!(Value::function(pairs), expect);
        };
        check(vec![], Value::Seq(vec![]));
        check(vec![(int(2), int(8)), (int(1), int(7))], Value::seq([int(7), int(8)]));
        check(vec![("a".into(), int(1))], Value::record([("a", int(1))]));
        assert_eq!(Value::record::<&str>([]), Value::Seq(vec![]));
        assert!(matches!(Value::function([(int(0), int(1))]), Value::Function(_)));
        assert!(matches!(
            Value::function([(int(1), int(1)), ("a".into(), int(1))]),
            Value::Function(_)
        ));
    }

    #[test]
    fn integers_have_one_form() {
        let check = |digits: &str, expect: Option<Value>| {
            assert_eq!(Value::integer(digits), expect, "{digits}");
        };
        let big = "170141183460469231731687303715884105728";
        check("-7", Some(Value::Int(-7)));
        check("007", Some(Value::Int(7)));
        check("-0", Some(Value::Int(0)));
        check(big, Some(Value::Big(big.to_owned())));
        check(&format!("-00{big}1"), Some(Value::Big(format!("-{big}1"))));
        check("", None);
        check("-", None);
        check("+1", None);
        check("1e3", None);
    }

    #[test]
    fn keys_are_found() {
        let pair = Value::seq([Value::Int(5), Value::Int(6)]);
        assert_eq!(pair.get(&Value::Int(2)), Some(&Value::Int(6)));
        assert_eq!(pair.get(&Value::Int(0)), None);
        assert_eq!(pair.get(&Value::Int(3)), None);
        let record = Value::record([("a", Value::Int(1))]);
        assert_eq!(record.get(&"a".into()), Some(&Value::Int(1)));
        assert_eq!(Value::Int(3).get(&Value::Int(1)), None);
    }
}
