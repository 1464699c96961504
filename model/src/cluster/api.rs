//! The API server, as far as built-in controllers can tell: what a request does to a store.
//!
//! Writes are checked as the API server checks them: uid and revision are preconditions, a name is taken once, an object
//! with finalizers stays until they are gone, a pod on a node stays until its kubelet says so (`registry/core/pod`,
//! `registry/generic/registry/store.go`, Kubernetes 1.36). Not here: admission, validation, defaults, quotas: objects
//! come with their defaults, and nobody is forbidden anything.
//!
//! What the real one draws at random is the first that is free here: names of `generateName`, uids. Two stores that
//! differ only by what was drawn are one.

use std::{
    collections::BTreeSet,
    hash::{Hash, Hasher},
};

use controllers::{Propagation, Request, autoscaler::Scale, bodies};
use serde_json::{Value, json};
use trace::{ObjectKey, Revision, Time};
use xxhash_rust::xxh3::xxh3_128;

use super::{
    kinds::KindId,
    looks::Asked,
    memo::Memo,
    objects::{Id, Objects, Stored},
    store::Store,
};

mod edit;
mod eviction;

use edit::{Edit, edit};

/// What a request is answered with, as it is kept while a reconcile is under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It was carried out; the object after it, if it still exists.
    Written(Option<Known>),
    /// What is listed: the objects of a type in a namespace.
    Listed(Box<[Known]>),
    /// A scale was read off this object.
    Scale(Known),
    /// It was refused with this HTTP status; the reason.
    Refused(u16, &'static str),
}

impl Answer {
    /// Appends what tells it from other answers.
    pub(super) fn feed(&self, into: &mut Vec<u8>) {
        let mut all = |number: u8, known: &mut dyn Iterator<Item = &Known>| {
            into.push(number);
            known.for_each(|one| into.extend(one.hash.to_le_bytes()));
        };
        match self {
            Answer::Written(known) => all(1, &mut known.iter()),
            Answer::Listed(known) => all(2, &mut known.iter()),
            Answer::Scale(known) => all(3, &mut std::iter::once(known)),
            Answer::Refused(code, reason) => {
                into.push(4);
                into.extend(code.to_le_bytes());
                into.extend(reason.as_bytes());
            }
        }
    }
}

/// An object that somebody knows: told apart by its content, not by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its number.
    pub id: Id,
    hash: u128,
}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.hash.to_le_bytes());
    }
}

impl Known {
    pub(super) fn of(objects: &Objects, id: Id) -> Known {
        Known { id, hash: objects.get(id).hash }
    }
}

/// A server at work on one store.
pub struct Api<'a> {
    /// All objects.
    pub objects: &'a Objects,
    /// The time.
    pub now: Time,
    /// What anybody still knows of objects of a key, though the store may have none: no name, uid or revision of them is
    /// given again.
    pub known: &'a dyn Fn(&ObjectKey) -> Traces,
    /// What came of writes to single objects.
    pub(super) writes: &'a Memo<Wrote>,
    /// What becomes of new objects before they are stored; none if they are whole as they are made.
    pub(super) admission: Option<&'a dyn Admission>,
}

