//! Runs the built-in controllers ([`controllers`]) on a world.
//!
//! Everything that they remember lives in the world: what they see, their queues, timers and back-offs, and the
//! reconcile that is under way, down to the responses that it has had. So a fork in the middle of a reconcile
//! goes on exactly as the original does.
//!
//! **Order.** One reconcile at a time, to its end; then the key that has been waiting longest, whichever
//! controller's it is; or where that controller has more urgent ones, the most urgent of them. Same world, same
//! schedule, same bytes. Real controllers run side by side, each with several workers; the schedules that this leaves
//! out can be asked for: some controllers held or slow, and another order ([`crate::Pace`]), or turn by turn
//! ([`crate::Server::take_turn`]).
//!
//! **When.** Never by itself: whoever owns the server lets it act ([`crate::Server::step_environment`]), a
//! request at a time, or to its fixpoint. Time does not pass while it acts.
//!
//! Where do I change …? Held or slow controllers, and another order: `environment/pace.rs`; turn by turn:
//! `environment/schedule.rs`; how often Events are written: `environment/events.rs`; where stages are played:
//! `environment/scripted.rs`.

use std::{cmp::Reverse, collections::BTreeMap, ops::Bound, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use controllers::{
    Change, Controller, Kinds, Next, Object, Request, Response, View,
    events::{Answered, told},
};
use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};
use serde_json::{Value, json};
use trace::{Change as Changed, ObjectKey, Revision, Time};

use stages::{Action, Stages};

use crate::{node::answers::Answers, server::Live, store::Logged, webhooks::Calls, world::World};
use events::Recorder;
use pace::{Pace, Paces};
use scripted::{Scripted, Turn};
use wire::Sent;

mod certificates;
mod events;
mod nodes;
pub(crate) mod pace;
pub(crate) mod schedule;
mod scripted;
mod served;
mod wire;

pub use certificates::{client_authority, use_authority};
pub(crate) use nodes::{add_default_class, join as join_nodes};
pub(crate) use scripted::is_stopped;
pub(crate) use served::{kind_of, kinds};

/// First back-off of a key whose reconcile failed; each further failure doubles it
/// (`workqueue.DefaultTypedControllerRateLimiter`).
const FIRST_BACKOFF: Duration = Duration::from_millis(5);

/// An environment that goes on acting for this many requests without time passing does not come to rest.
pub const REQUESTS_WITHOUT_REST: u64 = 200_000;

/// Which built-in controllers run.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentOptions {
    /// They; empty for none.
    pub controllers: Vec<Controller>,
    /// How many nodes there are from the beginning.
    pub nodes: u32,
    /// The certificate by which the API server is known, in PEM, for `kube-root-ca.crt`; empty for none.
    pub root_ca: String,
    /// By which pods and nodes live, each type that has any; the others as the kubelet does by itself.
    pub stages: Option<Arc<Stages>>,
    /// Those that don't act at once.
    pub paces: Vec<(Controller, Pace)>,
    /// In which order they take turns; empty for the order in which their keys come.
    pub order: Vec<Controller>,
    /// What containers say, and how commands end in them.
    pub answers: Arc<Answers>,
    /// Whether controllers tell people what they do, by Events.
    pub events: bool,
}

impl EnvironmentOptions {
    /// Whether kubelets say by stages that their nodes are ready.
    pub(crate) fn stages_of_nodes(&self) -> bool {
        self.stages.as_ref().is_some_and(|stages| stages.cover(&stages::stages::nodes()))
    }
}

/// The built-in controllers go on acting though nothing else does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the built-in controllers sent {REQUESTS_WITHOUT_REST} requests without coming to rest; the last was {last}'s"
)]
pub struct Restless {
    /// The controller that acted last.
    pub last: &'static str,
}

/// A key on a controller's queue.
type Item = (Controller, ObjectKey);

/// Where in the queue a key is, and how urgent it was when it came there.
type Place = (u64, Option<i64>);

