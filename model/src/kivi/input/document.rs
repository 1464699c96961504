//! A JSON file, and which of its fields somebody asked for: the others are told, as they may be misspelt.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::Value;

use super::{File, InputError, Note, field::Field};
use crate::schedule::nearest;

/// A file, read.
#[derive(Debug)]
pub(super) struct Document<'a> {
    file: &'a str,
    value: Value,
    asked: Asked,
}

/// Paths of fields that were asked for, whether they are there or not; those that end with [`WHOLE`] with all that is
/// in them.
#[derive(Debug, Default)]
pub(super) struct Asked(RefCell<BTreeSet<String>>);

const WHOLE: &str = ".*";

impl Asked {
    pub(super) fn insert(&self, path: &str) {
        self.0.borrow_mut().insert(path.to_owned());
    }

    pub(super) fn insert_whole(&self, path: &str) {
        self.insert(&format!("{path}{WHOLE}"));
    }

    fn has(&self, path: &str) -> bool {
        self.0.borrow().contains(path)
    }

    /// The names of the fields of an object that were asked for.
    fn names(&self, object: &str) -> Vec<String> {
        let asked = self.0.borrow();
        let below = asked.iter().filter_map(|path| match object {
            "" => Some(path.as_str()),
            _ => path.strip_prefix(object)?.strip_prefix('.'),
        });
        below.filter(|name| !name.contains(['.', '['])).map(str::to_owned).collect()
    }
}

impl<'a> Document<'a> {
    /// Reads JSON.
    pub(super) fn read(file: &File<'a>) -> Result<Document<'a>, InputError> {
        let value = serde_json::from_str(file.text).map_err(|error| InputError::Format {
            file: file.path.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Document { file: file.path, value, asked: Asked::default() })
    }

    /// Its value.
    pub(super) fn root(&self) -> Field<'_> {
        Field { asked: Some(&self.asked), ..Field::root(self.file, &self.value) }
    }

    /// Notes of all fields that nobody asked for, but for those of these names.
    pub(super) fn unread(&self, passed_over: &[&str], notes: &mut Vec<Note>) {
        self.unread_in("", &self.value, passed_over, notes);
    }

    fn unread_in(&self, path: &str, value: &Value, passed_over: &[&str], notes: &mut Vec<Note>) {
        if self.asked.has(&format!("{path}{WHOLE}")) {
            return;
        }
        if let Value::Array(list) = value {
            for (at, item) in list.iter().enumerate() {
                self.unread_in(&format!("{path}[{at}]"), item, passed_over, notes);
            }
        }
        let fields = value.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| !passed_over.contains(&name.as_str())) {
            let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if self.asked.has(&below) {
                self.unread_in(&below, value, passed_over, notes);
                continue;
            }
            let known = self.asked.names(path);
            let text = format!("nothing reads this field{}", nearest(name, known.iter()));
            notes.push(Note { file: self.file.to_owned(), field: below, text });
        }
    }
}
