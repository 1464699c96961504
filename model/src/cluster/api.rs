//! The API server, as far as built-in controllers can tell: what a request does to a store.
//!
//! Writes are checked as the API server checks them: uid and revision are preconditions, a name is taken once, an object
//! with finalizers stays until they are gone, a pod on a node stays until its kubelet says so (`registry/core/pod`,
//! `registry/generic/registry/store.go`, Kubernetes 1.36). Not here: admission, validation, defaults, quotas: objects
//! come with their defaults, and nobody is forbidden anything.
//!
//! What the real one draws at random is the first that is free here: names of `generateName`, uids. Two stores that
//! differ only by what was drawn are one.

use std::hash::{Hash, Hasher};

use controllers::{Propagation, Request, autoscaler::Scale, bodies};
use serde_json::{Value, json};
use trace::{ObjectKey, Revision, Time};

use super::{
    kinds::KindId,
    objects::{Id, Objects, Stored},
    store::Store,
};

mod edit;

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

    /// The revision of the next write.
    fn next_version(&self) -> String {
        (self.version + 1).to_string()
    }
}

type Outcome = Result<(Store, Answer), Answer>;

const CONFLICT: Answer = Answer::Refused(409, "Conflict");
const NOT_FOUND: Answer = Answer::Refused(404, "NotFound");
const EXISTS: Answer = Answer::Refused(409, "AlreadyExists");

