//! The fingerprints of all states seen, each with a value.
//!
//! Fingerprints are random numbers, so they are kept sorted: each stands at the slot that it points to, or as soon
//! after it as there is room (ordered linear probing, Amble and Knuth 1974). A look-up ends at the first larger
//! fingerprint, so nine tenths of the slots can be full and both answers take a few neighbouring slots. The table is
//! cut into shards by the first byte, each behind a lock of its own, which grow by an eighth: never more than one shard
//! per thread is there twice, and little is kept free.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::fingerprint::Fingerprint;

const SHARDS: usize = 256;
/// Room behind the slots pointed to, and how much more is made when it is full.
const SLOTS_ADDED: usize = 16;

/// Fingerprints with values.
pub struct Table<V> {
    shards: Vec<Mutex<Shard<V>>>,
    bytes: AtomicUsize,
}

impl<V: Copy + Default> Table<V> {
    /// An empty table.
    pub fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect();
        Table { shards, bytes: AtomicUsize::new(0) }
    }

    /// The value of `fingerprint`.
    pub fn get(&self, fingerprint: Fingerprint) -> Option<V> {
        self.shard(fingerprint).get(Key::of(fingerprint))
    }

    /// Inserts `value` if `fingerprint` is new. If it is not, `change` may change its value. What was there before.
    pub fn insert(
        &self,
        fingerprint: Fingerprint,
        value: V,
        change: impl FnOnce(V) -> V,
    ) -> Option<V> {
        let mut shard = self.shard(fingerprint);
        let capacity = shard.slots.capacity();
        let before = shard.insert(Key::of(fingerprint), value, change);
        let now = shard.slots.capacity();
        if now != capacity {
            self.bytes.fetch_add(now * size_of::<Slot<V>>(), Ordering::Relaxed);
            self.bytes.fetch_sub(capacity * size_of::<Slot<V>>(), Ordering::Relaxed);
        }
        before
    }

    /// Removes what `keep` does not hold of.
    pub fn retain(&self, keep: impl Fn(V) -> bool) {
        for shard in &self.shards {
            shard.lock().expect("no thread panics while it holds a shard").place(&keep);
        }
    }

    /// What the table takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Calls `each` with all fingerprints in ascending order.
    pub fn for_each<E>(
        &self,
        mut each: impl FnMut(Fingerprint, V) -> Result<(), E>,
    ) -> Result<(), E> {
        for (first, shard) in self.shards.iter().enumerate() {
            let shard = shard.lock().expect("no thread panics while it holds a shard");
            for slot in shard.slots.iter().filter(|slot| slot.is_full()) {
                each({ slot.key }.fingerprint(first), slot.value)?;
            }
        }
        Ok(())
    }

    fn shard(&self, fingerprint: Fingerprint) -> MutexGuard<'_, Shard<V>> {
        self.shards[(fingerprint >> 96) as usize]
            .lock()
            .expect("no thread panics while it holds a shard")
    }
}

impl<V> fmt::Debug for Table<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

// Packed: alignment would make 24 bytes of 16.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
struct Slot<V> {
    key: Key,
    value: V,
}

/// A fingerprint without its first byte, which is the shard's.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, packed(4))]
struct Key {
    high: u64,
    low: u32,
}

impl Key {
    const FREE: Key = Key { high: 0, low: 0 };

    fn of(fingerprint: Fingerprint) -> Key {
        Key { high: (fingerprint >> 32) as u64, low: fingerprint as u32 }
    }

    fn fingerprint(self, shard: usize) -> Fingerprint {
        (shard as u128) << 96 | u128::from(self.high) << 32 | u128::from(self.low)
    }
}

impl<V> Slot<V> {
    fn is_full(&self) -> bool {
        self.key != Key::FREE
    }
}

/// The fingerprints of one first byte. Those that point at the last slots may stand behind them, in slots added.
struct Shard<V> {
    slots: Vec<Slot<V>>,
    /// How many slots are pointed to.
    homes: usize,
    full: usize,
}

