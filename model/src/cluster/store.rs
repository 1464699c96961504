//! What is stored at some moment: the numbers of all objects.
//!
//! A store is cheap to copy and to compare: it carries the sums of its objects' hashes, for each type and for all, so
//! that two stores with the same objects have the same sums, in whatever order these came.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use controllers::{Kinds, Object, View, request::Memory};
use serde_json::Value;
use trace::ObjectKey;

use super::{
    kinds::{KindId, KindSet},
    objects::{Content, Id, Objects, Stored},
};

/// All that is stored at some moment.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// In the order of [`Stored::place`].
    ids: Box<[Id]>,
    /// Of each type, up to the last of which there is an object: the sum of the hashes.
    sums: Box<[u128]>,
    sum: u128,
}

impl PartialEq for Store {
    fn eq(&self, other: &Store) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.sum == other.0.sum
    }
}

impl Eq for Store {}

impl Hash for Store {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0.sum.to_le_bytes());
    }
}

impl Store {
    /// A store of these objects.
    pub fn of(objects: &Objects, ids: impl IntoIterator<Item = Id>) -> Store {
        let mut ids: Vec<Id> = ids.into_iter().collect();
        ids.sort_by(|one, other| objects.get(*one).place().cmp(&objects.get(*other).place()));
        Store::sorted(objects, ids.into())
    }

    fn sorted(objects: &Objects, ids: Box<[Id]>) -> Store {
        let last = ids.last().map_or(0, |id| usize::from(objects.get(*id).kind.0) + 1);
        let mut sums = vec![0_u128; last];
        for id in &ids {
            let stored = objects.get(*id);
            let sum = &mut sums[usize::from(stored.kind.0)];
            *sum = sum.wrapping_add(stored.hash);
        }
        let sum = sums.iter().fold(0_u128, |all, sum| all.wrapping_add(*sum));
        Store(Arc::new(Inner { ids, sums: sums.into(), sum }))
    }

    /// The numbers of all objects and memories.
    pub fn ids(&self) -> &[Id] {
        &self.0.ids
    }

    /// Stands for all that is stored.
    pub fn sum(&self) -> u128 {
        self.0.sum
    }

    /// Stands for all that is stored of these types.
    pub(super) fn sum_of(&self, kinds: KindSet) -> u128 {
        let sums = self.0.sums.iter().enumerate();
        let chosen = sums.filter(|(at, _)| kinds.has(KindId(*at as u8)));
        chosen.fold(0, |all, (at, sum)| all.wrapping_add(sum.rotate_left(at as u32)))
    }

