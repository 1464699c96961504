//! A value of a file, and where it stands.

use serde_json::{Map, Value};

use super::{InputError, document::Asked};

/// A value that knows where it stands.
#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    pub file: &'a str,
    pub path: String,
    pub value: &'a Value,
    /// Takes down which fields are asked for; none where the whole value counts.
    pub asked: Option<&'a Asked>,
}

static NULL: Value = Value::Null;

impl<'a> Field<'a> {
    pub(super) fn root(file: &'a str, value: &'a Value) -> Field<'a> {
        Field { file, path: String::new(), value, asked: None }
    }

    /// A field of an object; one that is not there is null.
    pub(super) fn get(&self, name: &str) -> Field<'a> {
        let path = match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        };
        if let Some(asked) = self.asked {
            asked.insert(&path);
        }
        Field { path, value: self.value.get(name).unwrap_or(&NULL), ..self.clone() }
    }

    /// The value with all that is in it.
    pub(super) fn whole(&self) -> Value {
        if let Some(asked) = self.asked {
            asked.insert_whole(&self.path);
        }
        self.value.clone()
    }

    /// The field of the first of these names that is there.
    pub(super) fn any(&self, names: &[&str]) -> Field<'a> {
        let found = names.iter().map(|name| self.get(name)).find(Field::is_there);
        found.unwrap_or_else(|| self.get(names[0]))
    }

    pub(super) fn is_there(&self) -> bool {
        !self.value.is_null()
    }

    pub(super) fn wrong(&self, expected: impl Into<String>) -> InputError {
        let found = match self.value {
            Value::Null => "nothing".to_owned(),
            value => {
                let mut text = value.to_string();
                text.truncate(text.char_indices().nth(60).map_or(text.len(), |(at, _)| at));
                text
            }
        };
        let field = if self.path.is_empty() { "the file" } else { &self.path };
        InputError::Field {
            file: self.file.to_owned(),
            field: field.to_owned(),
            expected: expected.into(),
            found,
        }
    }

    /// The items of a list; none where it is not there.
    pub(super) fn items(&self) -> Result<Vec<Field<'a>>, InputError> {
        let list = match self.value {
            Value::Null => return Ok(vec![]),
            Value::Array(list) => list,
            _ => return Err(self.wrong("a list")),
        };
        let item =
            |(at, value)| Field { path: format!("{}[{at}]", self.path), value, ..self.clone() };
        Ok(list.iter().enumerate().map(item).collect())
    }

    pub(super) fn object(&self) -> Result<&'a Map<String, Value>, InputError> {
        self.value.as_object().ok_or_else(|| self.wrong("an object"))
    }

    pub(super) fn text(&self) -> Result<&'a str, InputError> {
        self.value.as_str().ok_or_else(|| self.wrong("a text"))
    }

    /// A whole number, also where it is written as a text.
    pub(super) fn number<N: TryFrom<u64>>(&self) -> Result<N, InputError> {
        let number = match self.value {
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        let number = number.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| self.wrong("a whole number, not below 0"))
    }

    /// The same; `other` where it is not there.
    pub(super) fn number_or<N: TryFrom<u64>>(&self, other: N) -> Result<N, InputError> {
        if self.is_there() { self.number() } else { Ok(other) }
    }

    /// Whether a number, or a truth, says yes; no where it is not there.
    pub(super) fn is_set(&self) -> Result<bool, InputError> {
        match self.value {
            Value::Null => Ok(false),
            Value::Bool(truth) => Ok(*truth),
            _ => self.number::<u64>().map(|number| number != 0),
        }
    }

    /// Texts by name: labels.
    pub(super) fn labels(&self) -> Result<crate::kivi::description::Labels, InputError> {
        if !self.is_there() {
            return Ok(Default::default());
        }
        let label = |(key, value): (&String, &Value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                // Kivi numbers the values of its labels.
                Value::Number(number) => number.to_string(),
                _ => return Err(self.get(key).wrong("a text")),
            };
            self.get(key);
            Ok((key.clone(), text))
        };
        self.object()?.iter().map(label).collect()
    }
}
