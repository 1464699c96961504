//! A place to start the controller again, and the same while it waits for its turn.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use cluster::{PackedWorld, World};
use plans::{Plan, stale_views::Objects};
use serde_json::{Value, json};
use trace::{Cursor, GroupResource, ObjectKey, Revision, identity::Identity};

use crate::campaign::{identities::Classes, properties::Passed};

/// A world with the controller down.
#[derive(Clone)]
pub struct Node<W = World, B = BehindNow> {
    /// The world; none on a remote cluster, where it can only be reached again from the beginning.
    pub world: Option<W>,
    /// How far the workload is.
    pub cursor: Cursor,
    /// For how long the operation there has been under way; none if it has not begun.
    pub begun: Option<Duration>,
    /// How it is reached from the beginning.
    pub plan: Plan,
    /// Caches that are behind when the subject is started on it, if they are.
    pub behind: Option<B>,
    /// What of the campaign's properties has happened before it.
    pub passed: Passed,
    /// What it is, up to relabelling.
    pub identity: Identity,
    /// What it is at coarser levels.
    pub classes: Classes,
}

/// One that waits: no version of an object is kept alive by it.
pub type Waiting = Node<PackedWorld, BehindThen>;

/// Caches that are behind when the subject is started on a world.
#[derive(Clone)]
pub struct BehindNow {
    /// Where they stand.
    pub revision: Revision,
    /// What they hold of what the subject sees.
    pub objects: Arc<BTreeMap<GroupResource, Objects>>,
}

/// The same without the objects: their versions are those of the world at that revision.
#[derive(Clone)]
pub struct BehindThen {
    revision: Revision,
    keys: Arc<BTreeMap<GroupResource, Vec<ObjectKey>>>,
}

impl Node {
    /// To wait for its turn. `origin`: the world from which all of a campaign come.
    pub fn pack(self, origin: Option<&World>) -> Waiting {
        let Node { world, cursor, begun, plan, behind, passed, identity, classes } = self;
        let world = world.zip(origin).map(|(world, origin)| world.pack(origin));
        let behind = behind.map(|behind| BehindThen {
            revision: behind.revision,
            keys: Arc::new(of_each(&behind.objects, |objects| objects.keys().cloned().collect())),
        });
        Node { world, cursor, begun, plan, behind, passed, identity, classes }
    }
}

impl Waiting {
    /// Its turn has come.
    pub fn unpack(&self) -> Node {
        let Node { cursor, begun, passed, identity, classes, .. } = *self;
        let world = self.world.as_ref().map(PackedWorld::unpack);
        let behind = self.behind.as_ref().zip(world.as_ref());
        let behind = behind.map(|(behind, world)| behind.unpack(world));
        let plan = self.plan.clone();
        Node { world, cursor, begun, plan, behind, passed, identity, classes }
    }
}

impl BehindThen {
    fn unpack(&self, world: &World) -> BehindNow {
        let at = |key: &ObjectKey| {
            let object = world.object_at(self.revision, key)?;
            Some((key.clone(), object.clone()))
        };
        let objects = of_each(&self.keys, |keys| keys.iter().filter_map(at).collect());
        BehindNow { revision: self.revision, objects: Arc::new(objects) }
    }
}

impl BehindNow {
    /// The objects under types of their own (`‹cached›apps`), which no object of the world has: they are a part of what
    /// tells such a start from another.
    pub fn tagged(&self) -> Vec<(ObjectKey, Arc<Value>)> {
        let all = self.objects.iter().flat_map(|(resource, objects)| {
            let group = format!("‹cached›{}", resource.group);
            let resource = GroupResource::new(&group, &resource.resource);
            objects.iter().map(move |(key, object)| {
                (ObjectKey::new(resource.clone(), &key.namespace, &key.name), object.clone())
            })
        });
        // A type of which the caches hold nothing is told by that.
        let types = self.objects.iter().map(|(resource, objects)| {
            let type_ = GroupResource::new("‹cached›", "types");
            let held = json!({ "objects": objects.len() });
            (ObjectKey::new(type_, "", &resource.to_string()), Arc::new(held))
        });
        all.chain(types).collect()
    }
}

fn of_each<A, B>(
    types: &BTreeMap<GroupResource, A>,
    make: impl Fn(&A) -> B,
) -> BTreeMap<GroupResource, B> {
    types.iter().map(|(resource, of)| (resource.clone(), make(of))).collect()
}
