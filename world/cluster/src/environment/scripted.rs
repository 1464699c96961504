//! Kubelets whose pods and nodes live by the user's stage files ([`stages`]), instead of by themselves.
//!
//! The kubelet's queue and timers are as without; only what it does with a key is decided here, on the stored object:
//! which stage it waits for is part of the world ([`Schedule`]), and so is what is left of a stage that is being
//! played. Chance depends on the object's name, where generated on how many names were generated before, and on its age
//! in seconds: not on the world's seed, so that every run of a campaign draws the same.
//!
//! So references agree, and a finding is confirmed with the same draws; the other draws are left out. Without stage
//! files pods live by a pure function over compact views; with them on the stored JSON, for the types that have any.

use std::{sync::Arc, time::Duration};

use controllers::{
    Controller, Response,
    kubelet::{KUBELET, STOPPED},
};
use serde_json::{Value, json};
use stages::{Action, Look, Schedule, Stages, Surroundings, stages::nodes, stages::pods};
use trace::{GroupResource, ObjectKey, Time, Verb};

use super::{
    Working,
    wire::{self, Call, JSON},
};
use crate::{
    names::Names,
    server::Live,
    webhooks::Calls,
    world::{World, meta},
};

/// How many different failures of stages are remembered.
const PROBLEMS: usize = 20;

/// Stage files at work.
#[derive(Debug, Clone)]
pub(super) struct Scripted {
    pub(super) schedule: Schedule,
    since: Time,
    /// Each once.
    pub(super) problems: Vec<String>,
}

/// What came of a turn.
pub(super) enum Turn {
    /// A request was sent.
    Sent(Response),
    /// The object has had its turn, until that time has passed.
    Done(Option<Duration>),
    /// These are to be sent, one after the other.
    Plan(Vec<Action>),
}

impl Scripted {
    pub(super) fn new(stages: Arc<Stages>, since: Time) -> Scripted {
        Scripted { schedule: Schedule::new(stages), since, problems: vec![] }
    }

    /// Whether this key is decided here.
    pub(super) fn takes(&self, controller: Controller, key: &ObjectKey) -> bool {
        controller == Controller::Kubelet && self.schedule.covers(&key.resource)
    }

    /// Nodes that have stages are looked at when they change, as pods are.
    pub(super) fn is_node(&self, key: &ObjectKey) -> bool {
        key.resource == nodes() && self.schedule.covers(&key.resource)
    }

    /// What it waits for, for a world's identity; objects as `rank` names them.
    pub(super) fn pending(&self, now: Time, rank: impl Fn(&ObjectKey) -> Value) -> Value {
        self.schedule
            .waiting(now)
            .map(|(key, stage, again)| json!([rank(key), stage, again]))
            .collect()
    }

