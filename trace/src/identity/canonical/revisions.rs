//! Which revisions and generations a subject could compare: those stay in the canonical text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::key::ObjectKey;

/// Which revisions and generations other fields speak of.
pub(super) struct Revisions<'w> {
    /// `metadata.resourceVersion` → position of the first object that has it.
    pub holders: BTreeMap<&'w str, usize>,
    /// Those that some field other than a `resourceVersion` repeats: a subject can compare the two.
    pub mentioned: BTreeSet<&'w str>,
    /// Some field other than `*observedGeneration` speaks of a generation.
    pub generations_matter: bool,
    /// Positions of the objects with an `*observedGeneration`.
    pub observed: BTreeSet<usize>,
}

impl<'w> Revisions<'w> {
    pub fn of(objects: &[(&'w ObjectKey, &'w Value)]) -> Revisions<'w> {
        let mut revisions = Revisions {
            holders: BTreeMap::new(),
            mentioned: BTreeSet::new(),
            generations_matter: false,
            observed: BTreeSet::new(),
        };
        for (at, (_, object)) in objects.iter().enumerate() {
            let revision = object.get("metadata").and_then(|meta| meta.get("resourceVersion"));
            if let Some(revision) = revision.and_then(Value::as_str) {
                revisions.holders.entry(revision).or_insert(at);
            }
        }
        for (at, (_, object)) in objects.iter().enumerate() {
            for (name, value) in object.as_object().into_iter().flatten() {
                match value {
                    Value::Object(metadata) if name == "metadata" => {
                        for (name, value) in metadata {
                            if !matches!(
                                &**name,
                                "generation" | "resourceVersion" | "managedFields"
                            ) {
                                revisions.look(at, name, value);
                            }
                        }
                    }
                    _ => revisions.look(at, name, value),
                }
            }
        }
        revisions
    }

    fn look(&mut self, at: usize, name: &str, value: &'w Value) {
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| self.look(at, name, value)),
            Value::Array(items) => items.iter().for_each(|item| self.look(at, name, item)),
            Value::String(text) => {
                let number = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
                if number
                    && name != "resourceVersion"
                    && let Some((held, _)) = self.holders.get_key_value(&**text)
                {
                    self.mentioned.insert(held);
                }
                self.generations_matter |= number && speaks_of_generation(name);
            }
            Value::Number(number) => {
                if observes_generation(name) {
                    self.observed.insert(at);
                }
                self.generations_matter |= speaks_of_generation(name);
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

fn speaks_of_generation(name: &str) -> bool {
    contains_ignoring_case(name, "generation") && !observes_generation(name)
}

/// `observedGeneration`, and fields that end so.
pub(super) fn observes_generation(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("observedgeneration")
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.len() >= word.len()
        && text
            .as_bytes()
            .windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}
