//! How a campaign tells worlds apart: `trace::identity` at each of its levels, and what of a campaign decides besides
//! the objects how a world goes on.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use cluster::World;
use plans::CrashPoint;
use serde_json::{Value, json};
use trace::{
    Cursor, DrawnNames, Footprint, Heartbeats, Level, Masks, ObjectKey, Time,
    identity::{self, Identity},
};
use workloads::Workload;

use crate::campaign::properties::Passed;

/// Versions of types' definitions that a thread remembers.
const DEFINITIONS_KEPT: usize = 1_000;

/// By what worlds are told apart.
#[derive(Clone, Copy)]
pub struct Identities<'c> {
    /// How it goes on depends on how far it is.
    pub workload: &'c Workload,
    /// Fields that don't count.
    pub heartbeats: &'c Heartbeats,
    /// See [`oracles::Baseline::random_payloads`].
    pub random_payloads: &'c BTreeSet<String>,
    /// See [`oracles::Baseline::changing_payloads`].
    pub changing_payloads: &'c BTreeSet<String>,
    /// What differs undisturbed too.
    pub masks: &'c Masks,
    /// Names that the subject draws.
    pub drawn_names: Option<&'c DrawnNames>,
    /// What the subject looks at.
    pub footprint: &'c Footprint,
    /// What caches hold that are behind when the subject is started on the world.
    pub cached: &'c [(ObjectKey, Arc<Value>)],
    /// User steps for which they stay so.
    pub lasts: u32,
    /// What of the campaign's properties has happened before.
    pub passed: Passed,
}

/// The levels at which worlds are merged.
pub const COARSE: [Level; 3] = [Level::Shape, Level::Scale, Level::Age];

/// What a world is at the levels before `exact`, in the order of [`COARSE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes([Identity; COARSE.len()]);

impl Classes {
    /// Of a world that is like no other.
    pub fn alone(identity: Identity) -> Classes {
        Classes([identity; COARSE.len()])
    }

    /// At a level of [`COARSE`].
    pub fn at(&self, level: Level) -> Identity {
        self.0[level as usize]
    }
}

