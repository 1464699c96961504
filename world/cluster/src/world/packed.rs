//! A world that waits for its turn: all of it, in a fraction of its memory.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use trace::{GroupResource, ObjectKey};

use super::World;
use crate::store::packed::Happened;

/// A world as what happened in it since another one, as compressed text. A clone copies some pointers.
#[derive(Debug, Clone)]
pub struct PackedWorld {
    /// It, with the objects and the history of the world from which it comes.
    frame: World,
    /// What happened since, in order.
    log: Arc<[Arc<Happened>]>,
}

impl World {
    /// Packs a world that comes from `origin`, which stays whole: there must be others that hold it.
    pub fn pack(&self, origin: &World) -> PackedWorld {
        let since = self.all_changes_after(origin.revision());
        let log = since.into_iter().map(|logged| logged.packed()).collect();
        PackedWorld { frame: World { store: origin.store.clone(), ..self.clone() }, log }
    }
}

impl PackedWorld {
    /// The world that was packed. Costs a look at each change since its origin.
    pub fn unpack(&self) -> World {
        let mut world = self.frame.clone();
        for happened in &*self.log {
            world.store.redo(happened);
        }
        world
    }

    /// Its objects of some types; no others are unpacked.
    pub fn objects_of(
        &self,
        wanted: impl Fn(&GroupResource) -> bool,
    ) -> BTreeMap<ObjectKey, Arc<Value>> {
        let of_origin = self.frame.objects().filter(|(key, _)| wanted(&key.resource));
        let mut objects: BTreeMap<_, _> =
            of_origin.map(|(key, object)| (key.clone(), object.clone())).collect();
        let last: BTreeMap<&ObjectKey, &Arc<Happened>> = self
            .log
            .iter()
            .filter(|happened| wanted(&happened.key.resource))
            .map(|happened| (&happened.key, happened))
            .collect();
        for (key, happened) in last {
            match happened.object() {
                Some(object) => objects.insert(key.clone(), object),
                None => objects.remove(key),
            };
        }
        objects
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trace::Time;

    use super::*;
    use crate::{SuffixOrder, WorldOptions};

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
    }

    fn said(world: &World) -> Vec<(&ObjectKey, &Value)> {
        world.objects().map(|(key, object)| (key, &**object)).collect()
    }

    #[test]
    fn an_unpacked_world_has_the_objects_and_the_history_of_before() {
        let options = WorldOptions { start: Time(0), seed: 1, suffixes: SuffixOrder::Ascending };
        let mut origin = World::new(options);
        origin.put(key("old"), json!({"metadata": {}, "data": {"share": 0.1}}));
        let mut world = origin.clone();
        world.put(key("new"), json!({"metadata": {}, "data": {"n": 1}}));
        let between = world.revision();
        world.put(key("new"), json!({"metadata": {}, "data": {"n": 2}}));
        world.remove(key("old"));
        let packed = world.pack(&origin);
        let unpacked = packed.unpack();
        assert_eq!(said(&unpacked), said(&world));
        assert_eq!(unpacked.revision(), world.revision());
        let configmaps = packed.objects_of(|resource| *resource.resource == *"configmaps");
        let keys: Vec<&ObjectKey> = configmaps.keys().collect();
        assert_eq!((keys, &configmaps[&key("new")]["data"]["n"]), (vec![&key("new")], &json!(2)));
        let told = |world: &World| {
            let entries = world.all_changes_after(origin.revision());
            let tell = |logged: &Arc<crate::Logged>| {
                (logged.revision, logged.change, logged.object.clone(), logged.previous.clone())
            };
            entries.into_iter().map(tell).collect::<Vec<_>>()
        };
        assert_eq!(told(&unpacked), told(&world));
        assert_eq!(unpacked.object_at(between, &key("new")), world.object_at(between, &key("new")));
        assert_eq!(world.object_at(between, &key("new")).expect("one")["data"]["n"], 1);
    }

    #[test]
    fn versions_that_somebody_holds_are_shared_and_others_are_read_again() {
        let options = WorldOptions { start: Time(0), seed: 1, suffixes: SuffixOrder::Ascending };
        let origin = World::new(options);
        let mut world = origin.clone();
        world.put(key("one"), json!({"metadata": {}, "data": {"n": 1}}));
        let packed = world.pack(&origin);
        let same = |one: &World, other: &World| {
            let (one, other) = (one.object(&key("one")), other.object(&key("one")));
            Arc::ptr_eq(one.expect("one"), other.expect("one"))
        };
        assert!(same(&packed.unpack(), &world));
        drop(world);
        let again = packed.unpack();
        assert!(same(&packed.unpack(), &again));
        assert_eq!(again.object(&key("one")).expect("one")["data"]["n"], 1);
        // What is packed again costs no second text.
        let repacked = again.pack(&origin);
        assert!(Arc::ptr_eq(&repacked.log[0], &packed.log[0]));
    }
}