    fn fails(&mut self, key: &ObjectKey, problem: &str) {
        let problem = format!("{}: {problem}", key.resource);
        if self.problems.len() < PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// The next request for a key that is decided here.
pub(super) fn step(live: &mut Live, working: &Working, calls: &mut Calls) -> Turn {
    let key = &working.item.1;
    let Some(plan) = &working.plan else { return begin(live, key) };
    if let Some(Response::Refused { code, message, .. }) = working.responses.last() {
        // Gone, or changed: what is there now gets its own turn.
        if !matches!(*code, 404 | 409) {
            problem(live, key, &format!("a stage was refused: {code} {message}"));
        }
        return Turn::Done(None);
    }
    match plan.get(working.responses.len()) {
        Some(action) => Turn::Sent(send(live, key, action, calls)),
        None => Turn::Done(None),
    }
}

fn scripted(live: &mut Live) -> Option<&mut Scripted> {
    live.world.environment.as_mut().map(Arc::make_mut)?.scripted.as_mut()
}

fn problem(live: &mut Live, key: &ObjectKey, problem: &str) {
    if let Some(scripted) = scripted(live) {
        scripted.fails(key, problem);
    }
}

/// What there is to do for an object.
fn begin(live: &mut Live, key: &ObjectKey) -> Turn {
    let Some(object) = live.world.store.get(key).cloned() else { return Turn::Done(None) };
    let dead = match key.resource == pods() {
        true => !has_kubelet(&live.world, &object),
        false => is_stopped(&object),
    };
    if dead {
        return Turn::Done(None);
    }
    let now = live.world.now;
    let names = live.world.names.clone();
    let Some(scripted) = scripted(live) else { return Turn::Done(None) };
    let stage = match scripted.schedule.look(key, &object, now, &|| name(&names, key, &object)) {
        Look::Rest => return Turn::Done(None),
        Look::Wait(left) => return Turn::Done(Some(left)),
        Look::Play(stage) => stage,
    };
    let (schedule, start) = (scripted.schedule.clone(), scripted.since);
    let mut around = Around { start, world: &mut live.world };
    match schedule.stages().actions(&key.resource, stage, &object, &mut around) {
        Ok(actions) => Turn::Plan(actions),
        Err(failure) => {
            problem(live, key, &failure);
            Turn::Done(None)
        }
    }
}

/// A pod that is bound to a node that nobody has made has no kubelet.
fn has_kubelet(world: &World, pod: &Value) -> bool {
    let node = pod["spec"]["nodeName"].as_str().unwrap_or("");
    let node = world.object(&ObjectKey::new(nodes(), "", node)).filter(|_| !node.is_empty());
    node.is_some_and(|node| !is_stopped(node))
}

/// Whether a node's kubelet is stopped.
pub(crate) fn is_stopped(node: &Value) -> bool {
    node["metadata"]["annotations"][KUBELET] == STOPPED
}

/// A name that another run gives it too.
fn name(names: &Names, key: &ObjectKey, object: &Value) -> String {
    let base = meta(object, "generateName");
    let mut issued = names.issued();
    match (base.is_empty(), issued.position(|name| *name == *key.name)) {
        (false, Some(nth)) => format!("{}/{base}{nth}", key.namespace),
        _ => format!("{}/{}", key.namespace, key.name),
    }
}

/// The world around an object.
struct Around<'a> {
    start: Time,
    world: &'a mut World,
}

impl Surroundings for Around<'_> {
    fn now(&self) -> Time {
        self.world.now
    }

    fn start(&self) -> Time {
        self.start
    }

    fn node_ips(&self, node: &str) -> Vec<String> {
        let node = self.world.object(&ObjectKey::new(nodes(), "", node));
        let addresses = node.and_then(|node| node["status"]["addresses"].as_array());
        let internal = addresses.into_iter().flatten().filter(|of| of["type"] == "InternalIP");
        internal.filter_map(|of| of["address"].as_str()).map(str::to_owned).collect()
    }

    fn pod_ip(&mut self, _: &str) -> String {
        self.world.names.pod_ip().to_string()
    }
}

fn send(live: &mut Live, key: &ObjectKey, action: &Action, calls: &mut Calls) -> Response {
    let uid = live.world.object(key).map_or("", |object| meta(object, "uid")).to_owned();
    let call = match action {
        Action::Event(event) => {
            let kind = if key.resource == nodes() { "Node" } else { "Pod" };
            let namespace = if key.namespace.is_empty() { "default" } else { &key.namespace };
            let events = ObjectKey::new(GroupResource::new("", "events"), namespace, "");
            let body = stages::steps::event(event, (kind, key, &uid), "kubelet", live.world.now);
            let (verb, subresource) = (Verb::Create, "");
            let call = Call { verb, key: &events, subresource, content_type: JSON, body };
            return wire::carry_out_for(live, Controller::Kubelet, &call, calls);
        }
        Action::Patch { body, kind, subresource } => Call {
            verb: Verb::Patch,
            key,
            subresource,
            content_type: kind.content_type(),
            body: body.clone(),
        },
        Action::Delete => Call {
            verb: Verb::Delete,
            key,
            subresource: "",
            content_type: JSON,
            body: stages::steps::delete_options(&uid),
        },
    };
    wire::carry_out_for(live, Controller::Kubelet, &call, calls)
}