impl Identities<'_> {
    /// What a world is, up to relabelling, with the workload at a position that it reached so long ago.
    pub fn of(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Identity {
        let extra = self.exactly_pending(world, cursor, begun);
        let context = self.context(world, cursor, extra, Level::Exact);
        let objects = self.without_heartbeats(world.objects().chain(self.cached()));
        identity::identity(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// What all of a world is at this level, wherever the workload's operation there stands.
    pub fn at_level(&self, world: &World, cursor: Cursor, level: Level) -> Identity {
        let context = self.context(world, cursor, Value::Null, level);
        let objects = self.without_heartbeats(world.objects());
        identity::identity(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// The canonical world behind an identity, for people who wonder why two worlds differ.
    pub fn canonical(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Value {
        let extra = self.exactly_pending(world, cursor, begun);
        let context = self.context(world, cursor, extra, Level::Exact);
        let objects = self.without_heartbeats(world.objects().chain(self.cached()));
        identity::canonical_world(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// The same at [`Level::Scale`].
    pub fn canonical_scale(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Value {
        let objects = self.seen(world);
        let context = self.roughly(world, cursor, begun, Level::Scale);
        identity::canonical_world(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// What a world is at the coarser levels: what the subject can see of it.
    pub fn classes(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Classes {
        let objects = self.seen(world);
        let at = |level| {
            let context = self.roughly(world, cursor, begun, level);
            identity::identity(objects.iter().map(|(key, object)| (*key, &**object)), &context)
        };
        Classes(COARSE.map(at))
    }

    /// At a level of [`COARSE`]. Before [`Level::Age`], of the workload only what it does next counts: since when it is
    /// there does not, nor a check that it passes over if it holds.
    fn roughly<'a>(
        &'a self,
        world: &'a World,
        cursor: Cursor,
        begun: Option<Duration>,
        level: Level,
    ) -> identity::Context<'a> {
        let begun = self.begun(cursor, begun);
        let (cursor, extra) = match level {
            Level::Age => (cursor, roughly_begun(begun)),
            _ => (self.workload.next_step(cursor), self.cannot_begin_again(cursor, &begun)),
        };
        self.context(world, cursor, self.with_lasting(extra), level)
    }

    /// What a world is that was only observed.
    pub fn of_observed(
        &self,
        objects: &BTreeMap<ObjectKey, Arc<Value>>,
        point: &CrashPoint,
        names: &BTreeSet<&str>,
    ) -> Identity {
        let context = identity::Context {
            now: whole_seconds(point.time),
            cursor: point.cursor,
            generated_names: names.iter().copied().collect(),
            random_payloads: self.random_payloads.iter().map(String::as_str).collect(),
            extra: self.begun(point.cursor, point.begun),
            level: Level::Exact,
            masks: None,
        };
        let objects = self.without_heartbeats(objects);
        identity::identity(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// Those that the subject has asked about.
    fn seen<'a>(&'a self, world: &'a World) -> Vec<(&'a ObjectKey, Cow<'a, Arc<Value>>)> {
        let covered = world.objects().filter(|(key, object)| self.footprint.covers(key, object));
        self.without_heartbeats(covered.chain(self.cached()))
    }

    fn cached(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        self.cached.iter().map(|(key, object)| (key, object))
    }

    /// Objects as far as they tell worlds apart.
    fn without_heartbeats<'a>(
        &self,
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    ) -> Vec<(&'a ObjectKey, Cow<'a, Arc<Value>>)> {
        let without = |(key, object): (&'a ObjectKey, &'a Arc<Value>)| {
            if *key.resource.resource == *"customresourcedefinitions" {
                return (key, Cow::Owned(with_schemas_as_hash(object)));
            }
            let rest = self.heartbeats.without(key, object);
            (key, rest.map_or(Cow::Borrowed(object), |rest| Cow::Owned(Arc::new(rest))))
        };
        objects.into_iter().map(without).collect()
    }

    fn context<'a>(
        &'a self,
        world: &'a World,
        cursor: Cursor,
        extra: Value,
        level: Level,
    ) -> identity::Context<'a> {
        let drawn = self.drawn_names.into_iter().flat_map(|drawn| {
            let keys = world.objects().map(|(key, _)| key).filter(|key| drawn.has(key));
            keys.map(|key| &*key.name)
        });
        // That a random value was replaced by another shows at the finest level only.
        let changing = (level != Level::Exact).then_some(self.changing_payloads);
        let random = self.random_payloads.iter().chain(changing.into_iter().flatten());
        identity::Context {
            now: whole_seconds(world.now()),
            cursor,
            generated_names: world.generated_names().chain(drawn).collect(),
            random_payloads: random.map(String::as_str).collect(),
            extra,
            level,
            masks: Some(self.masks),
        }
    }

    fn exactly_pending(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Value {
        let begun = self.with_lasting(self.begun(cursor, begun));
        match world.pending() {
            Value::Null => begun,
            pending => json!([begun, pending]),
        }
    }

    fn with_lasting(&self, extra: Value) -> Value {
        let extra = match self.lasts {
            0 => extra,
            steps => json!([extra, { "lasts": steps }]),
        };
        match self.passed == Passed::default() {
            true => extra,
            false => json!([extra, { "passed": self.passed }]),
        }
    }

    /// What else decides how the workload goes on: for how many whole seconds its operation has been under way,
    /// and whether a program has begun that can't begin again.
    fn begun(&self, cursor: Cursor, begun: Option<Duration>) -> Value {
        let operation = self.workload.operation(cursor);
        let whole = operation.is_none_or(workloads::Operation::resumable_within);
        match begun {
            Some(begun) if begun.as_secs() > 0 || !whole => begun.as_secs().into(),
            _ => Value::Null,
        }
    }

    /// The same without the time.
    fn cannot_begin_again(&self, cursor: Cursor, begun: &Value) -> Value {
        let operation = self.workload.operation(cursor);
        let whole = operation.is_none_or(workloads::Operation::resumable_within);
        (!whole && !begun.is_null()).into()
    }
}

/// What [`Identities::begun`] says, the time by its scale.
fn roughly_begun(begun: Value) -> Value {
    match begun {
        Value::Number(seconds) => {
            let seconds = seconds.as_i64().unwrap_or(i64::MAX / 2_000_000_000);
            identity::rough_age(Time(0), Time(seconds * 1_000_000_000)).into()
        }
        other => other,
    }
}

/// A type's definition with each version's schema as its hash. Schemas are most of the bytes of a world with real
/// operators' types, and never change in most campaigns, so each definition is looked at once by each thread.
fn with_schemas_as_hash(definition: &Arc<Value>) -> Arc<Value> {
    type Cache = HashMap<*const Value, (Arc<Value>, Arc<Value>)>;
    thread_local!(static SHORT: RefCell<Cache> = RefCell::default());
    SHORT.with_borrow_mut(|known| {
        if known.len() >= DEFINITIONS_KEPT {
            known.clear();
        }
        // The definition is kept beside it, so that its address means no other.
        let short = || (definition.clone(), Arc::new(shortened(definition)));
        known.entry(Arc::as_ptr(definition)).or_insert_with(short).1.clone()
    })
}

fn shortened(definition: &Value) -> Value {
    let mut short = definition.clone();
    let versions = short.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        if let Some(schema) = version.get_mut("schema") {
            *schema = blake3::hash(schema.to_string().as_bytes()).to_hex().to_string().into();
        }
    }
    short
}

/// Ages count in whole seconds, the precision of the timestamps that the API server writes. Below that the world's
/// clock shows the phases of the subject's timers, and with them how fast this machine computed: an age that differs by
/// less is the same moment of the same schedule.
fn whole_seconds(now: Time) -> Time {
    Time(now.seconds() * 1_000_000_000)
}
