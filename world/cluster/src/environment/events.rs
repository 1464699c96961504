//! Events of the built-in controllers, where they are wanted: what they tell people ([`controllers::events`]), put
//! together as upstream does it before it is sent (`tools/record/events_cache.go`, Kubernetes 1.36).
//!
//! The same words about the same object are one Event that counts; more than nine of a kind within ten minutes become
//! one that says so; and of an object each controller tells 25 of a type at most, and one more every five minutes. What
//! that takes to know lives in the world, beside the queues, and is gone with the object. The scheduler's
//! Events are of the newer kind, each one by itself.
//!
//! An Event is a request of its own, right after the one that it tells of and before any other, whoever is held. One
//! that is refused (in a namespace that goes) is not sent again. Events are bookkeeping: no place to crash, no part of a
//! world's identity. Who could notice: they stay for ever; upstream's are gone after an hour.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Bound,
    sync::Arc,
    time::Duration,
};

use controllers::{
    Controller,
    events::{Note, component},
    object::Text,
};
use rpds::RedBlackTreeMapSync;
use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time, Verb};

use super::{
    kind_of,
    wire::{self, Call, JSON, STRATEGIC_PATCH},
};
use crate::{facts::api_version, server::Live, webhooks::Calls, world::World};

/// From so many different ones of a kind on they are told together (`defaultAggregateMaxEvents`).
const TOGETHER: usize = 10;
/// Unless the last one is so long ago (`defaultAggregateIntervalInSeconds`).
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// So many may come at once (`defaultSpamBurst`).
const BURST: u32 = 25;
/// After so long it may be one more (`defaultSpamQPS`).
const EACH: Duration = Duration::from_secs(300);
/// More is never told of one request.
const NOTES_AT_MOST: u64 = 16;
/// Where Events stand that are of objects without a namespace.
const DEFAULT: &str = "default";
/// On which machine the scheduler runs, by name (`reportingInstance`).
const SCHEDULER: &str = "default-scheduler-embedded";

/// What is still to be written, and what was told of which object.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorder {
    waiting: VecDeque<Write>,
    /// By uid of the object, and who told.
    told: RedBlackTreeMapSync<(Text, Controller), Arc<Told>>,
}

/// An Event that is to be written.
#[derive(Debug, Clone)]
struct Write {
    controller: Controller,
    key: ObjectKey,
    /// All of it.
    event: Value,
    /// What of it is new, where it may be there already.
    change: Option<Value>,
}

/// What one controller told of one object.
#[derive(Debug, Clone, Default)]
struct Told {
    budgets: [Budget; 2],
    /// Messages of late, by type and reason.
    similar: BTreeMap<(bool, Text), Similar>,
    /// Name and count of what was written, by type, reason and message; without one, what was told together.
    written: BTreeMap<(bool, Text, Option<String>), Written>,
}

#[derive(Debug, Clone, Default)]
struct Similar {
    messages: BTreeSet<String>,
    last: Time,
}

#[derive(Debug, Clone)]
struct Written {
    name: String,
    count: u64,
    first: Time,
}

/// A bucket of tokens, as the time that it takes to fill what is missing.
#[derive(Debug, Clone, Default)]
struct Budget {
    missing: Duration,
    since: Time,
}

impl Budget {
    fn takes_one(&mut self, now: Time) -> bool {
        self.missing = self.missing.saturating_sub(now.since(self.since));
        self.since = now;
        let fits = self.missing + EACH <= EACH * BURST;
        if fits {
            self.missing += EACH;
        }
        fits
    }
}

impl Recorder {
    /// Whether all is written.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The object is gone.
    pub(super) fn forget(&mut self, uid: &Text) {
        let from = (uid.clone(), Controller::GarbageCollector);
        let all = self.told.range((Bound::Included(from), Bound::Unbounded));
        let of_it = all.map(|(key, _)| key).take_while(|(of, _)| of == uid);
        for key in of_it.cloned().collect::<Vec<_>>() {
            self.told.remove_mut(&key);
        }
    }