impl Api<'_> {
    /// The store after a request, and the answer.
    pub fn carry_out(&self, store: &Store, request: &Request) -> (Store, Answer) {
        self.outcome(store, request).unwrap_or_else(|refused| (store.clone(), refused))
    }

    fn outcome(&self, store: &Store, request: &Request) -> Outcome {
        match request {
            Request::List { resource, namespace } => {
                let kind = KindId::of(resource).ok_or(NOT_FOUND)?;
                let all = store.of_kind(self.objects, kind);
                let found =
                    all.filter(|(_, one)| namespace.is_empty() || one.key.namespace == *namespace);
                Ok((store.clone(), Answer::Listed(found.map(|(id, _)| self.known(id)).collect())))
            }
            Request::Remember { key, memory } => {
                let store = store.with_memory(self.objects, key, memory);
                Ok((store, Answer::Written(None)))
            }
            Request::GetScale { key } => {
                let id = store.id(self.objects, key).ok_or(NOT_FOUND)?;
                Ok((store.clone(), Answer::Scale(self.known(id))))
            }
            Request::Create { key, object } => self.create(store, key, (**object).clone()),
            Request::CreatePod { namespace, generate_name, owner, template } => {
                let key = ObjectKey::new(KindId::POD.resource(), namespace, "");
                self.create(store, &key, bodies::pod(generate_name, owner, template))
            }
            Request::CreateReplicaSet(new) => {
                self.create(store, &new.key, bodies::replica_set(new))
            }
            Request::Delete { key, uid, revision, propagation, grace_seconds } => {
                let stored = self.stored(store, key)?;
                check_uid(stored, uid)?;
                if let Some(revision) = revision {
                    check_revision(stored, *revision)?;
                }
                Ok(self.delete(store, key, stored.clone(), *propagation, *grace_seconds))
            }
            Request::DeleteCollection { resource, namespace, propagation } => {
                let kind = KindId::of(resource).ok_or(NOT_FOUND)?;
                let all = store.of_kind(self.objects, kind);
                let keys: Vec<&ObjectKey> = all
                    .map(|(_, one)| &one.key)
                    .filter(|key| key.namespace == *namespace)
                    .collect();
                let after = keys.into_iter().fold(store.clone(), |store, key| {
                    match self.stored(&store, key).cloned() {
                        Ok(value) => self.delete(&store, key, value, Some(*propagation), None).0,
                        Err(_) => store,
                    }
                });
                Ok((after, Answer::Written(None)))
            }
            other => {
                let Some(Edit { key, uid, revision, change }) = edit(other, self.now) else {
                    return Err(Answer::Refused(501, "NotImplemented"));
                };
                let stored = self.stored(store, key)?;
                uid.map_or(Ok(()), |uid| check_uid(stored, uid))?;
                revision.map_or(Ok(()), |revision| check_revision(stored, revision))?;
                let mut value = stored.clone();
                change(&mut value)?;
                Ok(self.update(store, key, value))
            }
        }
    }

    fn known(&self, id: Id) -> Known {
        Known::of(self.objects, id)
    }

    fn stored(&self, store: &Store, key: &ObjectKey) -> Result<&Value, Answer> {
        store.get(self.objects, key).and_then(|stored| stored.value()).ok_or(NOT_FOUND)
    }

    /// Creates an object, which gets what it lacks of metadata.
    pub fn create(&self, store: &Store, key: &ObjectKey, mut value: Value) -> Outcome {
        let kind = KindId::of(&key.resource).ok_or(NOT_FOUND)?;
        let given = value["metadata"]["name"].as_str().map(str::to_owned);
        let named = Some(key.name.to_string()).filter(|name| !name.is_empty()).or(given);
        let name = match named {
            Some(name) => name,
            None => {
                let prefix = value["metadata"]["generateName"].as_str().unwrap_or("").to_owned();
                self.free_name(store, kind, &key.namespace, &prefix)
            }
        };
        let key = ObjectKey::new(key.resource.clone(), &key.namespace, &name);
        if store.id(self.objects, &key).is_some() {
            return Err(EXISTS);
        }
        let uid = self.free_uid(store, &key);
        let metadata = &mut value["metadata"];
        metadata["name"] = json!(name);
        metadata["uid"] = json!(uid);
        metadata["resourceVersion"] = json!((self.known)(&key).next_version());
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
        let store = store.with(self.objects, &key, Some(value));
        let written = store.id(self.objects, &key).map(|id| self.known(id));
        Ok((store, Answer::Written(written)))
    }

    fn free_name(&self, store: &Store, kind: KindId, namespace: &str, prefix: &str) -> String {
        let is_free = |name: &String| {
            let key = ObjectKey::new(kind.resource(), namespace, name);
            store.id(self.objects, &key).is_none() && (self.known)(&key).uids.is_empty()
        };
        let names = (0_usize..).map(|number| format!("{prefix}{number}"));
        names.into_iter().find(is_free).expect("some number is free")
    }

    fn free_uid(&self, store: &Store, key: &ObjectKey) -> String {
        let is_named = |uid: &String| {
            store.values(self.objects).any(|(_, value)| {
                let owners = value["metadata"]["ownerReferences"].as_array();
                owners.into_iter().flatten().any(|owner| owner["uid"] == *uid.as_str())
            })
        };
        let known = (self.known)(key).uids;
        let uids = (0_usize..).map(|number| match number {
            0 => key.to_string(),
            number => format!("{key}#{number}"),
        });
        let is_free = |uid: &String| !known.contains(uid) && !is_named(uid);
        uids.into_iter().find(is_free).expect("some number is free")
    }

    /// Writes an object, unless nothing is different; it goes if nothing keeps it any more.
    pub fn update(&self, store: &Store, key: &ObjectKey, mut value: Value) -> (Store, Answer) {
        let stored = store.get(self.objects, key).and_then(|stored| stored.value());
        if stored == Some(&value) {
            let same = store.id(self.objects, key).map(|id| self.known(id));
            return (store.clone(), Answer::Written(same));
        }
        if is_deleted(&value) && finalizers(&value) == 0 && grace(&value) == 0 {
            return (store.with(self.objects, key, None), Answer::Written(None));
        }
        if let Some(stored) = stored {
            bump(&mut value, stored, (self.known)(key).next_version());
        }
        let store = store.with(self.objects, key, Some(value));
        let written = store.id(self.objects, key).map(|id| self.known(id));
        (store, Answer::Written(written))
    }

    fn delete(
        &self,
        store: &Store,
        key: &ObjectKey,
        mut value: Value,
        propagation: Option<Propagation>,
        grace_seconds: Option<i64>,
    ) -> (Store, Answer) {
        let finalizer = match propagation {
            Some(Propagation::Orphan) => Some("orphan"),
            Some(Propagation::Foreground) => Some("foregroundDeletion"),
            Some(Propagation::Background) | None => None,
        };
        if let Some(finalizer) = finalizer {
            edit::add_to_list(&mut value["metadata"], "finalizers", &json!(finalizer));
        }
        let seconds = self.grace_seconds(key, &value, grace_seconds);
        if !is_deleted(&value) || grace(&value) > seconds {
            let at = self.now.plus(std::time::Duration::from_secs(seconds.unsigned_abs()));
            value["metadata"]["deletionTimestamp"] = json!(at.rfc3339());
            value["metadata"]["deletionGracePeriodSeconds"] = json!(seconds);
        }
        self.update(store, key, value)
    }

    /// How long a pod may take to end (`podStrategy.CheckGracefulDelete`); other objects take no time.
    fn grace_seconds(&self, key: &ObjectKey, value: &Value, asked: Option<i64>) -> i64 {
        let ended = matches!(value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let bound = value["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
        if KindId::of(&key.resource) != Some(KindId::POD) || ended || !bound {
            return 0;
        }
        let own = value["spec"]["terminationGracePeriodSeconds"].as_i64();
        asked.or(own).unwrap_or(30).max(0)
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
fn bump(value: &mut Value, stored: &Value, version: String) {
    value["metadata"]["resourceVersion"] = json!(version);
    let generation = stored["metadata"]["generation"].as_i64();
    let began = is_deleted(value) && !is_deleted(stored);
    if let Some(generation) = generation.filter(|_| began || value["spec"] != stored["spec"]) {
        value["metadata"]["generation"] = json!(generation + 1);
    }
}

fn check_uid(stored: &Value, uid: &str) -> Result<(), Answer> {
    if stored["metadata"]["uid"] == *uid { Ok(()) } else { Err(CONFLICT) }
}

fn check_revision(stored: &Value, revision: Revision) -> Result<(), Answer> {
    let same = stored["metadata"]["resourceVersion"] == *revision.to_string();
    if same { Ok(()) } else { Err(CONFLICT) }
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
