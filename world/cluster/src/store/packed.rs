//! Versions of objects as compressed text.
//!
//! A tree of values takes many times the memory of its text: each `f:` of `managedFields` is a map of its own. Worlds
//! that wait for their turn keep what happened in them in this form (`world/packed.rs`).

use std::{
    io::{Read, Write},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use serde_json::Value;
use trace::{Change, ObjectKey};

use super::{Logged, Store};

/// One version of an object as compressed text. As long as somebody holds the version itself, [`Packed::object`] is
/// that one.
#[derive(Debug)]
pub struct Packed {
    text: Box<[u8]>,
    alive: Mutex<Weak<Value>>,
}

impl Packed {
    /// Of this version.
    pub fn of(object: &Arc<Value>) -> Packed {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        let text = object.to_string();
        packed.write_all(text.as_bytes()).expect("a vector takes all");
        let text = packed.finish().expect("a vector takes all").into();
        Packed { text, alive: Mutex::new(Arc::downgrade(object)) }
    }

    /// The version.
    pub fn object(&self) -> Arc<Value> {
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = alive.upgrade() {
            return object;
        }
        let mut text = Vec::new();
        DeflateDecoder::new(&*self.text).read_to_end(&mut text).expect("it was packed here");
        let object = Arc::new(serde_json::from_slice(&text).expect("a value was packed here"));
        *alive = Arc::downgrade(&object);
        object
    }
}

/// An entry of the log without the objects of which it tells.
#[derive(Debug)]
pub(crate) struct Happened {
    pub key: ObjectKey,
    change: Change,
    version: Packed,
}

impl Happened {
    /// The object after it; none if it is gone then.
    pub fn object(&self) -> Option<Arc<Value>> {
        (self.change != Change::Deleted).then(|| self.version.object())
    }
}

impl Logged {
    /// The entry, packed once for all worlds that share it.
    pub(crate) fn packed(&self) -> Arc<Happened> {
        let pack = || {
            let version = Packed::of(&self.object);
            Arc::new(Happened { key: self.key.clone(), change: self.change, version })
        };
        self.packed.get_or_init(pack).clone()
    }
}

impl Store {
    /// Does again what happened after the present revision.
    pub(crate) fn redo(&mut self, happened: &Arc<Happened>) {
        let (key, object) = (happened.key.clone(), happened.version.object());
        let logged = match happened.change {
            Change::Deleted => self.delete(key, object).expect("it was there when it was deleted"),
            Change::Created | Change::Updated => self.put(key, object),
        };
        // It is new: nobody else has packed it.
        drop(logged.packed.set(happened.clone()));
    }
}
