//! A world in comparison form, as a value.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::{Deref, Index},
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::reduce;

/// An object in comparison form, with its digest once that was asked for.
pub struct ObjectForm {
    value: Value,
    digest: OnceLock<blake3::Hash>,
}

impl ObjectForm {
    /// Of an object that is in comparison form already.
    pub fn new(value: Value) -> ObjectForm {
        ObjectForm { value, digest: OnceLock::new() }
    }

    fn digest(&self) -> &blake3::Hash {
        self.digest.get_or_init(|| blake3::hash(self.value.to_string().as_bytes()))
    }
}

impl Deref for ObjectForm {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.value
    }
}

impl PartialEq for ObjectForm {
    fn eq(&self, other: &ObjectForm) -> bool {
        self.value == other.value
    }
}

impl fmt::Debug for ObjectForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl Serialize for ObjectForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ObjectForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ObjectForm, D::Error> {
        Value::deserialize(deserializer).map(ObjectForm::new)
    }
}

/// Canonical key → object. Worlds share the forms of objects that are the same in both.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorldForm(BTreeMap<String, Arc<ObjectForm>>);

impl WorldForm {
    /// All objects, in order of their keys.
    pub fn objects(&self) -> impl Iterator<Item = (&String, &Arc<ObjectForm>)> {
        self.0.iter()
    }

    /// The object with this canonical key.
    pub fn get(&self, key: &str) -> Option<&Arc<ObjectForm>> {
        self.0.get(key)
    }

    /// Puts an object in the place of the one with its key; none: takes that out.
    pub fn set(&mut self, key: &str, object: Option<Arc<ObjectForm>>) {
        match object {
            Some(object) => self.0.insert(key.to_owned(), object),
            None => self.0.remove(key),
        };
    }

    /// A hash of it all: equal for equal worlds.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (key, object) in &self.0 {
            hasher.update(blake3::hash(key.as_bytes()).as_bytes());
            hasher.update(object.digest().as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The keys of both worlds in order, each with what either has there, but for what is the same object.
    pub(crate) fn beside<'f>(
        &'f self,
        other: &'f WorldForm,
    ) -> Vec<(&'f str, Option<&'f Value>, Option<&'f Value>)> {
        let keys: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let sides = keys.into_iter().map(|key| (key, self.get(key), other.get(key)));
        let differ = sides.filter(|(_, left, right)| !same(*left, *right));
        let value = |side: Option<&'f Arc<ObjectForm>>| side.map(|object| &object.value);
        differ.map(|(key, left, right)| (key.as_str(), value(left), value(right))).collect()
    }

    /// Two keys may get one label (names of things that are gone): none of their objects may vanish.
    pub(super) fn insert(&mut self, key: String, object: Arc<ObjectForm>) {
        let mut free = key;
        while self.0.contains_key(&free) {
            free.push_str("‹again›");
        }
        self.0.insert(free, object);
    }

    /// Payload labels carry the payload until here: those that occur once lose it, others get a number.
    pub(super) fn number_payloads(&mut self) {
        let secrets = self.0.iter_mut().filter(|(key, _)| key.starts_with("secrets/"));
        let copied = |object: &mut Arc<ObjectForm>| object.value.clone();
        let mut secrets: Vec<(Value, &mut Arc<ObjectForm>)> =
            secrets.map(|(_, object)| (copied(object), object)).collect();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (value, _) in &mut secrets {
            reduce::each_payload(value, &mut |text| *counts.entry(text.clone()).or_default() += 1);
        }
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for (mut value, object) in secrets {
            reduce::each_payload(&mut value, &mut |text| {
                *text = if counts[text] == 1 {
                    "‹payload›".to_owned()
                } else {
                    let next = numbers.len() + 1;
                    format!("‹payload {}›", numbers.entry(text.clone()).or_insert(next))
                };
            });
            if value != object.value {
                *object = Arc::new(ObjectForm::new(value));
            }
        }
    }
}

impl FromIterator<(String, Value)> for WorldForm {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(objects: I) -> WorldForm {
        let form = |(key, value)| (key, Arc::new(ObjectForm::new(value)));
        WorldForm(objects.into_iter().map(form).collect())
    }
}

/// Panics where there is no such object.
impl Index<&str> for WorldForm {
    type Output = Value;
    fn index(&self, key: &str) -> &Value {
        &self.0[key].value
    }
}

impl PartialEq for WorldForm {
    fn eq(&self, other: &WorldForm) -> bool {
        self.0.len() == other.0.len()
            && self
                .0
                .iter()
                .zip(&other.0)
                .all(|((key, left), (other, right))| key == other && same(Some(left), Some(right)))
    }
}

fn same(left: Option<&Arc<ObjectForm>>, right: Option<&Arc<ObjectForm>>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => Arc::ptr_eq(left, right) || left == right,
        (left, right) => left.is_none() && right.is_none(),
    }
}