impl<V> Default for Shard<V> {
    fn default() -> Self {
        Shard { slots: Vec::new(), homes: 0, full: 0 }
    }
}

impl<V: Copy + Default> Shard<V> {
    /// The slot that `key` points to: the same fraction of all slots as it is of all keys.
    fn home(&self, key: Key) -> usize {
        ((u128::from(key.high) * self.homes as u128) >> 64) as usize
    }

    /// Where `key` stands, or else where it belongs.
    fn find(&self, key: Key) -> Result<usize, usize> {
        let home = self.home(key);
        for (steps, slot) in self.slots[home..].iter().enumerate() {
            let there = slot.key;
            if there == key {
                return Ok(home + steps);
            }
            if there > key || there == Key::FREE {
                return Err(home + steps);
            }
        }
        Err(self.slots.len())
    }

    fn get(&self, key: Key) -> Option<V> {
        let at = self.find(key).ok()?;
        Some(self.slots[at].value)
    }

    fn insert(&mut self, key: Key, value: V, change: impl FnOnce(V) -> V) -> Option<V> {
        let mut found = self.find(key);
        if found.is_err() && self.full >= self.homes - self.homes / 10 {
            self.homes += (self.homes / 8).max(16);
            self.place(|_| true);
            found = self.find(key);
        }
        match found {
            Ok(at) => {
                let before = self.slots[at].value;
                self.slots[at].value = change(before);
                Some(before)
            }
            Err(at) => {
                self.make_room(at);
                self.slots[at] = Slot { key, value };
                self.full += 1;
                None
            }
        }
    }

    /// Moves what stands from `at` to the next free slot by one.
    fn make_room(&mut self, at: usize) {
        let free = self.slots[at..].iter().position(|slot| !slot.is_full());
        let free = free.map(|steps| at + steps).unwrap_or_else(|| {
            self.add(Slot::default());
            self.slots.len() - 1
        });
        self.slots.copy_within(at..free, at + 1);
    }

    /// Puts all that is kept, in order, where it belongs.
    fn place(&mut self, keep: impl Fn(V) -> bool) {
        let mut slots = Vec::with_capacity(self.homes + SLOTS_ADDED);
        slots.resize(self.homes, Slot::default());
        let old = std::mem::replace(&mut self.slots, slots);
        let mut next = 0;
        self.full = 0;
        for slot in old.into_iter().filter(|slot| slot.is_full() && keep(slot.value)) {
            let at = self.home(slot.key).max(next);
            if at == self.slots.len() {
                self.add(slot);
            } else {
                self.slots[at] = slot;
            }
            next = at + 1;
            self.full += 1;
        }
    }

    fn add(&mut self, slot: Slot<V>) {
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve_exact(SLOTS_ADDED);
        }
        self.slots.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_table_is_a_map(
            // Few different first bytes and low bits, so that shards get full and fingerprints collide at their homes.
            keys in prop::collection::vec((0u8..3, 0u8..4, 0u16..400), 0..2000),
            gone in 0u32..1000,
        ) {
            let table = Table::new();
            let mut expect = BTreeMap::new();
            for (value, (first, second, last)) in keys.into_iter().enumerate() {
                let high = u128::from(first) << 96 | u128::from(second) << 88;
                let (key, value) = (high + u128::from(last) + 1, value as u32);
                let before = table.insert(key, value, |old| old + 1);
                prop_assert_eq!(before, expect.get(&key).copied());
                expect.entry(key).and_modify(|old| *old += 1).or_insert(value);
            }
            table.retain(|value| value >= gone);
            expect.retain(|_, value| *value >= gone);
            let mut seen = BTreeMap::new();
            table.for_each(|key, value| { seen.insert(key, value); Ok::<(), ()>(()) }).unwrap();
            prop_assert_eq!(&seen, &expect);
            for (key, value) in expect {
                prop_assert_eq!(table.get(key), Some(value));
            }
        }
    }

    #[test]
    fn a_slot_takes_no_more_than_it_holds() {
        assert_eq!(size_of::<Slot<u32>>(), 16);
        assert_eq!(size_of::<Slot<()>>(), 12);
    }
}