    /// What the store keeps on the heap, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Inner>() + 16 + self.0.ids.len() * size_of::<Id>() + self.0.sums.len() * 16
    }

    fn place(&self, objects: &Objects, of: (KindId, u8, &ObjectKey)) -> Result<usize, usize> {
        self.0.ids.binary_search_by(|id| objects.get(*id).place().cmp(&of))
    }

    /// The number of the object of a key; none if there is none.
    pub fn id(&self, objects: &Objects, key: &ObjectKey) -> Option<Id> {
        let kind = KindId::of(&key.resource)?;
        self.place(objects, (kind, 0, key)).ok().map(|at| self.0.ids[at])
    }

    /// The object of a key, with its number.
    pub fn get<'o>(&self, objects: &'o Objects, key: &ObjectKey) -> Option<&'o Stored> {
        self.id(objects, key).map(|id| objects.get(id))
    }

    /// The objects of a type, by namespace and name.
    pub fn of_kind<'o>(
        &self,
        objects: &'o Objects,
        kind: KindId,
    ) -> impl Iterator<Item = (Id, &'o Stored)> + use<'_, 'o> {
        let from = self.0.ids.partition_point(|id| objects.get(*id).kind < kind);
        let found = self.0.ids[from..].iter().map(|id| (*id, objects.get(*id)));
        found.take_while(move |(_, stored)| stored.kind == kind)
    }

    /// All that is stored, each with its place among `objects`, at which it stays.
    pub fn stored<'o>(
        &self,
        objects: &'o Objects,
    ) -> impl Iterator<Item = (usize, &'o Stored)> + use<'_, 'o> {
        self.0.ids.iter().map(|id| (id.0 as usize, objects.get(*id)))
    }

    /// The JSON of all objects.
    pub fn values<'o>(
        &self,
        objects: &'o Objects,
    ) -> impl Iterator<Item = (&'o ObjectKey, &'o Value)> + use<'_, 'o> {
        self.0.ids.iter().filter_map(|id| {
            let stored = objects.get(*id);
            stored.value().map(|value| (&stored.key, value))
        })
    }

    /// The store after `value` stands under `key`; none removes what stands there, with what is remembered of it.
    pub fn with(&self, objects: &Objects, key: &ObjectKey, value: Option<Value>) -> Store {
        self.with_id(objects, key, value.map(|value| objects.add(key, value)))
    }

    /// The store after the object of a number stands under `key`; none removes what stands there.
    pub(super) fn with_id(&self, objects: &Objects, key: &ObjectKey, fresh: Option<Id>) -> Store {
        let kind = KindId::of(&key.resource).expect("the type is served");
        let changed = self.put(objects, (kind, 0, key), fresh);
        if fresh.is_some() {
            return changed;
        }
        // As in `View::set`: what else is remembered of an object outlives it.
        (1..=3).fold(changed, |store, of| store.put(objects, (KindId::MEMORY, of, key), None))
    }

    /// The store after a controller remembers something.
    pub(super) fn with_memory(&self, objects: &Objects, key: &ObjectKey, memory: &Memory) -> Store {
        let of = super::objects::memory_number(memory);
        let keeps = !matches!(
            memory,
            Memory::GoesAt(None) | Memory::SilentSince(None) | Memory::MissedUntil(None)
        );
        let fresh = keeps.then(|| objects.add_memory(key, memory.clone()));
        self.put(objects, (KindId::MEMORY, of, key), fresh)
    }

    fn put(&self, objects: &Objects, at: (KindId, u8, &ObjectKey), fresh: Option<Id>) -> Store {
        let old = &self.0.ids;
        let (ids, gone): (Box<[Id]>, Option<Id>) = match (self.place(objects, at), fresh) {
            (Ok(at), Some(id)) if old[at] == id => return self.clone(),
            (Ok(at), Some(id)) => {
                let mut ids = old.clone();
                let gone = std::mem::replace(&mut ids[at], id);
                (ids, Some(gone))
            }
            (Ok(at), None) => ([&old[..at], &old[at + 1..]].concat().into(), Some(old[at])),
            (Err(at), Some(id)) => ([&old[..at], &[id], &old[at..]].concat().into(), None),
            (Err(_), None) => return self.clone(),
        };
        self.with_ids(objects, at.0, ids, (gone, fresh))
    }

    /// The store of these ids, which differ from its own by one of a type that is gone and one that is new.
    fn with_ids(
        &self,
        objects: &Objects,
        kind: KindId,
        ids: Box<[Id]>,
        (gone, fresh): (Option<Id>, Option<Id>),
    ) -> Store {
        let last = ids.last().map_or(0, |id| usize::from(objects.get(*id).kind.0) + 1);
        let kept = self.0.sums.len().min(last);
        let mut sums = vec![0_u128; last];
        sums[..kept].copy_from_slice(&self.0.sums[..kept]);
        let hash = |id: Option<Id>| id.map_or(0, |id| objects.get(id).hash);
        let change = hash(fresh).wrapping_sub(hash(gone));
        if let Some(sum) = sums.get_mut(usize::from(kind.0)) {
            *sum = sum.wrapping_add(change);
        }
        let sum = self.0.sum.wrapping_add(change);
        Store(Arc::new(Inner { ids, sums: sums.into(), sum }))
    }

    /// The store in which each object is replaced by what `of` makes of it, under the same key.
    pub(super) fn map(&self, objects: &Objects, of: impl Fn(Id, &Stored) -> Id) -> Store {
        let ids = self.0.ids.iter().map(|id| of(*id, objects.get(*id))).collect();
        Store::sorted(objects, ids)
    }

    /// What is different from `other`: numbers here and there, in order.
    fn changes(&self, objects: &Objects, other: &Store) -> Vec<(Option<Id>, Option<Id>)> {
        let (mut mine, mut theirs) = (self.0.ids.iter().peekable(), other.0.ids.iter().peekable());
        let mut changes = Vec::new();
        loop {
            match (mine.peek().copied(), theirs.peek().copied()) {
                (None, None) => return changes,
                (Some(one), Some(two)) if one == two => {
                    mine.next();
                    theirs.next();
                }
                (one, two) => {
                    let place = |id: &Id| objects.get(*id).place();
                    let order = match (one, two) {
                        (Some(one), Some(two)) => place(one).cmp(&place(two)),
                        (Some(_), None) => std::cmp::Ordering::Less,
                        _ => std::cmp::Ordering::Greater,
                    };
                    let mine = order.is_le().then(|| mine.next().copied()).flatten();
                    let theirs = order.is_ge().then(|| theirs.next().copied()).flatten();
                    changes.push((mine, theirs));
                }
            }
        }
    }

    /// The objects that are not the same in `before`: key, object before, object now.
    pub fn changed_since<'o>(
        &self,
        objects: &'o Objects,
        before: &Store,
    ) -> Vec<(Option<&'o Stored>, Option<&'o Stored>)> {
        let stored = |id: Option<Id>| id.map(|id| objects.get(id));
        let changes = self.changes(objects, before);
        changes.into_iter().map(|(now, before)| (stored(before), stored(now))).collect()
    }
}

