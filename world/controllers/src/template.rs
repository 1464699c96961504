//! Pod templates: opaque but for their labels, and told apart by a hash.
//!
//! Upstream names a ReplicaSet after a hash of the printed Go struct, which nobody else can compute; ours
//! hashes the JSON. Who could notice: whoever relies on the very digits of a `pod-template-hash`.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    object::{Labels, Text},
    read,
};

/// The label that tells the ReplicaSets of a Deployment apart.
pub(crate) const HASH_LABEL: &str = "pod-template-hash";

/// A pod template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// All of it.
    pub value: Arc<Value>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// Equal for templates that differ in the `pod-template-hash` label at most, and only for those (up to a
    /// collision of 64 bits).
    pub hash: u64,
}

impl Template {
    pub(crate) fn read(value: &Value) -> Template {
        let labels = read::labels(&value["metadata"], "labels");
        let mut hash = Fnv::default();
        hash.value(value, true);
        Template { value: Arc::new(value.clone()), labels, hash: hash.0 }
    }

    /// What the name of its ReplicaSet ends in. `collisions`: how often that name was taken by another.
    pub(crate) fn suffix(&self, collisions: Option<i64>) -> Text {
        let mut hash = Fnv(self.hash);
        if let Some(collisions) = collisions {
            hash.bytes(&collisions.to_le_bytes());
        }
        // `rand.SafeEncodeString` of the decimal digits of 32 bits.
        const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        let folded = (hash.0 >> 32) as u32 ^ hash.0 as u32;
        let safe = |digit: u8| char::from(ALPHABET[digit as usize % ALPHABET.len()]);
        folded.to_string().bytes().map(safe).collect::<String>().into()
    }
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Whatever order maps are kept in. Without the label where `skip`; null and absence are the same.
    fn value(&mut self, value: &Value, skip: bool) {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
                fields.sort_by_key(|(key, _)| *key);
                self.bytes(b"{");
                for (key, value) in fields {
                    if value.is_null() || skip && key == HASH_LABEL {
                        continue;
                    }
                    self.bytes(key.as_bytes());
                    self.bytes(b":");
                    self.value(value, skip);
                }
                self.bytes(b"}");
            }
            Value::Array(items) => {
                self.bytes(b"[");
                items.iter().for_each(|item| self.value(item, skip));
                self.bytes(b"]");
            }
            other => {
                self.bytes(other.to_string().as_bytes());
                self.bytes(b",");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_hash_label_is_no_difference() {
        let of = |labels: Value| Template::read(&json!({"metadata": {"labels": labels}})).hash;
        assert_eq!(of(json!({"a": "1"})), of(json!({"a": "1", "pod-template-hash": "x"})));
        assert_ne!(of(json!({"a": "1"})), of(json!({"a": "2"})));
        assert_ne!(of(json!({"a": "1", "b": ""})), of(json!({"a": "1"})));
    }

    #[test]
    fn a_collision_gives_another_name() {
        let template = Template::read(&json!({"spec": {}}));
        assert_ne!(template.suffix(None), template.suffix(Some(1)));
        assert!(template.suffix(None).len() <= 10);
    }
}