/// State of all built-in controllers. Cloning it copies some pointers.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    running: Arc<[Controller]>,
    paces: Paces,
    /// Those that don't act for now.
    held: Vec<Controller>,
    view: View,
    /// Keys that wait, by place.
    queue: RedBlackTreeMapSync<u64, Item>,
    places: RedBlackTreeMapSync<Item, Place>,
    /// Of controllers whose keys don't come in the order in which they were added, those that wait, in theirs.
    urgent: RedBlackTreeSetSync<(Controller, Reverse<i64>, u64)>,
    next_place: u64,
    /// Keys that come at a time; each once, at the earliest of its times.
    timers: RedBlackTreeSetSync<(Time, Item)>,
    times: RedBlackTreeMapSync<Item, Time>,
    /// Failures in a row.
    failures: RedBlackTreeMapSync<Item, u32>,
    working: Option<Arc<Working>>,
    /// Where kubelets go by stage files.
    scripted: Option<Scripted>,
    answers: Arc<Answers>,
    /// Reconciles that have begun and wait for their next turn, in the order in which they began.
    aside: Vec<Arc<Working>>,
    /// Where Events are wanted.
    recorder: Option<Recorder>,
}

/// A reconcile under way.
#[derive(Debug, Clone)]
struct Working {
    item: Item,
    /// What it began with.
    view: View,
    revision: Revision,
    since: Time,
    responses: Vec<Response>,
    /// Requests that it sends whatever is answered, and after how many responses the first of them.
    ahead: Option<(usize, Arc<[Request]>)>,
    /// The stage that is being played.
    plan: Option<Arc<[Action]>>,
}

impl Working {
    fn next(&self) -> Next {
        let ahead = self.ahead.as_ref();
        let known = ahead.and_then(|(from, requests)| requests.get(self.responses.len() - from));
        if let Some(request) = known {
            return Next::Request(Box::new(request.clone()));
        }
        let (controller, key) = &self.item;
        controller.next(&self.view, key, self.since, &self.responses)
    }
}

impl Environment {
    /// Controllers that have not looked at anything yet. None if there are none.
    pub(crate) fn start(world: &World, options: &EnvironmentOptions) -> Option<Environment> {
        if options.controllers.is_empty() {
            return None;
        }
        let mut environment = Environment {
            running: options.acting(),
            paces: Paces::new(options),
            held: vec![],
            view: View::default(),
            queue: RedBlackTreeMapSync::new_sync(),
            places: RedBlackTreeMapSync::new_sync(),
            urgent: RedBlackTreeSetSync::new_sync(),
            next_place: 0,
            timers: RedBlackTreeSetSync::new_sync(),
            times: RedBlackTreeMapSync::new_sync(),
            failures: RedBlackTreeMapSync::new_sync(),
            working: None,
            scripted: options.stages.clone().map(|stages| Scripted::new(stages, world.now)),
            answers: options.answers.clone(),
            aside: vec![],
            recorder: options.events.then(Recorder::default),
        };
        environment.view.root_ca = options.root_ca.as_str().into();
        environment.view.root_ca_base64 = STANDARD.encode(&options.root_ca).into();
        environment.serve(kinds(&world.customs, world.release));
        for (key, object) in world.objects() {
            environment.see(key, Some(Object::read(key, object)), world.now);
        }
        Some(environment)
    }

    /// What kubelets answer to requests about containers; none where there are no kubelets.
    pub(crate) fn answers(&self) -> Option<&Arc<Answers>> {
        self.running.contains(&Controller::Kubelet).then_some(&self.answers)
    }

    /// Tells which types are served now.
    pub(crate) fn serve(&mut self, kinds: Kinds) {
        self.view.kinds = kinds;
    }

    /// Tells of a commit.
    pub(crate) fn observe(&mut self, logged: &Logged, now: Time) {
        let object = match logged.change {
            Changed::Deleted => None,
            Changed::Created | Changed::Updated => Some(Object::read(&logged.key, &logged.object)),
        };
        self.see(&logged.key, object, now);
    }

    fn see(&mut self, key: &ObjectKey, after: Option<Object>, now: Time) {
        let before = self.view.set(key, after.clone());
        if let (Some(recorder), Some(gone), None) = (&mut self.recorder, &before, &after) {
            recorder.forget(&gone.meta.uid);
        }
        let change = Change { key, before: before.as_ref(), after: after.as_ref() };
        for controller in self.running.clone().iter() {
            for affected in controller.keys_affected(&self.view, &change, now) {
                self.add_after((*controller, affected.key), now, affected.after);
            }
        }
        if let Some(scripted) = &mut self.scripted {
            if after.is_none() {
                scripted.schedule.forget(key);
            } else if scripted.is_node(key) && self.running.contains(&Controller::Kubelet) {
                self.add_after((Controller::Kubelet, key.clone()), now, Duration::ZERO);
            }
        }
    }

