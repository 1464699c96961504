//! How a campaign tells worlds apart: `trace::identity`, and what of a campaign decides besides the objects how a world
//! goes on.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use cluster::World;
use plans::CrashPoint;
use serde_json::Value;
use trace::{
    Cursor, Heartbeats, ObjectKey, Time,
    identity::{self, Identity},
};
use workloads::Workload;

/// By what worlds are told apart.
#[derive(Clone, Copy)]
pub struct Identities<'c> {
    /// How it goes on depends on how far it is.
    pub workload: &'c Workload,
    /// Fields that don't count.
    pub heartbeats: &'c Heartbeats,
    /// See [`oracles::Baseline::random_payloads`].
    pub random_payloads: &'c BTreeSet<String>,
}

impl Identities<'_> {
    /// What a world is, up to relabelling, with the workload at a position that it reached so long ago.
    pub fn of(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Identity {
        let names = world.generated_names().collect();
        let context = self.context(world.now(), cursor, names, begun, world.pending());
        let objects = self.without_heartbeats(world.objects());
        identity::identity(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// The canonical world behind an identity, for people who wonder why two worlds differ.
    pub fn canonical(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Value {
        let names = world.generated_names().collect();
        let context = self.context(world.now(), cursor, names, begun, world.pending());
        let objects = self.without_heartbeats(world.objects());
        identity::canonical_world(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// What a world is that was only observed.
    pub fn of_observed(
        &self,
        objects: &BTreeMap<ObjectKey, Arc<Value>>,
        point: &CrashPoint,
        names: &BTreeSet<&str>,
    ) -> Identity {
        let names = names.iter().copied().collect();
        let context = self.context(point.time, point.cursor, names, point.begun, Value::Null);
        let objects = self.without_heartbeats(objects);
        identity::identity(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// Objects as far as they tell worlds apart.
    fn without_heartbeats<'a>(
        &self,
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    ) -> Vec<(&'a ObjectKey, Cow<'a, Arc<Value>>)> {
        let without = |(key, object): (&'a ObjectKey, &'a Arc<Value>)| {
            let rest = self.heartbeats.without(key, object);
            (key, rest.map_or(Cow::Borrowed(object), |rest| Cow::Owned(Arc::new(rest))))
        };
        objects.into_iter().map(without).collect()
    }

    fn context<'a>(
        &'a self,
        now: Time,
        cursor: Cursor,
        generated_names: Vec<&'a str>,
        begun: Option<Duration>,
        pending: Value,
    ) -> identity::Context<'a> {
        // Ages count in whole seconds, the precision of the timestamps that the API server writes. Below that the
        // world's clock shows the phases of the subject's timers, and with them how fast this machine computed:
        // an age that differs by less is the same moment of the same schedule.
        let now = Time(now.seconds() * 1_000_000_000);
        let random_payloads = self.random_payloads.iter().map(String::as_str).collect();
        let extra = match pending {
            Value::Null => self.progress(cursor, begun),
            pending => serde_json::json!([self.progress(cursor, begun), pending]),
        };
        identity::Context { now, cursor, generated_names, random_payloads, extra }
    }

    /// What else decides how the workload goes on: for how many whole seconds its operation has been under way,
    /// and whether a program has begun that can't begin again.
    fn progress(&self, cursor: Cursor, begun: Option<Duration>) -> Value {
        let operation = self.workload.operation(cursor);
        let whole = operation.is_none_or(workloads::Operation::resumable_within);
        match begun {
            Some(begun) if begun.as_secs() > 0 || !whole => begun.as_secs().into(),
            _ => Value::Null,
        }
    }
}
