//! All objects that a search has come across, each kept once and known by a number.
//!
//! Numbers depend on who came first, so nothing is decided by them: states are told apart by the hashes of contents.

use std::{
    collections::HashMap,
    hash::BuildHasherDefault,
    sync::{PoisonError, RwLock},
};

use controllers::{Body, Meta, Object, pod::Pod, request::Memory};
use serde_json::Value;
use trace::{ObjectKey, Revision};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::{kinds::KindId, memo::AsItIs};

/// A number of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id(pub(super) u32);

/// What stands in a store under a key.
#[derive(Debug, Clone)]
pub enum Content {
    /// An object, and what controllers see of it.
    Object {
        /// All of it.
        value: Value,
        /// What controllers see.
        seen: Object,
    },
    /// What a controller remembers of the object of this key.
    Memory(Memory),
}

/// An object, or a memory of one.
#[derive(Debug)]
pub struct Stored {
    /// Its key, or that of the object that is remembered.
    pub key: ObjectKey,
    /// Its type.
    pub kind: KindId,
    /// What it is.
    pub content: Content,
    /// `metadata.resourceVersion`: how often it was written, as far as somebody may tell. 0 for memories.
    pub version: u32,
    /// Of the key.
    pub(super) key_hash: u64,
    /// Of what a scheduler reads of it.
    pub(super) placed_hash: u128,
    /// Of key, type and content.
    pub hash: u128,
}

impl Stored {
    fn of_object(key: &ObjectKey, kind: KindId, value: Value) -> Stored {
        let key_hash = key_hash(key);
        let hash = xxh3_128(format!("{key}\n{value}").as_bytes());
        let seen = Object::read(key, &value);
        let version = value["metadata"]["resourceVersion"].as_str();
        let version = version.and_then(|text| text.parse().ok()).unwrap_or(0);
        let placed_hash = placed(key, &seen).unwrap_or(hash);
        let content = Content::Object { value, seen };
        Stored { key: key.clone(), kind, content, version, key_hash, placed_hash, hash }
    }

    fn of_memory(key: &ObjectKey, memory: Memory) -> Stored {
        let key_hash = key_hash(key);
        let hash = xxh3_128(format!("{key}\nmemory\n{memory:?}").as_bytes());
        let content = Content::Memory(memory);
        Stored {
            key: key.clone(),
            kind: KindId::MEMORY,
            content,
            version: 0,
            key_hash,
            placed_hash: hash,
            hash,
        }
    }

    /// The object; none if this is a memory.
    pub fn value(&self) -> Option<&Value> {
        match &self.content {
            Content::Object { value, .. } => Some(value),
            Content::Memory(_) => None,
        }
    }

    /// What controllers see of the object; none if this is a memory.
    pub fn seen(&self) -> Option<&Object> {
        match &self.content {
            Content::Object { seen, .. } => Some(seen),
            Content::Memory(_) => None,
        }
    }

    /// By which stores are sorted: type, namespace, name. Memories of different kinds about one object are different.
    pub(super) fn place(&self) -> (KindId, u8, &ObjectKey) {
        (self.kind, self.memory_of(), &self.key)
    }

    fn memory_of(&self) -> u8 {
        match &self.content {
            Content::Object { .. } => 0,
            Content::Memory(memory) => memory_number(memory),
        }
    }
}

/// Of a pod that is bound: a hash without what its kubelet says of it. Of that a scheduler reads whether the pod has
/// ended, and where pods differ in priority, since when it runs.
fn placed(key: &ObjectKey, seen: &Object) -> Option<u128> {
    let Body::Pod(pod) = &seen.body else { return None };
    if pod.node.is_empty() {
        return None;
    }
    let ended = if pod.has_ended() { "ended" } else { "" };
    let pod = Pod {
        phase: ended.into(),
        ready_since: None,
        unready_since: None,
        unschedulable: None,
        unschedulable_since: None,
        restarts: 0,
        addresses: vec![],
        disrupted_since: None,
        conditions: vec![],
        containers: vec![],
        init_containers: vec![],
        started: None,
        observed_generation: 0,
        ..(**pod).clone()
    };
    let meta = Meta { revision: Revision::default(), ..(*seen.meta).clone() };
    Some(xxh3_128(format!("{key}\n{meta:?}\n{pod:?}").as_bytes()))
}

pub(super) fn key_hash(key: &ObjectKey) -> u64 {
    xxh3_64(key.to_string().as_bytes())
}

pub(super) fn memory_number(memory: &Memory) -> u8 {
    match memory {
        Memory::Scaled(_) => 1,
        Memory::GoesAt(_) => 2,
        Memory::SilentSince(_) => 3,
        Memory::MissedUntil(_) => 4,
        Memory::NoSlices => 5,
    }
}

/// All objects.
#[derive(Debug, Default)]
pub struct Objects {
    all: boxcar::Vec<Stored>,
    by_hash: RwLock<HashMap<u128, Id, BuildHasherDefault<AsItIs>>>,
}

impl Objects {
    /// The object of a number.
    pub fn get(&self, id: Id) -> &Stored {
        &self.all[id.0 as usize]
    }

    /// The number of an object.
    ///
    /// # Panics
    /// If its type is not served.
    pub fn add(&self, key: &ObjectKey, value: Value) -> Id {
        let kind = KindId::of(&key.resource).expect("the type is served");
        self.enter(Stored::of_object(key, kind, value))
    }

    /// The number of a memory.
    pub(super) fn add_memory(&self, key: &ObjectKey, memory: Memory) -> Id {
        self.enter(Stored::of_memory(key, memory))
    }

    fn enter(&self, stored: Stored) -> Id {
        let hash = stored.hash;
        let known = self.by_hash.read().unwrap_or_else(PoisonError::into_inner).get(&hash).copied();
        if let Some(known) = known {
            return known;
        }
        let mut by_hash = self.by_hash.write().unwrap_or_else(PoisonError::into_inner);
        *by_hash.entry(hash).or_insert_with(|| {
            let number = self.all.push(stored);
            Id(u32::try_from(number).expect("fewer than 2^32 objects"))
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.count()
    }
}
