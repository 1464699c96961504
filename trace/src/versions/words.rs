//! Which words occur in an object, to tell quickly that no token of a world does.

use serde_json::Value;

use crate::{key::ObjectKey, tokens};

/// Words of an object that is large: a definition has thousands, a pod a hundred.
const MANY: usize = 500;

/// The words of an object, each by a hash, in order. A word is a longest stretch of letters and digits.
pub(crate) struct Words(Box<[u32]>);

impl Words {
    /// All words of its key, of its texts and of its fields' names, but for what no comparison looks at.
    pub fn of(key: &ObjectKey, object: &Value) -> Words {
        let mut found = Vec::new();
        add(&key.to_string(), &mut found);
        for (name, inner) in object.as_object().into_iter().flatten() {
            add(name, &mut found);
            match inner {
                Value::Object(metadata) if name == "metadata" => {
                    let counts = |name: &&String| {
                        !["uid", "resourceVersion", "managedFields"].contains(&name.as_str())
                    };
                    for name in metadata.keys().filter(counts) {
                        add(name, &mut found);
                        walk(&metadata[name], &mut found);
                    }
                }
                _ => walk(inner, &mut found),
            }
        }
        found.sort_unstable();
        found.dedup();
        Words(found.into())
    }

    /// Whether this one may occur. "No" is always right.
    pub fn has(&self, word: u32) -> bool {
        self.0.binary_search(&word).is_ok()
    }

    /// Whether one of these words, in order, occurs, and `holds` says yes to what stands beside it.
    pub fn any_of(&self, words: &[(u32, usize)], holds: impl Fn(usize) -> bool) -> bool {
        if words.len() < self.0.len() {
            return words.iter().any(|(word, what)| self.has(*word) && holds(*what));
        }
        self.0.iter().any(|own| {
            let from = words.partition_point(|(word, _)| word < own);
            let same = words[from..].iter().take_while(|(word, _)| word == own);
            same.into_iter().any(|(_, what)| holds(*what))
        })
    }

    /// Whether a look at the whole object costs more than a form made for nothing.
    pub fn are_many(&self) -> bool {
        self.0.len() > MANY
    }
}

fn walk(value: &Value, found: &mut Vec<u32>) {
    match value {
        Value::String(text) => add(text, found),
        Value::Number(number) if tokens::may_be_port(number) => add(&number.to_string(), found),
        Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
        Value::Object(map) => map.iter().for_each(|(name, inner)| {
            add(name, found);
            walk(inner, found);
        }),
        _ => {}
    }
}

fn add(text: &str, found: &mut Vec<u32>) {
    found.extend(tokens::words(text).map(word));
}

/// The hash of a word (FNV-1a).
pub(crate) fn word(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
