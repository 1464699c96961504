//! The writes of the model's controllers, held against those of the real programs.
//!
//! Controllers work side by side, so the order between objects is chance, and so is the order between fields of one
//! object that other controllers write. What is compared is the *life* of each object: that it was made, the values that
//! each of its fields had one after the other, and that it was deleted. Names of objects that were generated, and values
//! that the model leaves open (`$a`), are renamed, each alike everywhere.
//!
//! A model's run ends at the violation and the real one goes on, so a life of the model may be the beginning of a real
//! one. What the real programs do beyond the model's objects is no difference. What users write is in no life.

mod matching;

use std::collections::BTreeMap;

use serde_json::Value;
use trace::{Actor, Change, Commit, ObjectKey};

use matching::Names;
pub use matching::first_difference;

use super::{
    file::{Write, WriteVerb},
    play::Played,
    story::{is_alive, who},
};

/// What becomes of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Life {
    /// `Pod default/web-*`.
    pub role: String,
    /// Its own name.
    pub name: String,
    /// The number of the write that made it, if one did.
    created: Option<usize>,
    /// By field: each value and the number of its write.
    fields: BTreeMap<String, Vec<(usize, Value)>>,
    /// The number of the write that deleted it.
    deleted: Option<usize>,
}

impl Life {
    fn sets(&mut self, number: usize, field: &str, value: &Value) {
        let values = self.fields.entry(field.to_owned()).or_default();
        if values.last().is_none_or(|(_, last)| last != value) {
            values.push((number, value.clone()));
        }
    }

    /// The first of its writes.
    fn first(&self) -> usize {
        let fields = self.fields.values().flatten().map(|(number, _)| *number);
        fields.chain(self.created).chain(self.deleted).min().unwrap_or(usize::MAX)
    }

    /// The number of its first write that a real life does not have; the values that stand for names are bound.
    fn parts_from(&self, real: &Life, names: &mut Names) -> Option<usize> {
        let mut parts = Vec::new();
        if self.created.is_some() != real.created.is_some() {
            parts.push(self.first());
        }
        for (field, values) in &self.fields {
            let real = real.fields.get(field).map(Vec::as_slice).unwrap_or_default();
            let parted = values.iter().enumerate().find(|(at, (_, value))| {
                !real.get(*at).is_some_and(|(_, found)| names.bind(value, found))
            });
            parts.extend(parted.map(|(_, (number, _))| *number));
        }
        parts.extend(self.deleted.filter(|_| real.deleted.is_none()));
        parts.into_iter().min()
    }

    /// In words.
    fn told(&self) -> String {
        let mut said = vec![];
        if self.created.is_some() {
            said.push("made".to_owned());
        }
        for (field, values) in &self.fields {
            let values: Vec<String> = values.iter().map(|(_, value)| shown(value)).collect();
            said.push(format!("{field} {}", values.join(", then ")));
        }
        if self.deleted.is_some() {
            said.push("deleted".to_owned());
        }
        if said.is_empty() {
            said.push("nothing".to_owned());
        }
        said.join("; ")
    }
}

/// A value in a sentence.
pub fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How reports call the objects of a write.
pub fn role(write: &Write) -> String {
    let namespace = write.namespace.as_deref().unwrap_or("default");
    format!("{} {namespace}/{}", write.kind, write.name)
}

/// The lives that the model has.
pub fn of_model(writes: &[&Write]) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    for (number, write) in writes.iter().enumerate() {
        let (role, name) = (role(write), write.object.as_ref().unwrap_or(&write.name));
        let found = lives.iter().position(|life| (&life.role, &life.name) == (&role, name));
        let at = found.unwrap_or_else(|| {
            lives.push(Life { role, name: name.clone(), ..Life::default() });
            lives.len() - 1
        });
        let life = &mut lives[at];
        match write.verb {
            WriteVerb::Create => life.created = Some(number),
            WriteVerb::Update => {}
            WriteVerb::Delete => life.deleted = life.deleted.or(Some(number)),
        }
        for (field, value) in &write.set {
            life.sets(number, field, value);
        }
    }
    lives
}