/// A new object as it is stored, or the code and reason of its refusal.
pub type Admitted = Result<Value, (u16, &'static str)>;

/// What an API server makes of new objects: defaults and admission.
pub trait Admission: std::fmt::Debug + Send + Sync {
    /// The object as it is stored. If it gets a `metadata.uid`, that stands for the object's own wherever it is.
    ///
    /// # Errors
    /// It is refused: code and reason.
    fn admit(&self, object: &Value) -> Admitted;
}

/// What is known of objects of one key.
#[derive(Debug, Default)]
pub struct Traces {
    uids: Vec<String>,
    /// The newest version of them; 0 if none is known.
    version: u32,
}

impl Traces {
    /// An object of the key is known by this uid and version.
    pub fn add(&mut self, uid: &str, version: u32) {
        self.uids.push(uid.to_owned());
        self.version = self.version.max(version);
    }

    /// The newest version of them.
    pub(super) fn version(&self) -> u32 {
        self.version
    }
}

/// What came of a write to one object.
#[derive(Debug, Clone)]
pub(super) enum Wrote {
    /// It is another one now.
    Written(Id),
    /// It is as it was.
    Same,
    /// It is gone.
    Gone,
    /// Nothing was written.
    Refused(u16, &'static str),
}

/// The store after a write with the answer, or the refusal.
pub type Outcome = Result<(Store, Answer), Answer>;

const NOT_FOUND: Answer = Answer::Refused(404, "NotFound");
const EXISTS: Answer = Answer::Refused(409, "AlreadyExists");

impl Api<'_> {
    /// The store after a request, and the answer.
    pub fn carry_out(&self, store: &Store, asked: &Asked) -> (Store, Answer) {
        self.outcome(store, asked).unwrap_or_else(|refused| (store.clone(), refused))
    }

    fn outcome(&self, store: &Store, asked: &Asked) -> Outcome {
        match &asked.request {
            Request::List { resource, namespace } => {
                let kind = KindId::of(resource).ok_or(NOT_FOUND)?;
                let all = store.of_kind(self.objects, kind);
                let found =
                    all.filter(|(_, one)| namespace.is_empty() || one.key.namespace == *namespace);
                let found = found.map(|(id, _)| self.known(id)).collect();
                Ok((store.clone(), Answer::Listed(found)))
            }
            Request::Remember { key, memory } => {
                let store = store.with_memory(self.objects, key, memory);
                Ok((store, Answer::Written(None)))
            }
            Request::GetScale { key } => {
                let id = store.id(self.objects, key).ok_or(NOT_FOUND)?;
                Ok((store.clone(), Answer::Scale(self.known(id))))
            }
            Request::Create { .. } | Request::CreatePod { .. } | Request::CreateReplicaSet(_) => {
                self.created(store, asked)
            }
            Request::DeleteCollection { resource, namespace, propagation } => {
                let kind = KindId::of(resource).ok_or(NOT_FOUND)?;
                let all = store.of_kind(self.objects, kind);
                let keys = all.map(|(_, one)| &one.key).filter(|key| key.namespace == *namespace);
                let after = keys.fold(store.clone(), |store, key| {
                    self.delete(&store, key, Some(*propagation), None)
                });
                Ok((after, Answer::Written(None)))
            }
            Request::Evict { key, grace_seconds, .. } => self.evict(store, key, *grace_seconds),
            request => {
                let key = edit::key_of(request).ok_or(Answer::Refused(501, "NotImplemented"))?;
                let id = store.id(self.objects, key).ok_or(NOT_FOUND)?;
                let stored = self.objects.get(id);
                let version = (self.known)(key).version() + 1;
                let fed = (stored.hash.rotate_left(13) ^ asked.hash).wrapping_add(version.into());
                let wrote = self.writes.get(fed, || self.edited(stored, request, version));
                self.wrote(store, key, id, &wrote)
            }
        }
    }

    /// The store after a write to the object of a number, and the answer.
    fn wrote(&self, store: &Store, key: &ObjectKey, id: Id, wrote: &Wrote) -> Outcome {
        Ok(match *wrote {
            Wrote::Written(fresh) => {
                let store = store.with_id(self.objects, key, Some(fresh));
                (store, Answer::Written(Some(self.known(fresh))))
            }
            Wrote::Same => (store.clone(), Answer::Written(Some(self.known(id)))),
            Wrote::Gone => (store.with_id(self.objects, key, None), Answer::Written(None)),
            Wrote::Refused(code, reason) => return Err(Answer::Refused(code, reason)),
        })
    }

    /// What comes of a request to an object that is there.
    fn edited(&self, stored: &Stored, request: &Request, version: u32) -> Wrote {
        let Some(before) = stored.value() else { return Wrote::Refused(404, "NotFound") };
        let Some(Edit { uid, revision, change }) = edit(request, self.now) else {
            return Wrote::Refused(501, "NotImplemented");
        };
        let is_other = |uid: &str| before["metadata"]["uid"] != *uid;
        let is_older =
            |at: Revision| before["metadata"]["resourceVersion"] != *at.to_string().as_str();
        if uid.is_some_and(is_other) || revision.is_some_and(is_older) {
            return Wrote::Refused(409, "Conflict");
        }
        let mut value = before.clone();
        match change(&mut value) {
            Err(Answer::Refused(code, reason)) => Wrote::Refused(code, reason),
            _ => self.settled(&stored.key, before, value, version),
        }
    }

    /// What an object becomes that somebody wrote: it goes if nothing keeps it any more.
    fn settled(&self, key: &ObjectKey, before: &Value, mut value: Value, version: u32) -> Wrote {
        if *before == value {
            return Wrote::Same;
        }
        if is_deleted(&value) && finalizers(&value) == 0 && grace(&value) == 0 {
            return Wrote::Gone;
        }
        bump(&mut value, before, version);
        Wrote::Written(self.objects.add(key, value))
    }

    /// The store after somebody wrote all of an object, whatever its revision; a new object is created.
    pub fn put(&self, store: &Store, key: &ObjectKey, value: Value) -> Store {
        let Some(id) = store.id(self.objects, key) else {
            return self
                .create(store, key, value)
                .map_or_else(|_| store.clone(), |(store, _)| store);
        };
        let Some(before) = self.objects.get(id).value() else { return store.clone() };
        let version = (self.known)(key).version() + 1;
        let wrote = self.settled(key, before, value, version);
        self.wrote(store, key, id, &wrote).map_or_else(|_| store.clone(), |(store, _)| store)
    }

    /// The store after somebody deleted an object.
    pub fn delete(
        &self,
        store: &Store,
        key: &ObjectKey,
        propagation: Option<Propagation>,
        grace_seconds: Option<i64>,
    ) -> Store {
        let found = store.get(self.objects, key).and_then(Stored::value);
        let Some(value) = found else { return store.clone() };
        let mut value = value.clone();
        edit::delete(&mut value, propagation, grace_seconds, self.now);
        self.put(store, key, value)
    }

    fn known(&self, id: Id) -> Known {
        Known::of(self.objects, id)
    }

    fn created(&self, store: &Store, asked: &Asked) -> Outcome {
        let pods = || KindId::POD.resource();
        let (key, prefix) = match &asked.request {
            Request::Create { key, object } => {
                let prefix = object["metadata"]["generateName"].as_str().unwrap_or("");
                let name = object["metadata"]["name"].as_str().unwrap_or(&key.name);
                (ObjectKey::new(key.resource.clone(), &key.namespace, name), prefix)
            }
            Request::CreatePod { namespace, generate_name, .. } => {
                (ObjectKey::new(pods(), namespace, ""), &**generate_name)
            }
            Request::CreateReplicaSet(new) => (new.key.clone(), ""),
            _ => return Err(Answer::Refused(501, "NotImplemented")),
        };
        let (key, uid) = self.identity(store, key, prefix)?;
        let version = (self.known)(&key).version() + 1;
        let mut fed = asked.hash.to_le_bytes().to_vec();
        fed.extend(version.to_le_bytes());
        fed.extend(key.to_string().as_bytes());
        fed.extend(uid.as_bytes());
        let wrote = self.writes.get(xxh3_128(&fed), || {
            let value = match &asked.request {
                Request::Create { object, .. } => (**object).clone(),
                Request::CreatePod { generate_name, owner, template, .. } => {
                    bodies::pod(generate_name, owner, template)
                }
                Request::CreateReplicaSet(new) => bodies::replica_set(new),
                _ => return Wrote::Refused(501, "NotImplemented"),
            };
            match self.admitted(&key, value) {
                Ok(value) => {
                    let begun = self.begun(&key, (&uid, version), value);
                    Wrote::Written(self.objects.add(&key, begun))
                }
                Err((code, reason)) => Wrote::Refused(code, reason),
            }
        });
        let id = match wrote {
            Wrote::Written(id) => id,
            Wrote::Refused(code, reason) => return Err(Answer::Refused(code, reason)),
            Wrote::Same | Wrote::Gone => return Err(NOT_FOUND),
        };
        let store = store.with_id(self.objects, &key, Some(id));
        Ok((store, Answer::Written(Some(self.known(id)))))
    }

    /// Under which name and uid an object is created.
    fn identity(
        &self,
        store: &Store,
        key: ObjectKey,
        prefix: &str,
    ) -> Result<(ObjectKey, String), Answer> {
        let kind = KindId::of(&key.resource).ok_or(NOT_FOUND)?;
        let key = match key.name.is_empty() {
            false => key,
            true => {
                let name = self.free_name(store, kind, &key.namespace, prefix);
                ObjectKey::new(key.resource, &key.namespace, &name)
            }
        };
        if store.id(self.objects, &key).is_some() {
            return Err(EXISTS);
        }
        let uid = self.free_uid(store, &key);
        Ok((key, uid))
    }

    /// Creates an object, which gets what it lacks of metadata.
    ///
    /// # Errors
    /// The refusal, if there is one of this name.
    pub fn create(&self, store: &Store, key: &ObjectKey, value: Value) -> Outcome {
        let prefix = value["metadata"]["generateName"].as_str().unwrap_or("").to_owned();
        let (key, uid) = self.identity(store, key.clone(), &prefix)?;
        let version = (self.known)(&key).version() + 1;
        let value = self.admitted(&key, value);
        let value = value.map_err(|(code, reason)| Answer::Refused(code, reason))?;
        let id = self.objects.add(&key, self.begun(&key, (&uid, version), value));
        let store = store.with_id(self.objects, &key, Some(id));
        Ok((store, Answer::Written(Some(self.known(id)))))
    }

    /// A new object with its defaults, as admission lets it pass.
    fn admitted(&self, key: &ObjectKey, mut value: Value) -> Admitted {
        let (Some(admission), Some(kind)) = (self.admission, KindId::of(&key.resource)) else {
            return Ok(value);
        };
        value["apiVersion"] = json!(kind.api_version());
        value["kind"] = json!(kind.kind());
        if kind.is_namespaced() {
            value["metadata"]["namespace"] = json!(key.namespace);
        }
        admission.admit(&value)
    }

    /// A new object with its metadata.
    fn begun(&self, key: &ObjectKey, (uid, version): (&str, u32), mut value: Value) -> Value {
        let Some(kind) = KindId::of(&key.resource) else { return value };
        if let Some(own) = value["metadata"]["uid"].as_str().map(str::to_owned) {
            replace(&mut value, &own, uid);
        }
        let metadata = &mut value["metadata"];
        metadata["name"] = json!(key.name);
        metadata["uid"] = json!(uid);
        metadata["resourceVersion"] = json!(version.to_string());
        metadata["creationTimestamp"] = json!(self.now.rfc3339());
        if !key.namespace.is_empty() {
            metadata["namespace"] = json!(key.namespace);
        }
        if has_generation(kind) {
            metadata["generation"] = json!(1);
        }
        value["apiVersion"] = json!(kind.api_version());
        value["kind"] = json!(kind.kind());
        if kind == KindId::POD && value["status"]["phase"].is_null() {
            value["status"]["phase"] = json!("Pending");
        }
        value
    }

    fn free_name(&self, store: &Store, kind: KindId, namespace: &str, prefix: &str) -> String {
        let there = store.of_kind(self.objects, kind).map(|(_, one)| &one.key);
        let there = there.filter(|key| *key.namespace == *namespace);
        let taken: BTreeSet<u32> =
            there.filter_map(|key| key.name.strip_prefix(prefix)?.parse().ok()).collect();
        let numbers = (0..).filter(|number| !taken.contains(number));
        let names = numbers.map(|number| format!("{prefix}{number}"));
        let is_free = |name: &String| {
            let key = ObjectKey::new(kind.resource(), namespace, name);
            (self.known)(&key).uids.is_empty()
        };
        names.into_iter().find(is_free).expect("some number is free")
    }

    fn free_uid(&self, store: &Store, key: &ObjectKey) -> String {
        let all = || store.ids().iter().filter_map(|id| self.objects.get(*id).seen());
        let is_named =
            |uid: &str| all().any(|seen| seen.meta.owners.iter().any(|owner| *owner.uid == *uid));
        let known = (self.known)(key).uids;
        let uids = (0_usize..).map(|number| match number {
            0 => key.to_string(),
            number => format!("{key}#{number}"),
        });
        let is_free = |uid: &String| !known.contains(uid) && !is_named(uid);
        uids.into_iter().find(is_free).expect("some number is free")
    }
}

fn replace(value: &mut Value, text: &str, by: &str) {
    match value {
        Value::String(found) if found == text => by.clone_into(found),
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, text, by)),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, text, by)),
        _ => {}
    }
}

