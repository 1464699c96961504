//! What the watches told: for controllers ([`View`]) and as it is stored, for bodies of requests.
//!
//! It holds nothing else: no answer to a write comes into it. So what a controller sees of a type is always a state that
//! the type had, as in front of an informer. That a controller has seen its own writes is waited for ([`super::awaited`]).

use std::{collections::BTreeMap, sync::Arc};

use controllers::{Object, View};
use serde_json::Value;
use trace::{GroupResource, ObjectKey, Revision};

use super::watches::revision;

/// Everything that is known.
#[derive(Debug, Default)]
pub struct Cache {
    /// As controllers see it.
    pub view: View,
    objects: BTreeMap<ObjectKey, Arc<Value>>,
    /// Up to where each type that was listed is known.
    reached: BTreeMap<GroupResource, Revision>,
}

/// What became of an object.
#[derive(Debug)]
pub struct Seen {
    /// Which.
    pub key: ObjectKey,
    /// Before; none for a creation.
    pub before: Option<Object>,
    /// After; none for a removal.
    pub after: Option<Object>,
}

impl Cache {
    /// Takes in a list of all objects of a type.
    pub fn list(
        &mut self,
        resource: &GroupResource,
        objects: Vec<(ObjectKey, Value)>,
        at: Revision,
    ) -> Vec<Seen> {
        let there: BTreeMap<ObjectKey, Value> = objects.into_iter().collect();
        let known = self.of_type(resource).map(|(key, _)| key);
        let gone: Vec<ObjectKey> = known.filter(|key| !there.contains_key(key)).cloned().collect();
        let mut seen: Vec<Seen> = gone.into_iter().flat_map(|key| self.set(&key, None)).collect();
        for (key, object) in there {
            seen.extend(self.set(&key, Some(object)));
        }
        self.reach(resource, at);
        seen
    }

    /// Takes in an object as it is now. Another of its name than before came after that was gone.
    pub fn change(&mut self, key: &ObjectKey, object: Value) -> Vec<Seen> {
        let at = revision(&object).unwrap_or_default();
        let seen = self.set(key, Some(object));
        self.reach(&key.resource, at);
        seen
    }

    /// Takes in that an object is gone; `last` is how the watch tells of it.
    pub fn remove(&mut self, key: &ObjectKey, last: &Value) -> Vec<Seen> {
        let seen = self.set(key, None);
        self.reach(&key.resource, revision(last).unwrap_or_default());
        seen
    }

    /// All objects of a type are gone, with the type.
    pub fn forget(&mut self, resource: &GroupResource) -> Vec<Seen> {
        let gone: Vec<ObjectKey> = self.of_type(resource).map(|(key, _)| key.clone()).collect();
        self.reached.remove(resource);
        gone.into_iter().flat_map(|key| self.set(&key, None)).collect()
    }

    /// Of this type nothing else has happened up to here.
    pub fn reach(&mut self, resource: &GroupResource, at: Revision) {
        let known = self.reached.entry(resource.clone()).or_default();
        *known = at.max(*known);
    }

    /// Up to where a type is known; none where it is not watched.
    pub fn reached(&self, resource: &GroupResource) -> Option<Revision> {
        self.reached.get(resource).copied()
    }

    /// An object as it is stored.
    pub fn object(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// All objects, as if each had just been made.
    pub fn all(&self) -> Vec<Seen> {
        let object = |key: &ObjectKey| self.view.get(key).cloned();
        let made = |key: &ObjectKey| Seen { key: key.clone(), before: None, after: object(key) };
        self.objects.keys().map(made).collect()
    }

    /// All objects of a type.
    pub fn of_type(
        &self,
        resource: &GroupResource,
    ) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        let from = ObjectKey::new(resource.clone(), "", "");
        self.objects.range(from..).take_while(move |(key, _)| key.resource == *resource)
    }

    fn set(&mut self, key: &ObjectKey, object: Option<Value>) -> Vec<Seen> {
        let after = object.as_ref().map(|object| Object::read(key, object));
        let known = self.view.get(key).map(|known| (known.meta.uid.clone(), known.meta.revision));
        match (&known, &after) {
            (None, None) => return vec![],
            (Some((_, revision)), Some(after)) if *revision == after.meta.revision => {
                return vec![];
            }
            (Some((uid, _)), Some(after)) if *uid != after.meta.uid => {
                let mut seen = self.set(key, None);
                seen.extend(self.set(key, object));
                return seen;
            }
            _ => {}
        }
        match object {
            Some(object) => self.objects.insert(key.clone(), Arc::new(object)),
            None => self.objects.remove(key),
        };
        let before = self.view.set(key, after.clone());
        vec![Seen { key: key.clone(), before, after }]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pods() -> GroupResource {
        GroupResource::new("", "pods")
    }

    fn pod(name: &str, uid: &str, at: u64) -> (ObjectKey, Value) {
        let meta =
            json!({"namespace": "ns", "name": name, "uid": uid, "resourceVersion": at.to_string()});
        (ObjectKey::new(pods(), "ns", name), json!({"metadata": meta}))
    }

    /// Names, and whether they were and are there.
    fn told(seen: &[Seen]) -> Vec<(&str, bool, bool)> {
        let all = seen.iter();
        all.map(|one| (&*one.key.name, one.before.is_some(), one.after.is_some())).collect()
    }

    #[test]
    fn a_list_tells_what_is_new_and_what_is_gone() {
        let mut cache = Cache::default();
        let first = vec![pod("a", "1", 1), pod("b", "2", 2), pod("c", "3", 3)];
        assert_eq!(cache.list(&pods(), first, Revision(3)).len(), 3);
        let second = vec![pod("a", "1", 1), pod("b", "2", 5), pod("c", "9", 6)];
        let seen = cache.list(&pods(), second, Revision(7));
        assert_eq!(
            told(&seen),
            [("b", true, true), ("c", true, false), ("c", false, true)],
            "another c came after the first was gone"
        );
        assert_eq!(cache.reached(&pods()), Some(Revision(7)));
        assert_eq!(told(&cache.list(&pods(), vec![pod("a", "1", 1)], Revision(8))).len(), 2);
    }

    #[test]
    fn events_bring_it_on() {
        let mut cache = Cache::default();
        let (key, object) = pod("a", "1", 4);
        assert_eq!(told(&cache.change(&key, object.clone())), [("a", false, true)]);
        assert_eq!(told(&cache.change(&key, object.clone())), [], "told twice");
        assert_eq!(told(&cache.remove(&key, &pod("a", "1", 6).1)), [("a", true, false)]);
        assert_eq!(cache.reached(&pods()), Some(Revision(6)));
        cache.change(&key, object);
        assert_eq!(told(&cache.forget(&pods())), [("a", true, false)]);
        assert_eq!(cache.reached(&pods()), None);
    }
}
