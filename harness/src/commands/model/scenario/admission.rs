//! What an API server makes of objects that controllers create in a model: the embedded one is asked by dry runs.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use model::cluster::api;
use serde_json::Value;
use workloads::ClientError;

use super::objects::ApiServer;

/// The embedded API server, and what it said so far.
pub(super) struct Admission {
    server: Mutex<ApiServer>,
    known: Mutex<HashMap<String, api::Admitted>>,
}

impl Admission {
    pub(super) fn new(server: ApiServer) -> Admission {
        Admission { server: Mutex::new(server), known: Mutex::default() }
    }

    fn ask(&self, object: &Value) -> api::Admitted {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let (asked, uids) = plain(object);
        let stored = match server.would_create(&asked) {
            Ok(stored) => stored,
            // Somebody else serves it: PodMetrics.
            Err(ClientError::UnknownKind { .. }) => return Ok(object.clone()),
            Err(error) => {
                return Err(match error.code() {
                    409 => (409, "AlreadyExists"),
                    403 => (403, "Forbidden"),
                    422 => (422, "Invalid"),
                    _ => (500, "InternalError"),
                });
            }
        };
        Ok(as_made(
            object,
            with(stored, &|text| {
                let owner = uids.iter().find(|(_, plain)| plain == text);
                owner.map(|(uid, _)| uid.clone())
            }),
        ))
    }
}

/// An object as a server may have it, and the uids of its owners, each with what stands for it there. Uids in a model are
/// longer than those that names and labels can hold.
fn plain(object: &Value) -> (Value, Vec<(String, String)>) {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let uids = owners.filter_map(|owner| owner["uid"].as_str()).enumerate();
    let uids: Vec<(String, String)> = uids
        .map(|(at, uid)| (uid.to_owned(), format!("00000000-0000-4000-8000-{at:012}")))
        .collect();
    let mut plain = with(object.clone(), &|text| {
        let owner = uids.iter().find(|(uid, _)| uid == text);
        owner.map(|(_, plain)| plain.clone())
    });
    if let Some(name) = plain["metadata"]["name"].as_str() {
        let allowed = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
        let name = name.replace(|char| !(allowed(char) || char == '.' || char == '-'), "-");
        plain["metadata"]["name"] = name.into();
    }
    (plain, uids)
}

/// A value with other texts.
fn with(value: Value, other: &dyn Fn(&str) -> Option<String>) -> Value {
    match value {
        Value::String(text) => Value::String(other(&text).unwrap_or(text)),
        Value::Array(values) => values.into_iter().map(|value| with(value, other)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(field, value)| (field, with(value, other)));
            Value::Object(fields.collect())
        }
        value => value,
    }
}

/// What is stored, under the name with which the object was made; what a store gives is given by the model.
fn as_made(object: &Value, mut stored: Value) -> Value {
    let given = ["resourceVersion", "creationTimestamp", "generation", "managedFields"];
    if let Some(metadata) = stored["metadata"].as_object_mut() {
        metadata.retain(|field, _| !given.contains(&field.as_str()));
        for field in ["name", "generateName"] {
            match object["metadata"].get(field) {
                Some(value) => metadata.insert(field.to_owned(), value.clone()),
                None => metadata.remove(field),
            };
        }
    }
    stored
}

impl api::Admission for Admission {
    fn admit(&self, object: &Value) -> api::Admitted {
        let key = object.to_string();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let answer = self.ask(object);
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(key).or_insert(answer).clone()
        })
    }
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}