    fn add_after(&mut self, item: Item, now: Time, after: Duration) {
        let after = after + self.paces.delay(item.0);
        if after.is_zero() {
            return self.add(item);
        }
        let at = now.plus(after);
        match self.times.get(&item) {
            Some(earlier) if *earlier <= at => return,
            Some(later) => {
                self.timers.remove_mut(&(*later, item.clone()));
            }
            None => {}
        }
        self.times.insert_mut(item.clone(), at);
        self.timers.insert_mut((at, item));
    }

    fn add(&mut self, item: Item) {
        if self.places.contains_key(&item) {
            return;
        }
        let urgency = item.0.urgency(&self.view, &item.1);
        if let Some(urgency) = urgency {
            self.urgent.insert_mut((item.0, Reverse(urgency), self.next_place));
        }
        self.places.insert_mut(item.clone(), (self.next_place, urgency));
        self.queue.insert_mut(self.next_place, item);
        self.next_place += 1;
    }

    /// The clock shows `now`: what was due comes to the queues.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some((at, item)) = self.timers.first().cloned()
            && at <= now
        {
            self.timers.remove_mut(&(at, item.clone()));
            self.times.remove_mut(&item);
            self.add(item);
        }
    }

    /// When the next timer is due.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    fn is_held(&self, controller: Controller) -> bool {
        self.held.contains(&controller)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        let mut begun = self.working.iter().chain(&self.aside);
        begun.all(|working| self.is_held(working.item.0))
            && self.queue.values().all(|item| self.is_held(item.0))
            && self.recorder.as_ref().is_none_or(Recorder::is_empty)
    }

    /// Keeps a controller from acting, or lets it act again.
    pub(crate) fn hold(&mut self, controller: Controller, held: bool) {
        self.held.retain(|other| *other != controller);
        if held {
            self.held.push(controller);
            self.held.sort();
        }
    }

    /// From now on controllers go through what upstream keeps in maps in the order of this number.
    pub(crate) fn set_order(&mut self, order: usize) {
        self.view.order = order;
    }

    /// The reconcile whose turn it is: the one under way, one that was put aside, or one begun for the key that has
    /// waited longest.
    fn turn(&mut self, now: Time, revision: Revision) -> Option<Arc<Working>> {
        if let Some(working) = &self.working {
            return (!self.is_held(working.item.0)).then(|| working.clone());
        }
        if let Some(at) = self.aside.iter().position(|working| !self.is_held(working.item.0)) {
            self.working = Some(self.aside.remove(at));
            return self.working.clone();
        }
        let mut waiting = self.queue.iter().filter(|(_, item)| !self.is_held(item.0));
        let next = match self.paces.has_order() {
            true => waiting.min_by_key(|(_, item)| self.paces.rank(item.0)),
            false => waiting.next(),
        };
        let (mut place, mut item) = next.map(|(place, item)| (*place, item.clone()))?;
        let first = (item.0, Reverse(i64::MAX), 0);
        if let Some(most) = self.urgent.range((Bound::Included(first), Bound::Unbounded)).next()
            && most.0 == item.0
            && let Some(other) = self.queue.get(&most.2)
        {
            (place, item) = (most.2, other.clone());
        }
        Some(self.begin(place, item, now, revision))
    }

    /// Begins a reconcile for the key in this place of the queue.
    fn begin(&mut self, place: u64, item: Item, now: Time, revision: Revision) -> Arc<Working> {
        self.queue.remove_mut(&place);
        if let Some((place, Some(urgency))) = self.places.get(&item).copied() {
            self.urgent.remove_mut(&(item.0, Reverse(urgency), place));
        }
        self.places.remove_mut(&item);
        // It is about to see all that an earlier timer was to show it, and says itself when to look again. Upstream's
        // queues would look once more for nothing, and a world would differ by that.
        if let Some(at) = self.times.get(&item).copied() {
            self.times.remove_mut(&item);
            self.timers.remove_mut(&(at, item.clone()));
        }
        let view = self.view.clone();
        let working = Arc::new(Working {
            item,
            view,
            revision,
            since: now,
            responses: vec![],
            ahead: None,
            plan: None,
        });
        self.working = Some(working.clone());
        working
    }

    fn answered(&mut self, response: Response) {
        if let Some(working) = &mut self.working {
            Arc::make_mut(working).responses.push(response);
        }
    }

    /// The reconcile under way sends these, whatever is answered.
    fn sends(&mut self, requests: Vec<Request>) {
        if let Some(working) = &mut self.working {
            let working = Arc::make_mut(working);
            working.ahead = Some((working.responses.len(), requests.into()));
        }
    }

    fn planned(&mut self, actions: Vec<Action>) {
        if let Some(working) = &mut self.working {
            Arc::make_mut(working).plan = Some(actions.into());
        }
    }

    /// What went wrong with stages that were played.
    pub(crate) fn stage_problems(&self) -> &[String] {
        self.scripted.as_ref().map_or(&[], |scripted| &scripted.problems)
    }

    fn done(&mut self, now: Time, requeue_after: Option<Duration>) {
        let Some(working) = self.working.take() else { return };
        self.failures.remove_mut(&working.item);
        if let Some(after) = requeue_after {
            self.add_after(working.item.clone(), now, after);
        }
    }

    fn failed(&mut self, now: Time) {
        let Some(working) = self.working.take() else { return };
        let item = working.item.clone();
        let failures = self.failures.get(&item).copied().unwrap_or(0);
        self.failures.insert_mut(item.clone(), failures + 1);
        let backoff = FIRST_BACKOFF * 2u32.saturating_pow(failures.min(20));
        let longest = item.0.longest_backoff();
        self.add_after(item, now, backoff.min(longest));
    }

    /// See [`World::pending`]. Keys stand as the rank of their object in list order, which relabelling leaves
    /// as it is; keys of objects that are gone stand as text, which at most costs a merge.
    pub(crate) fn pending(&self, world: &World) -> Value {
        let idle = self.working.is_none() && self.aside.is_empty();
        let idle = idle && self.queue.is_empty() && self.timers.is_empty();
        let idle = idle && self.view.all_recent().next().is_none();
        let idle = idle && self.view.all_going().next().is_none();
        let idle = idle && self.view.all_silent().next().is_none();
        let idle = idle && self.view.all_missed().next().is_none();
        let idle = idle && self.view.all_strays().next().is_none();
        let idle = idle && self.view.outdated_zones().is_none();
        let idle = idle && self.view.still_deleting().next().is_none() && self.view.order == 0;
        if idle && self.failures.is_empty() && self.held.is_empty() {
            return Value::Null;
        }
        let ranks: BTreeMap<&ObjectKey, usize> =
            world.objects().enumerate().map(|(at, (key, _))| (key, at)).collect();
        let rank = |key: &ObjectKey| match ranks.get(key) {
            Some(rank) => json!(rank),
            None => json!(key.to_string()),
        };
        let item = |item: &Item| json!([item.0.name(), rank(&item.1)]);
        let timer = |(at, of): &(Time, Item)| json!([milliseconds(at.since(world.now)), item(of)]);
        let mut pending = json!({
            "stages": self.scripted.as_ref().map(|scripted| scripted.pending(world.now, rank)),
            "queue": self.queue.values().map(item).collect::<Vec<_>>(),
            "timers": self.timers.iter().map(timer).collect::<Vec<_>>(),
            "recent": self.view.all_recent().map(|(key, recent)| {
                let ages = |events: &[(i64, Time)]| -> Value {
                    events.iter().map(|(n, at)| json!([n, milliseconds(world.now.since(*at))])).collect()
                };
                let all = [&recent.recommendations, &recent.added, &recent.removed];
                json!([rank(key), all.map(|events| ages(events))])
            }).collect::<Vec<_>>(),
            "failures": self.failures.iter().map(|(of, n)| json!([item(of), n])).collect::<Vec<_>>(),
            "held": self.held.iter().map(|controller| controller.name()).collect::<Vec<_>>(),
            // What it began with is told by the revision: exact within one campaign's forks, and never wrong.
            "working": self.working.iter().chain(&self.aside).map(|working| json!([
                item(&working.item), working.responses.len(), working.revision.0,
                milliseconds(world.now.since(working.since)),
            ])).collect::<Vec<_>>(),
        });
        let mut deleting: Vec<&ObjectKey> = self.view.still_deleting().collect();
        if !deleting.is_empty() {
            deleting.sort();
            pending["deleting"] = deleting.into_iter().map(rank).collect();
        }
        let going = self.view.all_going();
        let going = going.map(|(key, at)| json!([rank(key), milliseconds(at.since(world.now))]));
        let going: Vec<Value> = going.collect();
        if !going.is_empty() {
            pending["going"] = going.into();
        }
        let silent = self.view.all_silent();
        let silent = silent.map(|(key, at)| json!([rank(key), milliseconds(world.now.since(*at))]));
        let silent: Vec<Value> = silent.collect();
        if !silent.is_empty() {
            pending["silent"] = silent.into();
        }
        let missed = self.view.all_missed();
        let missed = missed.map(|(key, at)| json!([rank(key), milliseconds(at.since(world.now))]));
        let missed: Vec<Value> = missed.collect();
        if !missed.is_empty() {
            pending["missed"] = missed.into();
        }
        let strays = self.view.all_strays();
        let strays: Vec<Value> =
            strays.map(|(of, slice)| json!([rank(of), slice.map(rank)])).collect();
        if !strays.is_empty() {
            pending["strays"] = strays.into();
        }
        if let Some(zones) = self.view.outdated_zones() {
            pending["zones"] = json!(zones);
        }
        if self.view.order != 0 {
            pending["order"] = json!(self.view.order);
        }
        pending
    }
}