pub(super) fn has_generation(kind: KindId) -> bool {
    matches!(
        kind.kind(),
        "Deployment"
            | "ReplicaSet"
            | "StatefulSet"
            | "DaemonSet"
            | "Job"
            | "CronJob"
            | "PodDisruptionBudget"
            | "ReplicationController"
    )
}

fn is_deleted(value: &Value) -> bool {
    !value["metadata"]["deletionTimestamp"].is_null()
}

fn grace(value: &Value) -> i64 {
    value["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0)
}

fn finalizers(value: &Value) -> usize {
    value["metadata"]["finalizers"].as_array().map_or(0, Vec::len)
}

/// The next revision, and the next generation where the spec changed or a deletion began. The revision is newer than all
/// that are known: where histories branch, the same object has others elsewhere.
fn bump(value: &mut Value, stored: &Value, version: u32) {
    value["metadata"]["resourceVersion"] = json!(version.to_string());
    let generation = stored["metadata"]["generation"].as_i64();
    let began = is_deleted(value) && !is_deleted(stored);
    if let Some(generation) = generation.filter(|_| began || value["spec"] != stored["spec"]) {
        value["metadata"]["generation"] = json!(generation + 1);
    }
}

/// The `scale` of a workload (`ScaleREST.Get`).
pub(super) fn scale(of: &Stored) -> Scale {
    let Some(value) = of.value() else { return Scale::default() };
    let number = |part: &str, other: i64| value[part]["replicas"].as_i64().unwrap_or(other);
    let revision = value["metadata"]["resourceVersion"].as_str().and_then(Revision::parse);
    Scale {
        wanted: number("spec", 1),
        there: number("status", 0),
        selector: selector(&value["spec"]["selector"]).into(),
        revision: revision.unwrap_or_default(),
    }
}

/// A label selector as text (`metav1.FormatLabelSelector`).
fn selector(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")));
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let expressions = expressions.map(|one| {
        let values = one["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let values = values.collect::<Vec<&str>>().join(",");
        let key = one["key"].as_str().unwrap_or("");
        match one["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        }
    });
    labels.chain(expressions).collect::<Vec<String>>().join(",")
}
