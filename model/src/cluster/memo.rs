//! A table of results that threads share: what was worked out once is not worked out again.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::RwLock,
};

const SHARDS: usize = 64;

/// Takes a key, which is a hash already, as it is.
#[derive(Debug, Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 ^= u64::from_le_bytes(word);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Shard<V> = RwLock<HashMap<u128, V, BuildHasherDefault<AsItIs>>>;

/// Results by the hash of what they follow from, 128 bits. A shard that is full is emptied: nothing but time is lost.
#[derive(Debug)]
pub(crate) struct Memo<V> {
    shards: Box<[Shard<V>]>,
    shard_max: usize,
}

impl<V: Clone> Memo<V> {
    /// A table of at most so many results.
    pub(crate) fn new(most: usize) -> Memo<V> {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        Memo { shards, shard_max: most.div_ceil(SHARDS) }
    }

    /// The result for `key`, which is worked out if it is not known.
    pub(crate) fn get(&self, key: u128, work_out: impl FnOnce() -> V) -> V {
        let shard = &self.shards[(key >> 64) as usize % SHARDS];
        if let Some(known) = read(shard).get(&key) {
            return known.clone();
        }
        let value = work_out();
        let mut shard = shard.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if shard.len() >= self.shard_max {
            shard.clear();
        }
        shard.insert(key, value.clone());
        value
    }
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn results_are_worked_out_once_while_they_fit() {
        let memo = Memo::new(SHARDS);
        let worked = Cell::new(0);
        let get = |key: u128| {
            memo.get(key, || {
                worked.set(worked.get() + 1);
                key + 1
            })
        };
        assert_eq!((get(7), get(7), worked.get()), (8, 8, 1));
        // The shard has room for one.
        assert_eq!((get(8), get(7), worked.get()), (9, 8, 3));
    }
}
