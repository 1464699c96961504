//! Which revisions a subject could compare: those stay in the canonical text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::key::ObjectKey;

/// Which revisions other fields speak of.
pub(super) struct Revisions<'w> {
    /// `metadata.resourceVersion` → position of the first object that has it.
    pub holders: BTreeMap<&'w str, usize>,
    /// Those that some field other than a `resourceVersion` repeats: a subject can compare the two.
    pub mentioned: BTreeSet<&'w str>,
}

impl<'w> Revisions<'w> {
    pub fn of(objects: &[(&'w ObjectKey, &'w Value)]) -> Revisions<'w> {
        let mut revisions = Revisions { holders: BTreeMap::new(), mentioned: BTreeSet::new() };
        for (at, (_, object)) in objects.iter().enumerate() {
            let revision = object.get("metadata").and_then(|meta| meta.get("resourceVersion"));
            if let Some(revision) = revision.and_then(Value::as_str) {
                revisions.holders.entry(revision).or_insert(at);
            }
        }
        for (_, object) in objects {
            for (name, value) in object.as_object().into_iter().flatten() {
                match value {
                    Value::Object(metadata) if name == "metadata" => {
                        for (name, value) in metadata {
                            if !matches!(&**name, "resourceVersion" | "managedFields") {
                                revisions.look(name, value);
                            }
                        }
                    }
                    _ => revisions.look(name, value),
                }
            }
        }
        revisions
    }

    fn look(&mut self, name: &str, value: &'w Value) {
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| self.look(name, value)),
            Value::Array(items) => items.iter().for_each(|item| self.look(name, item)),
            Value::String(text) => {
                let number = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
                if number
                    && name != "resourceVersion"
                    && let Some((held, _)) = self.holders.get_key_value(&**text)
                {
                    self.mentioned.insert(held);
                }
            }
            Value::Number(number) => {
                if contains_ignoring_case(name, "version")
                    || contains_ignoring_case(name, "revision")
                {
                    let text = number.to_string();
                    if let Some((held, _)) = self.holders.get_key_value(&*text) {
                        self.mentioned.insert(held);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.len() >= word.len()
        && text
            .as_bytes()
            .windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}