/// Views of stores, each made from one that is already there.
#[derive(Debug)]
pub(super) struct Views {
    recent: Vec<(Store, View)>,
}

/// How many views are at hand to begin with.
const RECENT: usize = 6;

impl Views {
    /// Of an empty store.
    pub(super) fn new(objects: &Objects, kinds: &Kinds) -> Views {
        let mut empty = View::default();
        empty.kinds = kinds.clone();
        Views { recent: vec![(Store::of(objects, []), empty)] }
    }

    /// The view of a store.
    pub(super) fn of(&mut self, objects: &Objects, store: &Store) -> View {
        if let Some(at) = self.recent.iter().position(|(known, _)| known == store) {
            let found = self.recent.remove(at);
            let view = found.1.clone();
            self.recent.push(found);
            return view;
        }
        let changes = self.recent.iter().map(|(known, view)| (store.changes(objects, known), view));
        let (changes, view) =
            changes.min_by_key(|(changes, _)| changes.len()).expect("there is always a view");
        let mut view = view.clone();
        for (now, before) in &changes {
            change(&mut view, objects, *before, *now);
        }
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push((store.clone(), view.clone()));
        view
    }
}

fn change(view: &mut View, objects: &Objects, before: Option<Id>, now: Option<Id>) {
    let Some(id) = now.or(before) else { return };
    let stored = objects.get(id);
    match (&stored.content, now) {
        (Content::Object { seen, .. }, now) => {
            view.set(&stored.key, now.map(|_| Object::clone(seen)));
        }
        (Content::Memory(memory), Some(_)) => view.remember(&stored.key, memory.clone()),
        (Content::Memory(memory), None) => {
            let forgotten = match memory {
                Memory::GoesAt(_) => Memory::GoesAt(None),
                Memory::SilentSince(_) => Memory::SilentSince(None),
                Memory::MissedUntil(_) => Memory::MissedUntil(None),
                // Kept as long as their objects.
                Memory::Scaled(_) | Memory::NoSlices => return,
            };
            view.remember(&stored.key, forgotten);
        }
    }
}
