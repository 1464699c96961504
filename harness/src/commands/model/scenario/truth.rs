//! What an expression says of states, worked out as seldom as can be: tests of single objects once for each object, whole
//! expressions once for each store.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError, RwLock},
};

use model::cluster::{Objects, Store, objects::Stored};

use crate::campaign::expression::{self, ByObject, Expression};

/// An expression, and what is known of it.
#[derive(Debug)]
pub(super) struct Truth {
    expression: Expression,
    /// The same, if it follows from tests of single objects.
    by_object: Option<ByObject>,
    /// What each test says of each object, by the object's place.
    tests: Vec<RwLock<Vec<Known>>>,
    /// What the expression says of stores, by their sums.
    stores: Mutex<HashMap<u128, bool>>,
    /// Why it had no value in some state.
    failed: Mutex<Option<String>>,
}

/// What is known of an object.
#[derive(Debug, Clone, Copy, Default)]
enum Known {
    #[default]
    Nothing,
    Value(Option<bool>),
}

impl Truth {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Truth, String> {
        let expression = Expression::read(text)?;
        let by_object = ByObject::of(&expression);
        let tests = by_object.as_ref().map_or(0, ByObject::tests);
        Ok(Truth {
            expression,
            by_object,
            tests: (0..tests).map(|_| RwLock::default()).collect(),
            stores: Mutex::default(),
            failed: Mutex::default(),
        })
    }

    /// Why it had no value in some state.
    pub fn failed(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it holds of what is stored; false where it has no value.
    pub fn of(&self, objects: &Objects, store: &Store) -> bool {
        let by_object = self.by_object.as_ref();
        by_object
            .and_then(|by_object| self.by_object(by_object, objects, store))
            .unwrap_or_else(|| self.of_store(objects, store))
    }

    fn by_object(&self, of: &ByObject, objects: &Objects, store: &Store) -> Option<bool> {
        let stored = store.stored(objects);
        let objects: Vec<(usize, &Stored)> =
            stored.filter(|(_, stored)| stored.value().is_some()).collect();
        of.holds(objects.len(), &|test, object| self.passes(of, test, objects[object]))
    }

    fn passes(
        &self,
        of: &ByObject,
        test: usize,
        (place, stored): (usize, &Stored),
    ) -> Option<bool> {
        let known = self.tests[test].read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Known::Value(value)) = known.get(place) {
            return *value;
        }
        drop(known);
        let value = of.test(test, stored.value()?);
        let mut known = self.tests[test].write().unwrap_or_else(PoisonError::into_inner);
        if known.len() <= place {
            known.resize(place + 1, Known::Nothing);
        }
        known[place] = Known::Value(value);
        value
    }

    fn of_store(&self, all: &Objects, store: &Store) -> bool {
        let known = |truth: &Truth| {
            let stores = truth.stores.lock().unwrap_or_else(PoisonError::into_inner);
            stores.get(&store.sum()).copied()
        };
        if let Some(known) = known(self) {
            return known;
        }
        let mut objects = expression::Objects::default();
        store.values(all).for_each(|(key, value)| objects.set(key, value));
        let holds = self.expression.holds(&objects.context());
        let holds = holds.unwrap_or_else(|what| {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(what);
            false
        });
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.insert(store.sum(), holds);
        holds
    }
}