    /// Keeps what a controller has to tell, of an object of this kind and version. Names end with the instant.
    fn note(
        &mut self,
        controller: Controller,
        note: &Note,
        kind: (&str, &str),
        (now, instant): (Time, u64),
    ) {
        let namespace = if note.key.namespace.is_empty() { DEFAULT } else { &note.key.namespace };
        let name = format!("{}.{instant:x}", note.key.name);
        let involved = json!({
            "kind": kind.0, "apiVersion": kind.1, "namespace": note.key.namespace,
            "name": note.key.name, "uid": note.uid, "resourceVersion": note.revision.to_string(),
        });
        let mut event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved, "reason": note.reason, "message": note.message,
            "type": if note.is_warning { "Warning" } else { "Normal" },
            "reportingComponent": component(controller), "reportingInstance": "",
        });
        let mut change = None;
        if controller == Controller::Scheduler {
            event["eventTime"] = json!(now.rfc3339_micro());
            event["action"] = json!(note.action);
            event["reportingInstance"] = json!(SCHEDULER);
        } else {
            event["source"] = json!({"component": component(controller)});
            let Some((message, written)) = self.correlated(controller, note, &name, now) else {
                return;
            };
            let last = now.rfc3339();
            event["metadata"]["name"] = json!(written.name);
            event["message"] = json!(message);
            event["count"] = json!(written.count);
            event["firstTimestamp"] = json!(written.first.rfc3339());
            event["lastTimestamp"] = json!(last);
            change = (written.count > 1).then(
                || json!({"count": written.count, "message": message, "lastTimestamp": last}),
            );
        }
        let name = event["metadata"]["name"].as_str().unwrap_or("").to_owned();
        let key = ObjectKey::new(GroupResource::new("", "events"), namespace, &name);
        self.waiting.push_back(Write { controller, key, event, change });
    }

    /// With which words, and as which Event it is told; none if it is told too often (`EventCorrelate`).
    fn correlated(
        &mut self,
        controller: Controller,
        note: &Note,
        name: &str,
        now: Time,
    ) -> Option<(String, Written)> {
        let place = (note.uid.clone(), controller);
        let mut told = self.told.get(&place).cloned().unwrap_or_default();
        let known = Arc::make_mut(&mut told);
        let kind = (note.is_warning, note.reason.clone());
        let similar = known.similar.entry(kind).or_default();
        if now.since(similar.last) > FORGOTTEN_AFTER {
            similar.messages.clear();
        }
        similar.messages.insert(note.message.clone());
        similar.last = now;
        let together = similar.messages.len() >= TOGETHER;
        if together {
            similar.messages.pop_first();
        }
        let key = (note.is_warning, note.reason.clone(), (!together).then(|| note.message.clone()));
        let new = || Written { name: name.to_owned(), count: 0, first: now };
        let written = known.written.entry(key).or_insert_with(new);
        written.count += 1;
        let message = match together {
            true => format!("(combined from similar events): {}", note.message),
            false => note.message.clone(),
        };
        let written = written.clone();
        let fits = known.budgets[usize::from(note.is_warning)].takes_one(now);
        self.told.insert_mut(place, told);
        fits.then_some((message, written))
    }
}

/// Keeps what a controller has to tell.
pub(super) fn note(world: &mut World, controller: Controller, notes: &[Note]) {
    let (now, revision) = (world.now, world.revision().0);
    for (number, note) in (0..).zip(notes) {
        // Names end with the time, as upstream's. Here it stands still, but each Event that is written is a revision.
        let instant = now.0.unsigned_abs() + revision * NOTES_AT_MOST + number;
        let Some((kind, version)) = kind_of(world, &note.key.resource) else { continue };
        let version = api_version(&note.key.resource.group, &version);
        let environment = world.environment.as_mut().map(Arc::make_mut);
        if let Some(recorder) = environment.and_then(|found| found.recorder.as_mut()) {
            recorder.note(controller, note, (&kind.row().kind, &version), (now, instant));
        }
    }
}

/// Writes the next Event that waits; whose. Where webhooks have to be called first, it goes on waiting.
pub(super) fn step(live: &mut Live, calls: &mut Calls) -> Option<Controller> {
    let environment = live.world.environment.as_ref()?;
    let write = environment.recorder.as_ref()?.waiting.front()?.clone();
    calls.begin(live.world.now);
    let is_there = live.world.store.get(&write.key).is_some();
    let (verb, content_type, body) = match write.change {
        Some(change) if is_there => (Verb::Patch, STRATEGIC_PATCH, change),
        _ => (Verb::Create, JSON, write.event),
    };
    let call = Call { verb, key: &write.key, subresource: "", content_type, body };
    wire::carry_out_for(live, write.controller, &call, calls);
    if !calls.is_wanting()
        && let Some(environment) = live.world.environment.as_mut().map(Arc::make_mut)
        && let Some(recorder) = &mut environment.recorder
    {
        recorder.waiting.pop_front();
    }
    Some(write.controller)
}

#[cfg(test)]
mod tests;