/// Lets the built-in controllers send their next request. The controller that acted; none if all are quiet. Where
/// webhooks have to be called first, `calls` says which, and the controller has not acted yet.
pub(crate) fn step(live: &mut Live, calls: &mut Calls) -> Option<Controller> {
    loop {
        if let Some(controller) = events::step(live, calls) {
            return Some(controller);
        }
        let (now, revision) = (live.world.now, live.world.revision());
        let environment = live.world.environment.as_mut().map(Arc::make_mut)?;
        let working = environment.turn(now, revision)?;
        let (controller, key) = (working.item.0, &working.item.1);
        if environment.scripted.as_ref().is_some_and(|scripted| scripted.takes(controller, key)) {
            calls.begin(now);
            let turn = scripted::step(live, &working, calls);
            drop(working);
            let environment = live.world.environment.as_mut().map(Arc::make_mut)?;
            match turn {
                Turn::Plan(actions) => environment.planned(actions),
                Turn::Done(requeue_after) => environment.done(now, requeue_after),
                Turn::Sent(_) if calls.is_wanting() => return Some(controller),
                Turn::Sent(response) => {
                    environment.answered(response);
                    return Some(controller);
                }
            }
            continue;
        }
        match working.next() {
            Next::Requests(requests) => environment.sends(requests),
            Next::Request(request) => {
                calls.begin(now);
                let sent = wire::send(live, controller, &request, calls);
                if !calls.is_wanting() {
                    answer(live, working, &request, sent);
                }
                return Some(controller);
            }
            Next::Done { requeue_after } => environment.done(now, requeue_after),
            Next::Failed(_) => environment.failed(now),
        }
    }
}

/// Tells a controller what came of its request, and people what there is to tell.
fn answer(live: &mut Live, working: Arc<Working>, request: &Request, sent: Sent) {
    if let Some(environment) = live.world.environment.as_ref()
        && environment.recorder.is_some()
    {
        let (controller, key) = &working.item;
        let notes = told(&Answered {
            controller: *controller,
            key,
            before: &working.view,
            after: &environment.view,
            request,
            response: &sent.response,
            written: sent.name(),
        });
        events::note(&mut live.world, *controller, &notes);
    }
    // Or it would be copied, to be told of the response.
    drop(working);
    if let Some(environment) = live.world.environment.as_mut().map(Arc::make_mut) {
        environment.answered(sent.response);
    }
}

/// To the nearest: a world's clock follows its controller's, which creeps while the controller works.
fn milliseconds(duration: std::time::Duration) -> u128 {
    (duration.as_micros() + 500) / 1000
}