/// The real lives of all objects whose names fit one of these writes, with the fields that the model speaks of.
pub fn of_real(writes: &[&Write], played: &Played) -> Vec<Life> {
    let mut lives: Vec<(ObjectKey, Life)> = Vec::new();
    let mut before: BTreeMap<(ObjectKey, String), Value> = BTreeMap::new();
    for (key, object) in &played.start {
        for (role, fields) in roles(writes, key, object) {
            lives.push((key.clone(), Life { role, name: key.name.to_string(), ..Life::default() }));
            for field in fields {
                before.insert((key.clone(), field.to_owned()), value_of(object, field).clone());
            }
        }
    }
    for (number, (_, commit)) in played.commits.iter().enumerate() {
        let Commit { key, object, change, .. } = commit;
        let by_controllers = !matches!(commit.actor, Actor::User | Actor::Trommel);
        for (role, fields) in roles(writes, key, object) {
            let open = |(of, life): &(ObjectKey, Life)| of == key && life.role == role;
            let found = lives.iter().rposition(open).filter(|_| *change != Change::Created);
            let at = found.unwrap_or_else(|| {
                let created = (*change == Change::Created && by_controllers).then_some(number);
                let name = key.name.to_string();
                lives.push((key.clone(), Life { role, name, created, ..Life::default() }));
                lives.len() - 1
            });
            let life = &mut lives[at].1;
            let goes =
                *change == Change::Deleted || !object["metadata"]["deletionTimestamp"].is_null();
            if goes {
                life.deleted = life.deleted.or(by_controllers.then_some(number));
                continue;
            }
            for field in fields {
                let value = value_of(object, field);
                let place = (key.clone(), field.to_owned());
                let old =
                    before.insert(place, value.clone()).filter(|_| *change != Change::Created);
                if by_controllers && old.as_ref().unwrap_or(&Value::Null) != value {
                    life.sets(number, field, value);
                }
            }
        }
    }
    lives.into_iter().map(|(_, life)| life).collect()
}

/// The roles that an object can have in the model, each with the fields that it speaks of.
fn roles<'w>(writes: &[&'w Write], key: &ObjectKey, object: &Value) -> Vec<(String, Vec<&'w str>)> {
    let mut roles: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for write in writes.iter().filter(|write| fits(write, key, object)) {
        let fields = roles.entry(role(write)).or_default();
        let new = write.set.keys().filter(|field| !fields.contains(&&***field));
        let new: Vec<&str> = new.map(String::as_str).collect();
        fields.extend(new);
    }
    roles.into_iter().collect()
}

fn fits(write: &Write, key: &ObjectKey, object: &Value) -> bool {
    let namespace = write.namespace.as_deref().unwrap_or("default");
    let name = match write.name.strip_suffix('*') {
        Some(prefix) => key.name.starts_with(prefix),
        None => *key.name == *write.name,
    };
    object["kind"] == *write.kind
        && name
        && (key.namespace.is_empty() || *key.namespace == *namespace)
}

/// The value of a field by its path.
fn value_of<'o>(object: &'o Value, path: &str) -> &'o Value {
    path.split('.').fold(object, |object, field| match field.parse::<usize>() {
        Ok(at) if object.is_array() => &object[at],
        _ => &object[field],
    })
}

/// The writes of the real programs, as the model would say them: all objects of the kinds that it speaks of.
pub fn writes_of(writes: &[&Write], played: &Played) -> Vec<Write> {
    let mut last: BTreeMap<ObjectKey, Value> = BTreeMap::new();
    for (key, object) in &played.start {
        last.insert(key.clone(), (**object).clone());
    }
    let mut all = Vec::new();
    for (_, commit) in &played.commits {
        let Commit { key, object, change, actor, .. } = commit;
        let before = last.insert(key.clone(), (**object).clone());
        let roles = roles(writes, key, object);
        let Some((_, fields)) = roles.first() else { continue };
        let goes = *change == Change::Deleted || !is_alive(object);
        let gone = before.as_ref().is_some_and(|before| !is_alive(before));
        let changed = |field: &&&str| {
            let old = before.as_ref().map_or(&Value::Null, |before| value_of(before, field));
            value_of(object, field) != old
        };
        let set = fields.iter().filter(changed);
        let set: BTreeMap<String, Value> =
            set.map(|field| ((*field).to_owned(), value_of(object, field).clone())).collect();
        let verb = match change {
            Change::Created => WriteVerb::Create,
            _ if goes && !gone => WriteVerb::Delete,
            _ if goes || set.is_empty() => continue,
            _ => WriteVerb::Update,
        };
        all.push(Write {
            by: Some(who(actor)),
            verb,
            kind: object["kind"].as_str().unwrap_or_default().to_owned(),
            namespace: Some(key.namespace.to_string()).filter(|one| one != "default"),
            name: key.name.to_string(),
            object: None,
            set: if verb == WriteVerb::Delete { BTreeMap::new() } else { set },
        });
    }
    all
}

#[cfg(test)]
mod tests;
